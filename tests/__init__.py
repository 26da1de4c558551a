"""Every test of the project; `tests/host` drives a real Hermes, the rest needs none."""
