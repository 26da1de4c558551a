"""A host's store is read without its holder noticing: whatever its layout, its journal, or what is wrong with it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.routing.details import first_and_last
from ledger_tui.routing.progress import Progress, ReadingStoppedError
from ledger_tui.routing.read import read_store
from ledger_tui.routing.survey import survey
from ledger_tui.sources.guard import SourceError
from tests.routing.corpus import case
from tests.routing.handmade import NOW, Sessions

HOLDER = Path(__file__).with_name("holder.py")


class Holder:
    """The stand-in while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _say(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def stop(self) -> dict[str, Any]:
        """Stops its writing, not its holding."""
        self._say()
        found: dict[str, Any] = json.loads(self._line())
        return found

    def leave(self) -> None:
        self._say()
        assert self._process.wait(20) == 0


@contextmanager
def held(path: Path, mode: str, busy: float = 1.0) -> Iterator[Holder]:
    command = [sys.executable, str(HOLDER), str(path), mode, str(busy)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Holder(process)
    finally:
        process.kill()
        process.wait()


def large(path: Path, *, wal: bool, sessions: int = 3000, each: int = 30) -> None:
    """A store whose reading takes some tenths of a second."""
    Sessions(path, wal=wal).row("live", source="cli")
    with sqlite3.connect(path) as connection:
        rows = [(f"s{n:06}", "telegram", None if n % 9 else f"k{n}", NOW - 9 * n) for n in range(sessions)]
        connection.executemany("INSERT INTO sessions(id, source, session_key, started_at) VALUES(?, ?, ?, ?)", rows)
        said = ((key, "user", "hello", start + n) for key, _, _, start in rows for n in range(each))
        connection.executemany("INSERT INTO messages(session_id, role, content, timestamp) VALUES(?, ?, ?, ?)", said)
    connection.close()


def sidecars(path: Path) -> dict[str, tuple[int, int, int]]:
    """Inode, size and time of the store and of every file beside it."""
    found = {}
    for one in sorted(path.parent.iterdir()):
        if one.name.startswith(path.name) and not one.name.endswith("-shm"):  # Readers mark their place in that one.
            info = one.stat()
            found[one.name] = (info.st_ino, info.st_size, info.st_mtime_ns)
    return found


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_writing_holder_never_fails_because_of_us(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    large(path, wal=mode == "WAL")
    with held(path, mode) as holder:
        for _ in range(3):
            store = read_store(path, tmp_path)
            assert len(store.sessions) == 3001
            survey(store, now=NOW)
        found = holder.stop()
        assert found["failed"] == 0
        assert found["written"] > 0
        again = read_store(path, tmp_path)
        assert again.sessions["live"].messages == again.sessions["live"].message_count == found["written"]
        assert again.moved is False
        holder.leave()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_files_of_a_held_store_stay_as_they_are(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    large(path, wal=mode == "WAL", sessions=50)
    with held(path, mode) as holder:
        holder.stop()
        before = sidecars(path)
        inodes = {one.name: one.stat().st_ino for one in tmp_path.iterdir()}
        for _ in range(20):
            survey(read_store(path, tmp_path), now=NOW)
            first_and_last(path, "s000001")
        assert sidecars(path) == before
        assert {one.name: one.stat().st_ino for one in tmp_path.iterdir()} == inodes
        assert ("state.db-wal" in before) == (mode == "WAL")
        holder.leave()


def test_a_store_that_nobody_holds_stays_as_it_is(tmp_path: Path) -> None:
    home, path = case("016").lay_out(tmp_path)
    content, before = path.read_bytes(), sidecars(path)
    survey(read_store(path, home), now=NOW)
    first_and_last(path, "20260804_181205_29a03f02")
    assert sidecars(path) == before
    assert path.read_bytes() == content


def test_what_changes_while_a_store_is_read_in_pieces_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    large(path, wal=False, sessions=2000, each=1)

    def write(_: Progress) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO messages(session_id, timestamp) VALUES('live', 1)")
        connection.close()

    assert read_store(path, tmp_path, tell=write).moved is True
    assert read_store(path, tmp_path).moved is False


def test_progress_and_calling_off(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    large(path, wal=True, sessions=2000, each=1)
    told: list[Progress] = []
    read_store(path, tmp_path, tell=told.append)
    assert len(told) > 2
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done == told[-1].total == 4001
    with pytest.raises(ReadingStoppedError):
        read_store(path, tmp_path, stopped=lambda: True)


def test_missing_columns_are_null_and_missing_tables_empty(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sessions(id TEXT, source TEXT, started_at REAL)")
        connection.execute("INSERT INTO sessions VALUES('a', 'telegram', 100.0), (NULL, 'cli', 1.0)")
    store = read_store(path, tmp_path)
    (row,) = store.sessions.values()
    assert (row.id, row.session_key, row.messages, row.last_active, store.recent_host) == ("a", None, 0, 100.0, False)
    assert survey(store, now=NOW).anomalies == {}


def test_messages_without_an_index_count_the_same(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("one", said=(NOW - 5, NOW - 9))
    made.say("one", NOW - 7, active=0)
    made.say("one", 9e99)
    made.say(None, NOW)
    indexed = made.read()
    made.run("DROP INDEX by_session")
    bare = made.read()
    for store in (indexed, bare):
        row = store.sessions["one"]
        assert (row.messages, row.live, row.spoken_at) == (4, 3, NOW - 5)
        assert store.lost_messages == {}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no database, whatever its name says" * 40, "is no SQLite database"),
        (b"SQLite format 3\x00" + b"\xff" * 4000, "is "),
    ],
)
def test_damage_is_one_sentence(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=why) as caught:
        read_store(path, tmp_path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_page_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    large(path, wal=False, sessions=2000, each=2)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4096 // 4 * 4096)
        file.write(b"\xa5" * (size // 2))
    with pytest.raises(SourceError, match="damaged"):
        read_store(path, tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="rights do not bind the superuser")
def test_a_wal_store_in_a_folder_without_rights(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    Sessions(folder / "state.db", wal=True).row("one")
    folder.chmod(0o500)
    try:
        with pytest.raises(SourceError, match="rights"):
            read_store(folder / "state.db", tmp_path)
        assert [one.name for one in folder.iterdir()] == ["state.db"]
    finally:
        folder.chmod(0o700)


def test_first_and_last_messages(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("one", said=())
    for place in range(7):
        made.say("one", NOW + place, f"line {place}\nand \x1b[31mmore\u202e")
    made.say("other", NOW, "not this")
    found = first_and_last(made.path, "one", 2)
    assert found.total == 7
    assert [one.at for one in found.first + found.last] == [NOW, NOW + 1, NOW + 5, NOW + 6]
    assert found.first[0].text == "line 0\\nand \\u001b[31mmore\\u202e"
    few = first_and_last(made.path, "one", 5)
    assert (len(few.first), len(few.last)) == (5, 2)
    assert first_and_last(made.path, "gone").total == 0


@pytest.mark.parametrize(
    ("content", "called", "shown"),
    [
        (
            "",
            '[{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}]',
            "[calls terminal]",
        ),
        (None, '[{"function": {"name": "a"}}, {"function": {"name": "b\\u001b"}}]', "[calls a, b\\u001b]"),
        ("I look.", '[{"function": {"name": "terminal"}}]', "I look."),
        ("", '[{"function": {"name": "write_file", "arguments": "' + "x" * 30_000 + '"}}]', "[calls tools]"),
        ("", '[{"function": "terminal"}, 7, {}]', ""),
        ("", "[" * 100_000, "[calls tools]"),
        ("", "[]", ""),
        ("", None, ""),
    ],
)
def test_a_message_that_only_calls_names_the_tools(
    content: str | None, called: str | None, shown: str, tmp_path: Path
) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("one", said=())
    made.run("ALTER TABLE messages ADD COLUMN tool_calls TEXT")
    made.run(
        "INSERT INTO messages(session_id, role, content, tool_calls, timestamp) VALUES('one', 'assistant', ?, ?, ?)",
        content, called, NOW,
    )  # fmt: skip
    assert first_and_last(made.path, "one").first[0].text == shown


def test_a_withheld_message_is_its_marker(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    marker = "[Message withheld: a pre_llm_call policy hook blocked it.]"
    made.row("one", said=())
    made.say("one", NOW, marker)
    made.run("UPDATE messages SET display_metadata = ?", json.dumps({"text": "the secret plan"}))
    (message,) = first_and_last(made.path, "one").first
    assert message.text == marker


def test_content_of_several_parts_is_its_texts(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("one", said=())
    parts = [{"type": "text", "text": "look at\nthis"}, {"type": "image_url", "image_url": {}}, "and that"]
    for place, content in enumerate((f"\x00json:{json.dumps(parts)}", "\x00json:{", '\x00json:{"a": 1}')):
        made.say("one", NOW + place, content)
    found = first_and_last(made.path, "one")
    assert [one.text for one in found.first] == ["look at\\nthis [image_url] and that", "{", '{"a": 1}']


def test_messages_come_by_their_time(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("one", said=())
    for moment in (30.0, 10.0, 20.0, 40.0):
        made.say("one", moment, f"at {moment:.0f}")
    found = first_and_last(made.path, "one", 1)
    assert [one.text for one in found.first + found.last] == ["at 10", "at 40"]


def test_no_walk_through_a_store_without_an_index(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("one", said=(NOW,))
    made.run("DROP INDEX by_session")
    assert first_and_last(made.path, "one").total == 0


def test_a_store_left_in_the_middle_of_a_write_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    large(path, wal=False, sessions=10)
    code = (
        "import sqlite3, sys, time\n"
        "held = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "held.execute('PRAGMA cache_size=5')\n"
        "held.execute('BEGIN IMMEDIATE')\n"
        "held.execute('UPDATE messages SET content = hex(randomblob(2000))')\n"
        "print('written', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.wait()
    journal = tmp_path / "state.db-journal"
    before = (path.read_bytes(), journal.read_bytes())
    with pytest.raises(SourceError, match="in the middle of a write"):
        read_store(path, tmp_path)
    assert (path.read_bytes(), journal.read_bytes()) == before


@pytest.mark.parametrize("start", [0, 7, 23])
def test_damage_anywhere_ends(start: int, tmp_path: Path) -> None:
    """Whatever a few flipped bytes do to the file: a reading that ends, or one sentence."""
    whole = case("016").store
    for place in range(start * 512, len(whole), 29 * 512):
        path = tmp_path / "state.db"
        damaged = bytearray(whole)
        for byte in range(place, min(place + 200, len(whole)), 3):
            damaged[byte] ^= 0x5A
        path.write_bytes(damaged)
        try:
            store = read_store(path, tmp_path)
            survey(store, now=NOW)
            for key in list(store.sessions)[:3]:
                first_and_last(path, key)
        except SourceError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either way is right
