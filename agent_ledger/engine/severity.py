"""How much a finding weighs: the four severities, and the points that each takes from a score of 100."""

from __future__ import annotations

from collections.abc import Mapping

CRITICAL = "CRITICAL"
HIGH = "HIGH"
MEDIUM = "MEDIUM"
LOW = "LOW"

SEVERITIES = (CRITICAL, HIGH, MEDIUM, LOW)
"""Worst first: the order of lists and of counts."""

SEVERITY_WEIGHT: Mapping[str, int] = {CRITICAL: 25, HIGH: 15, MEDIUM: 8, LOW: 3}
