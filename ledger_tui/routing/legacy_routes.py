"""`sessions.json`, where older gateways kept their routing: newer ones still take over the keys that they lack."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

_MOST_BYTES = 32_000_000


def legacy_routes(folder: Path) -> dict[str, str]:
    """Entries by session key, each as JSON text; nothing where there is no such file or it is damaged.

    `folder` is the one of the store. Sources: Hermes 0.19.0 and 0.22.2, which read `sessions/sessions.json` at start.
    """
    try:
        with open(folder / "sessions" / "sessions.json", "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return {}
            found = json.loads(file.read(_MOST_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    # A key that begins so is a remark for people.
    return {
        key: json.dumps(entry) for key, entry in found.items() if not key.startswith("_") and isinstance(entry, dict)
    }


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
