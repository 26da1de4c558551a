"""Questions to a ledger, as SQL and parameters, for whoever holds a read-only connection (blocking or async).

A ledger by other software may have five columns only; what a file lacks is selected as NULL.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .inert import inert
from .records import (
    STATES,
    Call,
    Inert,
    Writer,
    age_of,
    args_value,
    state_of,
    storable,
    utc_seconds,
)
from .remarks import remarks as remarks
from .tools import grace_seconds

_CALL_COLUMNS = (
    "id", "ts", "session_id", "turn_id", "tool_call_id", "task_id", "tool_name", "args_json", "args_cut",
    "args_redacted", "status", "effect", "result_digest", "grace_s", "mono", "writer_id", "repeat_of", "nested_in",
    "seen", "settled_ts", "duration_ms", "exit_code", "closed_by", "later_status", "later_ts", "later_digest",
    "reported_ts", "no_signal", "verdict", "double_id", "changed",
)  # fmt: skip
"""`changed` comes last: whoever follows a ledger reads it off the end of a row."""

Query = tuple[str, tuple[Any, ...]]

UNCHECKED = "unchecked"
"""Stands in a filter for calls whose landing nobody has asked about."""

_VERDICTS = "(verdict)"
"""Stands among a file's columns where it has a table of verdicts."""

COLUMNS_QUERY: Query = (
    "SELECT name FROM pragma_table_info('ledger') UNION ALL"
    f" SELECT '{_VERDICTS}' FROM sqlite_master WHERE name = 'verdict' AND type = 'table'",
    (),
)
WRITERS_QUERY: Query = ("SELECT id, pid, started, boot_id, pid_namespace, machine FROM writer", ())


@dataclass(frozen=True, slots=True)
class Filter:
    """Which calls. Every field narrows; None asks for nothing."""

    session_id: str | None = None
    """The empty text asks for the calls that name no session."""
    tool_name: str | None = None
    states: frozenset[str] | None = None
    """Of `STATES`. Pending and overdue differ by the clock, not in the file: both select PENDING rows."""
    since: float | None = None
    """Issued at or after this moment, seconds since 1970."""
    until: float | None = None
    text: str | None = None
    """Contained in arguments, result, tool name or ids, in any case."""
    verdicts: frozenset[str] | None = None
    """Of the three verdicts and `UNCHECKED`."""


def calls(
    columns: Collection[str],
    wanted: Filter | None = None,
    *,
    before_id: int | None = None,
    after_id: int | None = None,
    changed_after: int | None = None,
    ids: Sequence[int] | None = None,
    newest_first: bool = True,
    limit: int | None = None,
) -> Query:
    """Rows of the ledger. `columns` is what `COLUMNS_QUERY` gave for this file.

    `before_id`/`after_id` page by key; `changed_after` gives what changed since a counter value, in that order.
    """
    have = frozenset(columns)
    where: list[str] = []
    params: list[Any] = []

    def clause(sql: str, *values: Any) -> None:
        where.append(sql)
        # A word of a command line may hold bytes that are no text; the ledger holds such text with escapes.
        params.extend(storable(value) if isinstance(value, str) else value for value in values)

    if before_id is not None:
        clause("id < ?", before_id)
    if after_id is not None:
        clause("id > ?", after_id)
    if changed_after is not None:
        clause("changed > ?" if "changed" in have else "0")
        if "changed" in have:
            params.append(changed_after)
    if ids is not None:
        clause(f"id IN ({','.join('?' * len(ids))})", *ids)
    if wanted is not None:
        _narrow(wanted, have, clause)
    order = "changed" if changed_after is not None and "changed" in have else "id"
    direction = " DESC" if newest_first and changed_after is None else ""
    sql = f"SELECT {', '.join(_column(name, have) for name in _CALL_COLUMNS)} FROM ledger"
    if where:
        sql += " WHERE " + " AND ".join(where)
    sql += f" ORDER BY {order}{direction}"
    if limit is not None:
        sql += " LIMIT ?"
        params.append(limit)
    return sql, tuple(params)


