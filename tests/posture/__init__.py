"""The posture: its rules, its arithmetic, its scripts."""
