"""Did a lost call land after all? Asked of the files that tell, read only; nothing is run and nothing is changed."""

from __future__ import annotations

from .facts import CannotTellError, Facts, opened
from .recorded import Recorded
from .verdict import ABSENT, LANDED, UNKNOWN, Verdict
from .verify import verify, verify_many

__all__ = [
    "ABSENT",
    "LANDED",
    "UNKNOWN",
    "CannotTellError",
    "Facts",
    "Recorded",
    "Verdict",
    "opened",
    "verify",
    "verify_many",
]
