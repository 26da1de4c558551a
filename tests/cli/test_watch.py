"""`watch`: events from readings and from time, and the program in a pipe."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from agent_ledger.engine import queries
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import Call, utc_text
from ledger_tui.commands.happenings import Happenings

from .conftest import make_ledger

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_767_355_200.0


@dataclass
class Clock:
    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Change:
    calls: tuple[Call, ...] = ()
    reset: bool = False
    dead_writers: frozenset[int] = frozenset()
    same_boot_writers: frozenset[int] = frozenset()
    more: bool = False


@dataclass
class Story:
    """Feeds changes read from a real ledger."""

    ledger: Any
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.happenings = Happenings(self.clock, lambda: 0.0)

    def read(self, *, reset: bool = False, dead: frozenset[int] = frozenset()) -> list[tuple[str, int]]:
        connection = self.ledger.connection
        columns = [row[0] for row in connection.execute(*queries.COLUMNS_QUERY)]
        rows = connection.execute(*queries.calls(columns, newest_first=False)).fetchall()
        calls = tuple(queries.call_from_row(row) for row in rows)
        return [(e["kind"], e["id"]) for e in self.happenings.take(Change(calls, reset, dead))]

    def tick(self) -> list[tuple[str, int]]:
        return [(event["kind"], event["id"]) for event in self.happenings.tick()]

    def update(self, number: int, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        self.ledger.connection.execute(f"UPDATE ledger SET {names} WHERE id = ?", (*values.values(), number))


def test_what_was_there_is_no_news(six_states: Any) -> None:
    story = Story(six_states)
    assert story.read(reset=True) == []
    assert story.read() == []
    assert story.tick() == []


def test_the_life_of_a_call(ledger: Any) -> None:
    story = Story(ledger)
    story.read(reset=True)
    number = ledger.add(status="PENDING", at=NOW, grace_s=10.0)
    assert story.read() == [("issued", number)]
    story.clock.now = NOW + 10
    assert story.tick() == []
    story.clock.now = NOW + 11
    assert story.tick() == [("overdue", number)]
    assert story.tick() == []
    story.update(number, status="GHOST_REPORTED", reported_ts=utc_text(NOW + 12))
    assert story.read() == [("ghost", number)]
    story.update(number, status="CONFIRMED", settled_ts=utc_text(NOW + 20))
    assert story.read() == [("revived", number)]
    story.update(number, later_status="ERROR:timeout")
    assert story.read() == []


def test_issued_and_settled_between_two_readings_are_both_told(ledger: Any) -> None:
    story = Story(ledger)
    story.read(reset=True)
    one = ledger.add(status="CONFIRMED", at=NOW, settled_ts=utc_text(NOW + 1))
    two = ledger.add(status="ERROR:cancelled", at=NOW, closed_by="no-pre")
    assert story.read() == [("issued", one), ("settled", one), ("settled", two)]


def test_a_dying_process_makes_its_calls_overdue(ledger: Any) -> None:
    writer = ledger.writer(7, "7")
    number = ledger.add(status="PENDING", at=NOW, grace_s=1000.0, writer_id=writer)
    story = Story(ledger)
    assert story.read(reset=True) == []
    assert story.read(dead=frozenset({writer})) == [("overdue", number)]
    assert story.read(dead=frozenset({writer})) == []


def test_an_overdue_call_that_settles(ledger: Any) -> None:
    number = ledger.add(status="PENDING", at=NOW - 500, grace_s=10.0)
    story = Story(ledger)
    assert story.read(reset=True) == []
    story.update(number, status="CONFIRMED")
    assert story.read() == [("settled", number)]


def test_pruning_behind_us_is_no_news(ledger: Any) -> None:
    for _ in range(5):
        ledger.add(at=NOW - 100)
    story = Story(ledger)
    story.read(reset=True)
    ledger.connection.execute("DELETE FROM ledger WHERE id < 4")
    assert story.read(reset=True) == []
    number = ledger.add(at=NOW + 1)
    assert story.read() == [("issued", number), ("settled", number)]


def test_another_file_tells_only_what_is_new(ledger: Any) -> None:
    ledger.add(at=NOW - 100)
    story = Story(ledger)
    story.read(reset=True)
    ledger.connection.execute("DELETE FROM ledger")
    ledger.add(id=1, at=NOW - 50)
    ledger.add(id=2, at=NOW + 1)
    assert story.read(reset=True) == [("issued", 2), ("settled", 2)]


class Watching:
    """The real program with its output in a pipe."""

    def __init__(self, home: Path, *arguments: str, before: tuple[str, ...] = ()) -> None:
        environ = {**os.environ, "HERMES_HOME": str(home), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ledger_tui", *before, "watch", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=home,
        )  # fmt: skip
        self.lines: Queue[str] = Queue()
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def next(self) -> str:
        return self.lines.get(timeout=60)

    def interrupt(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        assert self.process.stderr is not None
        return self.process.wait(timeout=60), self.process.stderr.read()


@pytest.fixture
def watching(home: Path) -> Iterator[list[Watching]]:
    started: list[Watching] = []
    yield started
    for one in started:
        one.process.kill()
        one.process.wait()


def begin(watching: list[Watching], ledger: Any, *arguments: str) -> Watching:
    """Starts watching and waits until a first new row is told."""
    one = Watching(ledger.path.parents[2], *arguments)
    watching.append(one)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ledger.add(at=time.time(), tool_name="probe")
        time.sleep(0.3)
        if not one.lines.empty():
            return one
    raise AssertionError("watch says nothing")


def events(one: Watching) -> Iterator[dict[str, Any]]:
    while True:
        event = json.loads(one.next())
        if event.get("tool_name") != "probe":
            yield event


def test_json_lines_come_as_things_happen(ledger: Any, home: Path, watching: list[Watching]) -> None:
    store = sqlite3.connect(home / "state.db", isolation_level=None)
    store.execute("PRAGMA journal_mode=WAL")
    store.execute("CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, started_at REAL, ended_at REAL)")
    one = begin(watching, ledger, "--json")
    stream = events(one)
    number = ledger.add(status="PENDING", at=time.time(), grace_s=1.0, tool_name="cronjob")
    assert [(e["kind"], e["id"]) for e in (next(stream), next(stream))] == [("issued", number), ("overdue", number)]
    ledger.connection.execute("UPDATE ledger SET status='CONFIRMED', changed=changed+5000000 WHERE id=?", (number,))
    assert next(stream)["kind"] == "settled"
    store.execute("INSERT INTO sessions VALUES('chat-7', 'telegram', ?, NULL)", (time.time(),))
    began = next(stream)
    assert (began["kind"], began["session_id"], began["change"]) == ("session", "chat-7", "started")
    store.close()
    assert one.interrupt() == (0, "")


def test_lines_for_people_are_inert(ledger: Any, watching: list[Watching]) -> None:
    one = begin(watching, ledger)
    ledger.add(status="PENDING", at=time.time(), tool_name="evil\x1b[2J", args_json='{"a": "\\u001b]0;x\\u0007"}')
    while "evil" not in (line := one.next()):
        pass
    assert "\x1b" not in line
    assert "\x07" not in line
    assert "evil\\u001b[2J" in line


def test_bad_input_is_told_at_once(program: Any, sentence: Any, tmp_path: Path) -> None:
    sentence(program("--ledger", str(tmp_path / "none.db"), "watch"), 3)
    (tmp_path / "text.db").write_text("no database at all, only words" * 100)
    sentence(program("--ledger", str(tmp_path / "text.db"), "watch"), 3)
    sentence(program("--state", str(tmp_path / "none.db"), "watch"), 3)


def test_several_homes_in_one_stream(ledger: Any, home: Path, watching: list[Watching]) -> None:
    other = make_ledger(Paths(home / "profiles" / "work").ledger)
    (home / "profiles" / "away").touch()
    before = ("--profile", "default", "--profile", "away", "--profile", "work")
    one = Watching(home, "--json", before=before)
    watching.append(one)
    unheard, deadline = {str(home), str(home / "profiles" / "work")}, time.monotonic() + 60
    with closing(other.connection):
        while unheard:
            assert time.monotonic() < deadline, unheard
            for made in (ledger, other):
                made.add(at=time.time(), tool_name="probe")
            with suppress(Empty):
                unheard.discard(json.loads(one.lines.get(timeout=0.3))["home"])
    code, told = one.interrupt()
    assert code == 3
    assert told.startswith("away: The Hermes home ")
