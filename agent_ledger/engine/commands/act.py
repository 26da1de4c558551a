"""One thing that a call would do, judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Act:
    """What a call does to what. Every text in it is one harmless line."""

    kind: str
    """The signature's name: "recursive-delete", "pipe-to-shell", "credential-read" …"""
    severity: str
    """CRITICAL, HIGH, MEDIUM or LOW."""
    text: str
    """One plain sentence with the command in its normal form."""
    target: str = ""
    """Path, host, table …; empty when there is none."""
