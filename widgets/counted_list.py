"""A list whose title counts its rows, and which says why where there are none."""

from __future__ import annotations

from .line_list import LineList


class CountedList(LineList):
    """What the title says besides its name, and what stands where rows would be, are told from outside."""

    def __init__(self, *, follow: bool = True, id: str | None = None) -> None:
        super().__init__(id=id, follow=follow)
        self._count_text = ""
        self._empty = ""

    def say(self, *, count: str, empty: str) -> None:
        """How many rows the title names, and the sentence that stands where rows would be."""
        if (count, empty) != (self._count_text, self._empty):
            self._count_text, self._empty = count, empty
            self.repaint_lines()

    def empty_text(self) -> str:
        return f" {self._empty}"
