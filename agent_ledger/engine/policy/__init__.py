"""The tool policy, and what it shares with the prompt policy."""
