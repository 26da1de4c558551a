"""Every cell as it was, storage class and bytes; nothing that was written since is lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger_tui.routing.repair.cells import Cell, same
from ledger_tui.routing.repair.journal import (
    APPLIED,
    CellChange,
    Journal,
    RowChange,
    folder,
    open_folder,
    read,
    read_all,
    unreadable,
    write,
)
from ledger_tui.routing.repair.refused import NothingToUndoError, RefusedError
from ledger_tui.routing.repair.undo import repairs, undo
from tests.routing.corpus import DONOR, ORPHAN, case
from tests.routing.stores import NOW, cells, change, clock, digest, dump, planned, repaired

Place = tuple[Path, Path]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return case("incident-82616").lay_out(tmp_path)


def taken_back(place: Place, repair_id: str | None = None) -> str:
    home, path = place
    return undo(path, home, repair_id, clock=clock, stopped_by="the test").repair_id


ODD = {
    "title as bytes": "UPDATE sessions SET title = x'00ff' WHERE id = '{donor}'",
    "time as text": "UPDATE sessions SET ended_at = 'yesterday', end_reason = 'agent_close' WHERE id = '{donor}'",
    "time as bytes": "UPDATE sessions SET ended_at = x'01', end_reason = 'agent_close' WHERE id = '{donor}'",
    "reason that is no UTF-8": "UPDATE sessions SET end_reason = CAST(x'ff61' AS TEXT) WHERE id = '{donor}'",
    "identity as bytes": "UPDATE sessions SET chat_id = x'31', user_id = CAST(x'c328' AS TEXT) WHERE id = '{donor}'",
    "text with a zero in it": "UPDATE sessions SET display_name = CAST(x'610062' AS TEXT) WHERE id = '{donor}'",
    "key that is empty": "UPDATE sessions SET session_key = '' WHERE id = '{orphan}'",
    "settings that are no UTF-8":
        "UPDATE sessions SET model_config = CAST(x'7b2261223a22ff227d' AS TEXT) WHERE id = '{orphan}'",
    "settings as bytes": "UPDATE sessions SET model_config = x'7b7d' WHERE id = '{orphan}'",
    "infinite time": "UPDATE sessions SET ended_at = 9e999, end_reason = 'agent_close' WHERE id = '{donor}'",
    "whole number as time": "UPDATE sessions SET ended_at = 5, end_reason = 'agent_close' WHERE id = '{donor}'",
}  # fmt: skip


@pytest.mark.parametrize("sql", ODD.values(), ids=ODD.keys())
def test_odd_cells_come_back_to_the_byte(place: Place, sql: str) -> None:
    home, path = place
    change(path, sql.format(donor=DONOR, orphan=ORPHAN))
    before = dump(path)
    done = repaired(home, path)
    assert done.proven
    assert dump(path) != before
    taken_back(place)
    assert dump(path) == before


def test_an_id_that_is_no_utf8(place: Place) -> None:
    home, path = place
    for table, column in (("messages", "session_id"), ("sessions", "id")):
        change(path, f"UPDATE {table} SET {column} = CAST(x'ff6f' AS TEXT) WHERE {column} = ?", ORPHAN)
    before = dump(path)
    done = repaired(home, path)
    assert done.orphan_ids == ("\udcffo",)
    taken_back(place)
    assert dump(path) == before


def test_an_undone_repair_can_be_done_again(place: Place) -> None:
    home, path = place
    first = repaired(home, path).repair_id
    after = dump(path)
    assert taken_back(place) == first
    second = repaired(home, path).repair_id
    assert (dump(path) == after, second != first) == (True, True)
    assert [one.state for one in repairs(home)].count("undone") == 1


def test_what_was_written_since_elsewhere_in_the_row_stays(place: Place) -> None:
    home, path = place
    repaired(home, path)
    change(path, "UPDATE sessions SET title = 'mine', message_count = 900 WHERE id = ?", ORPHAN)
    taken_back(place)
    row = cells(path)[ORPHAN]
    assert (row["title"], row["message_count"], row["session_key"]) == ("mine", 900, None)


@pytest.mark.parametrize(
    ("column", "value"),
    [("end_reason", "session_reset"), ("ended_at", NOW + 1), ("ended_at", int(NOW)), ("end_reason", None)],
)
def test_what_was_written_since_in_the_same_cell_refuses_all(place: Place, column: str, value: Cell) -> None:
    home, path = place
    repaired(home, path)
    change(path, f"UPDATE sessions SET {column} = ? WHERE id = ?", value, DONOR)
    if value == int(NOW) and isinstance(value, int):
        assert cells(path)[DONOR][column] == NOW  # The column turns it into the very number that the repair wrote.
        taken_back(place)
        return
    before = digest(path)
    with pytest.raises(RefusedError, match=f"Session {DONOR}, column {column}, no longer holds what the repair wrote"):
        taken_back(place)
    assert digest(path) == before
    assert [one.state for one in repairs(home)] == ["applied"]


def test_a_refusal_moves_nothing_from_the_log_into_the_file(place: Place) -> None:
    """In WAL mode a writer that closes last would; then even a refusal would change the file."""
    home, path = place
    change(path, "PRAGMA journal_mode=WAL")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as keeper:
        keeper.execute("SELECT count(*) FROM sessions").fetchone()
        repaired(home, path)
        change(path, "UPDATE sessions SET end_reason = 'x' WHERE id = ?", DONOR)
    log = Path(f"{path}-wal")
    before, logged = digest(path), digest(log)
    assert log.stat().st_size > 0
    with pytest.raises(RefusedError, match="no longer holds what the repair wrote"):
        taken_back(place)
    assert (digest(path), digest(log)) == (before, logged)


def test_a_row_that_is_gone(place: Place) -> None:
    home, path = place
    repaired(home, path)
    change(path, "DELETE FROM sessions WHERE id = ?", ORPHAN)
    with pytest.raises(RefusedError, match=f"Session {ORPHAN} is gone"):
        taken_back(place)
    assert cells(path)[DONOR]["end_reason"] == "superseded_by_repair"


def test_nothing_to_undo(place: Place) -> None:
    home, path = place
    with pytest.raises(NothingToUndoError):
        taken_back(place)
    done = repaired(home, path)
    taken_back(place)
    with pytest.raises(NothingToUndoError, match=f"{done.repair_id}: undone"):
        taken_back(place)
    with pytest.raises(RefusedError, match="There is no repair nonesuch"):
        taken_back(place, "nonesuch")


def test_the_newest_or_the_named_one(tmp_path: Path) -> None:
    home, path = case("001").lay_out(tmp_path)
    first, second = (one.orphan_id for one in planned(home, path).adoptions)
    before = dump(path)
    one = repaired(home, path, only=[first]).repair_id
    two = repaired(home, path, only=[second]).repair_id
    assert undo(path, home, one, clock=clock, stopped_by="the test").repair_id == one
    assert cells(path)[second]["session_key"]
    assert undo(path, home, clock=clock, stopped_by="the test").repair_id == two
    assert dump(path) == before


def test_a_repair_of_another_store_is_not_touched(tmp_path: Path) -> None:
    home, path = case("incident-82616").lay_out(tmp_path)
    repaired(home, path)
    other = tmp_path / "other" / "state.db"
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    with pytest.raises(NothingToUndoError):
        undo(other, home, clock=clock, stopped_by="the test")


def test_a_journal_that_asks_for_more_than_a_repair_does(place: Place) -> None:
    """Only the columns that a repair may write: a journal is no way to change anything else."""
    home, path = place
    repaired(home, path)
    (one,) = read_all(home)
    place_of = folder(home) / f"{one.repair_id}.json"
    document = json.loads(place_of.read_text())
    document["rows"][0]["cells"].append(["title", ["text", "x"], None])
    place_of.write_text(json.dumps(document))
    with pytest.raises(RefusedError, match="Column title is none that a repair may change"):
        taken_back(place)


def test_the_same_checks_as_before_a_repair(place: Place) -> None:
    home, path = place
    repaired(home, path)
    before = digest(path)
    (home / "gateway.pid").write_text("?", encoding="utf-8")
    with pytest.raises(RefusedError, match="gateway-process"):
        taken_back(place)
    assert digest(path) == before


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "rows": []}', "\udcff"])
def test_what_is_no_journal_is_passed_over(place: Place, content: str) -> None:
    home, path = place
    done = repaired(home, path)
    (folder(home) / "20260101T000000Z-0000.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    (folder(home) / "20260101T000000Z-0001.json").symlink_to(folder(home) / f"{done.repair_id}.json")
    assert [one.repair_id for one in repairs(home)] == [done.repair_id]


ODD_JOURNALS: dict[str, Any] = {
    "cut off": lambda good: "{",
    "too deep": lambda good: "[" * 100_000,
    "of another repair": lambda good: json.dumps({**good, "repair_id": "../../../elsewhere"}),
    "a state that is none": lambda good: json.dumps({**good, "state": ["applied"]}),
    "a time that is none": lambda good: json.dumps({**good, "at": "noon"}),
    "no rows": lambda good: json.dumps({**good, "rows": []}),
    "a row without cells": lambda good: json.dumps({**good, "rows": [{**good["rows"][0], "cells": []}]}),
    "a number beyond SQLite": lambda good: json.dumps({**good, "rows": [{**good["rows"][0], "number": 2**80}]}),
    "a number that is text": lambda good: json.dumps({**good, "rows": [{**good["rows"][0], "number": "1"}]}),
    "a time beyond all": lambda good: json.dumps(
        {**good, "rows": [{**good["rows"][0], "cells": [["ended_at", ["real", "0x1p99999"], None]]}]}
    ),
    "half a character": lambda good: json.dumps(
        {**good, "rows": [{**good["rows"][0], "cells": [["chat_id", ["text", "\ud800"], None]]}]}
    ),
    "adoptions that are none": lambda good: json.dumps({**good, "adoptions": [1]}),
    "an adoption of nobody": lambda good: json.dumps({**good, "adoptions": [{}]}),
    "a store that no path names": lambda good: json.dumps({**good, "store_bytes": "0041", "state": "prepared"}),
}


@pytest.mark.parametrize("name", ODD_JOURNALS)
def test_a_journal_that_was_edited_into_something_else_is_told_apart(place: Place, name: str) -> None:
    home, path = place
    journal = folder(home) / f"{repaired(home, path).repair_id}.json"
    good = journal.read_text(encoding="ascii")
    assert unreadable(home) == ()
    journal.write_text(ODD_JOURNALS[name](json.loads(good)), encoding="ascii")
    assert (repairs(home), unreadable(home)) == ((), (journal,))
    with pytest.raises(NothingToUndoError):
        taken_back(place)


CELLS = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary(max_size=20),
    st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)  # fmt: skip


@given(cells=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), key=st.text(min_size=1, max_size=9))
def test_a_journal_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[Cell, Cell]], key: str
) -> None:
    key = key.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    home = tmp_path_factory.mktemp("journal")
    open_folder(home)
    rows = (RowChange(7, key, tuple(CellChange("title", before, after) for before, after in cells)),)
    written = Journal("20260102T030405Z-abcd", APPLIED, Path("/srv/\udcff/state.db"), 1.5, rows, "x.db")
    again = read(write(home, written))
    assert again == written
    for one, other in zip(again.rows[0].cells, rows[0].cells, strict=True):
        assert same(one.before, other.before)
        assert same(one.after, other.after)


def test_what_is_the_same() -> None:
    assert same(1, 1)
    assert not same(1, 1.0)
    assert not same("a", b"a")
    assert same(None, None)
    assert not same(None, "")
