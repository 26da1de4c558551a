"""May the store be written now? Gateway, open files and leases, each with what to do about it.

Read only. An answer of `unknown` needs a person who says that everything is stopped; one of `fail` is final.
Sources: Hermes 0.19.0 and 0.22.2; hermes-agent #82665, #102589, #104691.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.inert import inert
from ledger_tui.sources.guard import SourceError, connect, explain, real_path

from ..owners import store_owner
from . import gateway_files
from .leases import back_ends, clock_time, leases
from .open_files import holders
from .refused import RefusedError

OK, FAIL, UNKNOWN = "ok", "fail", "unknown"

STOP = "stop the gateway, the dashboard, every Hermes window and every program that reads this store, then try again"


@dataclass(frozen=True, slots=True)
class SafetyCheck:
    """One question. `text` and `remedy` are inert sentences; `remedy` is empty where nothing is to be done."""

    name: str
    """`gateway-lock`, `gateway-process`, `open-files` or `leases`."""
    state: str
    """`ok`, `fail` or `unknown`."""
    text: str
    remedy: str = ""


def safety_checks(
    store_path: Path, home: Path, *, now: float, processes: Path = Path("/proc")
) -> tuple[SafetyCheck, ...]:
    """All four, in the order of their weight. `now` in seconds since 1970. Raises nothing for what is in use."""
    homes = tuple(_homes(store_path, home))
    return _locks(homes), _processes(homes), _open_files(store_path, processes), _leases(store_path, now)


def require_safe(
    store_path: Path,
    home: Path,
    *,
    now: float,
    stopped_by: str | None,
    processes: Path = Path("/proc"),
    readable: bool = True,
) -> tuple[SafetyCheck, ...]:
    """The checks, all passed or, where nothing can be seen, vouched for by a person.

    `readable` is False for a store that nobody can read before a dead writer's change is taken back: then its leases
    are not asked. Raises RefusedError with the first check that did not pass.
    """
    checks = safety_checks(store_path, home, now=now, processes=processes)
    checks = checks if readable else checks[:-1]
    for check in sorted(checks, key=lambda one: one.state != FAIL):
        if check.state == FAIL:
            raise RefusedError(check.text, check.remedy, check=check.name)
        if check.state == UNKNOWN and not stopped_by:
            raise RefusedError(check.text, f"{check.remedy}, or say that everything is stopped", check=check.name)
    return checks


def worst(checks: Sequence[SafetyCheck]) -> str:
    """`fail` if one fails, else `unknown` if one is not known, else `ok`."""
    states = {check.state for check in checks}
    return FAIL if FAIL in states else UNKNOWN if UNKNOWN in states else OK


def _homes(store: Path, home: Path) -> Iterator[Path]:
    """Homes whose gateway could serve this store; one gateway of the root may serve every profile below it."""
    folders = [store.absolute().parent, real_path(store).parent]
    if store_owner(store, home) is not None:
        folders.append(real_path(home))
    seen = set()
    for folder in folders:
        root = folder.parent.parent if folder.parent.name == "profiles" else folder
        for one in (folder, root):
            if one not in seen:
                seen.add(one)
                yield one


def _locks(homes: Sequence[Path]) -> SafetyCheck:
    name = "gateway-lock"
    traces = [gateway_files.lock(home / gateway_files.LOCK) for home in homes]
    for trace in traces:
        if trace.live:
            who = f" (process {trace.pid})" if trace.pid is not None else ""
            return SafetyCheck(name, FAIL, f"A gateway runs: it holds {_shown(trace.path)}{who}.", STOP)
    for trace in traces:
        if trace.live is None:
            return SafetyCheck(name, UNKNOWN, f"Whether {_shown(trace.path)} is held cannot be asked here.", STOP)
    return SafetyCheck(name, OK, "No gateway holds its lock.")


def _processes(homes: Sequence[Path]) -> SafetyCheck:
    name = "gateway-process"
    for trace in (gateway_files.record(home / file) for home in homes for file in gateway_files.RECORDS):
        if trace.live and trace.pid is None:
            remedy = "make sure that no gateway runs, then move the file away"
            return SafetyCheck(name, FAIL, f"{_shown(trace.path)} cannot be understood, so a gateway may run.", remedy)
        if trace.live:
            text = f"{_shown(trace.path)} names process {trace.pid}, which lives and is the one that wrote it."
            return SafetyCheck(name, FAIL, text, STOP)
    return SafetyCheck(name, OK, "No gateway has left a record of a living process.")


def _open_files(store: Path, processes: Path) -> SafetyCheck:
    name = "open-files"
    try:
        found = holders(store, processes=processes)
    except OSError as error:
        return SafetyCheck(name, UNKNOWN, f"Who holds the store cannot be seen ({inert(str(error.strerror))}).", STOP)
    if found.holding:
        return SafetyCheck(name, FAIL, f"The store is open in {_listed(found.holding)}.", STOP)
    if not found.visible:
        return SafetyCheck(name, UNKNOWN, "This system does not show which processes hold the store.", STOP)
    if found.hidden:
        return SafetyCheck(name, UNKNOWN, f"Nobody can look into {_listed(found.hidden)}.", STOP)
    return SafetyCheck(name, OK, "No other process holds the store or a file beside it.")


def _leases(store: Path, now: float) -> SafetyCheck:
    name = "leases"
    try:
        with closing(connect(store, timeout_s=5.0)) as connection:
            live, ends = leases(connection, now=now), back_ends(connection, now=now)
    except sqlite3.Error as error:
        return SafetyCheck(name, UNKNOWN, f"Leases cannot be read: {explain(store, error)}", STOP)
    except SourceError as error:
        return SafetyCheck(name, UNKNOWN, f"Leases cannot be read: {error}", STOP)
    if live:
        last = max(live, key=lambda lease: lease.until)
        gone = " Its process is gone." if last.gone else ""
        text = f"By the store, {last.what} is under way until {clock_time(last.until)}.{gone}"
        return SafetyCheck(name, FAIL, text, "stop everything, then wait until that time has passed")
    if ends:
        text = f"{ends} terminal or web back end of Hermes gave a sign of life in the last two minutes."
        return SafetyCheck(name, FAIL, text, STOP)
    return SafetyCheck(name, OK, "No turn and no compaction is under way.")


def _shown(path: Path) -> str:
    return inert(str(path))


def _listed(names: Sequence[str]) -> str:
    head = ", ".join(names[:3])
    return head if len(names) <= 3 else f"{head} and {len(names) - 3} more"
