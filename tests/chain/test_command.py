"""`ledger-check` as its owner meets it: words, JSON, exit codes, progress, and being interrupted."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Program, home, inside, one_sentence
from tests.engine.homes import until

from .ledgers import Made

__all__ = ["home", "inside"]

FAKE = "17:" + "ab" * 32


def chained(path: Path) -> Made:
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    made = Made(path)
    path.chmod(0o600)
    made.db.execute("PRAGMA journal_mode=WAL")
    return made


@pytest.fixture
def made(home: Path) -> Iterator[Made]:
    """A ledger of three settled calls in the usual place."""
    made = chained(home / "plugin-data" / "agent-ledger" / "ledger.db")
    made.calls(1, 3)
    made.turn()
    yield made
    made.db.close()


def test_a_whole_one(made: Made, inside: Program) -> None:
    done = inside("ledger-check")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "Whole: 6 records of 3 calls."
    assert lines[1] == f"Head: {made.head()}"
    assert lines[2] == "Note it where the agent cannot write, and give it to --expect another time."
    assert lines[3].startswith("Every record counted here is as it was written")
    assert lines[4].startswith("The chain has no secret")
    assert len(lines) == 5


def test_its_json(made: Made, inside: Program) -> None:
    done = inside("ledger-check", "--json")
    shape = done.json
    assert list(shape) == [
        "ledger", "state", "whole", "rows", "records", "uncovered", "pruned", "pruned_by_hand", "pruned_at",
        "unproven", "first", "broken", "found", "head", "expected", "fixed_from", "proves", "altered", "limits",
    ]  # fmt: skip
    assert (done.code, shape["state"], shape["whole"], shape["rows"], shape["records"]) == (0, "whole", True, 3, 6)
    assert (shape["first"], shape["found"], shape["head"], shape["expected"]) == (None, [], str(made.head()), None)


def test_one_that_was_edited(made: Made, inside: Program) -> None:
    made.do("UPDATE ledger SET args_json='{}' WHERE id=2")
    done = inside("ledger-check")
    assert done.code == 1
    assert done.out.splitlines()[:2] == [
        "Not whole. 6 records checked, 1 finding:",
        "  Call #2 is not as it was recorded: its cells were changed afterwards.",
    ]
    assert "Head:" not in done.out
    shape = inside("ledger-check", "--json").json
    assert (shape["state"], shape["broken"]) == ("broken", 1)
    assert shape["first"] == {
        "ledger_id": 2,
        "kind": "edited",
        "text": "Call #2 is not as it was recorded: its cells were changed afterwards.",
    }


def test_one_that_was_pruned_by_command_and_by_hand(made: Made, inside: Program) -> None:
    assert inside("prune", "--keep", "2", "--apply").code == 0
    done = inside("ledger-check")
    assert done.code == 0
    assert done.out.splitlines()[1].startswith("1 call gone from the ledger: pruned, last at 20")
    made.do("DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT 1)")
    done = inside("ledger-check")
    assert done.code == 0
    assert "2 calls gone from the ledger: no record says who took the oldest" in done.out
    assert inside("ledger-check", "--json").json["pruned_by_hand"] is True


def test_a_head_that_was_noted(made: Made, inside: Program) -> None:
    noted = str(made.head())
    made.calls(4, 5)
    done = inside("ledger-check", "--expect", noted)
    assert done.code == 0
    assert "The head that you noted is still there, and so is everything that was recorded before it." in done.out
    assert inside("ledger-check", "--expect", noted, "--json").json["expected"] is True
    done = inside("ledger-check", "--expect", FAKE)
    assert done.code == 1
    assert "The head that was noted is not in this chain: it was made anew." in done.out
    assert inside("prune", "--keep", "4", "--apply").code == 0
    done = inside("ledger-check", "--expect", noted)
    assert done.code == 0
    assert "still there, and so is everything from call #2 up to it; before that, records are gone" in done.out


def test_a_head_that_went_with_what_was_pruned_is_not_called_found(made: Made, inside: Program) -> None:
    (data,) = made.db.execute("SELECT settle_seal FROM ledger WHERE id=1").fetchone()
    noted = f"{int.from_bytes(data[8:16], 'big')}:{data[48:].hex()}"
    (data,) = made.db.execute("SELECT issue_seal FROM ledger WHERE id=1").fetchone()
    lost = f"{int.from_bytes(data[8:16], 'big')}:{data[48:].hex()}"
    assert inside("prune", "--keep", "2", "--apply").code == 0
    for head in (noted, lost):
        done = inside("ledger-check", "--expect", head)
        assert done.code == 1
        assert "cannot be told" in done.out
        assert "Head: " in done.out


NO_HEADS = ["", "17", "17:abc", "x:" + "ab" * 32, "-1:" + "ab" * 32, FAKE.upper(), "9" * 19 + FAKE[2:]]


@pytest.mark.parametrize("text", NO_HEADS)
def test_what_is_no_head_is_a_wrong_use(made: Made, inside: Program, text: str) -> None:
    assert "--expect" in one_sentence(inside("ledger-check", "--expect", text), 2)


def test_no_ledger_yet_and_one_named_that_is_missing(inside: Program, tmp_path: Path) -> None:
    done = inside("ledger-check")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Nothing recorded yet: ")
    assert inside("ledger-check", "--json").json["state"] == "empty"
    assert inside("ledger-check", "--expect", FAKE).code == 1
    one_sentence(inside("--ledger", str(tmp_path / "none.db"), "ledger-check"), 3)


def test_an_unreadable_and_a_damaged_one(made: Made, inside: Program, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, but a longer text" * 40)
    one_sentence(inside("--ledger", str(tmp_path / "text.db"), "ledger-check"), 3)
    made.calls(4, 300)
    made.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = Path(made.db.execute("PRAGMA database_list").fetchone()[2])
    made.db.close()
    data = bytearray(path.read_bytes())
    (tmp_path / "cut.db").write_bytes(data[: len(data) // 2])
    one_sentence(inside("--ledger", str(tmp_path / "cut.db"), "ledger-check"), 3)


def test_one_by_other_software(inside: Program, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts TEXT, tool_name TEXT, status TEXT, args_json TEXT)")
        db.execute("INSERT INTO ledger(tool_name, status) VALUES('terminal', 'done')")
    db.close()
    done = inside("--ledger", str(path), "ledger-check")
    assert done.code == 0
    assert done.out.splitlines()[0] == "1 call, none with a seal: there is nothing to check."
    assert inside("--ledger", str(path), "ledger-check", "--expect", FAKE).code == 1


def test_one_by_a_newer_plugin(made: Made, inside: Program) -> None:
    made.do("PRAGMA user_version=5")
    assert one_sentence(inside("ledger-check"), 3).endswith("is by a newer plugin: update ledger-tui to check it.")


def test_hostile_text_in_what_is_told(made: Made, inside: Program) -> None:
    made.do("UPDATE chain_head SET seen_ts = char(27) || ']0;x' || char(7) || '[red]' , number=99")
    for words in ((), ("--json",)):
        done = inside("ledger-check", *words)
        assert done.code == 1
        assert "\x1b" not in done.out
        assert "\x07" not in done.out
        assert "[red]" in done.out
    assert json.loads(done.out)["first"]["kind"] == "cut off"


def test_mixed_damage_is_told_in_the_order_of_calls(made: Made, inside: Program) -> None:
    made.calls(4, 30)
    made.do("UPDATE ledger SET tool_name='x' WHERE id>=4")
    done = inside("ledger-check")
    lines = done.out.splitlines()
    assert lines[0] == "Not whole. 60 records checked, 27 findings, the first of them:"
    assert lines[1].startswith("  Call #4 ")
    assert lines[11] == "  and 17 more; --json has the first hundred."


# -- at a terminal ----------------------------------------------------------------------------------------------------

SLOW = """
import sys, time
from agent_ledger.engine.chain import check
from agent_ledger import progress
check.STEP = 1
progress.LONG_S = progress.OFTEN_S = {long}
usual = check._Check._is_as_written
def slow(self, row, *rest):
    if row[0] == 3:
        open({mark!r}, "w").close()
    while row[0] == 3 and {wait}:
        time.sleep(0.01)
    return usual(self, row, *rest)
