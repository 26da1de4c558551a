"""The process that forks children (`children.py` asks it), and what their scripts can do to themselves.

A script finds everything of `tests/engine/worker.py` and, beside it: `command`, `die_at_line`, `count_lines`,
`lines_run`, `limit_size`, `unlimit_size`, `limit_files`, `unlimit_files`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ledger_tui import cli
from tests.engine import worker

_lines = 0
_counting = threading.Lock()

_ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (str(_ROOT / "agent_ledger"), str(_ROOT / "ledger_tui"))


def command(*words: str) -> int:
    """Run a command of `ledger-tui` in this process; its exit code."""
    try:
        return cli.run(list(words))
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 1


def count_lines(*files: str, at: int = 0) -> None:
    """Count lines of the program's files (all of them without a name) as they run; at one of them, die of SIGKILL."""

    def here(frame: FrameType, event: str, _: Any) -> Any:
        global _lines
        if event == "line":
            with _counting:
                _lines += 1
                if _lines == at:
                    os.kill(os.getpid(), signal.SIGKILL)
        return here

    def enter(frame: FrameType, event: str, given: Any) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        return here if name.startswith(PROGRAM) and (not files or os.path.basename(name) in files) else None

    threading.settrace(enter)
    sys.settrace(enter)


def die_at_line(at: int, *files: str) -> None:
    """Die of SIGKILL before the line number `at` of those that run from now on."""
    count_lines(*files, at=at)


def lines_run() -> int:
    """Lines counted so far."""
    return _lines


def limit_size(size: int, *, deadly: bool = False) -> None:
    """No file may grow beyond `size` bytes: a write behind it is refused (EFBIG), or kills this process.

    The last write that still begins before the limit is cut short there, as on a disk that fills up.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def unlimit_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def limit_files(more: int) -> None:
    """At most `more` further files may be open (EMFILE)."""
    most = max(int(name) for name in os.listdir("/dev/fd")) + 1 + more
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def unlimit_files() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1024), most))


def _child(request: dict[str, Any], streams: list[int]) -> None:
    """Become the child: its streams, its environment, its script. Does not return."""
    code = 1
    try:
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode) for n, mode in enumerate("rww"))
        os.environ.update(request["environment"])
        names = {**vars(worker), **globals()}
        exec(compile(request["script"], "script", "exec"), names)
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def main(control: int) -> None:
    """Fork a child for each script that comes in, tell its number; tell exit codes when asked."""
    asked = socket.socket(fileno=control)
    while True:
        message, streams, _, _ = socket.recv_fds(asked, 1 << 20, 3)
        if not message:
            return
        request = json.loads(message)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            asked.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        pid = os.fork()
        if pid == 0:
            asked.close()
            _child(request, list(streams))
        for descriptor in streams:
            os.close(descriptor)
        asked.send(str(pid).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
