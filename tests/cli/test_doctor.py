"""`doctor`: each thing that can be wrong is named, with a way out."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ledger_tui.commands.checks import Check, disk
from ledger_tui.commands.checks import ledger as ledger_checks
from ledger_tui.commands.place import Place


@pytest.fixture
def doctor(program: Any) -> Any:
    def examine(*before: str) -> dict[str, dict[str, str]]:
        result = program(*before, "doctor", "--json")
        assert result.code == 0, result
        for check in result.json:
            assert check.keys() == {"check", "state", "text", "remedy"}
            assert check["state"] in ("ok", "warn", "fail", "unknown")
            assert check["state"] == "ok" or check["check"] == "gateway" or check["remedy"]
        return {check["check"]: check for check in result.json}

    return examine


def test_the_column_of_names_is_as_wide_as_the_longest(program: Any, doctor: Any) -> None:
    width = max(map(len, doctor()))
    lines = program("doctor").out.splitlines()
    assert all(line[6 + width : 8 + width] == "  " and line[8 + width] != " " for line in lines)
    assert any(line[6:].startswith("prompt-policy-mode  ") for line in lines)
    assert any(line.strip().startswith("-> ") for line in lines)


def test_an_empty_home_and_none(doctor: Any, program: Any) -> None:
    assert doctor()["plugin"]["state"] == "warn"
    nowhere = program("doctor", "--json", env={"HERMES_HOME": "/nowhere"}).json
    assert [check["state"] for check in nowhere if check["check"] == "home"] == ["fail"]


def test_open_modes_and_links(six_states: Any, doctor: Any) -> None:
    folder = six_states.path.parent
    folder.chmod(0o755)
    six_states.path.chmod(0o644)
    found = doctor()
    assert (found["data-folder"]["state"], found["file-modes"]["state"]) == ("warn", "warn")
    assert "ledger.db" in found["file-modes"]["text"]
    (folder / "hash.key").symlink_to("/etc/hostname")
    assert doctor()["links"]["state"] == "fail"


def test_a_damaged_ledger(home: Path, doctor: Any, program: Any) -> None:
    path = home / "plugin-data" / "agent-ledger" / "ledger.db"
    path.parent.mkdir(parents=True)
    path.write_text("once upon a time there was a ledger " * 100)
    assert doctor()["ledger"]["state"] == "fail"
    named = program("--ledger", str(path), "doctor", "--json")
    assert named.code == 3
    assert {c["check"]: c["state"] for c in named.json}["ledger"] == "fail"
    assert program("--ledger", "/nowhere.db", "doctor").code == 3


def test_a_damaged_page_is_found(six_states: Any, doctor: Any) -> None:
    for number in range(500):
        six_states.add(tool_call_id=f"c{number}", args_json="x" * 200)
    six_states.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with six_states.path.open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xaa" * 4096)
    assert doctor()["integrity"]["state"] == "fail"


def test_schemas(six_states: Any, tmp_path: Path, doctor: Any) -> None:
    six_states.connection.execute("PRAGMA user_version=99")
    assert "newer" in doctor()["schema"]["text"]
    foreign = tmp_path / "foreign.db"
    other = sqlite3.connect(foreign)
    other.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    other.close()
    assert "other software" in doctor("--ledger", str(foreign))["schema"]["text"]


def test_waiting_records(six_states: Any, doctor: Any, program: Any) -> None:
    spool = six_states.path.parent / "spool"
    spool.mkdir(mode=0o700)
    record = {"kind": "issue", "at": "2026-01-02T03:04:05.000Z", "why": "the disk is full", "event": {}}
    (spool / "7-abc.jsonl").write_text(json.dumps({"kind": "writer"}) + "\n" + json.dumps(record) + "\n")
    found = doctor()["spool"]
    assert found["state"] == "warn"
    assert "1 record waits in" in found["text"]
    assert "2026-01-02T03:04:05.000Z" in found["text"]
    assert "the disk is full" in found["text"]
    assert program("status", "--json").json["ledger"]["spooled"] == 1
    assert "spool" in program("status", "--tmux").out


def test_settings_and_modes(six_states: Any, doctor: Any) -> None:
    folder = six_states.path.parent
    (folder / "settings.json").write_text('{"durability": "very", "colour": 1}')
    (folder / "policy_mode").write_text("on")
    found = doctor()
    assert "durability" in found["settings"]["text"]
    assert "colour" in found["settings"]["text"]
    assert (found["policy-mode"]["state"], found["prompt-policy-mode"]["state"]) == ("warn", "ok")


def test_dead_writers(ledger: Any, doctor: Any) -> None:
    gone = ledger.writer(2**22 + 1, "1")
    ledger.add(status="PENDING", at=time.time(), writer_id=gone)
    ledger.add(status="CONFIRMED", at=time.time(), writer_id=gone)
    found = doctor()["writers"]
    assert found["state"] == "warn"
    assert found["text"].startswith("1 pending call issued by 1 process that ended:")


def test_another_plugin_of_our_name(doctor: Any, program: Any, home: Path) -> None:
    other = home / "plugins" / "old-ledger"
    other.mkdir(parents=True)
    (other / "plugin.yaml").write_text("name: agent-ledger\nauthor: Somebody Else\n")
    assert doctor()["other-plugin"]["state"] == "warn"
    program("plugin", "install")
    found = doctor()
    assert found["other-plugin"]["state"] == "fail"
    assert "Somebody Else" in found["other-plugin"]["text"]
    assert found["plugin"]["state"] == "ok"


def test_our_place_taken_and_not_enabled(doctor: Any, program: Any, home: Path) -> None:
    program("plugin", "install")
    (home / "config.yaml").write_text("plugins:\n  enabled: []\n")
    assert doctor()["plugin-enabled"]["state"] == "warn"
    (home / "config.yaml").write_text("plugins: *x\n")
    assert doctor()["plugin-enabled"]["state"] == "unknown"
    (home / "plugins" / "agent-ledger" / "plugin.yaml").write_text("name: agent-ledger\nauthor: Somebody Else\n")
    assert doctor()["plugin"]["state"] == "fail"


def test_a_gateway_older_than_the_plugin(doctor: Any, program: Any, home: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    (home / "gateway.pid").write_text('{"pid": 1}')  # Runs since long before the plugin is put in.
    program("plugin", "install")
    with (home / "gateway.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = doctor()["gateway"]
    assert found["state"] == "warn"
    assert "gateway restart" in found["remedy"]


def test_the_misleading_line_is_explained(doctor: Any, home: Path) -> None:
    (home / "logs").mkdir()
    log = home / "logs" / "errors.log"
    log.write_text("x\nPersisted transcript lagged (disk=5, memory=9) (possible FTS write corruption)\n")
    assert doctor()["host-log"]["state"] == "ok"
    log.write_text("x\nPersisted transcript lagged (disk=0, memory=9) (possible FTS write corruption)\n")
    assert "not damaged" in doctor()["host-log"]["text"]


@pytest.mark.parametrize(
    ("version", "flawed"),
    [("3.40.1", True), ("3.51.2", True), ("3.51.3", False), ("3.50.7", False), ("3.44.6", False), ("3.6.9", False),
     ("odd", False)],
)  # fmt: skip
def test_builds_with_the_wal_reset_bug(version: str, flawed: bool) -> None:
    assert ledger_checks._flawed(version) is flawed


def place_of(ledger: Any) -> Place:
    home = ledger.path.parents[2]
    return Place(home, ledger.path, home / "state.db")


def test_network_mounts(six_states: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_checks, "network_mount", lambda _: "nfs4 on /mnt/far")

    def journal() -> Check:
        checks, _, _ = ledger_checks.ledger(place_of(six_states))
        return next(check for check in checks if check.check == "journal")

    assert (journal().state, "nfs4 on /mnt/far" in journal().text) == ("fail", True)
    six_states.connection.execute("PRAGMA journal_mode=DELETE")
    assert journal().state == "warn"


def test_little_room(six_states: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    found = disk.writable(place_of(six_states))
    assert (found.state, "5 MB" in found.text) == ("warn", True)


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (
            "CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT,"
            " team TEXT NOT NULL)",
            "demands columns of other software: team",
        ),
        (
            "CREATE TABLE ledger(id TEXT PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)",
            "is not the number that SQLite gives each row",
        ),
    ],
)
def test_a_ledger_that_cannot_be_adopted_is_told_with_its_cause(home: Path, doctor: Any, made: str, cause: str) -> None:
    path = home / "plugin-data" / "agent-ledger" / "ledger.db"
    path.parent.mkdir(parents=True, mode=0o700)
    with sqlite3.connect(path) as connection:
        connection.execute(made)
    connection.close()
    found = doctor()["schema"]
    assert found["state"] == "fail"
    assert cause in found["text"]
    assert "move" in found["remedy"]
    assert str(path) in found["remedy"]


def test_a_ledger_that_can_be_adopted_needs_nothing(home: Path, doctor: Any) -> None:
    path = home / "plugin-data" / "agent-ledger" / "ledger.db"
    path.parent.mkdir(parents=True, mode=0o700)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT)")
    connection.close()
    assert (doctor()["schema"]["state"], doctor()["schema"]["remedy"][:13]) == ("warn", "Nothing to do")


def test_the_profile_that_hermes_uses_is_not_the_home_looked_at(program: Any, doctor: Any, home: Path) -> None:
    """As on real hosts: `hermes profile use NAME` keeps the name there, and commands and gateway follow it."""
    (home / "profiles" / "work").mkdir(parents=True)
    chosen = home / "active_profile"
    assert doctor()["profile"]["state"] == "ok"
    for unchosen in ("", "default\n"):
        chosen.write_text(unchosen, encoding="utf-8")
        assert doctor()["profile"]["state"] == "ok"
    chosen.write_text("\ufeffwork\n", encoding="utf-8")
    found = doctor()["profile"]
    assert (found["state"], found["remedy"]) == ("warn", "Add --profile work to commands here.")
    assert "Hermes itself uses work" in program("status").out
    assert program("status", "--json").json["active_profile"] == "work"
    assert "Hermes was told to use the profile work" in program("plugin", "install").out
    for named in (("--hermes-home", str(home)), ("--profile", "work"), ("--profile", "default")):
        assert doctor(*named)["profile"]["state"] == "ok", named
    assert program("--profile", "work", "status", "--json").json["active_profile"] is None


@pytest.mark.parametrize("name", ["gone", "../work", "a\x1b[31m"])
def test_a_profile_that_is_not_there_stops_hermes(program: Any, doctor: Any, home: Path, name: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "active_profile").write_text(name, encoding="utf-8")
    found = doctor()["profile"]
    assert (found["state"], found["remedy"]) == ("fail", "Run: hermes --profile default profile use default")
    assert "\x1b" not in found["text"] + program("status").out
