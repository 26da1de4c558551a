"""`sessions`, `export sessions`, and what `status` and `doctor` say of them: the real program on whole stores."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.routing.corpus import DONOR, ORPHAN, case
from tests.routing.handmade import NOW, Sessions

ZOMBIE = DONOR


@pytest.fixture
def incident(home: Path) -> Path:
    (home / "state.db").write_bytes(case("incident-82616").store)
    return home / "state.db"


@pytest.fixture
def store(home: Path) -> Sessions:
    return Sessions(home / "state.db")


def test_the_shape(incident: Path, program: Any) -> None:
    found = program("sessions", "--json").json
    zombie, orphan = found["sessions"]
    assert {name: value for name, value in orphan.items() if name != "anomalies"} == {
        "id": ORPHAN, "source": "telegram", "session_key": None, "parent_session_id": None, "relation": "",
        "started_at": 1786033139.0, "ended_at": None, "end_reason": None, "message_count": 798, "counted": 798,
        "last_active": 1786268400.0,
    }  # fmt: skip
    assert zombie["id"] == ZOMBIE
    for row, kind in ((zombie, "zombie"), (orphan, "orphan")):
        ((anomaly),) = row["anomalies"]
        assert (anomaly["kind"], anomaly["severity"]) == (kind, "HIGH")
        assert anomaly["text"].endswith(".")
    assert found["anomalies"] == {"orphan": 1, "zombie": 1}
    assert [(one["session_id"], one["grade"], one["orphan_ids"]) for one in found["zombies"]] == [
        (ZOMBIE, "proven", [ORPHAN])
    ]


def test_the_text_names_what_is_wrong_before_the_tree(incident: Path, program: Any) -> None:
    said = program("sessions").out
    assert said.startswith(f"2 sessions in {incident}, profile default: 2 anomalies.\nHIGH     orphan (1)\n")
    tree = said[said.index("SESSION ") :].splitlines()
    assert tree[1].split()[:4] == [ZOMBIE, "owner", "telegram", "12"]
    assert tree[1].endswith("open  !!zombie")
    assert "!!orphan" in tree[2]


def test_no_store_yet_is_an_empty_answer(program: Any, home: Path) -> None:
    assert program("sessions", "--json").json["sessions"] == []
    result = program("sessions")
    assert (result.code, result.err) == (0, "")
    assert "No session is stored yet" in result.out


def test_an_empty_store_is_an_empty_answer(store: Sessions, program: Any) -> None:
    assert program("sessions", "--json").json["anomalies"] == {}
    assert program("sessions").out.startswith("0 sessions in ")


def test_the_tree_with_its_links(store: Sessions, program: Any) -> None:
    store.row("top", source="cli", said=(NOW,), ended_at=NOW, end_reason="compression")
    store.row("next", source="cli", said=(NOW,), parent_session_id="top", started_at=NOW - 50, ended_at=NOW)
    store.row(
        "side", source="cli", said=(NOW,), parent_session_id="top", config={"_branched_from": "top"}, ended_at=NOW
    )
    lines = program("sessions").out.splitlines()
    tree = [line.split("  ")[0] for line in lines[lines.index("") + 2 :]]
    assert tree == ["top", "├─ side", "└─ next"]
    plain = program("sessions", env={"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}).out.splitlines()
    assert plain[-1].startswith("`- next")
    relations = {row["id"]: row["relation"] for row in program("sessions", "--json").json["sessions"]}
    assert relations == {"top": "", "next": "compression", "side": "branch"}


def test_only_some(store: Sessions, program: Any) -> None:
    store.row("plain", source="cli", said=(NOW,), ended_at=NOW)
    store.row("above", source="cli", said=(NOW,), ended_at=NOW)
    store.row("lost", said=(NOW,), parent_session_id="above")
    store.row("phantom", source="unknown")

    def listed(*options: str) -> list[str]:
        return [row["id"] for row in program("sessions", "--json", *options).json["sessions"]]

    assert sorted(listed("--anomalies-only")) == ["lost", "phantom"]
    assert sorted(listed("--source", "cli", "--source", "unknown")) == ["above", "phantom", "plain"]
    assert listed("--source", "cli", "--anomalies-only") == []
    tree = program("sessions", "--anomalies-only").out
    assert "└─ lost" in tree
    assert "above" in tree
    assert "plain" not in tree


def test_large_stores_stay_readable(store: Sessions, program: Any) -> None:
    with sqlite3.connect(store.path) as connection:
        rows = [(f"c{n:05}", "cli", NOW + n, NOW + n) for n in range(1000)]
        connection.executemany("INSERT INTO sessions(id, source, started_at, ended_at) VALUES(?, ?, ?, ?)", rows)
    store.row("lost", said=(NOW,))
    lines = program("sessions").out.splitlines()
    assert len(lines) < 20
    assert any(line.startswith("lost ") for line in lines)
    assert "1000 more sessions are not shown here; see --limit and --json." in lines
    for every in ("2000", "9" * 30):  # More than the machine counts with is as good as all.
        assert len(program("sessions", "--limit", every).out.splitlines()) > 1000
    assert "SESSION " not in program("sessions", "--limit", "0").out


def test_set_aside_and_taken_back(incident: Path, program: Any, home: Path) -> None:
    result = program("sessions", "--ignore", ORPHAN, "orphan")
    assert result.out == f"orphan is set aside for {ORPHAN}.\n"
    file = home / "plugin-data" / "agent-ledger" / "ignored.json"
    assert json.loads(file.read_text()) == {"ignored": [{"session": ORPHAN, "kind": "orphan"}]}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = program("sessions", "--json").json
    assert found["anomalies"] == {"zombie": 1}
    assert found["ignored"] == 1
    assert "1 anomaly (1 more set aside)" in program("sessions").out
    assert program("status", "--fail-on", "orphan").code == 0
    assert program("status", "--json").json["sessions"]["orphans"] == 1
    told = {"session_id": ORPHAN, "kind": "orphan", "ignored": True}
    assert program("sessions", "--ignore", ORPHAN, "orphan", "--json").json == told
    assert program("sessions", "--unignore", ORPHAN, "orphan", "--json").json == {**told, "ignored": False}
    assert program("sessions", "--json").json["anomalies"] == {"orphan": 1, "zombie": 1}


def test_what_was_not_set_aside_is_not_taken_back(incident: Path, program: Any, home: Path) -> None:
    """A mistyped session: nothing is written, and nobody is told that something is shown again."""
    found = program("sessions", "--unignore", f"{ORPHAN}x", "orphan")
    assert (found.code, found.out) == (0, f"orphan was not set aside for {ORPHAN}x.\n")
    assert not (home / "plugin-data").exists()


@pytest.mark.parametrize(
    "options",
    [("--ignore", ORPHAN, "nonsense"), ("--ignore", "gone", "orphan"), ("--ignore", ORPHAN),
     ("--ignore", ORPHAN, "orphan", "--unignore", ORPHAN, "orphan"), ("--limit", "-1")],
)  # fmt: skip
def test_wrong_usage(incident: Path, program: Any, sentence: Any, options: tuple[str, ...], home: Path) -> None:
    sentence(program("sessions", *options), 2)
    assert not (home / "plugin-data").exists()


def test_a_file_of_ours_that_is_not_understood_is_said_and_left_alone(
    incident: Path, program: Any, home: Path, sentence: Any
) -> None:
    file = home / "plugin-data" / "agent-ledger" / "ignored.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    result = program("sessions", "--json")
    assert result.json["anomalies"] == {"orphan": 1, "zombie": 1}
    assert "ignored.json is no JSON text" in result.err
    assert "ignored.json" in sentence(program("sessions", "--ignore", ORPHAN, "orphan"), 4)
    assert file.read_text() == "{"


@pytest.mark.parametrize("command", [("sessions",), ("sessions", "--json"), ("export", "sessions", "--format", "csv")])
def test_what_cannot_be_read_is_one_sentence(program: Any, home: Path, sentence: Any, command: tuple[str, ...]) -> None:
    path = home / "state.db"
    path.write_bytes(b"no database, whatever its name says" * 50)
    assert "is no SQLite database" in sentence(program(*command), 3)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes(name)")
    connection.close()
    assert "without sessions in it" in sentence(program(*command), 3)
    path.unlink()
    path.mkdir()
    assert "is not a file" in sentence(program(*command), 3)


def test_a_named_store_that_is_missing(program: Any, tmp_path: Path, sentence: Any) -> None:
    assert "does not exist" in sentence(program("--state", str(tmp_path / "gone.db"), "sessions"), 3)


def test_hostile_text_is_inert_for_people_and_exact_for_programs(store: Sessions, program: Any) -> None:
    evil = "x\x1b]0;owned\x07\u202e[bold]\n"
    store.row(evil, source=f"tele{evil}", said=(NOW,), title=evil, end_reason=evil, ended_at=NOW)
    with sqlite3.connect(store.path) as connection:
        connection.execute("INSERT INTO sessions(id, source, started_at) VALUES('odd', CAST(x'ff' AS TEXT), 1.0)")
    connection.close()
    said = program("sessions").out
    assert all(character == "\n" or character.isprintable() for character in said)
    assert "\\u001b" in said
    result = program("sessions", "--json")
    assert result.out.isascii()
    assert [row["id"] for row in result.json["sessions"]] == ["odd", evil]
    assert result.json["sessions"][0]["source"] == "\udcff"


def test_exports(incident: Path, program: Any, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(program("export", "sessions", "--format", "csv").out)))
    assert [row["id"] for row in rows] == [ZOMBIE, ORPHAN]
    assert rows[1]["anomalies"].startswith("HIGH orphan: ")
    assert program("export", "sessions", "--format", "json").json == program("sessions", "--json").json
    assert program("export", "sessions", "--format", "md").out.count("\n| ") == 3
    out = tmp_path / "lost.json"
    assert program("export", "sessions", "--format", "json", "--anomalies-only", "-o", str(out)).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_exports_hide_secrets_and_start_no_formula(store: Sessions, program: Any) -> None:
    store.row("=HYPERLINK(1)", source="cli", said=(NOW,), ended_at=NOW, end_reason="token=ghp_" + "a1B2" * 9)
    result = program("export", "sessions", "--format", "csv")
    assert "ghp_" not in result.out
    assert "1 secret value was hidden" in result.err
    assert next(csv.DictReader(io.StringIO(result.out)))["id"] == "'=HYPERLINK(1)"


def test_an_export_overwrites_no_store(incident: Path, program: Any, sentence: Any) -> None:
    before = incident.read_bytes()
    sentence(program("export", "sessions", "--format", "csv", "--force", "-o", str(incident)), 4)
    assert incident.read_bytes() == before


def test_status_and_doctor_answer_whether_a_chat_is_affected(incident: Path, program: Any) -> None:
    part = program("status", "--json").json["sessions"]
    assert {name: part[name] for name in ("total", "orphans", "adoptable", "zombies", "dormant")} == {
        "total": 2, "orphans": 1, "adoptable": 1, "zombies": 1, "dormant": 0,
    }  # fmt: skip
    assert "1 orphan (1 can be taken back), 1 zombie; see: ledger-tui repair-routing" in program("status").out
    assert program("status", "--fail-on", "orphan").code == 1
    assert program("status", "--tmux", "--fail-on", "orphan").code == 1
    (check,) = [one for one in program("doctor", "--json").json if one["check"] == "lost-sessions"]
    assert check["state"] == "warn"
    assert check["text"].count(".") == 1
    assert "repair-routing" in check["remedy"]


def test_a_store_without_lost_chats_is_not_affected(store: Sessions, program: Any) -> None:
    store.row("terminal", source="cli", said=(NOW - 90 * 86_400,))
    store.row("job", source="cron", said=(NOW,))
    store.chat("chat", said=(NOW,))
    part = program("status", "--json").json["sessions"]
    assert (part["total"], part["orphans"], part["adoptable"], part["zombies"]) == (3, 0, 0, 0)
    assert program("status", "--fail-on", "orphan").code == 0
    assert "none lost its way" in program("status").out
    (check,) = [one for one in program("doctor", "--json").json if one["check"] == "lost-sessions"]
    assert check["state"] == "ok"
    assert "not affected" in check["text"]


def test_a_store_that_cannot_be_read_passes_no_check(program: Any, home: Path) -> None:
    (home / "state.db").write_bytes(b"no database" * 100)
    assert program("status", "--fail-on", "orphan").code == 3
    checks = {one["check"]: one["state"] for one in program("doctor", "--json").json}
    assert checks["sessions"] == "fail"
    assert "lost-sessions" not in checks


def test_a_large_store_is_only_counted_unless_that_is_asked_for(
    store: Sessions, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(store.path) as connection:
        rows = ((f"t{n:06}", "telegram", NOW) for n in range(20_001))
        connection.executemany("INSERT INTO sessions(id, source, started_at) VALUES(?, ?, ?)", rows)
    connection.close()
    store.row("lost", said=(NOW,))
    part = program("status", "--json").json["sessions"]
    assert (part["total"], part["orphans"], part["zombies"]) == (20_002, None, None)
    assert "not worked out for so many" in program("status").out
    assert program("status", "--fail-on", "orphan").code == 1
