"""Screens: they compose widgets, hold the keys and decide what a message means."""
