"""The survey as a stream: when it reads, when it does not, and how it is called off."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from ledger_tui.routing import live as live_module
from ledger_tui.routing.live import LiveSurvey, SurveyChange
from ledger_tui.routing.progress import Progress, ReadingStoppedError, Stopped, Tell
from ledger_tui.routing.read import Store
from ledger_tui.routing.survey import Survey, survey
from ledger_tui.sources.guard import MISSING, SourceError

PATIENCE_S = 60.0


class Reader:
    """Stands for the reading of the file: counts, waits where a test wants it to, fails where a test says so."""

    def __init__(self) -> None:
        self.times = 0
        self.stopped = 0
        self.hold = threading.Event()
        self.hold.set()
        self.begun = threading.Event()
        self.called_off = threading.Event()
        self.error: SourceError | None = None

    def __call__(self, tell: Tell, stopped: Stopped) -> Survey:
        self.times += 1
        tell(Progress(3, 10))
        self.begun.set()
        while not self.hold.wait(0.01):
            if stopped():
                self.stopped += 1
                self.called_off.set()
                raise ReadingStoppedError
        if self.error is not None:
            raise self.error
        return survey(Store(), now=0.0)


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    path.write_bytes(b"1")
    return path


@pytest.fixture
def live(file: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> LiveSurvey:
    monkeypatch.setattr(live_module, "REST_S", 0.0)
    monkeypatch.setattr(live_module, "REST_FACTOR", 0.0)
    monkeypatch.setattr(live_module, "LOOK_S", 0.01)
    monkeypatch.setattr(live_module, "TELL_S", 0.01)
    return LiveSurvey(file, file.parent, file.parent, clock=lambda: 0.0, mono=lambda: 0.0, read=reader)


async def fresh(changes: AsyncGenerator[SurveyChange, None]) -> SurveyChange:
    """The next change that is more than progress."""
    while (change := await asyncio.wait_for(anext(changes), PATIENCE_S)).progress is not None:
        pass
    return change


async def until(condition: threading.Event) -> None:
    assert await asyncio.to_thread(condition.wait, PATIENCE_S)


def touch(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    os.utime(file, ns=(1, len(content)))


def remove(file: Path) -> None:
    file.unlink()


async def test_it_reads_only_for_somebody_who_looks(live: LiveSurvey, reader: Reader) -> None:
    async with aclosing(live.changes()) as changes:
        waiting = asyncio.ensure_future(fresh(changes))
        await asyncio.sleep(0.1)
        assert reader.times == 0
        live.look("lineage")
        change = await waiting
        assert (change.fresh, change.trouble, reader.times) == (True, None, 1)
        assert live.latest is change.survey


async def test_an_unchanged_file_is_read_once(live: LiveSurvey, reader: Reader, file: Path) -> None:
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        await fresh(changes)
        waiting = asyncio.ensure_future(fresh(changes))
        await asyncio.sleep(0.1)
        assert reader.times == 1
        touch(file, b"22")
        await waiting
        assert reader.times == 2
        live.again()
        await fresh(changes)
        assert reader.times == 3


async def test_progress_is_told(live: LiveSurvey, reader: Reader) -> None:
    reader.hold.clear()
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        while (change := await asyncio.wait_for(anext(changes), PATIENCE_S)).progress != Progress(3, 10):
            assert change.survey is None
        reader.hold.set()
        assert (await fresh(changes)).fresh


async def test_a_reading_that_nobody_comes_back_for_is_called_off(file: Path, reader: Reader, live: LiveSurvey) -> None:
    moment = [0.0]
    away = LiveSurvey(file, file.parent, file.parent, clock=lambda: 0.0, mono=lambda: moment[0], read=reader)
    reader.hold.clear()
    away.look("lineage")
    async with aclosing(away.changes()) as changes:
        waiting = asyncio.ensure_future(fresh(changes))
        await until(reader.begun)
        away.leave("lineage")
        moment[0] = live_module.CALLED_OFF_S
        await asyncio.sleep(0.1)
        assert reader.stopped == 0
        moment[0] += 1
        await until(reader.called_off)
        reader.hold.set()
        away.look("repair")
        assert (await waiting).fresh
        assert (reader.times, reader.stopped) == (2, 1)


async def test_nothing_is_read_while_somebody_writes(live: LiveSurvey, reader: Reader, file: Path) -> None:
    reader.hold.clear()
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        waiting = asyncio.ensure_future(fresh(changes))
        await until(reader.begun)
        await asyncio.wait_for(live.rest(True), PATIENCE_S)
        assert reader.stopped == 1
        reader.hold.set()
        touch(file, b"333")
        await asyncio.sleep(0.1)
        assert reader.times == 1
        await live.rest(False)
        assert (await waiting).fresh


async def test_the_last_survey_stays_while_the_file_cannot_be_read(
    live: LiveSurvey, reader: Reader, file: Path
) -> None:
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        first = await fresh(changes)
        reader.error = SourceError(file, "is damaged", "move it away")
        touch(file, b"22")
        change = await fresh(changes)
        assert (change.fresh, change.survey) == (False, first.survey)
        assert str(change.trouble).endswith("is damaged: move it away; what is shown was read before.")
        reader.error = None
        assert (await fresh(changes)).trouble is None


async def test_the_last_survey_stays_when_the_file_goes(live: LiveSurvey, reader: Reader, file: Path) -> None:
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        first = await fresh(changes)
        reader.error = SourceError(file, "does not exist", "it appears", state=MISSING)
        remove(file)
        change = await fresh(changes)
        assert (change.survey, change.missing) == (first.survey, False)
        assert change.trouble is not None
        assert (change.trouble.state, change.trouble.reason) == ("stale", "is gone")


async def test_a_missing_file_is_no_survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "REST_S", 0.0)
    live = LiveSurvey(tmp_path / "state.db", tmp_path, tmp_path, clock=lambda: 0.0)
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        change = await fresh(changes)
        assert (change.missing, change.survey, live.latest) == (True, None, None)


async def test_what_was_set_aside_and_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "REST_S", 0.0)
    (tmp_path / "ignored.json").write_text("{")
    (tmp_path / "state.db").write_bytes(b"")
    live = LiveSurvey(tmp_path / "state.db", tmp_path, tmp_path, clock=lambda: 0.0)
    live.look("lineage")
    async with aclosing(live.changes()) as changes:
        assert "ignored.json is no JSON text" in (await fresh(changes)).note
