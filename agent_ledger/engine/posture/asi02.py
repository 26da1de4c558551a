"""ASI02: one tool called very often in a short time, and many secrets read one after the other.

What single commands do (deleting, overwriting, force-pushing …) is judged in `commands`; see `acts.py`.
"""

from __future__ import annotations

from ..severity import HIGH, MEDIUM
from .finding import Finding, finding
from .memory import BURST_CALLS, BURST_S, Session
from .rows import Row

SECRETS, SECRETS_S = 3, 600.0


def burst(row: Row, rows: tuple[int, ...]) -> Finding:
    """The finding for a burst of one tool that `rows` reached."""
    text = f"{BURST_CALLS} calls of {row.tool_name} within {BURST_S:.0f} s"
    return finding("call-burst", "ASI02", MEDIUM, row, text, rows)


def credential_sweep(row: Row, session: Session, targets: tuple[str, ...]) -> Finding | None:
    """A finding when the reads of `SECRETS` different secrets have come together; then it starts anew."""
    if row.at is None or not targets:
        return None
    session.credentials.extend((row.at, row.id, target) for target in targets)
    recent = [read for read in session.credentials if abs(row.at - read[0]) <= SECRETS_S]
    different = sorted({target for _, _, target in recent})
    if len(different) < SECRETS:
        return None
    session.credentials.clear()
    rows = tuple(sorted({row_id for _, row_id, _ in recent}))
    text = f"{len(different)} different secrets read within {SECRETS_S / 60:.0f} min: {', '.join(different)}"
    return finding("credential-sweep", "ASI02", HIGH, row, text, rows)