check._Check._is_as_written = slow
from ledger_tui.__main__ import main
sys.argv = ["ledger-tui", "ledger-check", *{words!r}]
main()
"""


def at_a_terminal(home: Path, *words: str, wait: bool = False, interrupt: bool = False) -> tuple[int, str, str]:
    """Exit code, standard output and what a terminal behind standard error got."""
    mark = home / "third"
    script = SLOW.format(long=0.0, mark=str(mark), wait=wait, words=words)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=slave, text=True,
        env={**os.environ, "HERMES_HOME": str(home), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(slave)
    if interrupt:
        until(mark.exists, "the third call is reached")
        process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    seen = b""
    try:
        while data := os.read(master, 4096):
            seen += data
    except OSError:
        pass
    os.close(master)
    return process.returncode, out, seen.decode()


def test_a_long_one_says_how_far_it_is_and_wipes_that_away(made: Made, home: Path) -> None:
    code, out, seen = at_a_terminal(home)
    assert code == 0
    assert out.startswith("Whole: 6 records")
    steps = [part for part in seen.split("\r") if part.strip()]
    assert steps == [f"checking the calls: {done} % (Ctrl-C stops)" for done in (33, 66, 100)]
    assert seen.endswith(f"\r{' ' * len(steps[-1])}\r")


def test_never_beside_json(made: Made, home: Path) -> None:
    code, out, seen = at_a_terminal(home, "--json")
    assert (code, seen) == (0, "")
    assert json.loads(out)["whole"] is True


def test_interrupted_it_ends_with_130_and_leaves_nothing_behind(made: Made, home: Path) -> None:
    code, out, seen = at_a_terminal(home, wait=True, interrupt=True)
    assert (code, out) == (130, "")
    assert "Traceback" not in seen
    assert seen.endswith(" \r")
