"""What screens share that look at the sessions as a whole: the store is read only while one of them is in front."""

from __future__ import annotations

from .feeds import Desk


class SessionsLooker:
    """Mixed into a screen with a desk. Textual calls these beside the screen's own handlers of the same names."""

    _desk: Desk

    def on_screen_resume(self) -> None:
        self._desk.lineage.look(self)

    def on_screen_suspend(self) -> None:
        self._desk.lineage.leave(self)

    def on_unmount(self) -> None:
        self._desk.lineage.leave(self)
