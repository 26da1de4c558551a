"""`v` and `V`: evidence on real files, what is shown and kept of it, and that the app goes on meanwhile."""

from __future__ import annotations

import csv
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import queries
from agent_ledger.engine.evidence import Recorded, Verdict
from agent_ledger.engine.records import utc_text
from ledger_tui.sources.verdicts import Search
from screens.call_details import CallDetailsScreen
from screens.verifying import progress
from widgets.session_list import SessionList

from .conftest import Run, Start
from .ledgers import Clock, Ledger
from .test_calls_screen import cursor_of, rows_of


@pytest.fixture
def clock() -> Clock:
    """In an hour: files get the time at which a test makes them, so it is the calls that lie before or after them."""
    return Clock(time.time() + 3600.0)


AFTER = 3540.0
"""How long ago a call was issued: a minute after the files were made."""


def written(ledger: Ledger, path: Path, **columns: Any) -> int:
    """A ghost that did write: its file came a moment after it."""
    path.write_text("# Plan\n")
    return lost(ledger, path, ago=ledger.ago(path.stat().st_mtime - 0.2), **columns)


def lost(ledger: Ledger, path: Path, *, ago: float, session: str = "s1", **columns: Any) -> int:
    """A ghost that was to write `# Plan` into a file on this machine."""
    ghost = {"status": "GHOST_REPORTED", "reported_ts": utc_text(time.time()), "workplace": f"local:{path.parent}"}
    return ledger.issue(
        "write_file", {"path": str(path), "content": "# Plan\n"}, ago=ago, session=session, **{**ghost, **columns}
    )


@pytest.fixture
def ghosts(ledger: Ledger, tmp_path: Path) -> tuple[int, int]:
    """One whose file is there, and one whose file is not, in a folder into which nothing came since."""
    (tmp_path / "there").mkdir()
    (tmp_path / "missing").mkdir()
    return written(ledger, tmp_path / "there" / "a.md"), lost(ledger, tmp_path / "missing" / "b.md", ago=AFTER)


def stored(ledger: Ledger) -> dict[int, str]:
    return dict(ledger.db.execute("SELECT ledger_id, verdict FROM verdict").fetchall())


def marks(run: Run) -> list[str]:
    """What stands between the state and the tool in the lines of ghosts, without the age."""
    lines = [line[line.index("◆ ghost") + 7 :] for line in run.text.splitlines() if "◆ ghost  " in line]
    return [word for line in lines for word in ("landed", "absent", "unknown", "not checked", "↓", "∅") if word in line]


async def ended(run: Run) -> None:
    await run.until(lambda: not run.calls.searching, "the end of the search")
    await run.settle()


async def test_all_ghosts_of_the_view_are_verified_and_kept(
    ledger: Ledger, ghosts: tuple[int, int], start: Start
) -> None:
    there, missing = ghosts
    async with start((120, 30)) as run:
        assert marks(run) == ["not checked", "not checked"]
        await run.press("V")
        await run.until_shown("2 calls checked: 1 landed, 1 absent, 0 unknown.", "↓ landed", "∅ absent")
        assert rows_of(run, "ghosts") == [missing, there]
    assert stored(ledger) == {there: "landed", missing: "absent"}
    assert ledger.db.execute("SELECT DISTINCT status FROM ledger").fetchall() == [("GHOST_REPORTED",)]


async def test_in_few_columns_a_glyph_stands_beside_the_state(
    ledger: Ledger, ghosts: tuple[int, int], start: Start
) -> None:
    async with start((80, 24)) as run:
        await run.until_shown("◆ ghost   ·")
        await run.press("V")
        await run.until_shown("◆ ghost   ↓", "◆ ghost   ∅")


async def test_v_verifies_the_call_under_the_cursor_only(ledger: Ledger, ghosts: tuple[int, int], start: Start) -> None:
    _, missing = ghosts
    async with start((120, 30)) as run:
        await run.press("shift+tab", "v")
        await run.until_shown(f"#{missing} absent: ", "∅ absent", "not checked")
    assert stored(ledger) == {missing: "absent"}


async def test_v_on_a_session_verifies_what_of_it_is_unconfirmed(
    ledger: Ledger, ghosts: tuple[int, int], tmp_path: Path, start: Start
) -> None:
    other = written(ledger, tmp_path / "there" / "c.md", session="s2")
    async with start((120, 30)) as run:
        await run.press("s", "j", "v")
        await run.until_shown("↓ landed")
        await ended(run)
        chosen = run.calls.query_one("#sessions", SessionList).cursor_key
    assert set(stored(ledger)) == ({other} if chosen == "s2" else set(ghosts))


