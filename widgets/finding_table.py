"""Findings as an arithmetic: what each takes, and what is left after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_ledger.engine.posture import OFFICIAL, Finding

from .record_table import Field, Records, RecordTable, severity_style


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the arithmetic."""

    finding: Finding
    left: int
    """The score after this finding and all above it."""


_LONGEST_RULE = len("loader-config-write")


class FindingTable(RecordTable[Step]):
    """Findings in the order in which they are subtracted, oldest call first."""

    def __init__(
        self,
        steps: Records[Step],
        time_of: Callable[[Finding], str],
        name_of: Callable[[str], str],
        *,
        id: str | None = None,
    ) -> None:
        """`name_of` gives the name of a session by its id."""
        # The last line is the score: nothing moves the view while somebody goes through the column.
        super().__init__("", steps, _fields(time_of, name_of), follow=False, id=id)


def _fields(time_of: Callable[[Finding], str], name_of: Callable[[str], str]) -> Sequence[Field[Step]]:
    def style(step: Step) -> str:
        return severity_style(step.finding.severity)

    return (
        Field("PTS", 3, lambda step: (f"−{step.finding.weight}", style(step)), right=True),
        Field("FROM 100", 8, lambda step: (_left(step.left), "record--strong"), right=True),
        Field("SEVERITY", 8, lambda step: (step.finding.severity, style(step)), from_width=110),
        Field("ASI", 9, lambda step: (_asi(step.finding.asi), "record--quiet"), from_width=90),
        Field("RULE", 17, lambda step: (step.finding.rule, "record--name"), roomy=(66, _LONGEST_RULE)),
        Field("CALL", 7, lambda step: (f"#{step.finding.ledger_id}", "record--quiet"), right=True, from_width=58),
        Field("TIME", 11, lambda step: (time_of(step.finding), "record--quiet"), right=True, from_width=100),
        Field("TOOL", 14, lambda step: (step.finding.tool_name, "record--name"), from_width=150),
        Field("SESSION", 16, lambda step: (name_of(step.finding.session_id or ""), "record--quiet"), from_width=130),
        Field("EVIDENCE", 0, lambda step: (step.finding.evidence, "")),
    )


def _asi(asi: str) -> str:
    """The id, and beside one that is not in the official list that it is not."""
    return asi if asi in OFFICIAL else f"{asi} ext"


def _left(score: int) -> str:
    """What is left, in at most eight cells: every digit of it must stand there."""
    number = str(score).replace("-", "−")
    return f"→ {number}" if len(number) <= 6 else number
