"""The columns that a posture needs, as plain tuples: a million rows must not become a million `Call`s."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..inert import inert
from ..queries import Query, whole_sql
from ..records import Call, utc_seconds

COLUMNS = (
    "id", "ts", "session_id", "task_id", "tool_name", "args_json", "args_cut", "args_redacted", "status", "seen",
    "turn_id",
)  # fmt: skip

_COUNTS = frozenset({"args_redacted", "seen"})
"""Columns that are reckoned with. Other software, or a flipped byte, may have put anything into them."""

RawRow = tuple[Any, ...]
"""A row of `page`, in the order of `COLUMNS`."""


class Row(NamedTuple):
    """A row that is worth a closer look."""

    id: int
    ts: object
    at: float | None
    session_id: str | None
    tool_name: str
    args_text: str
    cut: bool
    redacted: int


def page(columns: Collection[str], *, after_id: int, limit: int) -> Query:
    """The next rows by id. `columns` is what `queries.COLUMNS_QUERY` gave for this file."""
    have = frozenset(columns)
    names = ", ".join(_column(name, have) for name in COLUMNS)
    return f"SELECT {names} FROM ledger WHERE id > ? ORDER BY id LIMIT ?", (after_id, limit)


def _column(name: str, have: frozenset[str]) -> str:
    if name not in have:
        return f"NULL AS {name}"
    return f"{whole_sql(name)} AS {name}" if name in _COUNTS else name


def raw_row(call: Call) -> RawRow:
    """The same tuple from a `Call`, whose text is inert already."""
    return (
        call.id, _moment(call), call.session_id, call.task_id, call.tool_name, call.args_json, call.args_cut,
        call.args_redacted, call.status, call.seen, call.turn_id,
    )  # fmt: skip


def _moment(call: Call) -> object:
    """The time as the file holds it: a number by other software became text when the call was made inert."""
    return call.ts if call.at is None or utc_seconds(call.ts) is not None else call.at


def text_of(value: object) -> str:
    """A cell as inert text, as `queries` gives it: both ways into a posture see the same."""
    if type(value) is str and value.isascii() and value.isprintable():
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = value if isinstance(value, str) else str(value)
    if any(mark in text for mark in "\n\r\t"):
        with contextlib.suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), ensure_ascii=False)
    return inert(text)


def row_of(raw: RawRow, at: float | None) -> Row:
    """A row that deserves a closer look; `at` is its time in seconds."""
    row_id, ts, session_id, _, tool, args, cut, redacted, _, _, _ = raw
    session = None if session_id is None else text_of(session_id)
    return Row(row_id, ts, at, session, text_of(tool), text_of(args), bool(cut), redacted or 0)


_ENDS = ("", '"}', "}", '"]}', "]}", '"}]}', "}]}", "null}")
"""What may be missing behind arguments that were cut."""


def arguments(text: str, *, cut: bool) -> Mapping[str, Any]:
    """The arguments as an object; of cut ones, what was written before the cut. Empty where they are no object."""
    for start in _starts(text) if cut else (text,):
        for end in _ENDS if cut else ("",):
            value = parsed(start + end)
            if value is not None:
                return value
    return {}


def parsed(text: str) -> dict[str, Any] | None:
    """The object that a JSON text writes; None where it writes none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _starts(text: str) -> tuple[str, ...]:
    """`text`, and itself without an escape that the cut may have split or a member that it left without a value."""
    whole = text.rfind(", ")
    return (text, *(text[:-n] for n in range(1, 6)), *((text[:whole],) if whole > 0 else ()))
