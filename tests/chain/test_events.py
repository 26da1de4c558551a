"""The chain is whole after whatever the hooks record, spool, merge or take back."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_ledger.engine import schema
from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import Checked
from agent_ledger.engine.evidence.verdict import landed
from agent_ledger.engine.evidence.verdicts import save
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.store import Store
from tests.engine.homes import Home, LockHolder, said, until, worker

from .by_docs import verified
from .ledgers import Made

SCRIPT = {"code": "print(1)"}
NO_IDS = {"session_id": "", "turn_id": "", "api_request_id": ""}


def opened(paths: Paths) -> sqlite3.Connection:
    return sqlite3.connect(f"{paths.ledger.as_uri()}?mode=ro", uri=True, timeout=5)


def whole(home: Home) -> list[str]:
    """Names of all records of a home's ledger, which is whole by the check and by the second implementation."""
    home.merged()
    return whole_at(home.paths)


def whole_at(paths: Paths) -> list[str]:
    with closing(opened(paths)) as db:
        checked = check_chain(db)
        assert checked.whole, checked.found
        found = verified(db)
        assert checked.records == len(found)
        return [name for *_, name in found]


def test_issued_settled_failed_blocked(home: Home) -> None:
    home.pre(call="c1")
    home.post(call="c1")
    home.pre("terminal", {"command": "false"}, call="c2")
    home.post("terminal", {"command": "false"}, call="c2", status="error", error_type="timeout")
    home.pre(call="c3")
    home.post(call="c3", status="blocked", error_type="plugin_block")
    names = whole(home)
    assert names == [f"{kind} of {number}" for number in (1, 2, 3) for kind in ("issue", "settle")]


def test_announced_again_contradicted_and_settled_out_of_order(home: Home) -> None:
    for call in ("c1", "c2"):
        home.pre(call=call)
    home.pre(call="c1")
    for call in ("c2", "c1"):
        home.post(call=call)
    home.post(call="c2", status="error", error_type="timeout")
    assert whole(home) == [
        "issue of 1", "issue of 2", "announced again of 1", "settle of 2", "settle of 1", "contradicted of 2",
    ]  # fmt: skip


def test_reported_revived_and_the_notice_told(home: Home) -> None:
    home.pre(call="c1")
    home.pre(call="c2")
    home.clock.advance(500)
    assert "#1" in home.turn(2)
    home.post(call="c2")
    assert "land" in home.turn(3)
    # Whether there was time to look for a verdict in the turn is up to the machine.
    names = [name for name in whole(home) if not name.startswith("verdict")]
    assert names == ["issue of 1", "issue of 2", "reported of 1", "reported of 2", "settle of 2"]


def test_never_announced_announced_late_and_the_conversation_named(home: Home) -> None:
    home.post(call="c1", status="error", error_type="cancelled")
    home.pre(call="c1")
    home.pre(call="c2", **NO_IDS, task_id="s1")
    home.post(call="c2", session_id="s1")
    names = whole(home)
    assert {"issue of 1", "settle of 1", "conversation named of 2", "settle of 2"} <= set(names)


def test_nested_calls_and_what_the_middleware_saw(home: Home) -> None:
    home.pre("execute_code", SCRIPT, call="x1")
    home.pre(call="", session_id="", turn_id="", task_id="s1")
    home.returned('{"bytes_written": 3}', call="", session_id="", turn_id="", task_id="s1")
    home.returned('{"status": "success"}', "execute_code", SCRIPT, call="x1")
    home.post("execute_code", SCRIPT, call="x1", result='{"status": "success"}')
    assert len(whole(home)) >= 4


def test_tools_that_never_give_a_sign(home: Home) -> None:
    for number in range(6):
        home.pre("mute_tool", {"n": number}, call=f"c{number}")
    home.clock.advance(900)
    home.turn(2)
    home.turn(3)
    assert any("no signal" in name or "reported" in name for name in whole(home))


def test_verdicts_kept_by_a_command(home: Home) -> None:
    home.pre(call="c1")
    home.clock.advance(500)
    home.turn(2)
    verdict = landed(home.clock.wall(), "The file is there.")
    save(home.paths.ledger, [(1, verdict)])
    home.pre(call="c2")
    home.post(call="c2")
    assert "verdict: landed of 1" in whole(home)


