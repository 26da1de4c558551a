"""The simulated host while somebody watches: its order of hooks, its process, and the app on top."""

from __future__ import annotations

import fcntl
import os
import pty
import select as readiness
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui.demo import command
from ledger_tui.demo.errors import HostError
from ledger_tui.demo.hooks import Door, Ids, Past, PastClock
from ledger_tui.demo.host import Host
from ledger_tui.demo.making import lost, shell, write
from ledger_tui.demo.process import Plan
from ledger_tui.demo.process import command as host_command
from ledger_tui.demo.scenarios import SCENARIOS
from ledger_tui.demo.store import SessionStore
from ledger_tui.demo.story import Call, Chat, Scenario, Turn

from .conftest import select

ROOT = Path(__file__).resolve().parents[2]

OPENED_AT = 1_900_000_000.0


class Heard:
    """Hooks that keep what they are told."""

    def __init__(self) -> None:
        self.moments: list[tuple[str, ...]] = []
        self.took: list[int] = []

    def session_start(self, session_id: str, platform: str) -> None:
        self.moments.append(("start", platform))

    def pre_llm_call(self, **payload: Any) -> Any:
        self.moments.append(("turn", payload["user_message"]))

    def issue(self, tool: str, args: dict[str, Any], ids: Ids) -> None:
        self.moments.append(("issue", tool, "with an id" if ids["tool_call_id"] else "inside"))

    def returned(self, tool: str, args: dict[str, Any], result: str, ids: Ids) -> None:
        self.moments.append(("returned", tool))

    def report(
        self, tool: str, args: dict[str, Any], result: str, ids: Ids, status: str, error_type: str, duration_ms: int
    ) -> None:
        self.moments.append(("report", tool, status))
        self.took.append(duration_ms)

    def close(self) -> None:
        pass


def never(tool: str, args: dict[str, Any], ids: Ids) -> None:
    raise AssertionError("nobody is to be killed here")


def host_of(home: Path, chat: Chat, hooks: Any, *, talks: bool = False) -> Host:
    scenario = Scenario("test", "", (chat,), frozenset({chat.name} if talks else ()))
    store = SessionStore(home / "state.db", lambda: OPENED_AT)
    return Host(scenario, store, hooks, home=home, seed=1, clock=lambda: OPENED_AT, kill=never)


def moments(tmp_path: Path, *calls: Call) -> list[tuple[str, ...]]:
    heard = Heard()
    host = host_of(tmp_path, Chat("one", "cli", None, (Turn(0.0, "go", calls, "done"),)), heard)
    while host.next_at() is not None:
        host.step()
    assert heard.moments[:2] == [("start", "cli"), ("turn", "go")]
    return heard.moments[2:]


def test_a_call_is_announced_returns_and_is_reported(tmp_path: Path) -> None:
    assert moments(tmp_path, write("a", "b")) == [
        ("issue", "write_file", "with an id"),
        ("returned", "write_file"),
        ("report", "write_file", "ok"),
    ]


def test_a_lost_call_is_only_announced(tmp_path: Path) -> None:
    assert moments(tmp_path, lost(shell("true"))) == [("issue", "terminal", "with an id")]


def test_calls_inside_a_script_get_no_report_of_their_own(tmp_path: Path) -> None:
    script = Call("execute_code", {"code": "x"}, takes=6.0, inside=(write("a", "b"), shell("true")))
    assert moments(tmp_path, script) == [
        ("issue", "execute_code", "with an id"),
        ("issue", "write_file", "inside"),
        ("returned", "write_file"),
        ("issue", "terminal", "inside"),
        ("returned", "terminal"),
        ("returned", "execute_code"),
        ("report", "execute_code", "ok"),
    ]


def test_small_talk_goes_on_with_new_numbers_at_the_given_speed(tmp_path: Path) -> None:
    talk = Chat(
        "one", "cli", None, (), small_talk=(Turn(0, "number {n}", (shell("make {n}", takes=8.0),), "done {n}"),)
    )
    heard = Heard()
    host = host_of(tmp_path, talk, heard, talks=True)
    host.go_on(heard, 4.0)
    while len(heard.took) < 3:
        host.step()
    assert [m[1] for m in heard.moments if m[0] == "turn"] == ["number 1", "number 2", "number 3"]
    assert heard.took == [2000, 2000, 2000]
    at = host.next_at()
    assert at is not None
    # Three turns of 1.5 + 8 + 1.5 s and at most 14 s of pause, after at most 14 s, all four times as fast.
    assert at < (14.0 + 3 * (11.0 + 14.0)) / 4


