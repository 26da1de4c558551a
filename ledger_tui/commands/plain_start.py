"""What stands in the app's place where nothing may be drawn: its first screen as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ledger.engine.queries import Filter
from ledger_tui.commands import status
from ledger_tui.commands.calls import args_line
from ledger_tui.commands.errors import DONE, UNREADABLE
from ledger_tui.commands.fleet import Fleet, Round
from ledger_tui.commands.output import amount, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.plain import sentence
from ledger_tui.commands.reading import oldest_first
from ledger_tui.sources.guard import SourceError

SHOWN = 50
"""Unconfirmed calls that are read out unasked."""

NEXT = (
    "The app draws, so it was not opened. Every command tells what one of its screens shows:",
    "calls, posture, sessions, policy report, repair-routing. To follow what happens: ledger-tui watch.",
)

NEXT_SHIPPED = (
    "The app draws, so it was not opened. Every command tells what one of its screens shows: calls, posture.",
    "To follow what happens: ledger-tui --source URL watch.",
)


def told(where: Place | Fleet) -> int:
    """What the app would show first, as lines of text. Returns the exit code."""
    if isinstance(where, Fleet):
        return _told_of_all(where)
    problems = list(_told(where))
    _next(where)
    for problem in problems:
        warn(str(problem))
    return UNREADABLE if problems else DONE


def _told_of_all(fleet: Fleet) -> int:
    asked = Round(fleet)
    for place in fleet.places:
        say(f"Home {place.name}.")
        for problem in asked.kept(place, _told(place)):
            asked.told(place, str(problem))
    _next(fleet.places[0])
    return asked.code


def _next(place: Place) -> None:
    for line in NEXT if place.shipped is None else NEXT_SHIPPED:
        say(line)


def _told(place: Place) -> Iterator[SourceError]:
    """Says it, and gives what could not be read beside it."""
    found, problems = status.summary(place)
    for line in status.as_text(found):
        say(" ".join(line.split()))
    if found["ledger"]["exists"]:
        _unconfirmed(place)
    yield from problems


def _unconfirmed(place: Place) -> None:
    rows = list(oldest_first(place, Filter(states=frozenset(("pending", "overdue", "ghost"))), limit=SHOWN + 1))
    more = len(rows) > SHOWN
    rows = rows[-SHOWN:]
    say(f"{'The newest ' if more else ''}{amount(len(rows), 'call')} without a confirmation{':' if rows else '.'}")
    for row in rows:
        say(sentence(row, args_line(row["args"])))
