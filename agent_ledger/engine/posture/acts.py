"""What a single call does, as `commands` judges it, and under which id each kind of act is filed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..commands import Act, acts, scripts_run, scripts_written
from .finding import Finding, finding
from .rows import Row, arguments

ASI_OF: Mapping[str, str] = {
    "credential-read": "ASI03",
    "privilege": "ASI03",
    "supply-chain": "ASI04",
    "pipe-to-shell": "ASI05",
    "decode-to-shell": "ASI05",
    "reverse-shell": "ASI05",
    "inline-code": "ASI05",
    "heredoc-code": "ASI05",
    "eval": "ASI05",
    "persistence": "ASI10",
    "kill-host": "ASI10",
    "ledger-touch": "ASI10",
}
"""Kinds of acts that are no tool misuse (ASI02), which every other kind is."""

Looked = tuple[Mapping[str, Any], tuple[Act, ...], tuple[str, ...], tuple[str, ...]]
"""Arguments, acts, files that the call writes, files that it runs."""


def looked(tool_name: str, args: Mapping[str, Any], *, cut: bool = False) -> Looked:
    """Everything that `commands` says of a call."""
    return args, acts(tool_name, args, cut=cut), scripts_written(tool_name, args), scripts_run(tool_name, args)


@lru_cache(maxsize=4096)
def looked_at_text(tool_name: str, args_text: str, cut: bool) -> Looked:
    """The same for arguments as they are recorded. Agents repeat themselves: what was judged is remembered."""
    return looked(tool_name, arguments(args_text, cut=cut), cut=cut)


def findings(row: Row, found: tuple[Act, ...]) -> list[Finding]:
    """One finding for each act."""
    return [finding(act.kind, ASI_OF.get(act.kind, "ASI02"), act.severity, row, act.text) for act in found]
