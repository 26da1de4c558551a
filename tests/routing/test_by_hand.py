"""What the page tells people to type by hand does what a repair does."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from ledger_tui.routing.read import read_store
from ledger_tui.routing.resolver import Peer, Resolver
from tests.routing.corpus import DONOR, ORPHAN, case
from tests.routing.killed import ROOT
from tests.routing.stores import cells, repaired

PAGE = (ROOT / "docs" / "repair.md").read_text(encoding="utf-8").partition("## By hand")[2]


def typed() -> str:
    """The block of SQL, with the two ids in their places."""
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
    return str(block).replace("OLDER", DONOR).replace("LOST", ORPHAN)


def test_by_hand_as_by_the_program(tmp_path: Path) -> None:
    home, path = case("incident-82616").lay_out(tmp_path / "by-hand")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(typed())
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = read_store(path, home)
    found = Resolver(store.sessions.values(), store.owner).resolve(Peer.of(store.sessions[ORPHAN]))
    assert found is not None
    assert found.id == ORPHAN
    other_home, other = case("incident-82616").lay_out(tmp_path / "by-program")
    repaired(other_home, other)
    by_hand, by_program = cells(path), cells(other)
    assert by_hand[DONOR].pop("ended_at") > by_program[DONOR].pop("ended_at") - 1
    by_hand[ORPHAN]["model_config"] = by_hand[ORPHAN]["model_config"].replace('":"', '": "')
    assert by_hand == by_program


def test_what_is_looked_at_first_can_be_looked_at(tmp_path: Path) -> None:
    _, path = case("incident-82616").lay_out(tmp_path)
    (query,) = re.findall(r"`(SELECT id, .*?;)`", PAGE)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        assert {row[0] for row in connection.execute(query)} == {ORPHAN, DONOR}
        (copying,) = re.findall(r'"(VACUUM INTO .*?)"', PAGE)
        connection.execute(copying.replace("/home/kim", str(tmp_path)))
    assert cells(tmp_path / "state-before.db") == cells(path)
