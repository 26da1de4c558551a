"""What another process does in a fault test: hold a lock, or make calls as a host would.

worker.py hold LEDGER           holds the ledger exclusively until a line comes in
worker.py calls PREFIX COUNT    makes COUNT calls, settles each, prints `done`
worker.py crash PREFIX          makes calls without end and prints each id once its `pre_tool_call` returned
worker.py script                runs Python from standard input, with the hooks as `pre`, `post`, `turn`, `start`
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from typing import Any

import agent_ledger as door


def ids(call: str, session: str = "s1") -> dict[str, Any]:
    return {
        "session_id": session, "turn_id": f"{session}:{session}:00000001", "task_id": session, "tool_call_id": call,
        "api_request_id": "r1",
    }  # fmt: skip


def pre(call: str, args: Any = None, tool: str = "write_file", session: str = "s1") -> None:
    door.pre_tool_call(tool_name=tool, args=args or {"path": f"/{call}", "content": "x"}, **ids(call, session))


def post(call: str, args: Any = None, tool: str = "write_file", session: str = "s1", status: str = "ok") -> None:
    door.post_tool_call(
        tool_name=tool, args=args or {"path": f"/{call}", "content": "x"}, result='{"bytes_written": 1}',
        status=status, duration_ms=1, **ids(call, session),
    )  # fmt: skip


def turn(session: str = "s1", history: Any = ()) -> Any:
    return door.pre_llm_call(session_id=session, turn_id=f"{session}:2", task_id=session, conversation_history=history)


def start(session: str = "s1") -> None:
    door.on_session_start(session_id=session)


def merged(seconds: float = 60.0) -> bool:
    """Wait until this process has nothing spooled and no abandoned spool is left."""
    keeper = door.recorder().keeper
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        keeper.square(0.0)
        if not keeper._spool.active and keeper._store is not None and not keeper._foreign_files():
            return True
        time.sleep(0.01)
    return False


def say(text: object) -> None:
    print(text, flush=True)


def hold(path: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute("BEGIN EXCLUSIVE")
    say("held")
    sys.stdin.readline()
    connection.execute("ROLLBACK")
    connection.close()


def make_calls(prefix: str, count: int) -> None:
    start()
    for number in range(count):
        pre(f"{prefix}-{number}")
        post(f"{prefix}-{number}")
    say("done" if merged() else "not merged")


def crash(prefix: str) -> None:
    start()
    number = 0
    while True:
        call = f"{prefix}-{number}"
        pre(call)
        os.write(1, f"{call}\n".encode())
        if number % 3:
            post(call)
        number += 1
        time.sleep(0.0002)


def main(words: list[str]) -> None:
    match words:
        case ["hold", path]:
            hold(path)
        case ["calls", prefix, count]:
            make_calls(prefix, int(count))
        case ["crash", prefix]:
            crash(prefix)
        case ["script"]:
            exec(compile(sys.stdin.read(), "script", "exec"), globals())
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
