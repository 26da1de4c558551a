"""Follows ledger and session store at once, and reports what happens, also what happens by time passing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from agent_ledger.engine.records import utc_text
from ledger_tui.commands.findings import FindingNews
from ledger_tui.commands.happenings import Event, Happenings
from ledger_tui.commands.output import warn
from ledger_tui.commands.place import Place
from ledger_tui.sources.ledger import LedgerSource
from ledger_tui.sources.state import SessionInfo, StateSource

TICK_S = 1.0

Report = Callable[[Event], None]


def follow(places: Sequence[Place], report: Callable[[Place, Event], None]) -> None:
    """Reports every change until it is interrupted by KeyboardInterrupt. Whatever `report` raises comes out here."""
    try:
        asyncio.run(_follow_all(places, report))
    except ExceptionGroup as group:
        raise _first_of(group) from None


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


async def _follow_all(places: Sequence[Place], report: Callable[[Place, Event], None]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for place in places:
            tasks.create_task(_follow(place, partial(report, place)))


async def _follow(place: Place, report: Report) -> None:
    happenings = Happenings(place.clock, place.mono_clock)
    ledger = LedgerSource(place.paths, ledger=place.ledger if place.ledger_named else None, clock=place.clock)
    state = StateSource(place.paths, state=place.state if place.state_named else None, clock=place.clock)
    async with ledger, state, asyncio.TaskGroup() as tasks:
        tasks.create_task(_calls(place, ledger, happenings, report))
        tasks.create_task(_sessions(state, place.clock, report))
        tasks.create_task(_time(happenings, report))


async def _calls(place: Place, source: LedgerSource, happenings: Happenings, report: Report) -> None:
    said, findings = "", FindingNews(place.clock)
    async with aclosing(source.changes()) as changes:
        async for change in changes:
            for event in (*happenings.take(change), *findings.take(change)):
                report(event)
            if change.health.text != said and change.health.state != "missing":
                said = change.health.text
                told(place, said)


def told(place: Place, trouble: str) -> None:
    """Says what keeps a ledger from being read; an empty text is that nothing does any more."""
    whose = f"{place.name}: " if place.name else ""
    warn(whose + (trouble or "The ledger can be read again."))


async def _time(happenings: Happenings, report: Report) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        for event in happenings.tick():
            report(event)


async def _sessions(source: StateSource, clock: Callable[[], float], report: Report) -> None:
    known: dict[str, SessionInfo] | None = None
    async with aclosing(source.changes()) as changes:
        async for change in changes:
            if known is not None:
                for event in session_events(known, change.sessions, clock()):
                    report(event)
            known = {**(known or {}), **change.sessions}


def session_events(known: Mapping[str, SessionInfo], found: Mapping[str, SessionInfo], now: float) -> list[Event]:
    """Sessions that began or ended between two readings."""
    events: list[Event] = []
    for key, session in found.items():
        before = known.get(key)
        if before is None and (session.last_active or now) >= now - 3600:
            events.append(_session_event("started", session, session.started_at, now))
        if session.ended_at is not None and before is not None and before.ended_at is None:
            events.append(_session_event("ended", session, session.ended_at, now))
    return events


def _session_event(change: str, session: SessionInfo, at: float | None, now: float) -> Event:
    return {
        "at": utc_text(now if at is None else at),
        "kind": "session",
        "change": change,
        "session_id": session.id,
        "source": session.source,
        "title": session.title,
        "parent_session_id": session.parent_session_id,
        "end_reason": session.end_reason,
    }
