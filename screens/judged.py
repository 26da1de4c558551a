"""A call's verdict as a person is told of it: from the ledger, or from this run where the ledger may not hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_ledger.engine.evidence import Verdict
from agent_ledger.engine.records import Call, Inert, utc_seconds


@dataclass(frozen=True, slots=True)
class Judged:
    """`checked_at`: seconds since 1970, None where the ledger holds no time for it."""

    verdict: str
    evidence: tuple[Inert, ...]
    checked_at: float | None
    kept: bool = True
    """Does the ledger hold it?"""


def judged(call: Call, unkept: Mapping[int, Verdict]) -> Judged | None:
    """The newest verdict on a call, None where nobody has looked."""
    checked_at = utc_seconds(call.checked_ts)
    mine = unkept.get(call.id)
    if mine is not None and (checked_at is None or checked_at <= mine.checked_at):
        return Judged(mine.verdict, mine.evidence, mine.checked_at, kept=False)
    return None if call.verdict is None else Judged(call.verdict, call.evidence, checked_at)
