"""Calls into Textual that are not part of its public interface, all in one place."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen


def screen_lines(screen: Screen[Any]) -> list[str]:
    """The composed screen as plain text, one string a line."""
    strips = screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]
