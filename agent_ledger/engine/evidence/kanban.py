"""Kanban: what the boards' own events say of a call to one of the `kanban_*` tools.

The tables are the same in Hermes 0.19 and 0.22 as far as they are asked here. An event says which card, what, and in
which second; who did it only by name of the profile. So the time, and the other recorded calls, must tell whose it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..secret_values import MARK
from .around import HANDS, SOON_S, issued, may_be_of, may_explain, others, reads_as
from .board import GRAIN_S, Board, Event, boards
from .facts import CannotTellError, Facts
from .recorded import Recorded
from .verdict import Verdict, absent, landed, quoted, unknown

_KINDS: Mapping[str, tuple[str, ...]] = {
    "kanban_create": ("created",),
    "kanban_complete": ("completed",),
    "kanban_block": ("blocked", "dependency_wait", "block_loop_detected", "scheduled"),
    "kanban_unblock": ("unblocked",),
    "kanban_comment": ("commented",),
    "kanban_heartbeat": ("heartbeat",),
    "kanban_link": ("linked",),
    "kanban_attach": ("attached",),
    "kanban_attach_url": ("attached",),
    "kanban_schedule": ("scheduled",),
    "kanban_request_review": ("review_requested",),
    "kanban_request_changes": ("changes_requested",),
}
"""The events that a tool leaves."""

TOOLS = tuple(_KINDS)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one call."""

    what: str
    """The event that it would leave, in words."""
    mine: tuple[str, ...] = ()
    """Events as asked for, in the seconds after the call, that no other recorded call explains; each in words."""
    shared: int = 0
    """The same, but another recorded call may have made them."""
    taken: int = 0
    """How many confirmed calls made such an event then: so many of the shared ones are theirs."""
    unlike: int = 0
    """Events of that kind at that time, of nobody known, that cannot be compared."""
    later: int = 0
    """Events as asked for that came later than the call's would have, and that no recorded call explains."""
    whole: bool = True
    """Is every event since the call still there?"""
    before: str = ""
    """Why the call would have left none: a card with its key was there. Empty otherwise."""


def judge_seen(seen: Seen, now: float) -> Verdict:
    """Landed: an event of its own. Absent: none, and no event since the call was deleted."""
    if seen.mine:
        return landed(now, *seen.mine)
    if seen.before:
        return unknown(now, seen.before)
    if seen.shared > seen.taken:
        return unknown(now, f"The board shows {seen.what} at that time, but another call may have done it.")
    if seen.unlike:
        return unknown(now, f"The board shows {seen.what} at that time, but not certainly what the call asked for.")
    if seen.later:
        return unknown(now, f"The board shows {seen.what}, but later than this call would have done it.")
    if not seen.whole:
        return unknown(now, f"The board does not show {seen.what}, but events since the call were deleted from it.")
    also = " by this call" if seen.shared else ""
    return absent(now, f"The board does not show {seen.what}{also}, and no event since the call is missing on it.")


