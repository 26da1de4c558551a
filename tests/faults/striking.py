"""In the process that runs one command: a fault that strikes at a step, done by another process than the one it hits.

A fault is a mapping: `step` (a name that repairs tell, or `line`: each line of what acts in a repair, when it runs for
the first time), `nth`, `act`, `target` (a pattern of a file's path), `at` (0 to 1, or bytes), `by` (a file to take
its place) and `kill`.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

REPAIR = Path(__file__).resolve().parents[2] / "ledger_tui" / "routing" / "repair"
ACTING = frozenset(str(REPAIR / f"{name}.py") for name in ("apply", "undo", "backup", "journal", "settle", "writing"))
"""Not those that look at other processes: what they run depends on the machine."""

LINE = "line"

BUSY_S = 0.05
"""How long a command waits for a lock here, in place of seconds: who holds one in these rounds never lets go."""

LONGEST_S = 60
"""A command that takes so long hangs, and dies by the alarm."""

STRUCK = "!struck\n"
"""Said on standard error where the command came to the step."""

FILLER = "filler"

Fault = Mapping[str, Any]


def command(words: list[str], *, now: float, fault: Fault | None = None, spill: bool = False) -> int:
    """One command line, by a clock that stands at `now`; its exit code.

    `spill`: with so little memory that SQLite writes into the file before the commit, as it does in a large change.
    """
    from ledger_tui import cli
    from ledger_tui.commands import fleet, repair
    from ledger_tui.commands.place import place_of
    from ledger_tui.routing.repair import writing

    signal.alarm(LONGEST_S)
    os.environ["LEDGER_TUI_DEBUG"] = "1"  # A defect shows as its traceback.
    strike = _strike(fault) if fault is not None else writing.nothing
    _put(fleet, "place_of", lambda *named: replace(place_of(*named), clock=lambda: now))
    _put(sqlite3, "connect", _impatient(sqlite3.connect))
    if spill:
        _put(writing, "lenient", _cramped)
    for name in ("apply", "undo"):
        _put(repair, name, partial(getattr(repair, name), fault=strike))
    if fault is not None and fault["step"] == LINE:
        _trace(strike)
    return cli.run(words)


def app(home: str, fault: Fault) -> None:
    """The app on a home, its repairs and undos struck at a step. Never returns."""
    from agent_ledger.engine.paths import Paths
    from ledger_tui.app import make_app, run_blocking
    from screens import repair_run

    strike = _strike(fault, told=False)
    for name in ("apply", "undo"):
        _put(repair_run, name, partial(getattr(repair_run, name), fault=strike))
    sys.exit(run_blocking(make_app(Paths(Path(home)))))


def _put(module: object, name: str, value: object) -> None:
    setattr(module, name, value)


def _impatient(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
    return lambda *path, timeout=BUSY_S, **more: connect(*path, timeout=min(timeout, BUSY_S), **more)


def _cramped(connection: sqlite3.Connection) -> None:
    from ledger_tui.routing.read import lenient

    lenient(connection)
    connection.execute("PRAGMA cache_size=1")


def _strike(fault: Fault, *, told: bool = True) -> Callable[[str], None]:
    """What happens at each step: nothing, but at the one that the fault names."""
    vandal = _Vandal(fault)
    seen = 0

    def strike(step: str) -> None:
        nonlocal seen
        seen += step == fault["step"]
        if step != fault["step"] or seen != fault["nth"]:
            return
        if told:
            os.write(2, STRUCK.encode())
        if fault["act"] == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(fault["at"]), resource.RLIM_INFINITY))
        else:
            vandal.act()
        if fault["kill"]:
            os.kill(os.getpid(), signal.SIGKILL)

    return strike


def _trace(strike: Callable[[str], None]) -> None:
    """Tells each line of what acts, before it runs for the first time."""
    known: set[tuple[str, int]] = set()

    def here(frame: FrameType, event: str, _: Any) -> Any:
        line = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and line not in known:
            known.add(line)
            strike(LINE)
        return here

    def enter(frame: FrameType, _: str, __: Any) -> Any:
        return here if frame.f_code.co_filename in ACTING else None

    sys.settrace(enter)


class _Vandal:
    """A process that does damage when told to, and ends with the one that it damages.

    Another process: whoever opens and closes a database file takes the locks of its own process away.
    """

    def __init__(self, fault: Fault) -> None:
        order, self._order = os.pipe()
        self._done, done = os.pipe()
        if os.fork() == 0:
            try:
                os.close(self._order)
                os.close(self._done)
                if os.read(order, 1):
                    held = harm(fault)
                    os.write(done, b"!")
                    os.read(order, 1)  # Until the other one ends.
                    del held
            finally:
                os._exit(0)
        os.close(order)
        os.close(done)

    def act(self) -> None:
        os.write(self._order, b"!")
        assert os.read(self._done, 1), "the vandal failed"


def harm(fault: Fault) -> object:
    """Does it to the file or folder that `target` means; what is returned must be held as long as it is to last."""
    target = meant(Path(fault["target"])) if fault["target"] else None
    if target is None:
        return None
    act, at = fault["act"], fault["at"]
    if act == "flip" and target.is_file():
        flip_bit(target, at)
    elif act == "truncate" and target.is_file():
        os.truncate(target, int(target.stat().st_size * at))
    elif act == "remove":
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    elif act == "replace":
        part = Path(f"{target}.new")
        shutil.copyfile(fault["by"], part)
        os.replace(part, target)
    elif act == "fill":
        fill(target, int(at))
    elif act == "lock":
        return _locked(target)
    return None


def meant(pattern: Path) -> Path | None:
    """The last by name of what is meant; None where nothing is there now."""
    return max(pattern.parent.glob(pattern.name), key=lambda path: path.name, default=None)


def flip_bit(path: Path, at: float) -> None:
    """Turns one bit at that part (0 to 1) of the file."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            where = min(size - 1, int(size * at))
            file.seek(where)
            byte = file.read(1)[0]
            file.seek(where)
            file.write(bytes([byte ^ (1 << where % 8)]))


def fill(folder: Path, left: int) -> None:
    """Takes all the room of the folder's file system but for so many bytes."""
    size = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    with (folder / FILLER).open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, size - left))


def _locked(path: Path) -> sqlite3.Connection:
    """As tight as the others allow; who comes too late does not get it at all."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    for begin in ("BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"):
        try:
            connection.execute(begin)
            break
        except sqlite3.Error:
            continue
    return connection
