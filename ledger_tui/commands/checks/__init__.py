"""What `doctor` looks at, one function for each thing; each looks only, and none raises."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARN, FAIL, UNKNOWN = "ok", "warn", "fail", "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `state` is `ok`, `warn`, `fail` or `unknown`; `remedy` is empty where nothing is to be done."""

    check: str
    state: str
    text: str
    remedy: str = ""
