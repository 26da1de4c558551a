"""What the person saw of the change: the plan that may be written is the one that stood on the screen, and no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ledger_tui.routing.repair.plan import Plan
from widgets.paragraphs import Paragraph

NEW = "  ◀ new"
"""Stands behind a line that was not there when the person last looked."""


def same_plan(one: Plan, other: Plan) -> bool:
    """Do both say and do the same? When they were made does not matter."""
    return _told(one) == _told(other)


def _told(plan: Plan) -> tuple[object, ...]:
    return plan.adoptions, plan.endings, plan.answers, plan.skipped, plan.recent


class Seen:
    """The plan in view, and the lines that the person had before them when they last went on."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self._lines: tuple[Paragraph, ...] = ()
        self._known: Counter[Paragraph] = Counter()

    def forget(self) -> None:
        """Another decision was made: what comes next is new as a whole, so nothing of it is marked."""
        self.plan = None
        self._lines, self._known = (), Counter()

    def show(self, plan: Plan, lines: Sequence[Paragraph]) -> list[Paragraph]:
        """`plan` comes into view, told in `lines`; gives them with a mark behind those that are new."""
        first = self.plan is None
        self.plan, self._lines = plan, tuple(lines)
        if first:
            self.agree()
        left = self._known.copy()
        out = []
        for line in lines:
            known = not line.text or left[line] > 0
            left[line] -= 1
            out.append(line if known else replace(line, text=line.text + NEW))
        return out

    @property
    def difference(self) -> tuple[int, int]:
        """Lines that are new since the person last went on, and lines that are gone."""
        now, known = (Counter(line for line in lines.elements() if line.text) for lines in (self._now, self._known))
        return (now - known).total(), (known - now).total()

    @property
    def _now(self) -> Counter[Paragraph]:
        return Counter(self._lines)

    def agree(self) -> None:
        """The person went on from what is in view."""
        self._known = self._now
