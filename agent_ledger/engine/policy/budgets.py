"""Budgets: reserved before a call starts, so that calls that start together cannot overrun them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from .rules import Rule

MOST_CONVERSATIONS = 500

Count = Callable[[Rule], int]
"""Calls that this conversation had made before this process knew it."""


class Budgets:
    """What each conversation has used of each rule's budget, its delegates' calls included."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: OrderedDict[tuple[str, str], set[object]] = OrderedDict()
        self._before: dict[tuple[str, str], int] = {}

    def reserve(
        self, rule: Rule, conversation: str, call: object, *, count: Count, depth: int, args: Mapping[str, Any]
    ) -> str:
        """Take one call out of the budget: empty where that worked, else why it did not. The same call counts once."""
        budget = rule.budget
        assert budget is not None
        width = fan_out(args)
        if budget.depth is not None and depth >= budget.depth:
            return f"delegates may go {budget.depth} deep, and this one is already that deep"
        if budget.fan_out is not None and width > budget.fan_out:
            return f"one call may start {budget.fan_out} delegates, and this one would start {width}"
        if budget.calls is None:
            return ""
        key = (conversation, rule.name)
        with self._lock:
            used = self._used.get(key)
            if used is None:
                used = self._used[key] = set()
                self._before[key] = count(rule)
                self._forget()
            if call in used:
                return ""
            if len(used) + self._before[key] >= budget.calls:
                return f"this conversation has used its budget of {budget.calls} calls"
            used.add(call)
            return ""

    def _forget(self) -> None:
        while len(self._used) > MOST_CONVERSATIONS:
            key, _ = self._used.popitem(last=False)
            self._before.pop(key, None)


def fan_out(args: Mapping[str, Any]) -> int:
    """How many delegates one call starts."""
    tasks = args.get("tasks")
    return len(tasks) if isinstance(tasks, (list, tuple)) and tasks else 1
