"""Tests of what commands do, and of the tool policy."""