def _column(name: str, have: frozenset[str]) -> str:
    made = _MADE.get(name)
    if made is not None:
        return f"{made[1] if made[0] <= have else 'NULL'} AS {name}"
    return name if name in have else f"NULL AS {name}"


_MADE: dict[str, tuple[frozenset[str], str]] = {
    # The verdict, its time and its evidence (one line of JSON) as three lines of one text.
    "verdict": (
        frozenset({_VERDICTS}),
        "(SELECT v.verdict || char(10) || v.checked_ts || char(10) || v.evidence FROM verdict v"
        " WHERE v.ledger_id = ledger.id)",
    ),
    # Of equal calls (one is the first, the others name it): for one that did not confirm, the next that did; for one
    # that did, the newest before it that did not.
    "double_id": (
        frozenset({"repeat_of", "effect"}),
        "CASE WHEN status <> 'CONFIRMED' AND effect IS NOT 'none' THEN (SELECT min(o.id) FROM ledger o"
        " WHERE o.repeat_of = coalesce(ledger.repeat_of, ledger.id) AND o.id > ledger.id AND o.status = 'CONFIRMED')"
        " WHEN status = 'CONFIRMED' AND repeat_of IS NOT NULL THEN (SELECT max(o.id) FROM ledger o"
        " WHERE (o.id = ledger.repeat_of OR o.repeat_of = ledger.repeat_of) AND o.id < ledger.id"
        " AND o.status <> 'CONFIRMED' AND o.effect IS NOT 'none') END",
    ),
}
"""Columns that no file has: from what they are worked out, and how."""


def _narrow(wanted: Filter, have: frozenset[str], clause: Any) -> None:
    if wanted.session_id and "session_id" in have:
        clause("session_id = ?", wanted.session_id)
    elif wanted.session_id is not None:
        nameless = "(session_id = '' OR session_id IS NULL)" if "session_id" in have else "1"
        clause("0" if wanted.session_id else nameless)
    if wanted.tool_name is not None:
        clause("tool_name = ?", wanted.tool_name)
    if wanted.states is not None and wanted.states != frozenset(STATES):
        clause("(" + (" OR ".join(_state_sql(have)[s] for s in sorted(wanted.states)) or "0") + ")")
    for limit, sign in ((wanted.since, ">="), (wanted.until, "<=")):
        if limit is not None:
            clause(f"{_SECONDS} {sign} ?", limit)
            if sign == ">=" and "changed" in have:
                # `changed` never lies before `ts`: the index leaves out what is older. 0 stands for rows by others.
                clause("(changed >= ? OR changed IS NULL)", int(limit * 1_000_000))
    if wanted.verdicts is not None:
        told = sorted(wanted.verdicts - {UNCHECKED})
        parts = (
            [f"id IN (SELECT ledger_id FROM verdict WHERE verdict IN ({','.join('?' * len(told))}))"] if told else []
        )
        if UNCHECKED in wanted.verdicts:
            parts.append("id NOT IN (SELECT ledger_id FROM verdict)")
        if _VERDICTS in have:
            clause("(" + (" OR ".join(parts) or "0") + ")", *told)
        else:
            clause("1" if UNCHECKED in wanted.verdicts else "0")
    if wanted.text:
        needle = "%" + wanted.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        fields = [n for n in ("args_json", "result_digest", "tool_name", "session_id", "tool_call_id") if n in have]
        clause("(" + " OR ".join(f"{n} LIKE ? ESCAPE '\\'" for n in fields) + ")", *([needle] * len(fields)))


_SECONDS = (
    "(CASE WHEN typeof(ts) IN ('integer','real') THEN ts"
    " ELSE (julianday(ts) - 2440587.5) * 86400.0 END)"
)  # fmt: skip


_SETTLED = "(status NOT IN ('PENDING', 'GHOST_REPORTED') OR status IS NULL)"
"""As `Call.settled`: also a status that is none of the four, and a missing one."""


