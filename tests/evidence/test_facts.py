"""The window on a home: bounded, never blocking, never followed out, and it says why something cannot be told."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine import mounts
from agent_ledger.engine.evidence import CannotTellError, Facts, facts, verify
from agent_ledger.engine.evidence.recorded import COLUMNS, Recorded, from_row, query
from agent_ledger.engine.evidence.verdict import Verdict, quoted, together, unknown, verdict_json
from agent_ledger.engine.evidence.verify import verify_many
from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths

from .makers import World


@pytest.fixture
def window(tmp_path: Path) -> Facts:
    return Facts(Paths(tmp_path), now=1000.0)


def test_links_pipes_devices_and_long_files_are_not_read(
    window: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x" * 100)
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("link", "is a link"), ("pipe", "no plain file"), ("none", "is not there"), (".", "is a folder")):
        with pytest.raises(CannotTellError, match=why):
            window.content(tmp_path / name)
    with pytest.raises(CannotTellError, match="no plain file"):
        window.content(Path("/dev/zero"))
    with pytest.raises(CannotTellError, match="100 bytes, more than are read"):
        window.content(tmp_path / "file", limit=99)
    assert window.text(tmp_path / "file", limit=100) == "x" * 100
    monkeypatch.setattr(facts, "LONGEST_FOLDER", 2)
    with pytest.raises(CannotTellError, match="more than 2 names"):
        window.names(tmp_path)


def test_what_is_no_text_and_no_json(window: Facts, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"gr\xfc\xdfe")
    (tmp_path / "half").write_text("{")
    with pytest.raises(CannotTellError, match="no UTF-8"):
        window.text(tmp_path / "latin")
    with pytest.raises(CannotTellError, match="no JSON"):
        window.json(tmp_path / "half")


def test_databases_are_opened_for_reading_only(window: Facts, tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with pytest.raises(CannotTellError, match="not there"):
        window.database(path)
    assert not path.exists()
    sqlite3.connect(path).executescript("CREATE TABLE a(x); INSERT INTO a VALUES(1); INSERT INTO a VALUES(2);")
    assert window.rows(path, "SELECT x FROM a ORDER BY x") == [(1,), (2,)]
    with pytest.raises(CannotTellError, match="more than 1 rows"):
        window.rows(path, "SELECT x FROM a", limit=1)
    with pytest.raises(CannotTellError, match="cannot be asked"):
        window.rows(path, "DELETE FROM a RETURNING x")
    (tmp_path / "link.db").symlink_to(path)
    with pytest.raises(CannotTellError, match="no plain file"):
        window.database(tmp_path / "link.db")
    window.close()


def test_the_key_is_read_and_never_made(window: Facts, tmp_path: Path) -> None:
    assert window.key is None
    assert list(tmp_path.iterdir()) == []


def test_with_a_deadline_network_mounts_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mtab"
    table.write_text(f"server:/x {tmp_path}/far\\040away nfs4 rw 0 0\nproc /proc proc rw 0 0\n")
    assert mounts.network_points(table) == [(f"{tmp_path}/far away", "nfs4")]
    monkeypatch.setattr(facts, "network_points", lambda: mounts.network_points(table))
    hurried = Facts(Paths(tmp_path), now=1000.0, deadline=10.0, mono=lambda: 0.0)
    with pytest.raises(CannotTellError, match="network mount"):
        hurried.look(tmp_path / "far away" / "f")
    assert hurried.look(tmp_path / "far").kind == ""
    assert Facts(Paths(tmp_path), now=1000.0).look(tmp_path / "far away" / "f").kind == "", "a person may wait"


def test_after_the_deadline_nothing_is_asked_any_more(world: World) -> None:
    ghost = world.recorded(world.call("write_file", {"path": "a", "content": "x"}, at=world.after))
    ticks = iter(range(1000))
    hurried = Facts(world.paths, now=world.now, ledger=world.db, deadline=0.5, mono=lambda: float(next(ticks)))
    found = verify(ghost, hurried)
    assert (found.verdict, found.evidence) == ("unknown", ("Not checked: the time for it had run out.",))


def test_a_verifier_that_fails_is_said_and_does_no_harm(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(call: Recorded, facts: Facts) -> Verdict:
        raise ZeroDivisionError

    monkeypatch.setattr(sys.modules["agent_ledger.engine.evidence.verify"], "verifier_of", lambda name: broken)
    found = world.verdict(world.call("patch", {}))
    assert found.verdict == "unknown"
    assert "ZeroDivisionError" in found.evidence[0]


def test_a_call_within_its_grace_is_not_missed_yet(world: World) -> None:
    at = world.now - 30
    pending = world.call("write_file", {"path": "a", "content": "x"}, at=at, status="PENDING", effect=None)
    assert world.says(pending).startswith("unknown: It may still be at work")
    world.db.execute(
        "INSERT INTO writer(id, pid, started, boot_id, pid_namespace, machine, opened_ts)"
        " VALUES(9, 1, 'x', 'another boot', '', '', '')"
    )
    world.now += 120
    assert world.says(pending).startswith("absent: ")


def test_many_are_told_one_by_one_until_stopped(world: World) -> None:
    calls = [world.recorded(world.call("clarify", {})) for _ in range(5)]
    heard: list[int] = []
    with world.facts() as window:
        found = verify_many(
            calls, window, tell=lambda call, verdict: heard.append(call.id), stopped=lambda: len(heard) == 3
        )
    assert heard == [call.id for call, _ in found] == [1, 2, 3]


def test_a_ledger_by_other_software_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    db.execute("INSERT INTO ledger VALUES(4, 1700000000.5, 'write_file', 'PENDING', '[1]')")
    columns = ["id", "ts", "tool_name", "status", "args_json"]
    call = from_row(db.execute(*query(columns)).fetchone())
    assert (call.id, call.at, call.args, call.folder, call.session_id) == (4, 1700000000.5, {}, "", "")
    assert verify(call, Facts(Paths(tmp_path), now=1700001000.0)).verdict == "unknown"


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ('{"path": "a", "content": "lo', {"path": "a"}), ('{"n": 12', {}),
        ('{"a": 1, "b": {"c": [2]}, "d', {"a": 1, "b": {"c": [2]}}),
        ("", {}), ("[1, 2]", {}), ('"text"', {}), ("{" * 5000, {}), ('{"a": "x"', {}),
    ],
)  # fmt: skip
def test_of_a_cut_text_the_whole_members_are_read(text: str, args: dict[str, object]) -> None:
    row = {"id": 1, "tool_name": "patch", "args_json": text, "args_cut": 1}
    assert from_row([row.get(name) for name in COLUMNS]).args == args


def test_sentences_are_bounded_inert_and_quoted() -> None:
    assert quoted('a"b\n\x1b`c') == '"a\\"b\\\\n\\\\u001b\'c"'
    found = unknown(5.0, "x" * 1000, *["y"] * 20)
    assert len(found.evidence) == 8
    assert len(found.evidence[0]) == 400
    with pytest.raises(ValueError, match="without evidence"):
        unknown(5.0)
    assert together(5.0, [("landed", "a"), ("landed", "a")]) == Verdict("landed", (inert("a"),), 5.0)
    assert verdict_json(3, "patch", found)["checked_at"] == "1970-01-01T00:00:05.000Z"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system without users")
def test_another_users_database_is_left_alone(window: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "state.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE sessions(id TEXT)")
    owner = store.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    before = sorted(os.listdir(store.parent))
    with pytest.raises(CannotTellError, match="another user"):
        window.database(store)
    assert sorted(os.listdir(store.parent)) == before
