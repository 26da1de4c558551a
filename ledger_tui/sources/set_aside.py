"""Records beside the ledger that no merge will bring in: those that were set aside as not understood."""

from __future__ import annotations

from pathlib import Path

from agent_ledger.engine.paths import Paths

from .small_files import opened

_PIECE = 1 << 20


def set_aside_path(paths: Paths) -> Path:
    """The file in which the plugin keeps them."""
    return paths.spool / "unreadable.txt"


def set_aside(paths: Paths | None) -> int | None:
    """How many there are, one a line; None where the file cannot be read. A ledger in no home (None) has none."""
    if paths is None:
        return 0
    lines, last = 0, b"\n"
    try:
        with opened(set_aside_path(paths)) as file:
            while piece := file.read(_PIECE):
                lines += piece.count(b"\n")
                last = piece[-1:]
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    return lines + (last != b"\n")
