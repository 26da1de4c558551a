"""What the Homes screen says: a line a home, totals over all of them, what is wrong with one."""

from __future__ import annotations

from pathlib import Path

from agent_ledger.engine.inert import inert
from ledger_tui.sources.health import OK, Health
from widgets.home_tables import HomeRow
from widgets.look import coarse_age_text
from widgets.top_line import Total

from .calls_words import health_word, totals_of
from .homes_model import HomesFilter, HomesModel

_WORST_FIRST = ("unreadable", "foreign-owner", "stale", "degraded", "missing", OK)


def home_row(model: HomesModel, home: int, ledger: Path) -> HomeRow:
    """The line of one home, whose ledger lies at `ledger`."""
    name, calls = model.names[home], model.calls[home]
    if not calls.loaded:
        return HomeRow(name, "missing", "reading", readable=False)
    health = calls.health
    if calls.unknown or health.state == "missing":
        return HomeRow(name, health.state, _why(health, ledger), readable=False)
    counts, active = calls.counts(), model.active[home] / 1_000_000
    return HomeRow(
        name,
        health.state,
        health_word(health) if health.state == OK else _why(health, ledger),
        pending=counts.pending,
        overdue=counts.overdue,
        ghost=counts.ghost,
        error=counts.error,
        calls=counts.rows,
        active=f"{coarse_age_text(calls.now() - active)} ago" if active else "",
    )


def _why(health: Health, ledger: Path) -> str:
    """The word for it, then its sentence, with the file's name in place of its path."""
    return f"{health_word(health)}: {health.text.replace(inert(str(ledger)), ledger.name)}"


def about(model: HomesModel, home: int, ledger: Path, folder: str) -> str:
    """What is wrong with the home in full, then where it lies."""
    name, health, where = model.names[home], model.calls[home].health, inert(folder)
    if health.text:
        return f"{name}: {_why(health, ledger)} {where}"
    return name if where == name else f"{name}: {where}"


def totals(model: HomesModel) -> tuple[Total, ...]:
    """The sums over all homes of which something is known."""
    known = [calls for calls in model.calls if calls.loaded and not calls.unknown]
    return totals_of(model.sum()) if known else (Total("?", "calls unknown", "", "top--quiet"),)


def health(model: HomesModel) -> tuple[str, str]:
    """The worst state of a home, and how many of them are live."""
    if not all(calls.loaded for calls in model.calls):
        return "missing", "reading"
    states = [calls.health.state for calls in model.calls]
    worst = min(states, key=lambda state: _WORST_FIRST.index(state) if state in _WORST_FIRST else 0)
    live = states.count(OK)
    return worst, "live" if live == len(states) else f"{live} of {len(states)} live"


def empty_text(model: HomesModel) -> str:
    """What stands where unconfirmed calls would be."""
    if not all(calls.loaded for calls in model.calls):
        return "reading…"
    if model.wanted != HomesFilter():
        return "nothing fits the filter"
    if any(calls.unknown for calls in model.calls):
        return "nothing is unconfirmed in the homes that can be read"
    return "nothing waits for a confirmation, and nothing was lost"
