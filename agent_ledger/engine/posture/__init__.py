"""How risky do the recorded calls look? Rules over rows, one file for each id, and the sum of what they find."""

from __future__ import annotations

from .catalogue import EXTENSION, IDS, LIMITS, NOT_OBSERVABLE, OFFICIAL, official_title
from .finding import Finding
from .score import Posture

__all__ = ["EXTENSION", "IDS", "LIMITS", "NOT_OBSERVABLE", "OFFICIAL", "Finding", "Posture", "official_title"]