def _state_sql(have: frozenset[str]) -> dict[str, str]:
    """What each state means in this file."""
    reported = "reported_ts IS NOT NULL" if "reported_ts" in have else "0"
    pending = "(status = 'PENDING' AND status <> 'CONFIRMED')"
    return {
        "pending": pending,
        "overdue": pending,
        "ghost": "(status = 'GHOST_REPORTED' AND status <> 'CONFIRMED')",
        "confirmed": f"(status = 'CONFIRMED' AND NOT {reported})",
        "error": (
            "((status NOT IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED' OR status IS NULL)"
            f" AND NOT {reported})"
        ),
        "revived": f"({reported} AND {_SETTLED})",
    }


def unsettled(columns: Collection[str]) -> Query:
    """Pending and reported rows: what may still change by itself. Cheap on a ledger of any size."""
    sql = f"SELECT {', '.join(_column(name, frozenset(columns)) for name in _CALL_COLUMNS)} FROM ledger"
    return sql + " WHERE status IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED' ORDER BY id", ()


def totals(columns: Collection[str], *, status_may_be_null: bool = False) -> Query:
    """One row of counts: rows, PENDING, GHOST_REPORTED, errors never reported, settled after a report.

    Each is answered from an index, so that a million rows cost some tens of milliseconds. Only a file by other
    software, where a status may be missing, is searched for those.
    """
    reported = "reported_ts" in columns
    revived = f"(SELECT count(*) FROM ledger WHERE reported_ts IS NOT NULL AND {_SETTLED})" if reported else "0"
    never = " AND reported_ts IS NULL" if reported else ""
    error = f"status NOT IN ('PENDING','GHOST_REPORTED') AND status <> 'CONFIRMED'{never}"
    missing = f" + (SELECT count(*) FROM ledger WHERE status IS NULL{never})" if status_may_be_null else ""
    return (
        "SELECT (SELECT count(*) FROM ledger),"
        " (SELECT count(*) FROM ledger WHERE status = 'PENDING' AND status <> 'CONFIRMED'),"
        " (SELECT count(*) FROM ledger WHERE status = 'GHOST_REPORTED' AND status <> 'CONFIRMED'),"
        f" (SELECT count(*) FROM ledger WHERE {error}){missing},"
        f" {revived}",
        (),
    )


def session_totals(columns: Collection[str]) -> Query:
    """Per session: id, state (or PENDING), count, newest change. Reads every row once."""
    have = frozenset(columns)
    session = "session_id" if "session_id" in have else "NULL"
    reported = "reported_ts IS NOT NULL" if "reported_ts" in have else "0"
    state = (
        "CASE WHEN status = 'PENDING' THEN 'PENDING' WHEN status = 'GHOST_REPORTED' THEN 'ghost'"
        f" WHEN {reported} THEN 'revived' WHEN status = 'CONFIRMED' THEN 'confirmed' ELSE 'error' END"
    )
    return (
        f"SELECT coalesce({session}, ''), {state} AS state, count(*), max({_column('changed', have).split(' AS ')[0]})"
        " FROM ledger GROUP BY 1, 2",
        (),
    )


def call_from_row(row: Sequence[Any]) -> Call:
    """A row of `calls` or `unsettled` as Call. The one place where an agent's text is made inert."""
    values: dict[str, Any] = dict(zip(_CALL_COLUMNS, row, strict=True))
    tool = _text(values["tool_name"]) or Inert("")
    args = _text(_one_line(values["args_json"]))
    grace = _finite(values["grace_s"])
    verdict, checked_ts, evidence = _verdict(values["verdict"])
    return Call(
        id=int(values["id"]),
        ts=_text(values["ts"]),
        at=utc_seconds(values["ts"]),
        session_id=_text(values["session_id"]),
        turn_id=_text(values["turn_id"]),
        tool_call_id=_text(values["tool_call_id"]),
        task_id=_text(values["task_id"]),
        tool_name=tool,
        args_json=args,
        args_cut=bool(values["args_cut"]),
        args_redacted=_number(values["args_redacted"]) or 0,
        status=_status(values["status"]),
        effect=_text(values["effect"]),
        result_digest=_text(values["result_digest"]),
        grace_s=grace_seconds(tool, None, {}) if grace is None else grace,
        mono=_finite(values["mono"]),
        writer_id=_number(values["writer_id"]),
        repeat_of=_number(values["repeat_of"]),
        nested_in=_number(values["nested_in"]),
        seen=_number(values["seen"]) or 1,
        settled_ts=_text(values["settled_ts"]),
        duration_ms=_number(values["duration_ms"]),
        exit_code=_number(values["exit_code"]),
        closed_by=_text(values["closed_by"]),
        later_status=_text(values["later_status"]),
        later_ts=_text(values["later_ts"]),
        later_digest=_text(values["later_digest"]),
        reported_ts=_text(values["reported_ts"]),
        no_signal=bool(values["no_signal"]),
        changed=_number(values["changed"]) or 0,
        verdict=verdict,
        evidence=evidence,
        checked_ts=checked_ts,
        double_id=_number(values["double_id"]),
    )


