"""Repairs by command where ids, journals or the store are not as Hermes and this program write them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.cli import run
from ledger_tui.routing.repair import journal
from tests.cli.test_repair import lay_out
from tests.routing.corpus import DONOR, ORPHAN
from tests.routing.stores import change, digest


def test_ids_may_hold_what_parts_a_pair(state: Path, program: Any, sentence: Any) -> None:
    change(
        state, "INSERT INTO sessions (id, source, started_at) VALUES ('a=b', 'telegram', 1.0), ('a', 'telegram', 1.0)"
    )
    change(state, "INSERT INTO messages (session_id, role, timestamp) VALUES ('a=b', 'user', 1.0), ('a', 'user', 1.0)")
    found = program("repair-routing", "--json", "--choose", f"a=b={DONOR}", "--only", "a=b").json
    assert [one["orphan_id"] for one in found["plan"]] == ["a=b"]
    change(state, "INSERT INTO sessions (id, source, started_at) VALUES (?, 'telegram', 1.0)", f"b={DONOR}")
    assert "several pairs" in sentence(program("repair-routing", "--choose", f"a=b={DONOR}"), 2)


def test_what_is_offered_can_be_typed_into_a_shell(home: Path, program: Any) -> None:
    state = lay_out("incident-82616", home)
    change(state, "UPDATE sessions SET id = 'it''s lost' WHERE id = ?", ORPHAN)
    change(state, "UPDATE messages SET session_id = 'it''s lost' WHERE session_id = ?", ORPHAN)
    change(
        state,
        "INSERT INTO sessions (id, source, session_key, started_at)"
        " SELECT '$(x) y', source, 'agent:main:telegram:dm:2', started_at FROM sessions WHERE id = ?",
        DONOR,
    )
    change(
        state,
        "INSERT INTO messages (session_id, role, timestamp) SELECT '$(x) y', 'user', max(timestamp) FROM messages"
        " WHERE session_id = ?",
        DONOR,
    )
    offered = [line.split("  ")[2] for line in program("repair-routing").out.splitlines() if "--choose" in line]
    pairs = [shlex.split(one)[1] for one in offered]
    assert sorted(pairs) == ["it's lost=$(x) y", f"it's lost={DONOR}"]
    assert program("repair-routing", "--choose", pairs[0], "--json").json["plan"]


def test_a_journal_that_cannot_be_understood_is_never_nothing(state: Path, program: Any, sentence: Any) -> None:
    done = program("repair-routing", "--apply", "--yes", "--json").json
    journal = Path(done["backup"]).with_suffix(".json")
    good = journal.read_text(encoding="ascii")
    journal.write_text(good[:-50], encoding="ascii")
    before = digest(state)
    assert str(journal) in sentence(program("repair-undo", "--yes"), 3)
    assert "by hand" in sentence(program("repair-undo", "--yes", done["repair_id"]), 3)
    listed = program("repair-undo", "--list", "--json").json
    assert (listed["repairs"], listed["unreadable"]) == ([], [str(journal)])
    assert "cannot be undone" in program("repair-undo", "--list").out
    assert program("repair-routing").code == 0
    assert digest(state) == before
    journal.write_text(good, encoding="ascii")
    assert program("repair-undo", "--yes").code == 0


def test_beside_a_journal_that_cannot_be_understood_another_is_undone_by_its_name(
    state: Path, program: Any, sentence: Any
) -> None:
    done = program("repair-routing", "--apply", "--yes", "--json").json
    Path(done["backup"]).with_name("29990101T000000Z-0000.json").write_text("{", encoding="ascii")
    assert "may be the newest" in sentence(program("repair-undo", "--yes"), 3)
    assert program("repair-undo", "--yes", done["repair_id"]).code == 0


def test_a_store_whose_link_leads_to_itself(state: Path, program: Any, sentence: Any) -> None:
    state.unlink()
    state.symlink_to(state)
    for command in (["repair-routing"], ["repair-routing", "--apply", "--yes"], ["sessions"]):
        assert str(state) in sentence(program(*command), 3)


def test_a_rule_in_the_store_that_forbids_the_change(state: Path, program: Any, sentence: Any) -> None:
    change(state, "CREATE UNIQUE INDEX one_each ON sessions (session_key)")
    before = digest(state)
    assert "does not take the change" in sentence(program("repair-routing", "--apply", "--yes", "--json"), 4)
    assert digest(state) == before


def test_no_home_is_made_for_a_journal(state: Path, tmp_path: Path, program: Any, sentence: Any) -> None:
    before, wrong = digest(state), tmp_path / "misspelt"
    place = ("--hermes-home", str(wrong), "--state", str(state))
    for command in (["repair-routing", "--apply", "--yes"], ["repair-undo", "--yes"]):
        assert str(wrong) in sentence(program(*place, *command), 3)
    assert (wrong.exists(), digest(state)) == (False, before)


def test_repairs_of_a_store_that_lay_elsewhere_are_named(state: Path, program: Any) -> None:
    done = program("repair-routing", "--apply", "--yes", "--json").json
    moved = state.rename(state.with_name("moved.db"))
    for command in (["--list"], ["--yes"]):
        said = program("--state", str(moved), "repair-undo", *command)
        assert (said.code, f"{done['repair_id']} is a repair of another store: {state}" in said.out) == (0, True)


def test_a_folder_of_repairs_that_another_user_keeps_is_never_an_empty_one(
    state: Path, program: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program("repair-routing", "--apply", "--yes").code == 0
    folder, real = journal.folder(state.parent), os.access

    def closed(path: Path) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("ledger_tui.routing.repair.journal.os.listdir", closed)
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder and real(path, mode))
    home = ["--hermes-home", str(state.parent), "repair-undo"]
    assert run([*home, "--yes"]) == 3
    said = capsys.readouterr()
    assert (said.out, f"{folder} cannot be read by this user" in said.err) == ("", True)
    assert run([*home, "--list"]) == 0
    assert f"{folder}: it cannot be read by this user" in capsys.readouterr().out