async def test_v_where_nothing_is_says_so(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        await run.press("v")
        await run.until_shown("no unconfirmed call here")
        await run.press("V")
        assert not run.calls.searching


async def test_the_details_tell_the_evidence_and_its_time(
    ledger: Ledger, ghosts: tuple[int, int], tmp_path: Path, clock: Clock, start: Start
) -> None:
    async with start((100, 40)) as run:
        await run.press("shift+tab", "j", "enter")
        await run.until_shown("did it land?", "· not checked: v looks for evidence")
        await run.press("v")
        await run.until_shown("↓ landed  looked at ", 'there/a.md" holds exactly what', "after the call.")
        clock.now += 300
        await run.until_shown(", 5m 00s ago")
    assert stored(ledger) == {ghosts[0]: "landed"}


@contextmanager
def held_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[tuple[threading.Event, threading.Event]]:
    """The search stops dead once it has looked at so many calls: (it is there, let it go on)."""
    there, go_on = threading.Event(), threading.Event()
    note = Search.note

    def noted(self: Search, call: Recorded, verdict: Verdict) -> None:
        note(self, call, verdict)
        if self.done == number:
            there.set()
            assert go_on.wait(60)

    monkeypatch.setattr(Search, "note", noted)
    try:
        yield there, go_on
    finally:
        go_on.set()


def thousand(ledger: Ledger, folder: Path) -> list[int]:
    """Every second file is there."""
    (folder / "empty").mkdir(parents=True)
    ledger.db.execute("BEGIN")
    ids = []
    for n in range(500):
        ids.append(written(ledger, folder / f"{n}.md"))
        ids.append(lost(ledger, folder / "empty" / f"{n}.md", ago=ledger.ago(time.time() + 1.0)))
    ledger.db.execute("COMMIT")
    return ids


async def test_keys_are_answered_while_a_thousand_ghosts_are_verified(
    ledger: Ledger, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = thousand(ledger, tmp_path / "many")
    with held_at(monkeypatch, 500) as (there, go_on):
        async with start((120, 30)) as run:
            await run.press("shift+tab", "V")
            await run.until(there.is_set, "half of them")
            await run.until_shown("Looking for evidence: 500 of 1,000", "V stops")
            await run.press("j", "j", "j")
            assert cursor_of(run, "ghosts") == ids[-4]
            await run.press("enter")
            assert isinstance(run.front(), CallDetailsScreen)
            await run.press("q", "v")
            await run.until_shown("Still looking for evidence")
            go_on.set()
            await run.until_shown("1,000 calls checked: 500 landed, 500 absent, 0 unknown.")
            assert "Looking for evidence" not in run.text
    assert list(stored(ledger).values()).count("landed") == 500
    assert stored(ledger)[ids[0]] == "landed"
    assert stored(ledger)[ids[1]] == "absent"


async def test_a_search_can_be_stopped_and_what_it_found_stays(
    ledger: Ledger, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = thousand(ledger, tmp_path / "many")
    with held_at(monkeypatch, 250) as (there, go_on):
        async with start((120, 30)) as run:
            assert "v Verify  V All" in run.text
            await run.press("V")
            await run.until(there.is_set, "a quarter of them")
            assert "V Stop " in run.text
            await run.press("V")
            go_on.set()
            await run.until_shown("250 of 1,000 calls checked: 125 landed, 125 absent, 0 unknown.")
            await run.until_shown("V All")
    assert sorted(stored(ledger)) == ids[:250]


async def test_a_search_that_hangs_keeps_nobody_in_the_app_and_ends_by_itself(
    ledger: Ledger, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = thousand(ledger, tmp_path / "many")
    with held_at(monkeypatch, 250) as (there, go_on):
        async with start() as run:
            await run.press("V")
            await run.until(there.is_set, "a quarter of them")
            await run.press("q")
        # The app is gone, and the search still stands where it was.
        (search,) = [thread for thread in threading.enumerate() if thread.name == "verdicts"]
        assert sorted(stored(ledger)) == ids[:200]
        go_on.set()
        search.join(60)
    assert sorted(stored(ledger)) == ids[:250]


def refuse(*_: object) -> None:
    """What SQLite says of a file on a disk that cannot be written; a test may run as root, who can write anything."""
    raise sqlite3.OperationalError("attempt to write a readonly database")


@pytest.mark.parametrize("how", ["by other software", "read-only"])
async def test_what_cannot_be_kept_is_shown_and_said_to_be_lost(
    ledger: Ledger, ghosts: tuple[int, int], start: Start, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, _ = ghosts
    if how == "by other software":
        ledger.db.execute("ALTER TABLE ledger DROP COLUMN seen")
    else:
        monkeypatch.setattr("agent_ledger.engine.evidence.verdicts.save", refuse)
    before = ledger.db.execute("SELECT * FROM ledger").fetchall()
    async with start((120, 30)) as run:
        await run.press("V")
        await run.until_shown("The verdicts were not stored", "↓ landed", "∅ absent")
        run.calls.filter_by("verdict:landed")
        await ended(run)
        assert rows_of(run, "ghosts") == [there]
        await run.press("shift+tab", "enter")
        await run.until_shown("↓ landed", "This is not stored")
    assert stored(ledger) == {}
    assert ledger.db.execute("SELECT * FROM ledger").fetchall() == before


async def test_verdicts_narrow_the_view_and_are_exported(
    ledger: Ledger, ghosts: tuple[int, int], tmp_path: Path, start: Start
) -> None:
    there, missing = ghosts
    failed = ledger.done("write_file", {"path": str(tmp_path / "there" / "a.md"), "content": "x"}, ago=3530)
    async with start((120, 30)) as run:
        await run.press("V")
        await ended(run)
        for line, wanted in (("landed", [there]), ("absent", [missing]), ("landed,absent", [missing, there])):
            run.calls.filter_by(f"verdict:{line}")
            await run.settle()
            assert (rows_of(run, "ghosts"), rows_of(run, "settled")) == (wanted, [])
        run.calls.filter_by("verdict:unchecked")
        await run.settle()
        assert (rows_of(run, "ghosts"), rows_of(run, "settled")) == ([], [failed])
        run.calls.filter_by("state:ghost")
        await run.settle()
        for name in ("a.json", "a.csv"):
            await run.press("e", "ctrl+u")
            await run.type(str(tmp_path / name))
            await run.press("enter")
            await run.until(lambda name=name: (tmp_path / name).exists(), name)  # type: ignore[misc]  # the name of now
            await run.settle()
    rows = json.loads((tmp_path / "a.json").read_text())
    assert [(row["id"], row["verdict"]) for row in rows] == [(missing, "absent"), (there, "landed")]
    assert "is not there" in rows[0]["evidence"][0]
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert [row["verdict"] for row in csv.DictReader(lines)] == ["absent", "landed"]


async def test_possible_doubles_lead_to_each_other(ledger: Ledger, start: Start) -> None:
    edit = {"path": "src/app.py", "diff": "-a\n+b"}
    first = ledger.issue(
        "patch", edit, ago=900, status="GHOST_REPORTED", reported_ts="2026-05-30T11:00:00Z", args_hash=b"e",
        effect="unknown",
    )  # fmt: skip
    again = ledger.done("patch", edit, ago=300, repeat_of=first, args_hash=b"e")
    async with start((100, 36)) as run:
        await run.press("enter")
        await run.until_shown(f"patch  #{again}", f"#{first}  ", "possible double", "d Double")
        await run.press("d")
        await run.until_shown(f"patch  #{first}", "possible double")
        await run.press("d")
        await run.until_shown(f"patch  #{again}")


def test_progress_gives_up_words_before_numbers() -> None:
    search = Search(1000)
    search.counts.update(landed=210, absent=80, unknown=122)
    long = "Looking for evidence: 412 of 1,000  ↓ 210 landed  ∅ 80 absent  ? 122 unknown   V stops"
    assert progress(search, 100) == long
    assert progress(search, 60) == "412 of 1,000  ↓ 210  ∅ 80  ? 122   V stops"
    search.stop()
    assert progress(search, 60).endswith("stopping…")


def test_a_ledger_of_an_older_plugin_has_no_verdicts(ledger: Ledger) -> None:
    ledger.issue("patch", {})
    columns = [row[0] for row in ledger.db.execute(*queries.COLUMNS_QUERY) if row[0] != "(verdict)"]
    for wanted, number in (({"unchecked"}, 1), ({"landed"}, 0), ({"landed", "unchecked"}, 1), (set(), 0)):
        query = queries.calls(columns, queries.Filter(verdicts=frozenset(wanted)))
        assert len(ledger.db.execute(*query).fetchall()) == number
