"""`repair-routing` and `repair-undo` as a person and a script use them."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.routing.ignored import IgnoredFile
from tests.cli.conftest import ROOT
from tests.routing import killed
from tests.routing.corpus import DONOR, KEY, ORPHAN, case, cases
from tests.routing.stores import cells, change, digest, dump


def lay_out(name: str, home: Path) -> Path:
    """The store of a case whose owner is the default profile."""
    assert case(name).owner == "default"
    path = home / "state.db"
    path.write_bytes(case(name).store)
    return path


def test_a_dry_run_shows_every_cell_and_changes_nothing(state: Path, program: Any) -> None:
    before = digest(state)
    result = program("repair-routing")
    assert result.code == 0
    for words in (
        "1 can be brought back",
        f"{ORPHAN}  telegram, 798 messages",
        f"continues {DONOR} (evidence: contiguity)",
        f"session_key: NULL -> '{KEY}'",
        "end_reason: NULL -> 'superseded_by_repair'",
        f"now: {DONOR}; then: {ORPHAN}.",
        "Nothing was changed; add --apply to do it.",
    ):
        assert words in result.out
    assert digest(state) == before
    assert [one.name for one in state.parent.iterdir()] == ["state.db"]


def test_the_document_of_a_dry_run(state: Path, program: Any) -> None:
    found = program("repair-routing", "--json").json
    assert found["records"] == [{**case("incident-82616").expected["find"][0], "gateway": True}]
    assert (found["further"], found["applied"], found["skipped"]) == ([], [], [])
    assert (found["repair_id"], found["backup"], found["unfinished"]) == (None, None, [])
    (planned,) = found["plan"]
    assert {(one["session_id"], one["column"]): (one["before"], one["after"]) for one in planned["changes"]}[
        ORPHAN, "session_key"
    ] == (None, KEY)
    (answer,) = found["answers"]
    assert (answer["before_id"], answer["after_id"], answer["effective"]) == (DONOR, ORPHAN, True)
    assert [one["name"] for one in found["checks"]] == ["gateway-lock", "gateway-process", "open-files", "leases"]


@pytest.mark.parametrize("name", [one.name for one in cases() if one.owner == "default"])
def test_records_of_every_case_by_command(name: str, home: Path, program: Any) -> None:
    lay_out(name, home)
    gap = case(name).expected["input"]["max_gap_s"]
    result = program("repair-routing", "--json", *(["--max-gap-seconds", str(gap)] if gap else []))
    records = [{key: value for key, value in one.items() if key != "gateway"} for one in result.json["records"]]
    assert records == case(name).expected["find"]
    assert result.out.isascii()


def test_apply_and_undo(state: Path, program: Any) -> None:
    before = dump(state)
    done = program("repair-routing", "--apply", "--yes", "--json").json
    assert [one["orphan_id"] for one in done["applied"]] == [ORPHAN]
    assert cells(state)[ORPHAN]["session_key"] == KEY
    backup = Path(done["backup"])
    assert backup.parent == state.parent / "plugin-data" / "agent-ledger" / "repairs"
    assert (dump(backup), done["repair_id"]) == (before, backup.stem)
    assert {one["state"] for one in done["checks"]} <= {"ok", "unknown"}
    again = program("repair-routing", "--apply", "--yes")
    assert (again.code, "There is nothing to repair." in again.out) == (0, True)
    listed = program("repair-undo", "--list")
    assert f"{done['repair_id']}: it took effect; 1 conversation" in listed.out
    undone = program("repair-undo", done["repair_id"], "--yes", "--json").json
    assert (undone["undone"], undone["rows"]) == (done["repair_id"], 2)
    assert dump(state) == before
    nothing = program("repair-undo", "--yes")
    assert (nothing.code, "there is nothing to undo" in nothing.out) == (0, True)


def test_what_is_said_after_a_repair(state: Path, program: Any) -> None:
    said = program("repair-routing", "--apply", "--yes").out
    assert "Done: 1 conversation brought back. Repair " in said
    assert f"{KEY} goes on in {ORPHAN}. After the next start" in said
    for name in ("read-back", "integrity", "resolver", "journal"):
        assert f"  ok    {name}: " in said
    assert "To take it back: ledger-tui repair-undo " in said


def test_what_had_to_be_done_before_is_not_said_after(state: Path, program: Any, tmp_path: Path) -> None:
    """Where nobody can see who holds the store, that stays so; to stop the gateway and try again is over with it."""
    (tmp_path / "sitecustomize.py").write_text(
        "from ledger_tui.routing.repair import holders, open_files\n"
        "holders.holders = lambda _store, **_options: open_files.Holders(False)\n"
    )
    blind = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    unseen = "  ?     open-files: This system does not show which processes hold the store.\n"
    assert f"{unseen}        -> stop the gateway" in program("repair-routing", env=blind).out
    done = program("repair-routing", "--apply", "--yes", env=blind).out
    assert unseen in done
    assert "->" not in done.partition("Done:")[2]
    undone = program("repair-undo", "--yes", env=blind).out
    assert unseen in undone
    assert "->" not in undone


def test_without_a_terminal_somebody_must_have_said_yes(state: Path, program: Any, sentence: Any) -> None:
    before = digest(state)
    assert "add --yes" in refusal_of(program("repair-routing", "--apply"))
    assert digest(state) == before
    program("repair-routing", "--apply", "--yes")
    after = dump(state)
    assert "add --yes" in sentence(program("repair-undo"), 4)
    assert dump(state) == after


def refusal_of(result: Any) -> str:
    """The one sentence with which a command refused; what it showed before stands on standard output."""
    assert result.code == 4, result
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err
    return str(result.err)


def test_a_gateway_in_the_way(state: Path, program: Any, sentence: Any) -> None:
    (state.parent / "gateway.pid").write_text(json.dumps({"pid": os.getpid()}), encoding="utf-8")
    before = digest(state)
    said = sentence(program("repair-routing", "--apply", "--yes"), 4)
    assert "(check: gateway-process); stop the gateway" in said
    assert "  FAIL  gateway-process: " in program("repair-routing").out
    assert digest(state) == before


def test_a_reader_in_the_way(state: Path, program: Any, sentence: Any) -> None:
    with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as reader:
        reader.execute("SELECT count(*) FROM sessions").fetchone()
        said = sentence(program("repair-routing", "--apply", "--yes"), 4)
    assert f"The store is open in process {os.getpid()}" in said
    assert "(check: open-files)" in said


def test_only(home: Path, program: Any, sentence: Any) -> None:
    state = lay_out("001", home)
    first, second = case("001").expected["apply"]["repaired"]
    done = program("repair-routing", "--apply", "--yes", "--only", second, "--json").json
    assert [one["orphan_id"] for one in done["applied"]] == [second]
    assert (first, "left out by --only") in {(one["orphan_id"], one["reason"]) for one in done["skipped"]}
    assert cells(state)[first]["session_key"] is None
    assert "no session nonesuch" in sentence(program("repair-routing", "--only", "nonesuch"), 2)


def test_several_after_one_option(home: Path, program: Any, sentence: Any) -> None:
    state = lay_out("007", home)
    first, second, third, *_ = case("007").expected["apply"]["repaired"]
    done = program("repair-routing", "--apply", "--only", first, second, "--yes", "--json").json
    assert {one["orphan_id"] for one in done["applied"]} == {first, second}
    donor = next(one["donor_id"] for one in case("007").expected["find"] if one["orphan_id"] == third)
    fourth = case("007").expected["apply"]["repaired"][3]
    other = next(one["donor_id"] for one in case("007").expected["find"] if one["orphan_id"] == fourth)
    pairs = (f"{third}={donor}", f"{fourth}={other}")
    chosen = program("repair-routing", "--apply", "--only", third, "--choose", *pairs, "--yes", "--json").json
    assert {one["orphan_id"] for one in chosen["applied"] if one["chosen"]} == {third, fourth}
    assert len(chosen["applied"]) == 2
    assert "write --only before" in sentence(program("repair-routing", first), 2)
    assert cells(state)[fourth]["session_key"] == cells(state)[other]["session_key"]


def test_ambiguous_evidence_is_nobodys_until_a_person_chooses(tmp_path: Path, program: Any, sentence: Any) -> None:
    """In a profile's store, so that journal and copy lie in the profile's own folder."""
    root, state = case("002").lay_out(tmp_path)
    place = ("--hermes-home", str(root), "--profile", "work")
    asked = program(*place, "repair-routing", "--json").json
    reasons = {one["orphan_id"]: one["reason"] for one in asked["skipped"]}
    orphan = next(key for key, reason in reasons.items() if reason.startswith("ambiguous: more than one keyed"))
    offered = next(one["candidates"] for one in asked["skipped"] if one["orphan_id"] == orphan)
    assert len(offered) >= 2
    assert f"--choose {orphan}={offered[1]}  " in program(*place, "repair-routing").out
    alone = program(*place, "repair-routing", "--apply", "--yes", "--only", orphan, "--json")
    assert (alone.code, alone.json["applied"], cells(state)[orphan]["session_key"]) == (0, [], None)
    chosen = (f"--choose={orphan}={offered[1]}", "--because", "I sat beside it", "--only", orphan)
    done = program(*place, "repair-routing", "--apply", "--yes", *chosen, "--json").json
    assert [(one["orphan_id"], one["donor_id"], one["chosen"]) for one in done["applied"]] == [
        (orphan, offered[1], True)
    ]
    journal = Path(done["backup"]).with_suffix(".json")
    assert journal.is_relative_to(root / "profiles" / "work")
    assert json.loads(journal.read_text(encoding="ascii"))["chosen_by"].endswith(": I sat beside it")
    twice = sentence(program(*place, "repair-routing", "--choose", f"{orphan}=a", "--choose", f"{orphan}=b"), 2)
    assert "two donors" in twice


def test_a_choice_across_profiles_or_platforms_is_refused(home: Path, program: Any, sentence: Any) -> None:
    state = lay_out("incident-82616", home)
    before = digest(state)
    change(state, "UPDATE sessions SET source = 'discord' WHERE id = ?", DONOR)
    pair = f"{ORPHAN}={DONOR}"
    changed = digest(state)
    assert changed != before
    assert "different platforms" in sentence(program("repair-routing", "--apply", "--yes", "--choose", pair), 4)
    change(state, "UPDATE sessions SET source = 'telegram', profile_name = 'work' WHERE id = ?", DONOR)
    changed = digest(state)
    assert "different profiles" in sentence(program("repair-routing", "--apply", "--yes", "--choose", pair), 4)
    assert digest(state) == changed
    dry = program("repair-routing", "--choose", pair, "--json").json
    assert [one["orphan_id"] for one in dry["skipped"]] == [ORPHAN]


def test_a_person_ends_a_session_whose_talk_is_over(state: Path, program: Any, sentence: Any) -> None:
    before = dump(state)
    dry = program("repair-routing", "--end", DONOR)
    assert "is ended because you say so" in dry.out
    assert "end_reason: NULL -> 'session_reset'" in dry.out
    done = program("repair-routing", "--apply", "--yes", "--end", DONOR, "--json").json
    assert (done["applied"], [one["session_id"] for one in done["endings"]]) == ([], [DONOR])
    assert [(one["after_id"], one["effective"]) for one in done["answers"]] == [(None, True)]
    assert "cannot be ended" in sentence(program("repair-routing", "--apply", "--yes", "--end", DONOR), 4)
    assert program("repair-undo", "--yes", "--json").json["rows"] == 1
    assert dump(state) == before
    assert "no session nonesuch" in sentence(program("repair-routing", "--end", "nonesuch"), 2)


def test_a_session_silent_for_long_is_proposed_and_never_ended_by_itself(state: Path, program: Any) -> None:
    program("repair-routing", "--apply", "--yes")
    now = dump(state)
    dry = program("repair-routing")
    assert f"  --end {ORPHAN}  Open and silent for " in dry.out
    assert [one["session_id"] for one in program("repair-routing", "--json").json["dormant"]] == [ORPHAN]
    program("repair-routing", "--apply", "--yes")
    assert dump(state) == now
    IgnoredFile(state.parent / "plugin-data" / "agent-ledger").add(ORPHAN, "zombie")
    assert program("repair-routing", "--json").json["dormant"] == []


def test_a_database_that_is_no_session_store(home: Path, program: Any, sentence: Any) -> None:
    change(home / "state.db", "CREATE TABLE other(x)")
    assert "without sessions in it" in sentence(program("repair-routing"), 3)


@pytest.mark.parametrize("pair", ["x", "=x", "x=", "="])
def test_a_pair_that_is_none(state: Path, program: Any, sentence: Any, pair: str) -> None:
    assert state.exists()
    assert "write ORPHAN=DONOR" in sentence(program("repair-routing", "--choose", pair), 2)


def test_a_gap_that_is_no_span(state: Path, program: Any, sentence: Any) -> None:
    assert state.exists()
    for gap in ("nan", "soon", "-1", "-inf"):
        sentence(program("repair-routing", "--max-gap-seconds", gap), 2)
    assert program("repair-routing", "--max-gap-seconds", "inf", "--json").code == 0


def test_stores_that_are_not_there_or_cannot_be_read(home: Path, program: Any, sentence: Any, tmp_path: Path) -> None:
    empty = program("repair-routing", "--json")
    assert (empty.code, empty.json["records"], empty.json["repair_id"]) == (0, [], None)
    assert "nothing is lost" in program("repair-routing", "--apply").out
    assert "nothing to undo" in program("repair-undo").out
    sentence(program("--state", str(tmp_path / "none.db"), "repair-routing"), 3)
    sentence(program("--state", str(tmp_path / "none.db"), "repair-undo"), 3)
    (home / "state.db").write_bytes(b"no database at all, and long enough to be sure of it" * 30)
    sentence(program("repair-routing"), 3)
    sentence(program("repair-undo", "nonesuch"), 2)


def test_a_store_elsewhere_has_its_journal_in_the_home(home: Path, program: Any, tmp_path: Path) -> None:
    state = tmp_path / "elsewhere" / "state.db"
    state.parent.mkdir()
    state.write_bytes(case("incident-82616").store)
    done = program("--state", str(state), "repair-routing", "--apply", "--yes", "--json").json
    assert Path(done["backup"]).is_relative_to(home)
    assert "nothing to undo" in program("repair-undo", "--yes").out
    assert program("--state", str(state), "repair-undo", "--yes", "--json").json["undone"] == done["repair_id"]


def test_what_an_agent_wrote_moves_no_terminal(state: Path, program: Any) -> None:
    evil = "\x1b]0;owned\x07\u202eevil\u200b"
    change(
        state, "UPDATE sessions SET display_name = ?, chat_id = ?, end_reason = ? WHERE id = ?", evil, evil, evil, DONOR
    )
    change(state, "UPDATE sessions SET source = ?", f"tele{evil}")
    for arguments in (("repair-routing",), ("repair-routing", "--json"), ("repair-routing", "--apply", "--yes")):
        said = program(*arguments)
        assert said.code == 0
        assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(said.out + said.err)
    assert cells(state)[ORPHAN]["display_name"] == evil


def test_cells_that_json_has_no_value_for(state: Path, program: Any) -> None:
    change(state, "UPDATE sessions SET chat_id = x'ff00', user_id = CAST(x'c328' AS TEXT) WHERE id = ?", DONOR)
    found = program("repair-routing", "--json")
    assert found.out.isascii()
    after = {one["column"]: one["after"] for one in found.json["plan"][0]["changes"]}
    assert (after["chat_id"], after["user_id"]) == ({"bytes": "ff00"}, "\udcc3(")


def test_a_repair_that_died_is_told_and_brought_to_an_end(program: Any, home: Path) -> None:
    state = lay_out("005", home)
    before = dump(state)
    assert killed.run("apply", state, home, "before-commit", spill=True) == -9
    cut = program("repair-routing")
    assert (cut.code, "it was cut short half-way" in cut.err, "repair-undo" in cut.err) == (3, True, True)
    settled = program("repair-undo", "--yes")
    assert (settled.code, "changed nothing" in settled.out) == (0, True)
    assert dump(state) == before
    assert killed.run("apply", state, home, "committed") == -9
    told = program("repair-routing")
    assert (told.code, "it took effect" in told.out) == (0, True)
    assert program("repair-undo", "--yes", "--json").json["rows"] == 12
    assert dump(state) == before
