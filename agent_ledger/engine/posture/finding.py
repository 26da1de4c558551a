"""One finding: what was seen, where, and how many points it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..inert import clip
from ..inert import inert as made_inert
from ..records import Inert
from ..severity import SEVERITY_WEIGHT
from .catalogue import official_title
from .rows import Row

EVIDENCE_LIMIT = 200
"""Characters of the evidence line."""


@dataclass(frozen=True, slots=True)
class Finding:
    """All text is inert, and stands on one line."""

    rule: str
    asi: str
    severity: str
    weight: int
    ledger_id: int
    """The call that made it a finding: of several, the one with which the threshold was reached."""
    rows: tuple[int, ...]
    """Every call that it rests on, `ledger_id` among them."""
    session_id: Inert | None
    ts: Inert | None
    at: float | None
    """The same moment in seconds since 1970; None where the row holds no time."""
    tool_name: Inert
    evidence: Inert

    def as_json(self) -> Mapping[str, Any]:
        """The shape of one finding in `posture --json`."""
        return {
            "rule": self.rule,
            "asi": self.asi,
            "title": official_title(self.asi),
            "severity": self.severity,
            "weight": self.weight,
            "ledger_id": self.ledger_id,
            "rows": list(self.rows),
            "session_id": self.session_id,
            "ts": self.ts,
            "tool_name": self.tool_name,
            "evidence": self.evidence,
        }


def finding(rule: str, asi: str, severity: str, row: Row, evidence: str, rows: tuple[int, ...] = ()) -> Finding:
    """A finding at `row`; `rows` are the calls that it rests on, where there are several."""
    return Finding(
        rule=rule,
        asi=asi,
        severity=severity,
        weight=SEVERITY_WEIGHT[severity],
        ledger_id=row.id,
        rows=rows or (row.id,),
        session_id=None if row.session_id is None else made_inert(row.session_id),
        ts=None if row.ts is None else made_inert(str(row.ts)),
        at=row.at,
        tool_name=made_inert(row.tool_name),
        evidence=Inert(clip(made_inert(evidence), EVIDENCE_LIMIT)),
    )
