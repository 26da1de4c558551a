"""The prompt policy: rules over the message of a turn, a gate for cost and hours, and what the host is told."""

from __future__ import annotations

from ..policy.file import PolicyError
from .guard import Guard, Refusal, advice, tool_refusal
from .host import enforced
from .load import load, parse
from .rules import PromptPolicy, Rule, Verdict
from .text import UserMessage, read

__all__ = [
    "Guard",
    "PolicyError",
    "PromptPolicy",
    "Refusal",
    "Rule",
    "UserMessage",
    "Verdict",
    "advice",
    "enforced",
    "load",
    "parse",
    "read",
    "tool_refusal",
]
