"""Ledgers that other software began: its columns keep their types and may be empty, and the chain holds nonetheless."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine.schema import COLUMNS

from .by_docs import verified
from .ledgers import Made, found

COUNTED = "id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT, tool_name TEXT, status TEXT, args_json TEXT"


@pytest.mark.parametrize("announced", [True, False])
def test_two_writers_where_a_time_may_be_empty(tmp_path: Path, announced: bool) -> None:
    path = tmp_path / "ledger.db"
    ours = Made(path, columns=COUNTED)
    others = Made(path)
    with closing(ours.db), closing(others.db):
        ours.calls(1, 1)
        ours.issue("c2")
        others.settle(2, "c2")  # Takes no number by which the next insert could be told that it is late.
        if announced:
            ours.issue("c3")
        else:
            ours.unannounced("c3")
        assert ours.db.execute("SELECT id, ts IS NULL FROM ledger ORDER BY id").fetchall() == [(1, 0), (2, 0), (3, 0)]
        assert found(ours.check()) is None
        assert len(verified(ours.db)) == (5 if announced else 6)


KINDS = {
    "duration_ms": ["REAL", "TEXT", "NUMERIC", "DOUBLE PRECISION", ""],
    "exit_code": ["TEXT", "VARCHAR(9)", "REAL"],
    "grace_s": ["INTEGER", "TEXT"],
    "writer_id": ["TEXT", "REAL"],
    "changed": ["REAL", "TEXT"],
    "seen": ["REAL", "TEXT"],
    "session_id": ["STRING", "INTEGER"],
    "tool_call_id": ["VARCHAR(64)", "JSON"],
    "result_digest": ["NUMERIC"],
    "args_hash": ["TEXT"],
    "issue_seal": ["TEXT"],
}


@pytest.mark.parametrize(("column", "kind"), [(column, kind) for column, kinds in KINDS.items() for kind in kinds])
def test_columns_of_another_type(column: str, kind: str) -> None:
    """SQLite keeps the number 5 as 5.0 or '5' there, and the text '77' as a number."""
    made = Made(columns=f"{COUNTED}, {column} {kind}")
    made.issue("c1", session_id="77", grace_s=120.5)
    made.settle(1, "c1")
    made.issue("c2", session_id="5.5")
    assert made.rows.seen_again(2, now_us=int(made.now * 1e6) + 5)
    made.settle(2, "c2")
    made.contradict(2)
    made.unannounced("c3")
    made.turn()
    assert found(made.check()) is None
    made.do(f"UPDATE ledger SET {column}='6 or so' WHERE id=2")
    first = made.check().first
    assert first is not None
    assert first.ledger_id == 2


def test_what_a_column_is_filled_with_where_nothing_is_given() -> None:
    """Other software gave its columns values of their own: they are none of a call that the plugin records."""
    filled = [
        "seen INTEGER DEFAULT 1",
        "no_signal INT DEFAULT 0",
        "effect TEXT DEFAULT 'none'",
        "note TEXT DEFAULT 'x'",
    ]
    filled += [
        "settled_ts TEXT DEFAULT CURRENT_TIMESTAMP",
        "workplace TEXT DEFAULT '/'",
        "settle_seal BLOB DEFAULT x'00'",
    ]
    made = Made(columns=", ".join([COUNTED, *filled]))
    made.issue("c1")
    made.calls(2, 2)
    made.unannounced("c3")
    cells = made.db.execute("SELECT seen, no_signal, effect, settled_ts, workplace, settle_seal, note FROM ledger")
    assert cells.fetchone() == (None, None, None, None, None, None, "x")
    assert found(made.check()) is None


def test_a_word_behind_a_number_is_no_number() -> None:
    made = Made(columns=f"{COUNTED}, exit_code TEXT")
    made.calls(1, 2)
    assert made.db.execute("SELECT exit_code FROM ledger WHERE id=1").fetchone() == ("0",)
    for value in ("'0 '", "'0 done'", "x'30'", "NULL", "''", "'1'"):
        made.do(f"UPDATE ledger SET exit_code={value} WHERE id=1")
        assert found(made.check()) == (1, "edited"), value


DECLARED = ["INTEGER", "INT", "REAL", "TEXT", "NUMERIC", "DATETIME", "BLOB", ""]
TEXTS = ["s1", "0077", "1e5", "5.50", "7.0", " 7", "-0", "12345678901234567890", "0x10", "1_0", "nan", "Infinity"]
"""Names of calls and sessions as others may give them; a column of numbers makes numbers of some."""


def everything_declared(kind: str, *, strict: bool = False) -> Made:
    """A ledger of other software with all our columns, every one of this kind but for the seals."""
    kinds = {name: ours if name == "id" or ours == "BLOB" else kind for name, ours in COLUMNS.items()}
    return Made(columns=", ".join(f"{name} {one}" for name, one in kinds.items()), strict=strict)


def lived(made: Made) -> Made:
    for text in TEXTS:
        named = dict.fromkeys(("session_id", "turn_id", "task_id", "request_id", "workplace"), text)
        call = text[:15]  # Beyond that, a column of numbers would not find it again.
        call_id = made.issue(call, **named, mono=987654.3210987654, grace_s=0.1 + 0.2)
        for _ in range(2):
            assert made.rows.seen_again(call_id, now_us=int(made.now * 1e6) + 5)
        made.settle(call_id, call)
        made.contradict(call_id)
    made.report(made.issue("lost", session_id=""))
    made.rows.fill_session(len(TEXTS) + 1, "0077", "5.50", now_us=int(made.now * 1e6) + 5)
    made.unannounced("0099")
    made.turn()
    return made


@pytest.mark.parametrize("kind", DECLARED)
def test_whatever_all_columns_are_declared_as(kind: str) -> None:
    """What a column makes of a value is what is recorded of it: 15 digits of a time, 77 of '0077'."""
    assert found(lived(everything_declared(kind)).check()) is None


def test_columns_that_refuse_every_other_kind() -> None:
    assert found(lived(everything_declared("TEXT", strict=True)).check()) is None


@pytest.mark.parametrize("column", ["mono", "grace_s", "duration_ms", "session_id", "tool_call_id", "later_digest"])
@pytest.mark.parametrize("kind", ["TEXT", "NUMERIC"])
def test_a_cell_of_another_kind_is_still_seen_to_change(kind: str, column: str) -> None:
    made = lived(everything_declared(kind))
    for value in ("'0 '", "'1.50'", "8.5", "x'30'", "NULL", "''"):
        made.do("SAVEPOINT edit", f"UPDATE ledger SET {column}={value} WHERE id=2")
        assert found(made.check()) == (2, "edited"), value
        made.do("ROLLBACK TO edit", "RELEASE edit")
    assert found(made.check()) is None


def test_fifteen_digits_of_a_time_are_recorded_where_only_those_are_kept() -> None:
    made = Made(columns=f"{COUNTED}, mono TEXT")
    made.issue("c1", mono=987654.3210987654)
    assert made.db.execute("SELECT mono FROM ledger").fetchone() == ("987654.321098765",)
    assert found(made.check()) is None
    made.do("UPDATE ledger SET mono='987654.321098766'")
    assert found(made.check()) == (1, "edited")
