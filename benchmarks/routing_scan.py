"""The survey of a large session store: how its time grows, what memory it takes, and the host's finder beside ours."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._paired import Report, arguments, interleaved, note, percentile
from benchmarks._sessions import make, run

_HOST = """
import json, sys, time
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(db_path=Path(sys.argv[1]), read_only=True)
began = time.perf_counter()
found = db.find_orphaned_gateway_sessions()
print(json.dumps({"seconds": time.perf_counter() - began, "found": [one["orphan_id"] for one in found],
                  "adoptable": sum(one["adoptable"] for one in found)}))
"""

_OURS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from benchmarks.routing_scan import one
one(sys.argv[1])
"""


def one(name: str) -> None:
    """One survey in this process, which does nothing else; prints seconds and the peak of its memory in MB."""
    import resource

    from ledger_tui.routing.orphans import find_orphans
    from ledger_tui.routing.read import read_store
    from ledger_tui.routing.survey import survey

    path = Path(name)
    began = time.perf_counter()
    store = read_store(path, path.parent)
    read = time.perf_counter()
    orphans = find_orphans(store.sessions, store.owner)
    found = time.perf_counter()
    survey(store, now=time.time())
    whole = time.perf_counter() - found + read - began  # The survey finds the orphans once more.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    lost = {"found": [row.orphan_id for row in orphans], "adoptable": sum(row.adoptable for row in orphans)}
    print(json.dumps({"seconds": found - began, "whole": whole, "peak": peak, **lost}))


def ours(path: Path) -> dict[str, Any]:
    """The same in a fresh process."""
    found: dict[str, Any] = json.loads(run(sys.executable, _OURS, path))
    return found


def growth(folder: Path, sessions: int, rounds: int, report: Report) -> None:
    """A store, and one of half its size, in turn."""
    peaks: list[float] = []
    sides: list[Callable[[int], float]] = []
    for size in (sessions, sessions // 2):
        path = folder / f"of{size}" / "state.db"
        path.parent.mkdir()
        note(f"makes a store of {size:,} sessions")
        make(path, size)

        def side(_: int, path: Path = path) -> float:
            taken = ours(path)
            peaks.append(taken["peak"])
            return float(taken["whole"])

        sides.append(side)
    large, half = interleaved(rounds, 0, *sides)
    report.add(
        f"reading and survey, {sessions:,} sessions", percentile(large, 0.5), percentile(half, 0.5), unit="s",
        bar="at most 2.3x (of half the sessions)",
    )  # fmt: skip
    report.add("memory at its peak, whole process", max(peaks), None, unit="MB", bar="at most 250 MB")


def against(folder: Path, host: str, sessions: int, rounds: int, report: Report) -> None:
    """The host's own finder and ours on one store, in turn; ours includes reading the file."""
    path = folder / "beside" / "state.db"
    path.parent.mkdir()
    note(f"makes a store of {sessions:,} sessions with the host's own tables")
    make(path, sessions, host=host)
    answers: list[tuple[list[str], int]] = []

    def timed(measure: Callable[[], dict[str, Any]]) -> Callable[[int], float]:
        def side(_: int) -> float:
            taken = measure()
            answers.append((taken["found"], taken["adoptable"]))
            return float(taken["seconds"])

        return side

    theirs, mine = interleaved(rounds, 0, timed(lambda: json.loads(run(host, _HOST, path))), timed(lambda: ours(path)))
    bar = "at least 40 times" if sessions >= 100_000 else "at least 10 times"
    report.add(
        f"the host's finder, {sessions:,} sessions (reference: ours)", percentile(theirs, 0.5), percentile(mine, 0.5),
        unit="s", bar=bar,
    )  # fmt: skip
    same = all(answer == answers[0] for answer in answers)
    report.notes.append("Both found the same orphans." if same else "They did NOT find the same orphans.")


def main() -> None:
    parser = arguments(
        __doc__ or "",
        sessions=(100_000, "sessions of the large store; one in fifty is an orphan, each has three messages"),
        rounds=(3, "how often each side is run"),
        host_sessions=(20_000, "sessions of the store for the host's finder, which takes minutes at 100,000"),
    )
    parser.add_argument("--host", metavar="PYTHON", help="interpreter of a Hermes 0.22, whose finder is timed as well")
    options = parser.parse_args()
    report = Report("Survey of a session store", "a store of half the size, or as the line says")
    with tempfile.TemporaryDirectory(prefix="ledger-figures-", ignore_cleanup_errors=True) as name:
        growth(Path(name), options.sessions, options.rounds, report)
        if options.host:
            against(Path(name), options.host, options.host_sessions, options.rounds, report)
    report.show(as_json=options.json)


if __name__ == "__main__":
    main()
