"""A policy tried on calls that do not run: typed ones, and recorded ones in their order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..commands import examine
from .budgets import Budgets
from .family import Family, family
from .rules import Context, Decision, Rule, ToolPolicy
from .scripts import CallId, Scripts


class Rehearsal:
    """Judges calls one after the other as the plugin would have, and remembers what they make."""

    def __init__(self, policy: ToolPolicy, state: Path | None = None) -> None:
        """`state` is the host's store, from which delegates find their conversation; None where there is none."""
        self._policy, self._state = policy, state
        self._scripts, self._budgets = Scripts(), Budgets()
        self._families: dict[str, Family] = {}

    def judge(
        self, tool_name: str, args: Mapping[str, Any], *, session_id: str, call_id: CallId, cut: bool = False
    ) -> Decision:
        """What the policy makes of this call, given those before it in its conversation."""
        found = examine(tool_name, args, cut=cut)
        relatives = self._family(session_id)

        def reserve(rule: Rule, values: Mapping[str, Any]) -> str:
            return self._budgets.reserve(
                rule, relatives.root, call_id, count=lambda _: 0, depth=relatives.depth, args=values
            )

        context = Context(self._scripts.earlier(relatives.root, found), reserve)
        decision = self._policy.judge(tool_name, args, found, context)
        if not decision.blocks:
            self._scripts.remember(relatives.root, call_id, found.made)
        return decision

    def _family(self, session_id: str) -> Family:
        known = self._families.get(session_id)
        if known is None:
            known = Family(session_id, (session_id,), 0, False)
            if self._state is not None:
                known = family(self._state, session_id)
            self._families[session_id] = known
        return known
