"""The connection to an engine that speaks PostgreSQL's protocol; its errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_ledger.engine.inert import inert

from .address import shown

if TYPE_CHECKING:
    import psycopg

CONNECT_S = 10
"""How long a connection may take to come about."""

STATEMENT_MS = 60_000
"""How long the engine may take over one statement before it gives up."""

NOT_INSTALLED = (
    "Talking to PostgreSQL needs the package psycopg, which is not installed here:"
    " install ledger-tui with its extra, as in: pip install 'ledger-tui[postgresql]'"
)


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
        with psycopg.connect(
            url, autocommit=True, connect_timeout=CONNECT_S, application_name="ledger-tui", prepare_threshold=None
        ) as connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_MS}")
            yield connection
    except psycopg.Error as error:
        raise _in_words(url, error) from error


def _in_words(url: str, error: psycopg.Error) -> EngineError:
    import psycopg

    said = inert(" ".join(str(error).split())) or type(error).__name__
    # A wrong password and an unknown database count as passing too: nothing tells them from an engine that just starts.
    passing = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
    passes = isinstance(error, passing)
    what = "cannot be reached" if passes else "does not take this"
    return EngineError(f"{shown(url)} {what} ({said.rstrip('.')}).", passes=passes)
