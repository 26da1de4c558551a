"""One row of a ledger as the engine takes it, and back: secrets taken out once more, no cell lost.

SQLite keeps anything in any column; an engine's columns take one kind. What does not fit stands in the column `odd`,
as JSON of column to value, and in its place NULL, or the same number of the other kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ledger_tui.sources.outgoing import Hider

ODD, HIDDEN = "odd", "secrets_hidden"
"""Columns of the engine only."""

_WRITTEN_BY_AGENTS = frozenset(
    {"session_id", "turn_id", "tool_call_id", "task_id", "request_id", "tool_name", "args_json", "result_digest",
     "later_digest", "workplace", "reason", "call_ids", "evidence", "did", "before"}
)  # fmt: skip
"""What may hold a secret. The rest is the plugin's own: times, hashes, numbers, words of a fixed list."""

_PYTHON: Mapping[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (float, int), "TEXT": (str,), "BLOB": (bytes,)}

ENGINE_KINDS: Mapping[str, str] = {
    "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "TEXT": "TEXT", "BLOB": "BYTEA",
}  # fmt: skip


def outgoing(row: Mapping[str, Any], kinds: Mapping[str, str]) -> list[Any]:
    """Values for the columns of `kinds`, then for `odd` and `secrets_hidden`."""
    hide = Hider()
    odd: dict[str, Any] = {}
    values: list[Any] = []
    for name, kind in kinds.items():
        value = row.get(name)
        if name in _WRITTEN_BY_AGENTS:
            value = _without_secrets(name, value, hide)
        if not _fits(value, kind):
            odd[name] = {"hex": value.hex()} if isinstance(value, bytes) else value
            value = None
        elif kind == "REAL" and isinstance(value, int):
            odd[name] = value  # In an engine it becomes another kind of number.
        values.append(float(value) if kind == "REAL" and value is not None else value)
    return [*values, json.dumps(odd) if odd else None, hide.hidden or None]


def incoming(values: Mapping[str, Any]) -> dict[str, Any]:
    """The row as it stood in the ledger, from the engine's columns; with `secrets_hidden` where some were.

    What stands in `odd` and was never put there by `outgoing` is passed over: whoever may ship may write anything.
    """
    row = {name: value for name, value in values.items() if name != ODD and (name != HIDDEN or value)}
    for name, value in _odd(values.get(ODD)).items():
        # In a column that holds something else it would be another row than the one that was asked for.
        if name in row and (row[name] is None or isinstance(row[name], float)):
            row[name] = _cell(value)
    return row


def _odd(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _cell(value: Any) -> Any:
    """What SQLite can keep; None where it is no such thing."""
    match value:
        case bool():
            return None
        case int():
            return value if -(2**63) <= value < 2**63 else None
        case float():
            return value
        case str():
            return (
                None
                if any("\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff" for char in value)
                else value
            )
        case {"hex": str(digits)}:
            try:
                return bytes.fromhex(digits)
            except ValueError:
                return None
    return None


def _fits(value: Any, kind: str) -> bool:
    if value is None:
        return True
    if not isinstance(value, _PYTHON[kind]):
        return False
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    return not isinstance(value, int) or kind != "REAL" or int(float(value)) == value


def _without_secrets(name: str, value: Any, hide: Hider) -> Any:
    """The same object where nothing was hidden, so that the seals of a row still hold."""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "surrogateescape")
        clean = _without_secrets(name, text, hide)
        return value if clean == text else clean
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value) if value.lstrip()[:1] in ("{", "[") else value
    except (ValueError, RecursionError):
        parsed = value  # Cut off in the middle.
    clean = hide({name: parsed})[name]
    if clean == parsed:
        return value
    return clean if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False)
