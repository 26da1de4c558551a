"""The plugin inside real Hermes hosts."""
