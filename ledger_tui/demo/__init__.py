"""A simulated Hermes host that drives the real plugin, so that there is something to see on a fresh machine."""
