"""What a call does, judged: its commands parsed and followed, never run. Pure, bounded, and it never raises."""

from __future__ import annotations

from .act import Act
from .calls import Examined, Made, acts, examine, script_acts, scripts_run, scripts_written

__all__ = ["Act", "Examined", "Made", "acts", "examine", "script_acts", "scripts_run", "scripts_written"]
