"""What the simulated tools did is there, and what was lost is not: the verifiers find out by themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui import cli
from ledger_tui.demo import command
from ledger_tui.demo.world import World
from ledger_tui.sources.verdicts import Search, VerdictSource

from .conftest import Row, select

Ask = Callable[..., list[Row]]


@pytest.fixture(scope="module")
def verdicts(home: Path) -> dict[int, str]:
    """Verdict of every unconfirmed call, as the command prints it. Keeping them changes no other cell."""
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("ledger_tui.commands.verify.print_json", lambda shape: said.append(json.dumps(shape)))
        assert cli.run(["--hermes-home", str(home), "verify", "--json"]) == 0
    return {row["ledger_id"]: row["verdict"] for row in json.loads(said[0])}


@pytest.mark.parametrize(
    ("told_by", "verdict"),
    [
        ("push origin ch3", "landed"),
        ("bookings/keys.md", "landed"),
        ('"keys"', "landed"),
        # What was lost before is missing, too, but every file of a simulated past is in truth from its opening.
        ("parcels/04.txt", "unknown"),
        ("evening-pills", "unknown"),
        ("sort_card", "unknown"),
        ("rsync -a", "unknown"),
        ("night-ferry sensor", "unknown"),
    ],
)
def test_a_lost_call_is_known_by_what_it_left(
    verdicts: dict[int, str], ledger: Ask, told_by: str, verdict: str
) -> None:
    (row,) = ledger(
        "SELECT * FROM ledger WHERE args_json LIKE ? AND status IN ('PENDING', 'GHOST_REPORTED')", f"%{told_by}%"
    )
    assert verdicts[row["id"]] == verdict
    here = row["tool_name"] in ("terminal", "write_file")
    assert (row["workplace"] or "").endswith("/workspace") == here


def test_what_is_lost_while_somebody_watches_is_known_to_be_absent(tmp_path: Path) -> None:
    home = tmp_path / "home"
    command.run(scenario=None, home=home, seed=1, speed=1.0, headless=True, duration=8.0)
    (row,) = select(Paths(home).ledger, "SELECT id FROM ledger WHERE args_json LIKE '%parcels/05.txt%'")
    found = VerdictSource(Paths(home), clock=time.time).verify_blocking([row["id"]], Search(1)).found
    assert [verdict.verdict for _, verdict in found] == ["absent"]


def test_files_carry_the_times_of_the_story(home: Path, ledger: Ask) -> None:
    (row,) = ledger("SELECT strftime('%s', ts) AS at FROM ledger WHERE args_json LIKE '%bookings/keys.md%'")
    assert abs((home / "workspace" / "bookings" / "keys.md").stat().st_mtime - int(row["at"])) < 3
    assert (home / "workspace" / "parcels" / "01.txt").read_text(encoding="utf-8").startswith("\N{ESCAPE}[2J")


def test_a_patch_changes_the_file_and_nothing_leaves_the_folder(tmp_path: Path) -> None:
    world = World(tmp_path, 1_780_000_000.0)
    world.work("write_file", {"path": "a/b.md", "content": "one two"}, 1_780_000_001.0)
    world.work(
        "patch", {"mode": "replace", "path": "a/b.md", "old_string": "two", "new_string": "three"}, 1_780_000_002.0
    )
    world.work("write_file", {"path": "../out.md", "content": "x"}, 1_780_000_003.0)
    world.work("write_file", {"path": "/out-of-the-demo.md", "content": "x"}, 1_780_000_003.0)
    world.work("terminal", {"command": "git -C ../../x push origin main"}, 1_780_000_003.0)
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert made == ["cron", "workspace", "workspace/a", "workspace/a/b.md"]
    file = tmp_path / "workspace" / "a" / "b.md"
    assert (file.read_text(), file.stat().st_mtime) == ("one three", 1_780_000_002.0)
    assert file.parent.stat().st_mtime == 1_780_000_001.0
