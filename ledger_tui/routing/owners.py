"""Whose store is this, and whose chat is this key? Profiles, and the sources that are messaging platforms."""

from __future__ import annotations

import re
from pathlib import Path

from ledger_tui.sources.guard import real_path

DEFAULT = "default"

_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_KEYLESS = frozenset({
    "cli", "tui", "desktop", "oneshot", "cron", "kanban", "acp", "subagent", "tool", "batch", "bot_room",
    "recovered", "unknown",
})  # fmt: skip
"""Sources whose sessions carry no routing key by nature; the last two are placeholders (hermes-agent #111999)."""


def store_owner(store: Path, home: Path) -> str | None:
    """Profile that a session store belongs to, by its place below `home`: `default`, a profile's name, or None.

    A store in `<root>` is the default profile's, one in `<root>/profiles/<name>` that profile's. One elsewhere has no
    owner, and then profiles fence nothing off. `home` is the root or a profile's own folder.
    """
    base = real_path(home)
    root = base.parent.parent if base.parent.name == "profiles" else base
    folder = real_path(store).parent
    if folder == root:
        return DEFAULT
    if folder.parent == root / "profiles" and _PROFILE.fullmatch(folder.name):
        return folder.name
    return None


def key_profile(session_key: str | None) -> str | None:
    """Profile that a routing key names: `agent:main:…` is the default one. None for a key of another form."""
    parts = (session_key or "").split(":", 2)
    if len(parts) < 3 or parts[0] != "agent" or not parts[1]:
        return None
    return DEFAULT if parts[1] == "main" else parts[1].removesuffix("~")  # `main~` is a profile of that name.


def is_gateway(source: str) -> bool:
    """Is this the name of a messaging platform? An unknown name is: plugins bring platforms of their own."""
    return bool(source) and source not in _KEYLESS
