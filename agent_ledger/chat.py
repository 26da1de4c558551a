"""`/ledger` in a chat: short, read-only, and about the conversation that asks, whatever ids it has had.

Who asks must be known for certain. The messaging gateway and the TUI of Hermes 0.22 bind the chat around a plugin's
command (hermes-agent #108698); the command line is one person's own. Where neither holds nothing is shown. Variables of
the environment are never asked: the host leaves another session's id in them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextvars import copy_context

from .engine import asking, glance, short_words, spool
from .engine.paths import Paths

Clock = Callable[[], float]

_BOUND_FOR_A_COMMAND = "HERMES_CRON_SESSION"
"""Hermes 0.22 binds this, empty, together with the chat. A 0.19 binds none, and leaves none in the context."""


def answer(raw_args: str, paths: Paths, clock: Clock = time.time, mono: Clock = time.monotonic) -> str:
    """What to say to `/ledger RAW_ARGS`, at most `short_words.LIMIT` characters."""
    words = raw_args.split() if isinstance(raw_args, str) else []
    about = words[0].lower() if words else "status"
    if about not in _ANSWERS or len(words) > 1:
        return short_words.HELP
    try:
        ids = conversation(paths)
        if ids is None:
            return short_words.NOT_TOLD
        if not ids:
            return short_words.NO_CONVERSATION
        with glance.opened(paths.ledger, now=clock(), mono=mono()) as ledger:
            # Counted first: what is merged meanwhile is then said twice, and not left out.
            waiting = spool.waiting_of(paths, {} if ledger is None else ledger.merged(), ids)
            said = short_words.NOTHING if ledger is None else _ANSWERS[about](ledger, ids)
            return short_words.with_waiting(said, waiting)
    except (asking.UnknownChatError, glance.GlanceError):  # A path of this machine is nothing to say in a chat.
        return short_words.TROUBLE


def conversation(paths: Paths) -> tuple[str, ...] | None:
    """The ids of the conversation that asks, newest first; empty where it has none yet, None where nobody knows.

    Raises UnknownChatError.
    """
    bound = {var.name: value for var, value in copy_context().items() if isinstance(value, str)}
    if bound.get(_BOUND_FOR_A_COMMAND) == "":
        if bound.get("HERMES_SESSION_ID"):  # The TUI and the desktop name the session itself.
            return asking.ids_of_session(paths.state, bound["HERMES_SESSION_ID"])
        key, platform = bound.get("HERMES_SESSION_KEY"), bound.get("HERMES_SESSION_PLATFORM")
        if key and platform:
            return asking.ids_of_chat(paths.state, key, platform)
    session_id = _of_the_command_line()
    return asking.ids_of_session(paths.state, session_id) if session_id else None


def _of_the_command_line() -> str:
    """The session of `hermes chat` in this process; empty where there is none, as in a gateway."""
    plugins = sys.modules.get("hermes_cli.plugins")
    manager = plugins.get_plugin_manager() if plugins is not None else None
    session_id = getattr(getattr(manager, "_cli_ref", None), "session_id", None)
    return session_id if isinstance(session_id, str) else ""


def _status(ledger: glance.Glance, ids: tuple[str, ...]) -> str:
    calls = ledger.of(ids)
    return short_words.status(glance.counted_states(map(ledger.row, calls)), glance.posture_of(calls, ids))


def _ghosts(ledger: glance.Glance, ids: tuple[str, ...]) -> str:
    rows = map(ledger.row, ledger.of(ids, glance.LOST))
    return short_words.ghosts([row for row in rows if row["state"] in glance.LOST])


def _posture(ledger: glance.Glance, ids: tuple[str, ...]) -> str:
    return short_words.posture(glance.posture_of(ledger.of(ids), ids))


_ANSWERS: dict[str, Callable[[glance.Glance, tuple[str, ...]], str]] = {
    "status": _status,
    "ghosts": _ghosts,
    "posture": _posture,
}
