"""What a single call does, as `commands` judges it, and under which id each kind of act is filed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..commands import Act, Examined, examine
from ..severity import LOW
from .finding import Finding, finding
from .rows import Row, arguments

ASI_OF: Mapping[str, str] = {
    "credential-read": "ASI03",
    "privilege": "ASI03",
    "account-delete": "ASI03",
    "supply-chain": "ASI04",
    "pipe-to-shell": "ASI05",
    "decode-to-shell": "ASI05",
    "reverse-shell": "ASI05",
    "inline-code": "ASI05",
    "heredoc-code": "ASI05",
    "eval": "ASI05",
    "unreadable": "ASI05",
    "persistence": "ASI10",
    "kill-host": "ASI10",
    "ledger-touch": "ASI10",
    "log-wipe": "ASI10",
    "guard-down": "ASI10",
    "checks-skipped": "ASI10",
}
"""Kinds of acts that are no tool misuse (ASI02), which every other kind is."""

_NO_SIGN = frozenset({("cut", LOW), ("privilege", LOW)})
"""What is no finding by itself: that a record was cut, and a command that only runs as another user."""

Looked = tuple[Mapping[str, Any], Examined]


@lru_cache(maxsize=1024)
def looked_at(tool_name: str, args_text: str, cut: bool) -> Looked:
    """The arguments, and all that `commands` says of them. Agents repeat themselves: what was judged is remembered."""
    args = arguments(args_text, cut=cut)
    return args, examine(tool_name, args, cut=cut)


def findings(row: Row, acts: tuple[Act, ...]) -> list[Finding]:
    """One finding for each act."""
    return [
        finding(act.kind, ASI_OF.get(act.kind, "ASI02"), act.severity, row, act.text)
        for act in acts
        if (act.kind, act.severity) not in _NO_SIGN
    ]
