"""Processes that are there to be broken: forked within milliseconds from one that has imported the program.

    with nursery.child(script, HERMES_HOME=...) as child:
        child.line()            # the next line it said
        child.tell("go")        # a line for it
        ended = child.end()     # code (negative: the signal), out, err

`script` is Python; it finds the hooks and helpers of `tests/engine/worker.py`, and what `cradle.py` adds to them.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LONGEST_S = 60.0
"""What has not happened after so long is not going to; only a failing test ever waits for it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: exit code, or minus the number of the signal; all that it said."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> list[str]:
        """Lines that it said, whole ones only: a process that was killed may leave half a line."""
        return [line for line in self.out.splitlines(keepends=True) if line.endswith("\n")]


class Child:
    """One forked process. Its standard streams are ours."""

    def __init__(self, nursery: Nursery, pid: int, stdin: int, out: int, err: int) -> None:
        self.pid = pid
        self._nursery, self._stdin = nursery, stdin
        self._streams = {out: bytearray(), err: bytearray()}
        self._out, self._err, self._read = out, err, 0
        self._ended: Ended | None = None

    def tell(self, line: str = "") -> None:
        with contextlib.suppress(BrokenPipeError):  # It may have been killed before it could listen.
            os.write(self._stdin, line.encode() + b"\n")

    def line(self) -> str:
        """The next line that it says; empty when it ends without one."""
        data = self._streams[self._out]
        while b"\n" not in data[self._read :]:
            if self._out not in self._open() or not self._more():
                return ""
        end = data.index(b"\n", self._read)
        text, self._read = bytes(data[self._read : end]).decode(), end + 1
        return text

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> Ended:
        """Wait until it has ended."""
        if self._ended is None:
            while self._open() and self._more():
                pass
            code = self._nursery.wait(self.pid)
            out, err = (self._streams[fd].decode("utf-8", "replace") for fd in (self._out, self._err))
            for descriptor in (*self._open(), self._stdin):
                os.close(descriptor)
            self._closed = set(self._streams)
            self._ended = Ended(code, out, err)
        return self._ended

    _closed: set[int] | frozenset[int] = frozenset()

    def _open(self) -> list[int]:
        return [fd for fd in self._streams if fd not in self._closed]

    def _more(self) -> bool:
        """Read what there is from either stream; False once both have ended."""
        with selectors.DefaultSelector() as waiting:
            for descriptor in self._open():
                waiting.register(descriptor, selectors.EVENT_READ)
            ready = waiting.select(LONGEST_S)
        assert ready, f"a child said nothing for {LONGEST_S} s: {self._streams}"
        for key, _ in ready:
            data = os.read(key.fd, 65536)
            self._streams[key.fd] += data
            if not data:
                os.close(key.fd)
                self._closed = {*self._closed, key.fd}
        return bool(self._open())


class Nursery:
    """The process that forks children, and the ways to ask it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.cradle", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        theirs.close()
        self._socket.settimeout(LONGEST_S)

    @contextlib.contextmanager
    def child(self, script: str, **environment: str) -> Iterator[Child]:
        """A child that runs a script; killed at the end of the block if it still lives."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        request = {"script": script, "environment": environment}
        socket.send_fds(self._socket, [json.dumps(request).encode()], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        child = Child(self, int(self._socket.recv(64)), pipes[0][1], pipes[1][0], pipes[2][0])
        try:
            yield child
        finally:
            if child._ended is None:
                child.kill()
                child.end()

    def run(self, script: str, **environment: str) -> Ended:
        """A script from beginning to end."""
        with self.child(script, **environment) as child:
            return child.end()

    def wait(self, pid: int) -> int:
        """The exit code of a child that has ended, or ends now."""
        self._socket.send(json.dumps({"wait": pid}).encode())
        return int(self._socket.recv(64))

    def close(self) -> None:
        self._socket.close()
        deadline = time.monotonic() + LONGEST_S
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        self._process.kill()
        self._process.wait()
