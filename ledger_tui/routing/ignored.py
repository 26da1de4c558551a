"""Anomalies that a person set aside: `ignored.json` beside the ledger, private, replaced as a whole."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

FILE = "ignored.json"
_MOST_BYTES = 16_000_000

Ignored = frozenset[tuple[str, str]]
"""Pairs of raw session id and kind of anomaly."""


def read_ignored(data: Path) -> Ignored:
    """What was set aside; nothing where there is no file. Raises OSError, ValueError for a file of another shape."""
    try:
        with open(data / FILE, encoding="utf-8", errors="strict") as file:
            found = json.loads(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return frozenset()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    entries = found.get("ignored") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise ValueError("holds no list named ignored")
    pairs = set()
    for entry in entries:
        if not (
            isinstance(entry, dict) and isinstance(entry.get("session"), str) and isinstance(entry.get("kind"), str)
        ):
            raise ValueError("an entry names no session and kind")
        pairs.add((entry["session"], entry["kind"]))
    return frozenset(pairs)


def ignore(data: Path, session_id: str, kind: str) -> Ignored:
    """Sets one anomaly aside. Raises OSError, and ValueError where the file there is of another shape."""
    return _write(data, read_ignored(data) | {(session_id, kind)})


def unignore(data: Path, session_id: str, kind: str) -> Ignored:
    """Takes it back. Raises the same."""
    return _write(data, read_ignored(data) - {(session_id, kind)})


def _write(data: Path, pairs: Iterable[tuple[str, str]]) -> Ignored:
    kept = frozenset(pairs)
    entries = [{"session": session, "kind": kind} for session, kind in sorted(kept)]
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(prefix=f".{FILE}.", dir=data)  # Mode 0600.
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            json.dump({"ignored": entries}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, data / FILE)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
    return kept
