"""The Lineage screen by its keys, on stores that somebody else writes to."""

from __future__ import annotations

import json
from pathlib import Path

from screens.lineage import LineageScreen
from screens.lineage_tree import Key
from screens.session_details import SessionDetailsScreen
from widgets.prompt_bar import PromptBar
from widgets.session_tree import SessionTree

from .conftest import Run, Start
from .ledgers import Clock, Ledger
from .sessions import INCIDENT_NOW, ORPHAN, ZOMBIE, Sessions, a_family, hostile, the_incident


async def shown(run: Run) -> LineageScreen:
    """The Lineage screen in front, with the store read and the cursor on the first row."""
    screen = await opened(run)
    await run.press("home")
    await quiet(run)
    return screen


async def opened(run: Run) -> LineageScreen:
    """The same, with the cursor where the screen itself puts it."""
    await run.press("3")
    await run.until(lambda: isinstance(run.front(), LineageScreen), "the Lineage screen")
    screen = run.front()
    assert isinstance(screen, LineageScreen)
    await run.until(lambda: screen.model.view is not None, "a survey")
    await quiet(run)
    return screen


async def quiet(run: Run) -> None:
    """Nothing is being prepared or read, and every list is drawn."""
    busy = ("tree", "session", "ignore")
    await run.until(
        lambda: not any(worker.group in busy and not worker.is_finished for worker in run.app.workers), "quiet workers"
    )
    await run.pilot.pause()
    await run.until(run.drawn, "every list drawn")


def at_cursor(screen: LineageScreen) -> object:
    return screen.query_one(SessionTree).cursor_key


async def test_the_incident_is_seen_before_any_repair(home: Path, clock: Clock, start: Start) -> None:
    the_incident(home)
    clock.now = INCIDENT_NOW
    async with start((120, 36)) as run:
        screen = await shown(run)
        assert screen.model.view is not None
        assert [line.key for line in screen.model.view.lines] == [Key(ZOMBIE), Key(ORPHAN, True), Key(ORPHAN)]
        await run.until_shown("◇ 1 orphan", "◉ 1 zombie", "after repair    798", "agent:main:telegram:dm:5550001234")
        await run.until_shown("⋯ 6 more", "assistant: m11")


async def test_keys_walk_fold_and_unfold(home: Path, start: Start) -> None:
    a_family(home)
    async with start((120, 36)) as run:
        screen = await shown(run)
        await run.press("j")
        assert at_cursor(screen) == Key("root")
        await run.press("left")
        assert "▸" in run.text
        assert len(screen.model) == 3
        await run.press("right", "right")
        assert at_cursor(screen) == Key("tip")
        await run.press("space")
        assert len(screen.model) == 5
        await run.press("space", "right", "j")
        assert at_cursor(screen) == Key("fork")
        await run.press("left")
        assert at_cursor(screen) == Key("tip")


async def test_n_goes_to_what_does_not_fit(home: Path, start: Start) -> None:
    a_family(home)
    async with start() as run:
        screen = await shown(run)
        await run.press("n")
        assert at_cursor(screen) == Key("tip")
        await run.until_shown("◉", "went on in a row that lost its identity")
        await run.press("n")
        assert at_cursor(screen) == Key("lost")
        await run.press("p")
        assert at_cursor(screen) == Key("tip")


async def test_enter_shows_one_session_with_its_messages(home: Path, start: Start) -> None:
    a_family(home)
    async with start() as run:
        await shown(run)
        await run.press("n", "n", "enter")
        await run.until(lambda: isinstance(run.front(), SessionDetailsScreen))
        await run.until_shown("session_key", "NULL", "orphan:", "A repair would let it go on from Trip to the coast #2")
        await run.press(*["pagedown"] * 3)
        await run.until_shown("message 40 of lost")
        await run.press("q")
        await run.until(lambda: isinstance(run.front(), LineageScreen))


async def test_filters_by_key_and_by_line(home: Path, start: Start) -> None:
    a_family(home)
    async with start() as run:
        screen = await shown(run)
        await run.press("a")
        await run.until_shown("Filter: only:anomalies", "2 of 6")
        await run.press("a")
        await run.until(lambda: len(screen.model) == 7)
        await run.press("slash")
        await run.type("source:cli")
        await run.press("enter")
        await run.until_shown("Filter: source:cli", "Rename the photos", "1 of 6")
        await run.press("x")
        await run.until(lambda: len(screen.model) == 7)
        await run.press("slash")
        await run.type("open:yes source:telegram")
        await run.press("enter")
        await run.until_shown("2 of 6")
        await run.press("slash", "ctrl+u")
        await run.type("sauce:cli")
        await run.press("enter")
        await run.until_shown("There is no filter 'sauce:'")
        assert screen.query_one(PromptBar).is_open


async def test_set_aside_is_remembered_and_taken_back(home: Path, ledger: Ledger, start: Start) -> None:
    a_family(home)
    kept = ledger.paths.data / "ignored.json"
    async with start() as run:
        screen = await shown(run)
        await run.press("n", "n", "i")
        await run.until(kept.exists, "the file")
        await quiet(run)
        assert json.loads(kept.read_text())["ignored"] == [{"session": "lost", "kind": "orphan"}]
        await run.until_shown("set aside: orphan (i takes that back)")
        assert screen.model.next_marked(0, 1) == screen.model.next_marked(3, 1)
    async with start() as run:
        screen = await shown(run)
        await run.until(lambda: list(screen.model.set_aside("lost")) == ["orphan"])
        await run.press("G")
        await run.press("i")
        await run.until(lambda: [one.kind for one in screen.model.marks("lost")] == ["orphan"])
        assert json.loads(kept.read_text())["ignored"] == []


