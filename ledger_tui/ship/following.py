"""Keeps a brought ledger as the engine has it, in a thread, over whatever happens to the engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from agent_ledger.engine.inert import inert

from .address import shown
from .brought import Brought
from .engine import engine

EVERY_S = 2.0
LONGEST_S = 60.0

SLOW_S = 10.0
"""An answer that takes longer is told of: it may never come, or be late because much was shipped."""

_TICK_S = 0.5

JOIN_S = 1.0
"""How long an answer may take at the end: the engine may take long over a statement, and whoever presses Ctrl-C shall
not. What has been waited for that long by then is not waited for at all: of many ledgers, all may hang."""


class Following:
    """`with Following(url, brought, told): ...` refreshes as long as that lasts."""

    def __init__(
        self,
        url: str,
        brought: Brought,
        told: Callable[[str], None],
        *,
        every_s: float = EVERY_S,
        mono: Callable[[], float] = time.monotonic,
    ) -> None:
        """`told` hears of a trouble when it begins or becomes another one, and an empty text when it is over."""
        self._url, self._brought, self._told, self._every_s, self._mono = url, brought, told, every_s, mono
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ledger-source", daemon=True)
        self._telling = threading.Lock()
        self._trouble = ""
        self._asked_at: float | None = None
        self._busy_since: float | None = None
        """Since when a connection or an answer is waited for."""

    def __enter__(self) -> Following:
        self._thread.start()
        threading.Thread(target=self._wait, name="ledger-source-wait", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        since = self._busy_since
        self._thread.join(JOIN_S if since is None else max(0.0, JOIN_S - (self._mono() - since)))

    @property
    def running(self) -> bool:
        """May the copy still be written? Also for a while after the `with`, where a statement takes long."""
        return self._thread.is_alive()

    def _run(self) -> None:
        rest = 1.0
        while not self._ended.is_set():
            self._busy_since = self._mono()
            try:
                with engine(self._url) as connection:
                    rest = 1.0
                    while not self._ended.is_set():
                        self._asked_at = self._busy_since = self._mono()
                        self._brought.refresh(connection)
                        self._asked_at = self._busy_since = None
                        self._tell("")
                        self._ended.wait(self._every_s)
            except Exception as error:  # Whatever it is: what is shown is no longer what is there.
                self._asked_at = self._busy_since = None
                self._tell(inert(str(error)) or type(error).__name__)
                self._ended.wait(rest)
                rest = min(LONGEST_S, 2 * rest)

    def _wait(self) -> None:
        """Says so when an answer does not come; a thread that waits for one cannot."""
        while not self._ended.wait(_TICK_S):
            with self._telling:
                asked_at = self._asked_at
                if asked_at is not None and self._mono() - asked_at >= SLOW_S:
                    self._say(f"{shown(self._url)} has not answered yet.")

    def _tell(self, trouble: str) -> None:
        with self._telling:
            self._say(trouble)

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._told(trouble)
