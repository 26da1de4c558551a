"""No room on the disk, no file left to open: nothing accepted is lost, all is in order once there is room again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import disks

from .rounds import CALLS, FaultHome, dice, spread

HOST = f"{CALLS}\nfrom agent_ledger.engine import keeper\nkeeper.CHECKPOINT_WRITES = 9\n"


@pytest.mark.rounds(20)
def test_files_that_may_not_grow_for_a_while(fault_home: FaultHome, seed: int) -> None:
    thrown = dice(seed, "full")
    steps = ["start()"]
    for number in range(4):
        most = thrown.choice((500, 5_000, 40_000, 150_000))
        steps += [
            f"limit_size({thrown.randrange(most)})",
            f"calls('full{number}', 12, {thrown.choice((1, 700, 3000))})",
            thrown.choice(("turn()", "merged(0.05)", "")),
            "unlimit_size()",
            f"calls('free{number}', {thrown.randrange(4)})",
        ]
    ended = fault_home.run(HOST + "\n".join([*steps, "say(merged())"]))
    assert (ended.code, ended.words[-1]) == (0, "True\n"), ended
    fault_home.whole()


def test_a_line_that_nobody_can_read_is_set_aside_whole_once_there_is_room(fault_home: FaultHome) -> None:
    """Its file goes only when all of it stands somewhere else, and not a part of it."""
    fault_home.run("start(); merged()")
    fault_home.paths.spool.mkdir(mode=0o700, exist_ok=True)
    torn = '{"kind":"issue","event":' + "x" * 2_000
    fault_home.paths.spool.joinpath("1-aaaaaaaaaaaa-000001.jsonl").write_text(f"{torn}\n")
    aside, earlier = fault_home.paths.spool / "unreadable.txt", "an earlier one" * 7_000
    aside.write_text(f"{earlier}\n")
    ended = fault_home.run("limit_size(99_000)\nstart()\nsay(merged(0.5))")
    assert (ended.code, ended.out) == (0, "False\n"), ended
    assert aside.read_text() == f"{earlier}\n"
    assert len(fault_home.spool_files()) == 1
    fault_home.recover()
    (first, last) = aside.read_text().splitlines()
    assert first == earlier
    assert torn in last.replace("\\", "")


@pytest.mark.rounds(14)
def test_too_many_open_files_for_a_while(fault_home: FaultHome, seed: int) -> None:
    thrown = dice(seed, "files")
    begin = thrown.choice(("", "start(); merged(); calls('before', 3)"))
    ended = fault_home.run(
        f"{HOST}\n{begin}\nlimit_files({thrown.randint(0, 9)})\ncalls('few', 12)\nturn()\n"
        "unlimit_files()\ncalls('many', 3)\nsay(merged())"
    )
    assert (ended.code, ended.words[-1]) == (0, "True\n"), ended
    fault_home.whole()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small_disk(tmp_path / "small", 2) as folder:
        yield folder


FILLED = """
def fill(path, left):
    "Fill the disk but for some bytes."
    with open(path, "wb", buffering=0) as rest:
        try:
            while rest.write(b"x" * 4096): pass
        except OSError: pass
    os.truncate(path, max(0, os.path.getsize(path) - left))
"""


@pytest.mark.rounds(20)
def test_a_disk_that_fills_up(
    small_disk: Path, new_fault_home: Callable[[str], FaultHome], tmp_path: Path, seed: int
) -> None:
    thrown = dice(seed, "disk")
    home = new_fault_home(str(small_disk / "home"))
    filler = str(small_disk / "fill")
    # The temporary folder of this home lies on the same disk; on another one records would wait there.
    other = {} if thrown.random() < 0.4 else {"TMPDIR": str(tmp_path)}
    begin = thrown.choice(("", "start(); merged(); calls('before', 3)"))
    end = thrown.choice(("turn()", "merged(0.05)", "os.kill(os.getpid(), 9)" if other else ""))
    script = (
        f"{HOST}{FILLED}\n{begin}\nfill({filler!r}, {spread(seed, 250_000)})\ncalls('full', 30, 2_500)\n{end}\n"
        f"os.unlink({filler!r})\nsay(merged())"
    )
    with home.child(script, **other) as child:
        ended = home.account(child.end())
    if ended.code == -9:
        home.temporary = tmp_path
        home.nothing_lost()
        Path(filler).unlink()
        home.recover()
    else:
        assert (ended.code, ended.words[-1]) == (0, "True\n"), ended
    home.whole()