def _verdict(value: object) -> tuple[Inert | None, Inert | None, tuple[Inert, ...]]:
    """(verdict, time, evidence) from the made column `verdict`."""
    parts = value.split("\n", 2) if isinstance(value, str) else []
    if len(parts) < 3:
        return None, None, ()
    try:
        found = json.loads(parts[2])
    except (ValueError, RecursionError):
        found = []
    evidence = tuple(inert(text) for text in found if isinstance(text, str)) if isinstance(found, list) else ()
    return inert(parts[0]), inert(parts[1]), evidence


def writer_from_row(row: Sequence[Any]) -> Writer:
    """A row of `WRITERS_QUERY`."""
    # A cell of another kind names no process that could be asked about.
    number, pid = (cell if isinstance(cell, int) else 0 for cell in row[:2])
    return Writer(number, pid, str(row[2]), str(row[3]), str(row[4]), str(row[5]))


def _text(value: object) -> Inert | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return inert(value if isinstance(value, str) else str(value))


def _status(value: object) -> Inert:
    """A status that is no text is none of the four, whatever its bytes say: SQL compares it so, too."""
    return inert(value if isinstance(value, str) else "" if value is None else repr(value))


def _one_line(text: object) -> object:
    """Indented JSON by other software without its line breaks, which would not survive being made inert."""
    if not isinstance(text, str) or not any(mark in text for mark in "\n\r\t"):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def whole_sql(name: str) -> str:
    """A column as the whole number that `_number` makes of it."""
    number = f"typeof({name}) IN ('integer', 'real') AND {name} BETWEEN -9e18 AND 9e18"
    return f"CASE WHEN {number} THEN CAST({name} AS INTEGER) END"


def _number(value: object) -> int | None:
    """A whole number; None for anything else, and for what no counter can have come to (a float may be infinite)."""
    return int(value) if isinstance(value, (int, float)) and -9e18 <= value <= 9e18 else None


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def call_json(call: Call, *, now: float, mono_now: float | None, writer_dead: bool | None) -> Mapping[str, Any]:
    """The shape that `calls --json` prints for one call. `mono_now` only if the writer runs on this very boot."""
    age = age_of(call, now=now, mono_now=mono_now)
    args = args_value(call)
    return {
        "id": call.id,
        "ts": call.ts,
        "session_id": call.session_id,
        "turn_id": call.turn_id,
        "tool_call_id": call.tool_call_id,
        "tool_name": call.tool_name,
        "status": call.status,
        "state": state_of(call, age_s=age, writer_dead=writer_dead is True),
        "effect": call.effect,
        "age_s": None if age is None else round(age, 3),
        "grace_s": call.grace_s,
        "args": args,
        "args_truncated": call.args_cut,
        "result_digest": call.result_digest,
        "repeat_of": call.repeat_of,
        "verdict": call.verdict,
        "task_id": call.task_id,
        "args_redacted": call.args_redacted,
        "settled_ts": call.settled_ts,
        "duration_ms": call.duration_ms,
        "exit_code": call.exit_code,
        "nested_in": call.nested_in,
        "seen": call.seen,
        "later_status": call.later_status,
        "later_ts": call.later_ts,
        "reported_ts": call.reported_ts,
        "evidence": list(call.evidence),
        "checked_at": call.checked_ts,
        "double_id": call.double_id,
        "writer_dead": writer_dead,
        "remarks": remarks(call, writer_dead=writer_dead is True),
    }
