"""What does not fit about one row by itself."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ledger.engine.inert import clip

from ..owners import DEFAULT, is_gateway, key_profile
from ..read import Store
from ..rows import EARLIEST, LATEST, Session
from .kinds import Anomaly, note

LEFT_OPEN_S = 3 * 86_400.0
"""Silence after which a row of a program that should have ended it is called left open."""

_ENDING = frozenset({"cron", "kanban", "cli", "acp", "subagent", "batch", "oneshot"})
"""Sources whose runs end by themselves or with their terminal (hermes-agent #12029, #76914)."""

_CHATLESS = frozenset({"webhook", "msgraph_webhook", "api_server", "relay"})
"""Platforms whose sessions need no chat to be found again."""


def row_anomalies(store: Store, *, now: float) -> Iterator[tuple[str, Anomaly]]:
    """Findings by session id."""
    for row in store.sessions.values():
        found = (_phantom(row), _no_chat(row), _profile(row, store.owner), _counts(row), _times(row), _open(row, now))
        for one in found:
            if one is not None:
                yield row.id, one


def _phantom(row: Session) -> Anomaly | None:
    if row.source != "unknown":
        return None
    text = "Its source is unknown: a placeholder that the host's accounting of tokens made (hermes-agent #111999)."
    return note("phantom", text)


def _no_chat(row: Session) -> Anomaly | None:
    if row.chat_id is not None or not row.session_key or row.source in _CHATLESS or not is_gateway(row.source):
        return None
    return note("no-chat", "It has a key but no chat, so /resume by its title is refused (hermes-agent #59527).")


def _profile(row: Session, owner: str | None) -> Anomaly | None:
    """A profile that is not set is the owner's. A profile's own gateway keeps the default profile's kind of key."""
    own, named = row.profile_name or owner, key_profile(row.session_key)
    if own is None:
        return None
    if owner is not None and own != owner:
        return note("profile-crossing", f"A row of profile {clip(own, 40)} in the store of {clip(owner, 40)}.")
    if named is not None and named not in (own, DEFAULT):
        text = f"Its key belongs to profile {clip(named, 40)}, the row to {clip(own, 40)} (hermes-agent #119121)."
        return note("profile-crossing", text)
    return None


def _counts(row: Session) -> Anomaly | None:
    """The counter follows what is shown or what was ever written, by version; only outside of both is it wrong."""
    if row.message_count is None:
        return None
    least = row.messages if row.live is None else row.live
    if least <= row.message_count <= row.messages:
        return None
    text = f"It counts {row.message_count} messages, but the store holds {row.messages} of it."
    return note("count-mismatch", text)


def _times(row: Session) -> Anomaly | None:
    start, end, marked = row.started_at, row.ended_at, row.last_activity_at
    damaged = [
        name
        for name, moment in (("started_at", start), ("ended_at", end), ("last_activity_at", marked))
        if moment is not None and not EARLIEST <= moment <= LATEST
    ]
    if damaged:
        return note("bad-time", f"No usable time in {', '.join(damaged)} (hermes-agent #91536).")
    if start is not None and end is not None and end < start:
        return note("bad-time", "It ended before it began.")
    return None


def _open(row: Session, now: float) -> Anomaly | None:
    quiet = row.last_active
    if row.source not in _ENDING or not row.open or quiet is None or now - quiet < LEFT_OPEN_S:
        return None
    days = int((now - quiet) // 86_400)
    return note("left-open", f"Never ended, and silent for {days} days: harmless, it only stays in lists of open ones.")