def test_the_plugins_own_door_records_what_the_host_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    Past(tmp_path, PastClock(OPENED_AT)).close()  # The ledger is there, so nothing goes by way of the spool.
    door = Door()
    script = Call("execute_code", {"code": "x"}, inside=(write("nested", "b"),))
    turn = Turn(0.0, "go", (write("plain", "b"), script), "done")
    host = host_of(tmp_path, Chat("one", "cli", None, (turn,)), door)
    while host.next_at() is not None:
        host.step()
    door.close()
    rows = select(Paths(tmp_path).ledger, "SELECT tool_name, status, nested_in FROM ledger ORDER BY id")
    assert rows == [
        {"tool_name": "write_file", "status": "CONFIRMED", "nested_in": None},
        {"tool_name": "execute_code", "status": "CONFIRMED", "nested_in": None},
        {"tool_name": "write_file", "status": "CONFIRMED", "nested_in": 2},
    ]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    home = tmp_path / "home"
    home.mkdir()
    plan = Plan(str(home), "everyday", 1, 50.0, time.time(), None, throwaway=True)
    host = subprocess.Popen(
        host_command(plan),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HERMES_HOME": str(home), "PYTHONPATH": str(ROOT)},
    )
    with host:
        yield host
        host.kill()


def test_the_host_ends_with_whoever_started_it_and_takes_its_home_along(
    started: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert started.stdin is not None
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    ledger = Paths(tmp_path / "home").ledger
    written = len(select(ledger, "SELECT id FROM ledger"))
    until = time.monotonic() + 60
    while len(select(ledger, "SELECT id FROM ledger")) == written:
        assert time.monotonic() < until
        time.sleep(0.02)
    started.stdin.close()
    assert started.wait(60) == 0
    assert not (tmp_path / "home").exists()


def test_a_host_that_fails_is_told_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "command", lambda plan: [sys.executable, "-c", "raise ValueError('no luck')"])
    with pytest.raises(HostError) as caught:
        command.run(scenario=None, home=tmp_path / "home", seed=1, speed=1.0, headless=True, duration=None)
    assert str(caught.value) == "The simulated host ended early (ValueError: no luck)."


def test_what_the_host_says_of_itself_is_heard_line_by_line_and_harmless() -> None:
    words = "The gateway runs again.\n\N{ESCAPE}[2J[b]gone\n"
    host = subprocess.Popen(
        [sys.executable, "-c", f"print({words!r}, end='')"], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    heard: list[str] = []
    with host:
        command._listen(host, heard.append)
    assert heard == ["The gateway runs again.", r"\u001b[2J[b]gone"]


class Terminal:
    """A program in a terminal of 80 columns and 24 lines."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.execve(arguments[0], arguments, environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def until(self, text: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while text not in "\n".join(self.screen.display):
            assert time.monotonic() < end, "\n".join(self.screen.display)
            self._read(0.1)

    def _read(self, seconds: float) -> bool:
        if readiness.select([self._fd], [], [], seconds)[0]:
            try:
                self._stream.feed(os.read(self._fd, 65536))
            except OSError:
                return False
        return True

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def exit_code(self) -> int:
        while self._read(60.0):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_the_app_opens_on_it_marked_as_a_simulation_and_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    terminal = Terminal([sys.executable, "-m", "ledger_tui", "demo", "--scenario", "lost-cron"], environment)
    terminal.until("Calls simulation")
    terminal.until("Evening remin")
    terminal.until("host gone")
    assert [path.name.startswith("ledger-tui-demo-") for path in tmp_path.iterdir()] == [True]
    terminal.type("q")
    assert terminal.exit_code() == 0
    assert list(tmp_path.iterdir()) == []


def test_every_scenario_names_chats_that_exist() -> None:
    for scenario in SCENARIOS.values():
        names = {chat.name for chat in scenario.chats}
        assert scenario.talkative <= names
        assert {chat.child_of for chat in scenario.chats} - {None} <= names
        assert all(chat.small_talk for chat in scenario.chats if chat.name in scenario.talkative)