# -- gathering ---------------------------------------------------------------------------------------------------------


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on one call. Raises CannotTellError where no board can be read."""
    kinds = _KINDS.get(call.tool_name)
    if kinds is None:
        return None
    at = issued(call)
    slug = facts.argument(call, "board") or ""
    found = boards(facts, slug if isinstance(slug, str) else "", at)
    around = others(facts, call, TOOLS)
    by_hand = others(facts, call, HANDS, "kanban")
    rivals = [other for other in around if _KINDS[other.tool_name] == kinds] + by_hand
    mine, shared, unlike, later, sure = [], 0, 0, 0, set()
    for board in found:
        for event in _events(call, facts, board, kinds):
            if not _names(call, facts, event):
                continue
            fits = _fits(call, facts, board, event)
            if fits is False:
                continue
            others_too = [
                o for o in rivals if may_explain(o, event.at, GRAIN_S, alike=True) and _may(o, facts, board, event)
            ]
            sure |= {other.id for other in others_too if other.confirmed and other not in by_hand}
            if not may_be_of(call, event.at, GRAIN_S):
                later += not others_too
            elif fits is None:
                unlike += not any(_asks_for(other, facts, board, event) for other in others_too)
            elif others_too:
                shared += 1
            else:
                mine.append(_words(call, board, event))
    return judge_seen(
        Seen(
            what=_WHAT.get(call.tool_name, "such a change"),
            mine=tuple(mine),
            shared=shared,
            taken=len(sure),
            unlike=unlike,
            later=later,
            whole=all(board.whole for board in found),
            before=_before(call, facts, found, at),
        ),
        facts.now,
    )


_WHAT = {
    "kanban_create": "such a card being made",
    "kanban_complete": "the card being completed",
    "kanban_block": "the card being blocked",
    "kanban_unblock": "the card being unblocked",
    "kanban_comment": "the comment",
    "kanban_heartbeat": "the sign of life",
    "kanban_link": "the link",
    "kanban_attach": "the attachment",
    "kanban_attach_url": "the attachment",
    "kanban_schedule": "the card being put off",
    "kanban_request_review": "the request for a review",
    "kanban_request_changes": "the request for changes",
}


def _words(call: Recorded, board: Board, event: Event) -> str:
    card = f"the card {quoted(event.task_id, 40)}"
    return f"The board shows {_WHAT[call.tool_name]} right after the call: event {quoted(event.kind)} of {card}."


def _card_argument(call: Recorded) -> str:
    return "child_id" if call.tool_name == "kanban_link" else "task_id"


def _events(call: Recorded, facts: Facts, board: Board, kinds: tuple[str, ...]) -> list[Event]:
    """Events that may be the call's: those of its card; for a new card those of its seconds, and later ones of cards
    with its title."""
    if call.tool_name != "kanban_create":
        card = facts.argument(call, _card_argument(call))
        return board.events(kinds, card if isinstance(card, str) else None, None)
    soon = max(call.settled_at or 0.0, issued(call)) + SOON_S
    found = board.events(kinds, None, soon)
    title = call.args.get("title")
    for card, (name, _) in board.told.cards.items():
        if not isinstance(title, str) or MARK in title or name == title.strip():
            found += [event for event in board.events(kinds, card, None) if event.latest > soon]
    return found


def _names(call: Recorded, facts: Facts, event: Event) -> bool:
    """Is the event on the card that the call named? A worker need not name its own card."""
    if call.tool_name == "kanban_create":
        return True
    name = _card_argument(call)
    if name not in call.args and name not in call.value_hashes:
        return True
    return facts.is_value(call, name, event.task_id)


def _may(other: Recorded, facts: Facts, board: Board, event: Event) -> bool:
    """Could that other call have made the event, by what it asked for? In doubt yes."""
    if other.tool_name not in TOOLS:
        return True
    try:
        return _names(other, facts, event) and _fits(other, facts, board, event) is not False
    except CannotTellError:
        return True


def _asks_for(other: Recorded, facts: Facts, board: Board, event: Event) -> bool:
    """Did that other call ask for exactly this event? That it was confirmed says only that it made some."""
    try:
        return other.tool_name in TOOLS and _fits(other, facts, board, event) is True
    except CannotTellError:
        return False


def _fits(call: Recorded, facts: Facts, board: Board, event: Event) -> bool | None:
    """Is the event what the call asked for, by its content? None where that cannot be compared."""
    if call.tool_name == "kanban_create":
        return _is_card(call, facts, board, event.task_id)
    if not _given(call, _card_argument(call)):
        return None  # A worker's own card: which one that was is not stored.
    if call.tool_name == "kanban_link":
        return _same(call, facts, "parent_id", event.payload.get("parent"))
    if call.tool_name == "kanban_comment":
        return _has_comment(call, facts, board.path, event)
    if call.tool_name == "kanban_attach":
        return _same(call, facts, "filename", event.payload.get("filename"))
    if call.tool_name == "kanban_heartbeat":
        return _same(call, facts, "note", event.payload.get("note"))
    return True


def _same(call: Recorded, facts: Facts, name: str, stored: object) -> bool | None:
    """Is an argument, blanks at its ends aside, what is stored? None where secrets were taken out of either."""
    given = call.args.get(name)
    if not isinstance(stored, str):
        return (given is None and name not in call.value_hashes) if stored is None else None
    if name in call.value_hashes and any(facts.is_value(call, name, stored + end) for end in ("", "\n")):
        return True  # The host strips what it stores; texts mostly end with one line end.
    if not isinstance(given, str):
        return None
    if given.strip() == stored.strip() or (MARK in given and reads_as(given, stored)):
        return True
    return None if MARK in given or _may_be_redacted(stored) else False


def _may_be_redacted(stored: str) -> bool:
    """The host masks secrets as `***`, or leaves their ends with dots between."""
    return "***" in stored or "..." in stored or "REDACTED" in stored.upper()


def _is_card(call: Recorded, facts: Facts, board: Board, task_id: str) -> bool | None:
    card = board.told.cards.get(task_id)
    if card is None:
        return None
    told = [
        _same(call, facts, name, stored)
        for name, stored in zip(("title", "body"), card, strict=True)
        if _given(call, name)
    ]
    if False in told:
        return None if task_id in board.told.edited else False  # What was made may read otherwise now.
    return True if True in told else None


def _given(call: Recorded, name: str) -> bool:
    return call.args.get(name) is not None or (name not in call.args and name in call.value_hashes)


def _has_comment(call: Recorded, facts: Facts, path: Path, event: Event) -> bool | None:
    """Comments and their events are written together, the comment first; more than one a second cannot be paired."""
    sql = "SELECT body FROM task_comments WHERE task_id = ? AND created_at = ?"
    bodies: Sequence[tuple[Any, ...]] = facts.rows(path, sql, (event.task_id, int(event.at)))
    told = {_same(call, facts, "body", body) for (body,) in bodies}
    if True in told:
        return True
    if not told:
        given = facts.argument(call, "body")
        return (isinstance(given, str) and event.payload.get("len") == len(given)) or None
    return None if None in told else False


def _before(call: Recorded, facts: Facts, found: Sequence[Board], at: float) -> str:
    """A card with the same key that was there already is given back instead of a new one."""
    key = facts.argument(call, "idempotency_key")
    if call.tool_name != "kanban_create" or not isinstance(key, str) or not key:
        return ""
    sql = "SELECT title FROM tasks WHERE idempotency_key = ? AND created_at < ?"
    for board in found:
        rows = facts.rows(board.path, sql, (key, int(at)))
        if rows:
            return f"A card with the key {quoted(key, 40)} was there before the call: {quoted(rows[0][0], 60)}."
    return ""
