"""A repair of a large session store: how long others have to wait for it, against bare UPDATEs of the same cells."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks._paired import Report, arguments, interleaved, note, percentile
from benchmarks._sessions import make
from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.journal import RowChange, read_all
from ledger_tui.routing.repair.plan import look, propose
from ledger_tui.routing.repair.undo import undo


class Watch:
    """Notes when each step was first come to."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}

    def __call__(self, step: str) -> None:
        self.at.setdefault(step, time.perf_counter())

    @property
    def locked_s(self) -> float:
        """How long the store was locked for others."""
        return self.at["committed"] - self.at["begun"]


def laid_out(folder: Path, original: Path) -> Path:
    home = Path(tempfile.mkdtemp(dir=folder))
    shutil.copy(original, home / "state.db")
    return home


def repaired(home: Path, watch: Watch) -> None:
    path = home / "state.db"
    plan = propose(path, look(read_store(path, home)), now=time.time())
    apply(path, home, plan, clock=time.time, stopped_by="the benchmark", fault=watch)


def bare(home: Path, rows: tuple[RowChange, ...]) -> float:
    """Seconds of the same cells by plain UPDATEs in one transaction."""
    with closing(sqlite3.connect(home / "state.db", isolation_level=None)) as connection:
        began = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        for row in rows:
            sets = ", ".join(f"{one.column} = ?" for one in row.cells)
            connection.execute(
                f"UPDATE sessions SET {sets} WHERE rowid = ?", [*(c.after for c in row.cells), row.number]
            )
        connection.execute("COMMIT")
        return time.perf_counter() - began


def measured(folder: Path, original: Path, rounds: int, report: Report) -> None:
    first = laid_out(folder, original)
    repaired(first, Watch())
    (journal,) = read_all(first)
    undone: list[float] = []

    def ours(_: int) -> float:
        home, watch, back = laid_out(folder, original), Watch(), Watch()
        repaired(home, watch)
        undo(home / "state.db", home, clock=time.time, stopped_by="the benchmark", fault=back)
        undone.append(back.locked_s)
        shutil.rmtree(home)
        return watch.locked_s

    def theirs(_: int) -> float:
        home = laid_out(folder, original)
        took = bare(home, journal.rows)
        shutil.rmtree(home)
        return took

    sides: list[Callable[[int], float]] = [ours, theirs]
    mine, plain = interleaved(rounds, 0, *sides)
    what = f"{len(journal.adoptions):,} adoptions, {len(journal.rows):,} rows"
    report.add(f"locked by a repair: {what}", max(mine), percentile(plain, 0.5), unit="s", bar="at most 1 s")
    report.add("locked by its undo", max(undone), percentile(plain, 0.5), unit="s", bar="at most 1 s")


def main() -> None:
    parser = arguments(
        __doc__ or "",
        sessions=(100_000, "sessions of the store; one in fifty is an orphan, each has three messages"),
        rounds=(3, "how often each side is run"),
    )
    options = parser.parse_args()
    report = Report("Repair of a session store", "plain UPDATEs of the same cells in one transaction")
    with tempfile.TemporaryDirectory(prefix="ledger-figures-", ignore_cleanup_errors=True) as name:
        original = Path(name) / "original.db"
        note(f"makes a store of {options.sessions:,} sessions")
        make(original, options.sessions)
        measured(Path(name), original, options.rounds, report)
    report.show(as_json=options.json)


if __name__ == "__main__":
    main()
