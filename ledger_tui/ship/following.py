"""Keeps a brought ledger as the engine has it, in a thread, over whatever happens to the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from agent_ledger.engine.inert import inert

from .brought import Brought
from .engine import engine

EVERY_S = 2.0
LONGEST_S = 60.0

JOIN_S = 1.0
"""How long its end is waited for: the engine may take long over a statement, and whoever presses Ctrl-C shall not."""


class Following:
    """`with Following(url, brought, told): ...` refreshes as long as that lasts."""

    def __init__(self, url: str, brought: Brought, told: Callable[[str], None], *, every_s: float = EVERY_S) -> None:
        """`told` hears of a trouble when it begins or becomes another one, and an empty text when it is over."""
        self._url, self._brought, self._told, self._every_s = url, brought, told, every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ledger-source", daemon=True)
        self._trouble = ""

    def __enter__(self) -> Following:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(JOIN_S)

    @property
    def running(self) -> bool:
        """May the copy still be written? Also for a while after the `with`, where a statement takes long."""
        return self._thread.is_alive()

    def _run(self) -> None:
        rest = 1.0
        while not self._ended.is_set():
            try:
                with engine(self._url) as connection:
                    rest = 1.0
                    while not self._ended.is_set():
                        self._brought.refresh(connection)
                        self._tell("")
                        self._ended.wait(self._every_s)
            except Exception as error:  # Whatever it is: what is shown is no longer what is there.
                self._tell(inert(str(error)) or type(error).__name__)
                self._ended.wait(rest)
                rest = min(LONGEST_S, 2 * rest)

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._told(trouble)
