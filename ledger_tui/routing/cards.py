"""One session as it may be shown: every text inert, every time one that can be trusted."""

from __future__ import annotations

from typing import NamedTuple

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert

from .rows import Session, usable


class Card(NamedTuple):
    """Empty text is NULL in the file or an empty text; the identity columns tell the two apart."""

    id: Inert
    name: Inert
    """The title, else the display name, else the id."""
    named: bool
    """Has it a title or a display name?"""
    source: Inert
    identity: tuple[tuple[str, Inert | None], ...]
    """Column and value, in the order in which they are shown; None is NULL."""
    parent: Inert | None
    started_at: float | None
    ended_at: float | None
    open: bool
    end_reason: Inert
    last_active: float | None
    messages: int
    counted: int | None
    """The host's own counter, where it differs from the number of messages; else None."""


_IDENTITY = ("session_key", "chat_id", "chat_type", "user_id", "thread_id", "profile_name")


def card(row: Session) -> Card:
    name = row.title or row.display_name
    return Card(
        id=inert(row.id),
        name=inert(name or row.id),
        named=bool(name),
        source=inert(row.source),
        identity=tuple((column, _text(getattr(row, column))) for column in _IDENTITY),
        parent=_text(row.parent_session_id),
        started_at=usable(row.started_at),
        ended_at=usable(row.ended_at),
        open=row.open,
        end_reason=inert(row.end_reason or ""),
        last_active=usable(row.last_active),
        messages=row.messages,
        counted=row.message_count if row.message_count != row.messages else None,
    )


def _text(value: str | None) -> Inert | None:
    return None if value is None else inert(value)
