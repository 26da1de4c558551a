"""A throw-away Hermes home whose hooks are called as the host calls them, under a clock that can be moved."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import agent_ledger as door
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("worker.py")

LONGEST_S = 60.0
"""What has not happened after so long is not going to; only a failing test ever waits for it."""

Row = Mapping[str, Any]


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait for something that another thread or process does."""
    deadline = time.monotonic() + LONGEST_S
    while not happened():
        assert time.monotonic() < deadline, f"did not happen: {what}"
        time.sleep(0.005)


class Clock:
    """The machine's clocks with an offset each, so that tests can let minutes pass."""

    def __init__(self) -> None:
        self.wall_offset = 0.0
        self.mono_offset = 0.0

    def wall(self) -> float:
        return time.time() + self.wall_offset

    def mono(self) -> float:
        return time.monotonic() + self.mono_offset

    def advance(self, seconds: float) -> None:
        self.wall_offset += seconds
        self.mono_offset += seconds


class Home:
    """One home, and the plugin's hooks in it. Every hook takes what the host gives, with defaults of a plain chat."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths = Paths(folder)
        self.clock = Clock()
        self.recorder = self._new_recorder()

    def _new_recorder(self) -> Recorder:
        made = Recorder(self.paths, clock=self.clock.wall, mono=self.clock.mono, about=lambda: {"plugin": "test"})
        door._recorders[(os.getpid(), str(self.folder))] = made
        return made

    def restart(self) -> None:
        """The host ends properly and starts again."""
        self.recorder.keeper.close()
        self.recorder = self._new_recorder()

    def close(self) -> None:
        self.recorder.keeper.close()
        door._recorders.pop((os.getpid(), str(self.folder)), None)

    # -- the hooks -------------------------------------------------------------------------------------------------

    def pre(self, tool: Any = "write_file", args: Any = None, call: Any = "c1", **more: Any) -> None:
        answer: object = getattr(door, "pre_tool_call")(**self._payload(tool, args, call, more))  # noqa: B009 - typed as without one
        assert answer is None, "the hook observes; an answer could steer the host"

    def post(self, tool: Any = "write_file", args: Any = None, call: Any = "c1", **more: Any) -> None:
        more = {"result": '{"bytes_written": 3}', "status": "ok", "duration_ms": 5, **more}
        door.post_tool_call(**self._payload(tool, args, call, more))

    def returned(self, result: Any, tool: Any = "write_file", args: Any = None, call: Any = "c1", **more: Any) -> Any:
        """The middleware sees the tool return `result`, or raise it where it is an exception."""

        def next_call(_: Any) -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

        payload = self._payload(tool, args, call, more)
        return door.tool_execution(next_call=next_call, **payload)

    def turn(
        self, number: int = 2, session: str = "s1", history: Any = None, *, at_once: bool = False, **more: Any
    ) -> str:
        """The notice of a turn, empty for none. It starts when everything is in the ledger, unless `at_once`."""
        if not at_once:
            self.merged()
        payload = {
            "session_id": session, "turn_id": f"{session}:{session}:{number:08x}", "task_id": session,
            "user_message": "go on", "conversation_history": [] if history is None else history,
            "is_first_turn": False, "model": "m", "platform": "cli", "sender_id": "", **more,
        }  # fmt: skip
        answer = door.pre_llm_call(**payload)
        return answer["context"] if answer else ""

    def start(self, session: str = "s1") -> None:
        door.on_session_start(session_id=session, model="m", platform="cli")

    @staticmethod
    def _payload(tool: Any, args: Any, call: Any, more: Mapping[str, Any]) -> dict[str, Any]:
        session = more.get("session_id", "s1")
        return {
            "tool_name": tool, "args": {"path": "/a", "content": "abc"} if args is None else args, "tool_call_id": call,
            "session_id": session, "task_id": session, "turn_id": f"{session}:{session}:00000001",
            "api_request_id": "r1", "middleware_trace": [], "telemetry_schema_version": "hermes.observer.v1", **more,
        }  # fmt: skip

    # -- what came of it -------------------------------------------------------------------------------------------

    def merged(self) -> None:
        """Wait until nothing is spooled any more."""
        keeper = self.recorder.keeper
        keeper.square(0.0)
        until(lambda: not keeper._spool.active and keeper._store is not None, "the spool is merged")

    def rows(self, where: str = "1") -> list[Row]:
        """Rows of the ledger in order, once the spool is merged."""
        self.merged()
        return read_rows(self.paths, where)

    def only(self) -> Row:
        (row,) = self.rows()
        return row

    def statuses(self) -> list[str]:
        return [row["status"] for row in self.rows()]


def read_rows(paths: Paths, where: str = "1") -> list[Row]:
    """Rows of a ledger, read-only."""
    connection = sqlite3.connect(f"{paths.ledger.as_uri()}?mode=ro", uri=True, timeout=5)
    try:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM ledger WHERE {where} ORDER BY id")]
    finally:
        connection.close()


def integrity(path: Path) -> str:
    """What SQLite finds wrong with a ledger, `ok` for nothing."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def worker(home: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    """Another process with the plugin in this home; `worker.py` says what it can do. Talk to it line by line."""
    return subprocess.Popen(
        [sys.executable, str(WORKER), *words],
        env={**os.environ, "HERMES_HOME": str(home), "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home if os.access(home, os.X_OK) else "/",
    )


def said(process: subprocess.Popen[str]) -> str:
    """The next line that a worker prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], line: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def three_waiting(home: Home, *, in_memory: bool) -> LockHolder:
    """One call in the ledger, and three announced while it is held: in the spool, or in memory. Who holds it."""
    home.pre(call="old")
    home.merged()
    holder = LockHolder(home.paths)
    if in_memory:
        home.recorder.keeper._spool._folders.clear()
    for n in range(3):
        home.pre(args={"path": f"/{n}"}, call=f"c{n}")
    return holder


class LockHolder:
    """Another process that holds a ledger so that nobody can write, until told to let go."""

    def __init__(self, paths: Paths) -> None:
        self.process = worker(paths.home, "hold", str(paths.ledger))
        assert said(self.process) == "held"

    def release(self) -> None:
        tell(self.process)
        assert self.process.wait(LONGEST_S) == 0

    def holds(self) -> bool:
        return self.process.poll() is None
