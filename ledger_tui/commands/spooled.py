"""Records beside the ledger that no merge will bring in: those that were set aside as not understood."""

from __future__ import annotations

from pathlib import Path

from ledger_tui.commands.place import Place
from ledger_tui.commands.small_files import opened

_PIECE = 1 << 20


def set_aside_path(place: Place) -> Path | None:
    """The file in which the plugin keeps them; None for a ledger that lies in no home."""
    around = place.ledger_paths
    return None if around is None else around.spool / "unreadable.txt"


def set_aside(place: Place) -> int | None:
    """How many there are, one a line; None where the file cannot be read."""
    path = set_aside_path(place)
    if path is None:
        return 0
    lines, last = 0, b"\n"
    try:
        with opened(path) as file:
            while piece := file.read(_PIECE):
                lines += piece.count(b"\n")
                last = piece[-1:]
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    return lines + (last != b"\n")
