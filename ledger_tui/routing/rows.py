"""One row of the host's `sessions`, with what its messages say about it. Raw values: nothing here is for the screen."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from sys import intern
from types import NoneType
from typing import Any, NamedTuple, NoReturn

EARLIEST, LATEST = 0.0, 4_200_000_000.0
"""Times outside are damage, and count as absent (hermes-agent #91536)."""

COLUMNS = (
    "rowid", "id", "source", "user_id", "session_key", "chat_id", "chat_type", "thread_id", "parent_session_id",
    "started_at", "ended_at", "end_reason", "message_count", "title", "display_name", "profile_name",
    "last_activity_at", "handoff_state", "archived", "model_config",
)  # fmt: skip
"""What is read of `sessions`, in the order of the fields; a column that the file lacks reads as NULL."""


class Session(NamedTuple):
    """Times are seconds since 1970. A time that is no number is infinity: SQLite sorts text above every number."""

    row: int
    id: str
    source: str
    user_id: str | None
    session_key: str | None
    chat_id: str | None
    chat_type: str | None
    thread_id: str | None
    parent_session_id: str | None
    started_at: float | None
    ended_at: float | None
    end_reason: str | None
    message_count: int | None
    """The column; see `messages`."""
    title: str | None
    display_name: str | None
    profile_name: str | None
    last_activity_at: float | None
    """Written about once a minute, and only by 0.22: may lag behind `spoken_at`."""
    handoff_state: str | None
    archived: bool
    delegate_from: str | None
    """Markers in `model_config`; None where there is none or it is null, any other value as text."""
    branched_from: str | None
    reset_from: str | None
    messages: int = 0
    """Rows in `messages`, rewound and compacted ones too."""
    spoken_at: float | None = None
    """Time of the newest of them, damaged times left out."""
    live: int | None = None
    """Those that are neither rewound nor compacted; None where the file does not tell."""

    @property
    def last_active(self) -> float | None:
        """The later of the host's mark and the newest message; the start where there is neither; None if all fail."""
        marked, spoken = usable(self.last_activity_at), self.spoken_at
        if marked is None:
            return usable(self.started_at) if spoken is None else spoken
        return marked if spoken is None or marked > spoken else spoken

    @property
    def open(self) -> bool:
        return self.ended_at is None

    @property
    def has_messages(self) -> bool:
        """As the host asks: its own counter, or a row."""
        return bool(self.message_count and self.message_count > 0) or self.messages > 0


def usable(moment: float | None) -> float | None:
    """A time that can be trusted, or None."""
    return moment if moment is not None and EARLIEST <= moment <= LATEST else None


class Said(NamedTuple):
    """What the messages of one session say, in the fields of `Session`."""

    messages: int = 0
    spoken_at: float | None = None
    live: int | None = None


SILENT = Said()


def session(values: Sequence[Any], said: tuple[int, float | None, int | None] = SILENT) -> Session:
    """A row in the order of `COLUMNS`, and what its messages say."""
    if not _plain(tuple(map(type, values))):
        values = _mended(values)
    row, key, source, user, session_key, chat, kind, thread, parent, started, ended, reason, *rest = values
    count, title, name, profile, active, handoff, archived, config = rest
    # Text that many rows share is kept once: a large store would take twice the memory otherwise.
    return Session(
        row, key, intern(source), user, session_key and intern(session_key), chat, kind and intern(kind), thread,
        parent, started, ended, reason and intern(reason), count, title, name, profile, active, handoff,
        bool(archived), *(_NONE if config is None else markers(config)), *said,
    )  # fmt: skip


@cache
def _plain(kinds: tuple[type, ...]) -> bool:
    """Are cells of these types what the columns should hold? Then nothing is to be done about them."""
    return all(kind in _EXPECTED.get(name, _TEXT) for name, kind in zip(COLUMNS, kinds, strict=True))


_TEXT = (str, NoneType)
_TIME = (float, int, NoneType)
_EXPECTED: Mapping[str, tuple[type, ...]] = {
    "rowid": (int,), "id": (str,), "source": (str,), "started_at": _TIME, "ended_at": _TIME, "last_activity_at": _TIME,
    "message_count": (int, NoneType), "archived": (int, NoneType),
}  # fmt: skip


def _mended(values: Sequence[Any]) -> list[Any]:
    """The cells as what they should be."""
    row, key, source, user, session_key, chat, kind, thread, parent, started, ended, reason, *rest = values
    count, title, name, profile, active, handoff, archived, config = rest
    return [
        row, text(key) or "", text(source) or "", text(user), text(session_key), text(chat), text(kind), text(thread),
        text(parent), number(started), number(ended), text(reason), _whole(count), text(title), text(name),
        text(profile), number(active), text(handoff), bool(archived), config,
    ]  # fmt: skip


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def text(value: object) -> str | None:
    """A cell that should hold text; what else stands there, as text."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def as_stored(text: str) -> bytes:
    """The bytes of a text in the file. SQLite takes no text that is no UTF-8, so keys are compared by these."""
    return text.encode("utf-8", "surrogateescape")


def number(value: object) -> float | None:
    """A cell that should hold a time."""
    if value is None or isinstance(value, (int, float)):
        return value
    return math.inf


MARKERS = ("_delegate_from", "_branched_from", "_reset_from")
_NONE = (None, None, None)


def markers(config: object) -> tuple[str | None, str | None, str | None]:
    """What `model_config` says of a row's descent: delegate, branch, reset. Not a JSON object: nothing."""
    if config is None:
        return _NONE
    source = text(config) or ""
    if '_from"' not in source:
        return _NONE
    try:
        found = json.loads(source, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return _NONE
    if not isinstance(found, dict):
        return _NONE
    delegate, branch, reset = (_marker(found.get(name)) for name in MARKERS)
    return delegate, branch, reset


def _marker(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
