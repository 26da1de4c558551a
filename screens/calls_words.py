"""What the Calls screen says: totals, titles of panes, empty panes, toasts. Pure functions over the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call
from ledger_tui.sources.health import Health
from widgets.look import GLYPHS, HEALTH_GLYPHS, HEALTH_WORDS, NO_SESSION, count_text
from widgets.top_line import Total

from .calls_model import CallsModel, Counts, News

TOLD_AT_ONCE = 3
"""Calls that one toast names; more are counted."""

_ORDER = ("pending", "overdue", "ghost", "error", "revived", "confirmed")
_URGENCY = ("ghost", "overdue", "pending", "error", "revived", "confirmed")
_ALWAYS = ("pending", "ghost", "confirmed")
_NO_TITLES: Mapping[str, str] = {}


class Facts:
    """What a row's text needs beyond the row: the model's judgement, titles of sessions, the person's zone."""

    def __init__(self, model: CallsModel, zone: tzinfo | None, titles: Mapping[str, str] = _NO_TITLES) -> None:
        """`titles` of sessions, by id."""
        self.state, self.age, self.remaining = model.state, model.age, model.remaining
        self.writer_dead, self.now = model.writer_dead, model.now
        self.zone, self._judged = zone, model.judged
        self.titles = titles

    def verdict(self, call: Call) -> str:
        """`landed`, `absent`, `unknown`; empty where nobody has looked."""
        told = self._judged(call)
        return "" if told is None else told.verdict

    def session_name(self, call: Call) -> str:
        return self.name_of(call.session_id or "")

    def name_of(self, session_id: str) -> str:
        return self.titles.get(session_id) or session_id or NO_SESSION


@dataclass(frozen=True, slots=True)
class Toast:
    """One message that passes. Names of tools in it are an agent's text: never markup."""

    text: str
    severity: Literal["warning", "error"]
    seconds: float = 4.0
    """How long it stays: it stands over titles."""


def toasts(news: News) -> Iterator[Toast]:
    """At most one toast for new ghosts and one for what became overdue."""
    if news.ghosts:
        yield Toast(_told(news.ghosts, "was lost: the agent has been told", "calls were lost"), "error")
    if news.overdue:
        yield Toast(_told(news.overdue, "is overdue: no confirmation came", "calls are overdue"), "warning")


def _told(calls: tuple[Call, ...], one: str, many: str) -> str:
    named = ", ".join(f"{call.tool_name} #{call.id}" for call in calls[:TOLD_AT_ONCE])
    if len(calls) == 1:
        return f"{named} {one}"
    return f"{len(calls)} {many}: {named}" + (", …" if len(calls) > TOLD_AT_ONCE else "")


def totals(model: CallsModel) -> tuple[Total, ...]:
    """The totals for the top line, in the order of a call's life; ghosts are the last to give way."""
    if model.unknown:
        return (Total("?", "calls unknown", "", "top--quiet"),)
    return totals_of(model.counts())


def totals_of(counts: Counts) -> tuple[Total, ...]:
    """The same of counts that are known."""
    out: list[Total] = []
    for state in _ORDER:
        number: int = getattr(counts, state)
        if number or state in _ALWAYS:
            style = f"top--{state}" if number else "top--quiet"
            out.append(Total(GLYPHS[state], count_text(number), state, style, _URGENCY.index(state)))
    return tuple(out)


def pane_counts(model: CallsModel, session_id: str | None, *, filtered: bool) -> tuple[str, str, str]:
    """The numbers in the titles of the panes: pending, ghosts, settled."""
    if model.unknown:
        return ("?",) * 3
    view = model.view
    settled = settled_count(model, session_id, filtered=filtered)
    return count_text(len(view.pending)), count_text(len(view.ghosts)), settled


def health_word(health: Health) -> str:
    """`live`, `stale`, `degraded 3 spooled`, `degraded 2 set aside`; of both, the text tells the second."""
    word = health.as_of or HEALTH_WORDS.get(health.state, health.state)
    if health.spooled:
        return f"{word} {count_text(health.spooled)} spooled"
    return f"{word} {count_text(health.set_aside)} set aside" if health.set_aside else word


def health_notice(health: Health) -> str:
    """The mark of a source that is not well, and why, for screens without a top line. Empty when all is well."""
    return (
        "" if health.state == "ok" else f"{HEALTH_GLYPHS.get(health.state, '?')} {health_word(health)}: {health.text}"
    )


def notice_text(health: Health, state_health: Health, *, filter_line: str, session: str | None) -> str:
    """The line below the top: what is wrong with a source, then what narrows the view. Mostly empty."""
    parts = [text for text in (health.text, state_health.text) if text]
    if health.state == "missing" and health.text:  # The plugin may not be in this home at all.
        parts.insert(0, "Nothing is recorded yet; if that lasts: ledger-tui doctor")
    if health.read_only_schema:
        parts.append("This ledger is by other software: shown, never written.")
    if filter_line:
        parts.append(f"Filter: {filter_line}")
    if session is not None:
        parts.append(f"Session: {session}")
    return " · ".join(parts)


def session_order(model: CallsModel) -> list[str]:
    """Sessions by the minute of their last change, so that lines do not jump about; newest first."""
    sessions = model.sessions
    return sorted(sessions, key=lambda key: (sessions[key].changed // 60_000_000, key), reverse=True)


def settled_count(model: CallsModel, session_id: str | None, *, filtered: bool) -> str:
    """How many settled rows the view has: exact where it is known, else those that are held and a plus."""
    if not filtered and (session_id is None or model.sessions_known):
        return count_text(model.counts(session_id).settled)
    window = model.view.settled
    return count_text(len(window)) + ("" if window.at_newest and window.at_oldest else "+")


def empty_texts(model: CallsModel, typed: Filter) -> tuple[str, str, str]:
    """What stands in an empty pane: pending, ghosts, settled."""
    if not model.loaded:
        return "reading…", "", ""
    if model.unknown:
        return ("cannot be read, so this is not known",) * 3
    if model.health.state == "missing":
        return "no ledger yet", "no ledger yet", "The first call that the plugin records will show here."
    if typed != Filter():
        return ("nothing fits the filter",) * 3
    settled = "nothing is recorded yet" if model.view.settled.at_oldest or not model.totals.rows else "reading…"
    return "nothing waits for a confirmation", "nothing was lost", settled
