"""Widgets: they know rows and messages, never databases."""