async def test_what_is_written_meanwhile_appears_and_the_cursor_stays(home: Path, start: Start) -> None:
    made = a_family(home)
    async with start() as run:
        screen = await shown(run)
        await run.press("n", "n")
        made.add("fresh", ago=10, messages=1, source="cli", title="Just begun")
        await run.until_shown("Just begun")
        assert at_cursor(screen) == Key("lost")


async def test_nothing_is_read_while_nobody_looks(home: Path, start: Start) -> None:
    made = a_family(home)
    async with start() as run:
        screen = await shown(run)
        await run.press("1")
        await run.until(lambda: run.front() is not screen)
        made.add("unseen", ago=10, messages=1, source="cli")
        await run.pilot.pause(1.2)
        assert "unseen" not in screen.model.survey.store.sessions  # type: ignore[union-attr]  # it is read
        await run.press("3")
        await run.until(lambda: "unseen" in screen.model.survey.store.sessions)  # type: ignore[union-attr]  # it is read


async def test_a_missing_store_and_one_that_cannot_be_read(home: Path, start: Start) -> None:
    async with start() as run:
        await run.press("3")
        await run.until_shown("there is no session store yet")
        (home / "plugin-data").mkdir(parents=True, exist_ok=True)
        (home / "state.db").write_text("certainly no database, for it is a text of some length\n" * 20)
        await run.until_shown("unreadable", "is no SQLite database")


async def test_what_another_screen_has_read_is_shown_at_once(home: Path, start: Start) -> None:
    """The file does not change any more, so nothing new is read for the second screen."""
    async with start() as run:
        await run.press("5")
        await run.until_shown("missing")
        await run.press("3")
        await run.until_shown("there is no session store yet")
    a_family(home)
    async with start() as run:
        await run.press("5")
        await run.until_shown("1 session with 40 messages lost the way to the chat.")
        screen = await shown(run)
        assert len(screen.model) == 7


async def test_hostile_names_stay_text(home: Path, start: Start) -> None:
    hostile(home)
    for size in ((120, 36), (80, 24), (60, 15)):
        async with start(size) as run:
            await shown(run)
            await run.press("G")
            await run.until_shown("[@click=app.quit]")
            assert not {"\x1b", "\u202e", "\x07"} & set(run.text)
            await run.press("enter")
            await run.until(lambda: isinstance(run.front(), SessionDetailsScreen))
            assert not {"\x1b", "\u202e", "\x07"} & set(run.text)


async def test_export_writes_what_is_in_view(home: Path, start: Start, tmp_path: Path) -> None:
    a_family(home)
    async with start() as run:
        screen = await shown(run)
        screen.filter_by("only:zombies")
        await run.until_shown("1 of 6")
        await run.press("e", "ctrl+u")
        await run.type("lineage.json")
        await run.press("enter")
        await run.until_shown("1 sessions were written to lineage.json")
    (row,) = json.loads((tmp_path / "lineage.json").read_text())
    assert (row["id"], row["relation"], [one["kind"] for one in row["anomalies"]]) == ("tip", "compression", ["zombie"])


async def test_help_names_marks_and_links(home: Path, start: Start) -> None:
    Sessions(home)
    async with start((110, 60)) as run:
        await run.press("3", "question_mark")
        await run.until_shown("◇ orphan", "◉ zombie", "compression", "Fold or unfold the row")


async def test_the_cursor_starts_on_the_first_of_the_worst_and_only_once(home: Path, start: Start) -> None:
    """The first row is healthy. The zombie weighs as much as the lost row, and stands before it."""
    made = a_family(home)
    async with start((120, 36)) as run:
        screen = await opened(run)
        assert screen.model.key(0) == Key("shell")
        assert at_cursor(screen) == Key("tip")
        await run.press("up")
        assert at_cursor(screen) == Key("root")
        made.chat("fresh", ago=10, messages=2, session_key="agent:main:telegram:dm:77", chat_id="77", user_id="77")
        await run.until(lambda: screen.model.key(0) == Key("fresh"), "another reading")
        await quiet(run)
        assert at_cursor(screen) == Key("root")


async def test_later_readings_keep_the_cursor_on_the_worst_at_the_top(home: Path, start: Start) -> None:
    made = Sessions(home)
    made.chat("donor", ago=5000, messages=4)
    made.add("lost", ago=4700, messages=9, user_id="42")
    async with start((120, 36)) as run:
        screen = await opened(run)
        first = at_cursor(screen)
        assert screen.model.view is not None
        assert first == screen.model.view.worst
        assert first in (Key("donor"), Key("lost"))
        made.chat("fresh", ago=10, messages=2, session_key="agent:main:telegram:dm:77", chat_id="77", user_id="77")
        await run.until(lambda: screen.model.index(Key("fresh")) is not None, "another reading")
        await quiet(run)
        assert screen.model.key(0) == Key("fresh")
        assert at_cursor(screen) == first


async def test_without_anomalies_the_cursor_starts_at_the_top(home: Path, start: Start) -> None:
    made = Sessions(home)
    made.chat("one", ago=5000, messages=4)
    made.add("shell", ago=900, messages=4, source="cli")
    async with start((120, 36)) as run:
        screen = await opened(run)
        assert at_cursor(screen) == screen.model.key(0)
