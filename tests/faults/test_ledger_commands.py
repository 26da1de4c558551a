"""Commands that die before any line, or may not write: the ledger stays whole, and what is said is one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .children import Ended, Nursery
from .rounds import CALLS, FaultHome, chain, dice, integrity, reading, spread, told_clearly

SMALL_BITES = "from agent_ledger.engine import prune\nprune._FIRST_BITE = prune._LARGEST_BITE = 10\n"
SMALL_VERDICTS = "from agent_ledger.engine.evidence import verdicts\nverdicts.BITE = 3\n"
KEEP = 10


@pytest.fixture(scope="module")
def grown(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty calls, each third of them unsettled and, with their writer gone, reported to their agent."""
    home = FaultHome(tmp_path_factory.mktemp("grown") / "home", nursery)
    home.run(f"{CALLS}start(); calls('old', 60); merged(); os.kill(os.getpid(), 9)")
    home.run("turn('s1')\nmerged()\nturn('s1')\nmerged()\nsys.exit(command('verify', '1'))")
    return home.paths.home


@pytest.fixture
def home(fault_home: FaultHome, grown: Path) -> FaultHome:
    """A copy of that home."""
    shutil.copytree(grown, fault_home.paths.home, dirs_exist_ok=True)
    return fault_home


def run(home: FaultHome, *words: str, before: str = "") -> Ended:
    return home.run(f"{before}\nsys.exit(command(*{words!r}))")


def a_size(seed: int) -> int:
    """A size that no file may grow beyond: mostly more than the index of SQLite's log (32 KiB), which is made first."""
    return spread(seed, 32_000) if seed % 4 == 0 else 32_768 + spread(seed, 40_000)


def must_stay(rows: list[dict[str, Any]]) -> set[int]:
    """What `prune --keep` must leave: the newest, and whatever is not settled."""
    return {row["id"] for row in rows if row["status"] != "CONFIRMED"} | {row["id"] for row in rows[-KEEP:]}


def beside(home: FaultHome) -> set[int]:
    """Rows that verdicts and notices speak of."""
    with reading(home.paths.ledger) as connection:
        found = connection.execute("SELECT ledger_id FROM verdict UNION SELECT ledger_id FROM notice_item")
        return {row[0] for row in found}


def without_changes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: cell for name, cell in row.items() if name != "changed"} for row in rows]


def pruned_so_far(home: FaultHome, before: list[dict[str, Any]]) -> set[int]:
    """What went; that nothing else changed is checked."""
    rows = home.rows()
    left = {row["id"] for row in rows}
    assert must_stay(before) <= left
    assert without_changes(rows) == without_changes([row for row in before if row["id"] in left])
    assert beside(home) <= left
    assert integrity(home.paths.ledger) == "ok"
    assert chain(home.paths.ledger) == "whole"
    return {row["id"] for row in before} - left


@pytest.mark.rounds(16)
def test_prune_that_dies_before_any_line(home: FaultHome, seed: int) -> None:
    before = home.rows()
    ended = run(home, "prune", "--keep", str(KEEP), "--apply", before=f"{SMALL_BITES}die_at_line({spread(seed, 800)})")
    assert ended.code in (0, -9), ended
    gone = pruned_so_far(home, before)
    # From the oldest on, without a gap.
    assert gone == {row["id"] for row in before if row["id"] <= max(gone, default=0)} - must_stay(before)
    told_clearly(run(home, "prune", "--keep", str(KEEP), "--apply"), 0)
    assert {row["id"] for row in home.rows()} == must_stay(before)


@pytest.mark.rounds(10)
def test_prune_that_may_not_write(home: FaultHome, seed: int) -> None:
    before = home.rows()
    limit = f"limit_size({a_size(seed)})\n"
    ended = run(home, "prune", "--keep", str(KEEP), "--apply", before=SMALL_BITES + limit)
    told_clearly(ended, 0, 3)
    assert (pruned_so_far(home, before) == {row["id"] for row in before} - must_stay(before)) == (ended.code == 0)
    told_clearly(run(home, "prune", "--keep", str(KEEP), "--apply"), 0)
    assert {row["id"] for row in home.rows()} == must_stay(before)


def verdicts(home: FaultHome) -> dict[int, str]:
    with reading(home.paths.ledger) as connection:
        return {row[0]: row[1] for row in connection.execute("SELECT ledger_id, verdict FROM verdict")}


@pytest.mark.rounds(12)
@pytest.mark.parametrize("fault", ["dies", "may not write"])
def test_verify(home: FaultHome, fault: str, seed: int) -> None:
    before = home.rows()
    harm = f"die_at_line({spread(seed, 6_000)})" if fault == "dies" else f"limit_size({a_size(seed)})"
    ended = run(home, "verify", before=SMALL_VERDICTS + harm)
    if fault == "dies":
        assert ended.code in (0, -9), ended
    else:
        assert ended.code in (0, 3), ended
        assert len(ended.err.splitlines()) == (0 if "Nothing" in ended.err or not ended.err else 1), ended.err
    assert without_changes(home.rows()) == without_changes(before)
    assert set(verdicts(home).values()) <= {"landed", "absent", "unknown"}
    assert integrity(home.paths.ledger) == "ok"
    told_clearly(run(home, "verify"), 0)
    assert verdicts(home).keys() == {row["id"] for row in before if row["status"] != "CONFIRMED"} | {1}


EXPORTS: dict[str, Callable[[str], object]] = {
    "json": lambda text: len(json.loads(text)) == 60,
    "csv": lambda text: len(text.splitlines()) == 61,
    "md": lambda text: len(text.splitlines()) == 62,
}


@pytest.mark.rounds(6)
@pytest.mark.parametrize("form", EXPORTS)
@pytest.mark.parametrize("fault", ["dies", "may not write"])
def test_export(home: FaultHome, tmp_path: Path, form: str, fault: str, seed: int) -> None:
    target = tmp_path / f"calls.{form}"
    harm = f"die_at_line({spread(seed, 50_000)})" if fault == "dies" else f"limit_size({spread(seed, 40_000)})"
    ended = run(home, "export", "calls", "--format", form, "-o", str(target), before=harm)
    if fault == "dies":
        assert ended.code in (0, -9), ended
    else:
        told_clearly(ended, 0, 3)
        assert not list(tmp_path.glob(".*.part"))
    assert target.exists() or ended.code != 0
    if target.exists():
        assert EXPORTS[form](target.read_text())
    told_clearly(run(home, "export", "calls", "--format", form, "-o", str(target), "--force"), 0)
    assert EXPORTS[form](target.read_text())


READERS = (
    ("posture",),
    ("posture", "--json"),
    ("calls",),
    ("status", "--json"),
    ("doctor", "--json"),
    ("ledger-check", "--json"),
    ("export", "posture", "--format", "md"),
)


@pytest.mark.rounds(8)
def test_what_only_reads_changes_nothing_however_it_ends(home: FaultHome, seed: int) -> None:
    thrown = dice(seed, "readers")
    before = home.rows()
    for words in READERS:
        harm = thrown.choice(
            (
                f"die_at_line({int(10 ** thrown.uniform(1, 4))})",
                f"limit_size({int(10 ** thrown.uniform(0, 5))})",
                f"limit_files({thrown.randint(0, 6)})",
            )
        )
        ended = run(home, *words, before=harm)
        if ended.code != -9:
            told_clearly(ended, 0, 3)
        assert home.rows() == before
    assert integrity(home.paths.ledger) == "ok"