def test_spooled_while_the_lock_is_held_and_merged(home: Home) -> None:
    home.pre(call="c0")
    home.post(call="c0")
    home.merged()
    holder = LockHolder(home.paths)
    for number in range(1, 40):
        home.pre(call=f"c{number}")
        home.post(call=f"c{number}")
    holder.release()
    assert len(whole(home)) == 80


def test_only_in_memory_and_merged(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.pre(call="c0")
    home.merged()
    monkeypatch.setattr("agent_ledger.engine.spool.Spool._open", lambda *_: None)
    holder = LockHolder(home.paths)
    for number in range(1, 20):
        home.pre(call=f"c{number}")
    holder.release()
    assert len(whole(home)) == 20


def test_killed_and_its_spool_merged_by_another(home: Home) -> None:
    home.pre(call="ours")
    home.merged()
    holder = LockHolder(home.paths)
    with worker(home.folder, "crash", "w") as process:
        for _ in range(30):
            said(process)
        process.send_signal(signal.SIGKILL)
    holder.release()
    home.restart()
    home.start()
    until(lambda: not home.recorder.keeper._foreign_files(), "the other's spool is merged")
    assert len(whole(home)) >= 50


@pytest.mark.parametrize("after", [1, 7, 20])
def test_killed_while_it_writes(home: Home, after: int) -> None:
    with worker(home.folder, "crash", "w") as process:
        for _ in range(after):
            said(process)
        process.send_signal(signal.SIGKILL)
    home.start()
    until(lambda: not home.recorder.keeper._foreign_files(), "the other's spool is merged")
    home.pre(call="later")
    home.post(call="later")
    assert len(whole(home)) >= after


def test_taken_back_in_the_middle(home: Home) -> None:
    """What is rolled back, as a whole or in part, leaves no trace in the chain."""
    home.pre(call="c1")
    home.merged()
    store = home.recorder.keeper._store
    assert store is not None

    def fail(store: Store, call: str) -> None:
        _write(store, call)
        raise RuntimeError

    with pytest.raises(RuntimeError), store.transaction():
        fail(store, "lost")
    with store.transaction():
        _write(store, "kept")
        with pytest.raises(RuntimeError), store.part():
            fail(store, "lost too")
        _write(store, "kept too")
    home.post(call="c1")
    assert whole(home) == ["issue of 1", "issue of 2", "issue of 3", "settle of 1"]


def _write(store: Store, call: str) -> None:
    made = Made.__new__(Made)
    made.db, made.rows, made.now = store.connection, store.rows, 1_790_000_000.0
    made.issue(call)


def test_a_full_disk(home: Home) -> None:
    home.pre(call="c0")
    home.merged()
    store = home.recorder.keeper._store
    assert store is not None
    (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
    store.connection.execute(f"PRAGMA max_page_count={pages + 3}")
    for number in range(1, 30):
        home.pre(call=f"c{number}", args={"path": "/a", "content": "x" * 1500})
        home.post(call=f"c{number}")
    store.connection.execute("PRAGMA max_page_count=1000000")
    assert len(whole(home)) == 59


# -- ledgers of other kinds -------------------------------------------------------------------------------------------


def _without(home: Home, *columns: str) -> int:
    """A ledger of an earlier schema with three calls, one of them pending."""
    home.paths.data.mkdir(parents=True, mode=0o700)
    with closing(sqlite3.connect(home.paths.ledger, isolation_level=None)) as db:
        names = ", ".join(f"{name} {kind}" for name, kind in schema.COLUMNS.items() if name not in columns)
        db.execute(f"CREATE TABLE ledger({names})")
        for number, status in ((1, "CONFIRMED"), (2, "PENDING"), (3, "ERROR:x")):
            db.execute(
                "INSERT INTO ledger(ts, session_id, turn_id, tool_call_id, task_id, tool_name, status)"
                " VALUES('2026-01-01T00:00:00.000Z', 's1', 's1:s1:00000001', ?, 's1', 'write_file', ?)",
                (f"old{number}", status),
            )
    home.paths.ledger.chmod(0o600)
    return 3


@pytest.mark.parametrize(
    "missing",
    [
        ("issue_seal", "settle_seal"),
        ("issue_seal", "settle_seal", "workplace", "no_signal"),
        ("issue_seal", "settle_seal", "workplace", "no_signal", "changed", "value_hashes", "reported_ts", "later_ts"),
    ],
    ids=["schema 3", "schema 2", "schema 1"],
)
def test_calls_from_before_seals_are_counted_and_the_chain_begins_behind_them(
    home: Home, missing: tuple[str, ...]
) -> None:
    old = _without(home, *missing)
    home.pre(call="new")
    home.post(call="new")
    home.post(call="old2")
    home.turn()
    names = whole(home)
    assert names[:3] == ["issue of 4", "settle of 4", "settle of 2"]
    checked = check(home.paths)
    assert (checked.uncovered, checked.rows, checked.state) == (old, old + 1, "whole")


def check(paths: Paths) -> Checked:
    with closing(opened(paths)) as db:
        return check_chain(db)


def test_a_ledger_of_other_software_is_not_covered(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, tool_name TEXT, status TEXT)")
        db.execute("INSERT INTO ledger(tool_name, status) VALUES('terminal', 'done')")
        checked = check_chain(db)
        assert (checked.state, checked.rows, checked.records) == ("not covered", 1, 0)
        assert checked.whole


def test_rows_of_other_software_between_ours_are_named_and_ours_stay_in_order(home: Home) -> None:
    home.pre(call="c1")
    home.merged()
    with closing(sqlite3.connect(home.paths.ledger, timeout=5)) as db, db:
        db.execute("INSERT INTO ledger(ts, tool_name, status, changed) VALUES('x', 'other', 'done', ?)", (2**63 - 1,))
    home.post(call="c1")
    home.pre(call="c2")
    home.restart()
    home.post(call="c2")
    home.merged()
    checked = check(home.paths)
    assert [(one.ledger_id, one.kind) for one in checked.found] == [(2, "added")]


@pytest.mark.parametrize("table", ["amendment", "chain_head"])
def test_a_table_of_the_chain_that_was_dropped_keeps_nobody_from_recording(home: Home, table: str) -> None:
    home.pre(call="c1")
    home.pre(call="c1")
    home.turn()
    home.recorder.keeper.close()
    with closing(sqlite3.connect(home.paths.ledger, timeout=5)) as db, db:
        db.execute(f"DROP TABLE {table}")
    home.restart()
    home.post(call="c1")
    home.pre(call="c2")
    assert home.statuses() == ["CONFIRMED", "PENDING"]
    if table == "amendment":
        assert not check(home.paths).whole


# -- payloads ---------------------------------------------------------------------------------------------------------


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=30), st.binary(max_size=30),
    st.sampled_from([-0.0, 1e308, 2**63, -(2**63) - 1, 10**400, "\0", "\ud800", "a\0b", b"\xff", "6162", "1e5", 2.0]),
)  # fmt: skip
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LEAVES, inner, max_size=3))


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_payloads_of_any_shape(home: Home, data: st.DataObject) -> None:

    def draw() -> Any:
        return data.draw(ANYTHING)

    home.pre(data.draw(st.sampled_from(["write_file", "terminal", 5, None, "x\ud800"])), draw(), call=draw())
    names = ("session_id", "task_id", "turn_id", "api_request_id")
    more = {name: draw() for name in data.draw(st.sets(st.sampled_from(names)))}
    home.post(
        "terminal", draw(), call=draw(), result=draw(), status=draw(), duration_ms=draw(), error_type=draw(), **more
    )
    home.pre("terminal", draw(), call="same", **more)
    home.post("terminal", draw(), call="same", result={"exit_code": draw()}, duration_ms=draw(), **more)
    home.merged()
    checked = check(home.paths)
    assert checked.whole, checked.found


@pytest.mark.skipif(os.name == "nt", reason="spool files of other processes")
def test_calls_of_two_processes_in_turn(home: Home) -> None:
    with worker(home.folder, "script") as process:
        assert process.stdin is not None
        process.stdin.write(
            "import os\n"
            "with os.fdopen(os.dup(2), 'w'): pass\n"
            "for n in range(25):\n"
            "    pre(f'w{n}'); post(f'w{n}')\n"
            "say('done' if merged() else 'not merged')\n"
        )
        process.stdin.close()
        for number in range(25):
            home.pre(call=f"h{number}")
            home.post(call=f"h{number}")
        assert said(process) == "done"
    assert len(whole(home)) == 100
