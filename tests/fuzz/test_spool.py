"""Spool files of any content, left by a process that is gone: a record is merged once, the rest is set aside."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine import spool
from agent_ledger.engine.paths import Paths
from tests.engine.homes import Home, read_rows, until

from . import places
from . import strategies as some
from .profiles import fuzzed

_numbers = iter(range(1, 10**9))
_TEXT = some.utf8_texts(20)

issues: dict[str, st.SearchStrategy[Any]] = {
    "at": st.floats(1e9, 2e9), "session_id": st.just("s1"), "turn_id": _TEXT, "tool_call_id": _TEXT, "task_id": _TEXT,
    "request_id": _TEXT, "tool_name": st.sampled_from(some.TOOLS), "args_json": some.arguments.map(some.written),
    "args_cut": st.sampled_from((0, 1)), "args_redacted": st.just(0), "args_hash": st.just("00" * 16),
    "value_hashes": st.none(), "grace_s": st.floats(0, 1e9), "mono": st.floats(0, 1e9), "parent": st.none(),
    "conversation": st.just(["s1"]), "repeats_since": st.floats(0, 2e9), "compacted": st.just(""),
    "late": st.just(False), "workplace": st.just("local:/srv"),
}  # fmt: skip
outcomes = {
    "status": st.sampled_from(("CONFIRMED", "ERROR:error")), "effect": st.sampled_from(("done", "none", "unknown")),
    "exit_code": st.none(), "duration_ms": st.integers(0, 10**6), "digest": _TEXT,
}  # fmt: skip
settlements: dict[str, st.SearchStrategy[Any]] = {
    **{name: issues[name] for name in (
        "at", "session_id", "turn_id", "tool_call_id", "task_id", "request_id", "tool_name", "args_json", "args_hash")},
    "outcome": some.object_of((), some.json_values, **outcomes), "by": st.just("post"), "recordable": st.booleans(),
}  # fmt: skip
contradictions: dict[str, st.SearchStrategy[Any]] = {
    name: settlements[name] for name in ("at", "tool_name", "task_id", "args_hash", "outcome")
}
EVENTS = {"issue": issues, "settle": settlements, "contradict": contradictions}
writers: dict[str, st.SearchStrategy[Any]] = {
    "pid": st.integers(1, 2**22), "started": _TEXT, "boot_id": _TEXT, "pid_namespace": _TEXT, "machine": _TEXT,
    "opened_ts": st.just("2026-03-04T05:06:07.089Z"),
}  # fmt: skip


def record(kind: str) -> st.SearchStrategy[Any]:
    """A record of this kind, an entry of which may be wrong."""
    if kind == "writer":
        return some.object_of((), some.json_values, kind=st.just(kind), **writers)
    event = some.object_of((), some.json_values, **EVENTS[kind])
    return some.object_of(
        (), some.json_values, kind=st.just(kind), at=st.just("2026-03-04T05:06:07.089Z"), why=_TEXT, event=event
    )


records = st.sampled_from(("writer", "issue", "issue", "settle", "contradict")).flatmap(record)
_deep = st.builds(some.deep, records, st.integers(1, 1200), key=st.sampled_from((None, "kind", "event")))
lines = some.files(some.mostly(records, _deep)).map(lambda data: data.replace(b"\n", b" "))


def left(paths: Paths, content: bytes) -> Path:
    """A spool file whose process is gone."""
    paths.spool.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = paths.spool / f"1-{next(_numbers):012x}-000001{spool.SUFFIX}"
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def merged(home: Home, path: Path) -> None:
    """Wait until the file is merged and gone."""

    def gone() -> bool:
        home.recorder.keeper.square(0.0)
        return not path.exists()

    until(gone, f"{path} is merged")


def aside(paths: Paths) -> int:
    """How many records were set aside so far."""
    path = paths.spool / "unreadable.txt"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def changes(paths: Paths) -> int:
    with closing(sqlite3.connect(paths.ledger)) as connection:
        return int(connection.execute("SELECT count(*) FROM ledger").fetchone()[0])


@fuzzed()
@given(st.lists(lines, min_size=1, max_size=4), st.sampled_from((b"", b"\n", b'{"kind": "issue"')))
def test_whatever_a_spool_holds_it_is_merged_or_set_aside(content: list[bytes], end: bytes) -> None:
    with places.home("spool") as home:
        home.merged()
        before, put = changes(home.paths), aside(home.paths)
        path = left(home.paths, b"\n".join(content) + b"\n" + end)
        waiting = spool.waiting(home.paths, {})
        assert 0 <= waiting.records <= len(content) + 1
        merged(home, path)
        rows, kept = changes(home.paths) - before, aside(home.paths) - put
        assert 0 <= rows + kept <= len(content) + 1
        with closing(sqlite3.connect(home.paths.ledger)) as connection:
            assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)


@fuzzed()
@given(st.lists(st.fixed_dictionaries(issues), min_size=1, max_size=4), lines, st.data())
def test_whole_records_are_merged_once_whatever_stands_between_them(
    events: list[dict[str, Any]], other: bytes, data: st.DataObject
) -> None:
    mark = f"fuzz-{next(_numbers)}"
    whole = [
        json.dumps({"kind": "issue", "event": {**event, "turn_id": mark, "tool_call_id": str(place)}}).encode()
        for place, event in enumerate(events)
    ]
    at = data.draw(st.integers(0, len(whole)))
    with places.home("spool") as home:
        merged(home, left(home.paths, b"\n".join([*whole[:at], other, *whole[at:]]) + b"\n"))
        found = read_rows(home.paths, f"turn_id = '{mark}'")
    assert [row["tool_call_id"] for row in found] == [str(place) for place in range(len(whole))]
