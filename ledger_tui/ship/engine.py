"""The connection to an engine that speaks PostgreSQL's protocol; its errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_ledger.engine.inert import inert
from ledger_tui.extras import missing

from .address import shown

if TYPE_CHECKING:
    import psycopg

CONNECT_S = 10
"""How long a connection may take to come about."""

_DEAD_LINK = {
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""After half a minute without a word from the other side a connection is given up; the URL may say otherwise. Without
this a network that is cut, or a machine that went to sleep, would be waited for by the hour."""

STATEMENT_MS = 60_000
"""How long the engine may take over one statement before it gives up."""

NOT_INSTALLED = missing("Talking to PostgreSQL", "postgresql")


class EngineError(Exception):
    """The engine cannot be asked. `str()` is one plain, inert sentence."""

    def __init__(self, text: str, *, passes: bool = False) -> None:
        super().__init__(text)
        self.passes = passes
        """May it be different in a moment?"""


@contextmanager
def engine(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection for the length of a `with`, each statement by itself unless in a transaction.

    Who and with what password comes from the environment and ~/.pgpass, as with every client of PostgreSQL. Raises
    EngineError, also for what goes wrong inside.
    """
    try:
        import psycopg
    except ImportError as error:
        raise EngineError(NOT_INSTALLED) from error
    try:
        connection = psycopg.connect(
            _with_usual(url),
            autocommit=True,
            connect_timeout=CONNECT_S,
            application_name="ledger-tui",
            prepare_threshold=None,
            client_encoding="utf8",
        )
    except psycopg.OperationalError as error:
        raise _in_words(url, "does not let us in" if _asked_who(error) else "cannot be reached", error) from error
    except psycopg.Error as error:
        raise _in_words(url, "does not take this", error) from error
    try:
        with connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_MS}")
            yield connection
    except psycopg.Error as error:
        raise _in_words(url, "went away" if connection.broken else "does not take this", error) from error


def _with_usual(url: str) -> str:
    """The same with what is usual here, where it says nothing else. Raises psycopg.Error."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    asked_for = conninfo_to_dict(url)
    more: dict[str, Any] = {name: value for name, value in _DEAD_LINK.items() if name not in asked_for}
    return make_conninfo(url, **more)


def _asked_who(error: psycopg.Error) -> bool:
    """Did it get as far as a password, given or missing?"""
    return error.pgconn is not None and (error.pgconn.used_password or error.pgconn.needs_password)


def _in_words(url: str, what: str, error: psycopg.Error) -> EngineError:
    import psycopg

    said = inert(" ".join(str(error).split())) or type(error).__name__
    # A wrong password and an unknown database count as passing too: nothing tells them from an engine that just starts.
    passing = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
    return EngineError(f"{shown(url)} {what} ({said.rstrip('.')}).", passes=isinstance(error, passing))
