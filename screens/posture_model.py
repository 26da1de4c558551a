"""The Posture screen's memory: scores rows as they come, and keeps the arithmetic line by line. No Textual."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from agent_ledger.engine.posture import IDS, Finding, Posture
from agent_ledger.engine.posture.rows import RawRow, raw_row
from agent_ledger.engine.records import Call
from agent_ledger.engine.severity import SEVERITIES
from widgets.finding_table import Step

from .finding_terms import FindingFilter

EVERYTHING = FindingFilter()


class Sum:
    """How many findings, and the points that they take."""

    __slots__ = ("findings", "points")

    def __init__(self, findings: int = 0, points: int = 0) -> None:
        self.findings, self.points = findings, points

    def add(self, one: Finding, times: int = 1) -> None:
        self.findings += times
        self.points += times * one.weight


class PostureModel:
    """What is known of the score. As a sequence of records it is what a FindingTable shows."""

    def __init__(self) -> None:
        self.wanted = EVERYTHING
        self.scanned = False
        """Has every recorded row been looked at?"""
        self._ahead: dict[int, Call] = {}
        self._start()

    def _start(self) -> None:
        self.posture = Posture()
        self.last_id = 0
        """The highest id that the reading from the start has come to."""
        self._revision = 0
        self._new: list[Finding] = []
        self._findings: list[Finding] = []
        self._left: list[int] = []
        self._view: list[int] = []
        self.times: list[float] = []
        self.all, self.shown = Sum(), Sum()
        self.severities = {severity: Sum() for severity in SEVERITIES}
        self.ids = {asi: Sum() for asi in IDS}
        self.sessions: set[str] = set()
        self.rules: set[str] = set()
        self.tools: set[str] = set()

    # Rows

    def restart(self) -> None:
        """Another file, or a cut one: score it from its start."""
        self.scanned = False
        self._ahead.clear()
        self._start()

    def feed(self, rows: Sequence[RawRow]) -> None:
        """The next rows by id, in the reading from the start. `settle` brings what they add into view."""
        self._new += self.posture.feed_rows(rows)
        self.last_id = rows[-1][0] if rows else self.last_id

    def finish(self) -> None:
        """The reading from the start came to the end: what changed meanwhile follows."""
        ahead, self._ahead = self._ahead, {}
        self._new += self.posture.feed_rows([raw_row(call) for call in ahead.values()])
        self.scanned = True
        self.settle()

    def changed(self, calls: Sequence[Call]) -> bool:
        """Rows that changed or came. False where they wait for `finish`.

        The first row of a session does, until it is known whether an older conversation goes on in it.
        """
        if self.scanned and not self._ahead and not any(self.posture.begins(call.session_id) for call in calls):
            self._new += self.posture.feed(calls)
            self.settle()
            return True
        for call in calls:
            self._ahead.pop(call.id, None)
            self._ahead[call.id] = call
        return False

    def settle(self) -> None:
        """Carry the arithmetic on: at its end, or from where a finding was taken back or belongs in between."""
        if self.posture.revision == self._revision:
            return
        self._revision = self.posture.revision
        new, self._new = sorted(self._new, key=lambda one: one.ledger_id), []
        last = self._findings[-1].ledger_id if self._findings else 0
        points = sum(one.weight for one in new) + self.all.points
        if new and new[0].ledger_id >= last and points == 100 - (self.posture.score or 0):
            self._append(new)
            return
        findings = self.posture.findings
        pairs = enumerate(zip(self._findings, findings, strict=False))
        same = next((index for index, (mine, one) in pairs if mine is not one), min(len(self._findings), len(findings)))
        self._cut(same)
        self._append(findings[same:])

    def _cut(self, keep: int) -> None:
        """Forget the arithmetic after its first `keep` lines."""
        for one in self._findings[keep:]:
            for sum_ in self._sums(one):
                sum_.add(one, -1)
        del self._view[bisect_left(self._view, keep) :]
        for column in (self._findings, self._left, self.times):
            del column[keep:]

    def _sums(self, one: Finding) -> list[Sum]:
        """Where this finding counts."""
        sums = [self.all, self.severities[one.severity], self.ids[one.asi]]
        return [*sums, self.shown] if self.wanted.matches(one) else sums

    def _append(self, findings: Iterable[Finding]) -> None:
        for one in findings:
            if self.wanted.matches(one):
                self._view.append(len(self._findings))
            for sum_ in self._sums(one):
                sum_.add(one)
            self._findings.append(one)
            self._left.append(100 - self.all.points)
            self.times.append(self._no_earlier(one.at))
            self.sessions.add(one.session_id or "")
            self.rules.add(one.rule)
            self.tools.add(one.tool_name)

    def _no_earlier(self, at: float | None) -> float:
        """Times as the plot needs them: rising. A row without a time, or of a clock set back, joins the one before."""
        before = self.times[-1] if self.times else at or 0.0
        return before if at is None else max(before, at)

    # What is shown

    @property
    def score(self) -> int | None:
        return self.posture.score

    def show(self, wanted: FindingFilter) -> None:
        """Choose other findings."""
        self.wanted, self.shown = wanted, Sum()
        every = wanted == EVERYTHING
        self._view = [index for index, one in enumerate(self._findings) if every or wanted.matches(one)]
        for index in self._view:
            self.shown.add(self._findings[index])

    def __len__(self) -> int:
        return len(self._view)

    def at(self, index: int) -> Step:
        position = self._view[index]
        return Step(self._findings[position], self._left[position])

    def key(self, index: int) -> Hashable:
        """A finding names itself: which line it stands on may change."""
        return _Key(self._findings[self._view[index]])

    def index(self, key: Any) -> int | None:
        if not isinstance(key, _Key):
            return None
        position = bisect_left(self._findings, key.finding.ledger_id, key=lambda one: one.ledger_id)
        while position < len(self._findings) and self._findings[position].ledger_id == key.finding.ledger_id:
            if self._findings[position] is key.finding:
                found = bisect_left(self._view, position)
                return found if found < len(self._view) and self._view[found] == position else None
            position += 1
        return None

    @property
    def scores(self) -> Sequence[int]:
        """What is left after each finding; it holds from the moment in `times` on."""
        return self._left

    def json(self) -> list[dict[str, Any]]:
        """The findings in view, with what is left after each."""
        return [{**self._findings[i].as_json(), "left": self._left[i]} for i in self._view]


class _Key:
    """One finding as a key: the same object and no other, however alike."""

    __slots__ = ("finding",)

    def __init__(self, finding: Finding) -> None:
        self.finding = finding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.finding is self.finding

    def __hash__(self) -> int:
        return id(self.finding)
