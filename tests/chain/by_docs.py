"""The chain once more, from what docs/chain.md says of it and from nothing else: hashlib, json and sqlite3."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import Any

ISSUED = (
    "ts", "session_id", "turn_id", "tool_call_id", "task_id", "request_id", "tool_name", "args_json", "args_cut",
    "args_redacted", "args_hash", "value_hashes", "PENDING", "grace_s", "mono", "writer_id", "nested_in", "repeat_of",
    "workplace",
)  # fmt: skip
SETTLED = ("status", "effect", "result_digest", "settled_ts", "duration_ms", "exit_code", "closed_by")

Record = tuple[int, bytes, bytes, str]
"""Number, link of the record before, own link, which record it is."""


def link(previous: bytes, *array: Any) -> bytes:
    values = [value.hex() if isinstance(value, bytes) else value for value in array]
    while values[-1] is None:
        values.pop()
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(previous + text.encode()).digest()


def parts(seal: bytes) -> tuple[int, int, bytes, bytes]:
    assert len(seal) == 80
    return int.from_bytes(seal[:8], "big"), int.from_bytes(seal[8:16], "big"), seal[16:48], seal[48:]


def records(db: sqlite3.Connection) -> list[Record]:
    """Every record of a ledger in the order of numbers; each has been found to have the link that it says."""
    db.row_factory = sqlite3.Row
    amended: dict[int, list[sqlite3.Row]] = {}
    found: list[Record] = []
    for row in db.execute("SELECT * FROM amendment ORDER BY number DESC"):
        made = link(row["previous"], row["kind"], row["number"], row["ledger_id"], row["changed"], row["did"])
        assert made == row["link"], dict(row)
        found.append((row["number"], row["previous"], row["link"], f"{row['kind']} of {row['ledger_id']}"))
        amended.setdefault(row["ledger_id"], []).append(row)
    for row in db.execute("SELECT * FROM ledger ORDER BY id"):
        later = [one for one in amended.get(row["id"], []) if one["kind"] != "pruned"]
        found += _of_row(dict(row), later)
    db.row_factory = None
    return sorted(found)


def _of_row(cells: dict[str, Any], later: list[sqlite3.Row]) -> list[Record]:
    """The issue and the settlement of a row. `later`: its amendments, newest first."""
    found = []
    settled_at = parts(cells["settle_seal"])[0] if cells["settle_seal"] else 0
    early = [one for one in later if one["number"] < settled_at]
    for one in later:
        if one not in early:
            _take_back(cells, one)
    if cells["settle_seal"]:
        number, changed, previous, own = parts(cells["settle_seal"])
        values = [cells[name] for name in SETTLED]
        assert link(previous, "settle", number, cells["id"], changed, *values) == own, cells
        found.append((number, previous, own, f"settle of {cells['id']}"))
    for one in early:
        _take_back(cells, one)
    if cells["issue_seal"]:
        number, changed, previous, own = parts(cells["issue_seal"])
        values = ["PENDING" if name == "PENDING" else cells[name] for name in ISSUED]
        assert link(previous, "issue", number, cells["id"], changed, *values) == own, cells
        found.append((number, previous, own, f"issue of {cells['id']}"))
    return found


def _take_back(cells: dict[str, Any], one: sqlite3.Row) -> None:
    for column, (before, _) in json.loads(one["did"]).items():
        cells[column] = before


def verified(db: sqlite3.Connection) -> list[Record]:
    """The records of a ledger of which nothing was pruned; each was found to build on the one before it."""
    found = records(db)
    before = (0, b"", bytes(32), "")
    for record in found:
        assert record[0] == before[0] + 1, (before, record)
        assert record[1] == before[2], (before, record)
        before = record
    return found
