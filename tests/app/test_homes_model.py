"""Several ledgers in one order: which calls, whose, and what a filter leaves of them."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Inert, utc_text
from ledger_tui.sources.health import Health
from ledger_tui.sources.ledger import SessionTotals, Totals
from screens.calls_model import CallsModel
from screens.filter_terms import FilterError, complete
from screens.homes_model import SETTLED_HELD, HomesFilter, HomesModel, parse_homes_filter, so_far

from .ledgers import NOW, Clock, a_call, a_change

NAMES = ("default", "coder", "coder-night")


def a_model(clock: Clock, names: tuple[str, ...] = NAMES) -> HomesModel:
    return HomesModel(names, [CallsModel(clock, clock.mono) for _ in names])


def told(model: HomesModel, home: int, *calls: Any, **changes: Any) -> Any:
    return model.apply(home, a_change(calls, **changes))


def shown(model: HomesModel) -> list[tuple[str, int]]:
    return [(model.names[row.home], row.call.id) for row in model.unconfirmed]


def ghost(id: int, *, told_ago: float, ago: float = 5000.0) -> Any:
    return a_call(
        id, at=NOW - ago, status=Inert("GHOST_REPORTED"), reported_ts=Inert(utc_text(NOW - told_ago)), changed=id
    )


def test_the_newest_trouble_comes_first_whosever_it_is_then_what_still_runs() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1, at=NOW - 200), ghost(2, told_ago=50), a_call(3, at=NOW - 5), reset=True)
    told(model, 1, a_call(1, at=NOW - 130), a_call(2, at=NOW - 3), reset=True)
    # Overdue since 80 s and 10 s, told of 50 s ago; then those within their 120 s, the newest first.
    assert shown(model) == [("coder", 1), ("default", 2), ("default", 1), ("coder", 2), ("default", 3)]


def test_the_call_of_a_host_that_is_gone_is_trouble_since_it_was_issued() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1, at=NOW - 20, writer_id=Inert("w")), reset=True)
    told(model, 1, a_call(1, at=NOW - 130), reset=True)
    assert shown(model) == [("coder", 1), ("default", 1)]  # Overdue since 10 s; still within its time.
    told(model, 0, dead_writers=frozenset({"w"}))
    assert [row.home for row in model.unconfirmed] == [1, 0]
    told(model, 1, a_call(2, at=NOW - 150))
    assert shown(model) == [("coder", 1), ("default", 1), ("coder", 2)]


def test_equal_numbers_and_sessions_of_two_homes_are_kept_apart() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(7, at=NOW - 5), reset=True)
    told(model, 1, a_call(7, at=NOW - 6), reset=True)
    assert shown(model) == [("default", 7), ("coder", 7)]
    told(model, 0, a_call(7, at=NOW - 5, status=Inert("CONFIRMED"), changed=8))
    assert shown(model) == [("coder", 7)]
    assert model.calls[0].session(a_call(7)).confirmed == 1
    assert model.calls[1].session(a_call(7)).confirmed == 0


def test_a_home_that_is_read_anew_leaves_the_others_as_they_are() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1), reset=True)
    told(model, 1, a_call(1), a_call(2), reset=True)
    told(model, 1, a_call(9), reset=True)
    assert shown(model) == [("default", 1), ("coder", 9)]


def test_what_was_pruned_is_gone() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1), a_call(2), reset=True, gone_through=1)
    told(model, 0, gone_through=2)
    assert shown(model) == [("default", 2)]


def test_what_becomes_overdue_is_told_with_its_home_and_moves_up() -> None:
    clock = Clock()
    model = a_model(clock)
    told(model, 0, a_call(1, at=NOW - 10), reset=True)
    told(model, 1, a_call(1, at=NOW - 100), reset=True)
    assert list(model.tick()) == []
    clock.now = NOW + 30
    ((home, news),) = model.tick()
    assert (home, [call.id for call in news.overdue]) == (1, [1])
    assert shown(model) == [("coder", 1), ("default", 1)]


def test_a_clock_that_is_set_back_takes_lateness_back() -> None:
    clock = Clock()
    model = a_model(clock)
    told(model, 0, a_call(1, at=NOW - 100), reset=True)
    told(model, 1, a_call(1, at=NOW - 10), reset=True)
    clock.now = NOW + 60
    assert [home for home, _ in model.tick()] == [0]
    assert shown(model) == [("default", 1), ("coder", 1)]
    clock.now = NOW
    assert list(model.tick()) == []
    assert shown(model) == [("coder", 1), ("default", 1)]


def test_when_something_last_happened_in_a_home() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1, changed=70), a_call(2, changed=50), reset=True)
    told(model, 1, reset=True)
    assert model.active == [70, 0, 0]
    told(model, 0, a_call(2, changed=60))
    assert model.active == [70, 0, 0]
    told(model, 0, a_call(9, changed=40), reset=True)
    assert model.active == [40, 0, 0], "another ledger lies there now"


def test_sums_are_of_the_homes_that_could_be_read() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1), reset=True, totals=Totals(rows=5, pending=1, confirmed=3, error=1))
    told(model, 1, ghost(1, told_ago=9), reset=True, totals=Totals(rows=3, ghost=1, confirmed=2))
    told(model, 2, reset=True, health=Health("unreadable", "It is no database."))
    sums = model.sum()
    assert (sums.pending, sums.ghost, sums.error, sums.confirmed, sums.rows) == (1, 1, 1, 5, 8)


def test_of_settled_calls_little_is_held_however_many_come() -> None:
    model = a_model(Clock())
    told(model, 0, *[a_call(id, status=Inert("CONFIRMED")) for id in range(1, 301)], reset=True)
    for id in range(301, 601):
        told(model, 0, a_call(id, status=Inert("CONFIRMED")))
    assert [call.id for call in model.calls[0].view.settled] == list(range(600, 600 - SETTLED_HELD, -1))
    assert model.calls[0].session(a_call(1)).confirmed == 600


# Filters


def parsed(line: str, names: tuple[str, ...] = NAMES) -> HomesFilter:
    return parse_homes_filter(line, names=names, now=NOW, zone=None, sessions={"s1": "Release"})


def test_a_home_is_named_whole_or_by_its_start() -> None:
    assert parsed("home:coder").homes == frozenset({1}), "the whole name means that one alone"
    assert parsed("home:CO").homes == frozenset({1, 2})
    assert parsed("home:default home:coder-n").homes == frozenset({0, 2})
    assert parsed('"home:my agent"', ("my agent", "b")).homes == frozenset({0})


def test_other_terms_are_those_of_calls() -> None:
    wanted = parsed('home:coder tool:terminal state:ghost session:Rel "two words" more')
    assert wanted.calls == Filter(
        tool_name="terminal", states=frozenset({"ghost"}), session_id="s1", text="two words more"
    )
    assert parsed("") == HomesFilter()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("home:", "'home:' needs a value"),
        ("home:web", "No home is called or begins with 'web'."),
        ("hom:coder", "There is no filter 'hom:'; known are home:, tool:,"),
        ("state:gone", "'gone' is no state"),
        ('home:"coder', "A quotation mark is open"),
    ],
)
def test_what_cannot_be_meant_is_said(line: str, sentence: str) -> None:
    with pytest.raises(FilterError, match=sentence):
        parsed(line)


def test_a_filter_narrows_what_is_there_and_what_comes() -> None:
    model = a_model(Clock())
    told(model, 0, a_call(1), a_call(2, tool_name=Inert("patch")), reset=True)
    told(model, 1, a_call(1), reset=True)
    model.show(parsed("home:default tool:terminal"))
    assert shown(model) == [("default", 1)]
    told(model, 0, a_call(3, tool_name=Inert("patch")), a_call(4, at=NOW - 1))
    told(model, 1, a_call(2))
    assert shown(model) == [("default", 4), ("default", 1)]
    model.show(HomesFilter())
    assert len(model.unconfirmed) == 6


def test_homes_that_differ_in_capitals_only_are_told_apart() -> None:
    def homes(line: str) -> list[int]:
        wanted = parse_homes_filter(line, names=("Work", "work", "other"), now=NOW, zone=UTC, sessions={})
        return sorted(wanted.homes or ())

    assert homes("home:Work") == [0]
    assert homes("home:work") == [1]
    assert homes("home:WORK") == [0, 1]


def test_names_of_homes_are_completed() -> None:
    def completed(line: str) -> str | None:
        return complete(line, tools=["terminal"], sessions=[], more={"home": NAMES})

    assert completed("ho") == "home:"
    assert completed("tool:terminal home:de") == "tool:terminal home:default"
    assert completed("home:x") is None


# What a screen that is made later is told


def test_a_screen_that_is_made_later_knows_what_the_first_one_knows() -> None:
    clock = Clock()
    model = a_model(clock)
    assert so_far(model.calls[0], None) is None
    done = {"status": Inert("CONFIRMED"), "settled_ts": Inert(utc_text(NOW))}
    told(model, 0, a_call(1), a_call(2, **done), ghost(3, told_ago=9), reset=True, totals=Totals(3, 1, 1, 0, 0, 1))
    latest = a_change([a_call(4), a_call(1, **done, changed=9)], totals=Totals(4, 1, 1, 0, 0, 2))
    model.apply(0, latest)
    later = CallsModel(clock, clock.mono)
    message = so_far(model.calls[0], latest)
    assert message is not None
    assert message.reset
    assert not later.apply(message), "it is no news"
    assert later.counts() == model.calls[0].counts()
    assert [call.id for call in later.view.pending] == [4]
    assert [call.id for call in later.view.ghosts] == [3]
    assert [call.id for call in later.view.settled] == [2], "what is older comes with the first page"
    later.take_session_totals([SessionTotals(Inert("s1"), confirmed=2, changed=9)])
    assert not later.apply(a_change([a_call(2, **done, changed=10)], totals=latest.totals))
    assert later.session(a_call(2)).confirmed == 2, "what is seen again is not counted once more"
