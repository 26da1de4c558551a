"""The gateway's routing entries: what one says, and those that stand only in the older `sessions.json`.

Sources: Hermes 0.19.0 and 0.22.2, which still take over keys from that file that their table lacks.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MOST_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class Route:
    """Where the gateway's table sends the messages of one key. Raw text."""

    session_id: str
    resume_pending: bool


def route(entry_json: str | None) -> Route | None:
    """What an entry says; None for none, and for one that names no session."""
    entry = _object(entry_json)
    session_id = entry.get("session_id")
    if not isinstance(session_id, str) or not session_id:
        return None
    return Route(session_id, entry.get("resume_pending") is True)


def waits_for_resume(entry_json: str | None) -> bool:
    """Did a restart mark the entry to be resumed, and nothing took the mark back?"""
    found = route(entry_json)
    return found is not None and found.resume_pending


def legacy_routes(folder: Path) -> dict[str, str]:
    """Entries of `sessions.json` by session key, each as JSON text; nothing where there is none or it is damaged.

    `folder` is the one of the store.
    """
    try:
        with open(folder / "sessions" / "sessions.json", "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return {}
            found = _object(file.read(_MOST_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError):
        return {}
    # A key that begins with an underscore is a remark for people.
    return {
        key: json.dumps(entry) for key, entry in found.items() if not key.startswith("_") and isinstance(entry, dict)
    }


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
