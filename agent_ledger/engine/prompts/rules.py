"""What a prompt policy consists of, and how it decides about one message: values in, values out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .addresses import Finder
from .gates import Counter, Gate
from .text import LONGEST_BYTES, Text, UserMessage

ALLOW, BLOCK = "allow", "block"

STRETCH = 4096
"""Characters that are searched at a time; between two stretches the clock is asked."""

TIME_S = 0.085
"""After so long without an answer a message is too long to check: the host must have one within 100 ms."""

TOO_LONG, UNREADABLE, TROUBLE = "too-long", "unreadable-part", "cannot-decide"
"""Rules that stand in no file."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the file: what it looks for, or the gate it keeps; and what the person will read."""

    name: str
    kind: str
    severity: str
    message: str
    find: Finder | None = None
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`message` is for the person who wrote; `unread` names the parts that no rule could look into."""

    decision: str
    rule: str = ""
    severity: str = ""
    message: str = ""
    unread: tuple[str, ...] = ()

    @property
    def blocks(self) -> bool:
        return self.decision == BLOCK


@dataclass(frozen=True, slots=True)
class PromptPolicy:
    """Rules in the order of the file; the first that holds decides."""

    rules: tuple[Rule, ...]
    block_unreadable: str = ""
    """The message where a part that cannot be read is refused; empty where it passes."""

    def decide(self, message: UserMessage, *, now: float, mono: Callable[[], float], count: Counter) -> Verdict:
        """Judge one message; `now` in seconds since 1970, `mono` a monotonic clock. Raises GateError."""
        if message.too_long:
            return Verdict(BLOCK, TOO_LONG, "MEDIUM", _too_long(), message.unread)
        if message.unread and self.block_unreadable:
            return Verdict(BLOCK, UNREADABLE, "MEDIUM", self.block_unreadable, message.unread)
        deadline = mono() + TIME_S
        text = Text(message.text)
        for rule in self.rules:
            if rule.gate is not None and rule.gate.is_closed(now, count):
                return Verdict(BLOCK, rule.name, rule.severity, rule.message, message.unread)
            if rule.find is not None:
                found = _search(rule.find, text, deadline, mono)
                if found is None:
                    return Verdict(BLOCK, TOO_LONG, "MEDIUM", _too_long(), message.unread)
                if found:
                    return Verdict(BLOCK, rule.name, rule.severity, rule.message, message.unread)
        return Verdict(ALLOW, unread=message.unread)


def _search(find: Finder, text: Text, deadline: float, mono: Callable[[], float]) -> bool | None:
    """Does the rule hold somewhere? None where time ran out."""
    size = max(len(text.raw), len(text.plain))
    for start in range(0, size, STRETCH):
        if start and mono() > deadline:
            return None
        if find(text, start, start + STRETCH):
            return True
    return None if mono() > deadline else False


def _too_long() -> str:
    return (
        f"This message is too long to check (more than {LONGEST_BYTES // 1024} KiB, or too much to search in time), so"
        " it was not sent to the model. Send it in parts, or put the text into a file."
    )
