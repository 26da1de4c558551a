"""`doctor` on what waits, on repairs, and on pipes under names of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import process
from tests.routing.corpus import case

from .sound_homes import SoundHome

ISSUE = {"kind": "issue", "at": "2026-01-02T03:04:05.000Z", "why": "the disk is full", "event": {}}


def writer_line(pid: int, started: str) -> dict[str, Any]:
    here = process.identity()
    return {
        "kind": "writer", "pid": pid, "started": started, "boot_id": here.boot_id,
        "pid_namespace": here.pid_namespace, "machine": here.machine, "opened_ts": "2026-01-02T03:04:05.000Z",
    }  # fmt: skip


def spool_file(folder: Path, *lines: object, name: str = "7-abc-000001.jsonl") -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / name
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    path.chmod(0o600)
    return path


def test_a_spool_whose_writer_is_gone(sound: SoundHome) -> None:
    spool_file(sound.paths.spool, writer_line(2**22 + 1, "1"), ISSUE, ISSUE)
    found = sound.examined()["spool"]
    assert found.state == "warn"
    assert found.text.startswith(f"2 records wait in {sound.paths.spool}, the oldest since 2026-01-02T03:04:05.000Z")
    assert "start Hermes" in found.remedy


def test_a_spool_whose_writer_lives(sound: SoundHome) -> None:
    spool_file(sound.paths.spool, writer_line(os.getpid(), process.start_mark(os.getpid())), ISSUE)
    found = sound.examined()["spool"]
    assert (found.state, "(the disk is full)" in found.text) == ("warn", True)
    assert "full disk, rights, a lock" in found.remedy


def test_a_spool_in_the_temporary_folder(sound: SoundHome) -> None:
    spool_file(sound.paths.spool_elsewhere, writer_line(2**22 + 1, "1"), ISSUE)
    assert str(sound.paths.spool_elsewhere) in sound.examined()["spool"].text


def test_what_is_merged_already_does_not_wait(sound: SoundHome) -> None:
    path = spool_file(sound.paths.spool, writer_line(2**22 + 1, "1"), ISSUE)
    with sound.written() as connection:
        connection.execute(
            "INSERT INTO spool_merged(name, size, writer_id, merged_ts) VALUES(?, ?, 1, '')",
            (path.name, path.stat().st_size),
        )
    assert sound.examined()["spool"].state == "ok"


def test_lines_that_are_no_record(sound: SoundHome) -> None:
    spool_file(sound.paths.spool, writer_line(2**22 + 1, "1"), ISSUE, "{broken\n", "half a li")
    found = sound.examined()["spool"].text
    assert found.startswith("1 record waits")
    assert "1 line among them is no record" in found


@pytest.mark.parametrize("first", [[1], {"kind": "writer", "pid": "x"}, {"kind": "writer", "pid": -5, "started": []}])
def test_a_spool_of_an_odd_shape(sound: SoundHome, first: object) -> None:
    spool_file(sound.paths.spool, first, {"kind": "issue", "at": 7, "why": {"a": 1}})
    assert sound.examined()["spool"].state == "warn"


def test_records_that_were_set_aside(sound: SoundHome) -> None:
    spool_file(sound.paths.spool, {"a": 1}, {"b": 2}, name="unreadable.txt")
    found = sound.examined()["set-aside"]
    assert (found.state, found.text.startswith("2 records that were not understood")) == ("warn", True)


# -- repairs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def repaired(sound: SoundHome, program: Any) -> Path:
    """The journal of a repair that took effect."""
    sound.paths.state.write_bytes(case("incident-82616").store)
    done = program("repair-routing", "--apply", "--yes", "--json").json
    return sound.data / "repairs" / f"{done['repair_id']}.json"


def test_repairs(sound: SoundHome, repaired: Path) -> None:
    assert sound.examined()["repairs"].state == "ok"

    backup = repaired.with_suffix(".db")
    backup.rename(backup.with_suffix(".moved"))
    found = sound.examined()["repairs"]
    assert (found.state, str(backup) in found.text, "Put the copy back" in found.remedy) == ("warn", True, True)
    backup.with_suffix(".moved").rename(backup)

    text = json.loads(repaired.read_text())
    repaired.write_text(json.dumps({**text, "state": "prepared"}))
    found = sound.examined()["repairs"]
    assert (found.state, "was cut short" in found.text, "repair-undo" in found.remedy) == ("warn", True, True)

    repaired.chmod(0o644)
    found = sound.examined()["file-modes"]
    assert (found.state, f"repairs/{repaired.name}" in found.text) == ("warn", True)

    repaired.write_text("{")
    found = sound.examined()["repairs"]
    assert (found.state, "cannot be undone" in found.text) == ("warn", True)


# -- pipes ------------------------------------------------------------------------------------------------------------

_PIPES = [
    "ledger.lock", "hash.key", "settings.json", "policy.json", "policy_mode", "prompt_policy.json",
    "prompt_policy_mode", "ignored.json", "spool/7-abc-000001.jsonl", "spool/unreadable.txt",
    "repairs/20260102T120000Z-3fa2.json", "repairs/20260102T120000Z-3fa2.db", "repairs/lock",
    "../../state.db", "../../sessions/sessions.json", "../../config.yaml", "../../gateway.lock", "../../gateway.pid",
    "../../logs/agent.log", "../../../.config/posture.conf", "../../../.config/systemd/user/a.service",
    "../../../tmp/agent-ledger",
]  # fmt: skip


def put_pipe(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path, 0o600)


def test_nobody_waits_for_pipes(sound: SoundHome, program: Any) -> None:
    for name in _PIPES:
        put_pipe(sound.data / name)
    done = program("doctor", "--json", env={"TMPDIR": str(sound.temporary)})
    assert done.code == 0, done
    found = {one["check"]: one for one in done.json}
    assert found["links"]["state"] == "fail"
    assert "hash.key, ignored.json, ledger.lock" in found["links"]["text"]
    assert (found["spool"]["state"], found["set-aside"]["state"]) == ("unknown", "unknown")
    assert (found["hash-key"]["state"], found["sessions"]["state"]) == ("fail", "fail")
    assert (found["repairs"]["state"], found["ledger"]["state"]) == ("warn", "ok")


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_nobody_waits_for_a_pipe_in_place_of_the_ledger(sound: SoundHome, program: Any, end: str) -> None:
    put_pipe(Path(f"{sound.paths.ledger}{end}"))
    done = program("doctor", "--json", env={"TMPDIR": str(sound.temporary)})
    assert done.code == 0, done
    found = {one["check"]: one for one in done.json}
    assert (found["links"]["state"], found["ledger"]["state"]) == ("fail", "fail")
