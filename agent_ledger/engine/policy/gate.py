"""Asks the tool policy of one home about every call before it runs. Never raises, and costs nothing while it is off."""

from __future__ import annotations

import json
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..commands import Act, Examined, Made, examine
from ..inert import clip, inert
from ..keeper import Keeper
from ..paths import Paths
from ..redact import redact_text
from ..store import Store
from ..tools import changes_state
from .budgets import Budgets
from .decisions import Decisions
from .family import Family, family
from .file import PolicyError
from .load import load
from .mode import ENFORCE, OFF, ModeFile
from .rules import ALLOWED, BLOCK, Context, Decision, Rule, ToolPolicy, named
from .scripts import CallId, Scripts

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
"""How often the two files are looked at."""

BROKEN_FILE, CANNOT_DECIDE = "policy-file", "cannot-decide"

_FAMILY_FRESH_S = 20.0
_REMEMBERED_SESSIONS = 500
_SEARCHED_ROWS, _FOUND_ROWS = 5_000, 8

_SEARCH = (
    "SELECT id, tool_name, args_json FROM ledger WHERE id > (SELECT max(id) FROM ledger) - {rows}"
    " AND session_id IN ({marks}) AND instr(args_json, ?) AND tool_name IN ('write_file', 'patch', 'terminal')"
    " AND status <> 'ERROR:blocked' ORDER BY id DESC LIMIT {found}"
)
_COUNT = "SELECT tool_name, count(*) FROM ledger WHERE session_id IN ({marks}) AND status <> 'ERROR:blocked' GROUP BY 1"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy makes of one call; kept until the call's row is known."""

    decision: Decision
    mode: str
    conversation: str = ""
    found: Examined = field(default_factory=Examined)

    @property
    def refuses(self) -> bool:
        return self.decision.blocks and self.mode == ENFORCE

    @property
    def message(self) -> str:
        """What the agent is told."""
        return f"Refused by the tool policy, rule {self.decision.rule}: {self.decision.reason}"


class Gate:
    """The tool policy of one home in one process."""

    def __init__(self, paths: Paths, keeper: Keeper, *, clock: Callable[[], float], mono: Callable[[], float]) -> None:
        self._paths, self._keeper, self._mono = paths, keeper, mono
        self._mode_file = ModeFile(paths.policy_mode)
        self._mode = OFF
        self._looked = -math.inf
        self._looking = threading.Lock()
        self._mark: tuple[int, int, int] | None = None
        self._policy: ToolPolicy | PolicyError = ToolPolicy()
        self._said: set[str] = set()
        self._families: OrderedDict[str, tuple[Family, float]] = OrderedDict()
        self.scripts, self.budgets = Scripts(), Budgets()
        self.decisions = Decisions(keeper, clock)

    def on(self) -> bool:
        """Is any mode but off in force? The files are looked at once a second at most."""
        now = self._mono()
        if now - self._looked >= LOOK_EVERY_S:
            with self._looking:  # Calls that start together all wait for the one that looks.
                if now - self._looked >= LOOK_EVERY_S:
                    self._look()
                    self._looked = now
        return self._mode != OFF

    def judge(
        self, tool_name: str, args: Mapping[str, Any], *, session_id: str, call: object, redact: bool = True
    ) -> Verdict | None:
        """What becomes of a call; None while the policy is off. Never raises: enforce refuses what it cannot judge."""
        if not self.on():
            return None
        mode = self._mode
        try:
            verdict = self._decide(tool_name, args, session_id, call, mode)
        except Exception as error:
            self._say("trouble", f"the tool policy could not judge a call ({type(error).__name__}: {error})")
            verdict = Verdict(
                self._cannot(tool_name, args, f"it could not judge this call ({type(error).__name__})"), mode
            )
        if redact and verdict.decision.blocks:
            verdict = replace(verdict, decision=_without_secrets(verdict.decision))
        return verdict

    def settled(
        self,
        verdict: Verdict,
        ledger_id: int | None,
        *,
        session_id: str,
        turn_id: str,
        tool_call_id: str,
        tool_name: str,
    ) -> None:
        """The call has its row: what it makes is remembered with it, a refusal is recorded with it."""
        if verdict.found.made and not verdict.refuses:
            self.scripts.remember(verdict.conversation, ledger_id or tool_call_id, verdict.found.made)
        if verdict.decision.blocks:
            self.decisions.keep(
                verdict.decision, verdict.mode, ledger_id=ledger_id, session_id=session_id, turn_id=turn_id,
                tool_call_id=tool_call_id, tool_name=tool_name,
            )  # fmt: skip

    # -- the two files ---------------------------------------------------------------------------------------------

    def _look(self) -> None:
        self._mode = self._mode_file.value()
        if not self._mode_file.last.valid:
            self._say("mode", f"policy_mode holds no mode; {self._mode} stays in force")
        if self._mode == OFF:
            return
        try:
            info = self._paths.policy.stat()
            mark = (info.st_mtime_ns, info.st_size, info.st_ino)
        except OSError:
            mark = None
        if mark is None or mark != self._mark:
            self._policy, self._mark = load(self._paths.policy), mark
            self._said.discard("file")
        if isinstance(self._policy, PolicyError):
            self._say("file", f"{self._policy}; under enforce, calls that change something are refused")

    def _say(self, kind: str, text: str) -> None:
        """One line in the host's log for each kind of trouble."""
        if kind not in self._said:
            self._said.add(kind)
            log.warning("agent-ledger: %s", text)

    # -- one call --------------------------------------------------------------------------------------------------

    def _decide(self, tool_name: str, args: Mapping[str, Any], session_id: str, call: object, mode: str) -> Verdict:
        policy = self._policy
        if isinstance(policy, PolicyError):
            return Verdict(self._cannot(tool_name, args, str(policy)) if mode == ENFORCE else ALLOWED, mode)
        found = examine(tool_name, args)
        budgets = any(rule.budget is not None and named(rule.tools, tool_name) for rule in policy.rules)
        relatives = self._family(session_id) if budgets or found.run or found.made else Family(session_id, (), 0, False)

        def reserve(rule: Rule, values: Mapping[str, Any]) -> str:
            return self.budgets.reserve(
                rule,
                relatives.root,
                call,
                count=lambda one: self._count(one, relatives),
                depth=relatives.depth,
                args=values,
            )

        earlier: tuple[tuple[Act, tuple[CallId, ...]], ...] = ()
        if found.run:
            earlier = self.scripts.earlier(relatives.root, found, lambda path: self._search(path, relatives))
        context = Context(earlier, reserve if budgets else None)
        return Verdict(policy.judge(tool_name, args, found, context), mode, relatives.root, found)

    def _cannot(self, tool_name: str, args: Mapping[str, Any], why: str) -> Decision:
        """Enforce refuses what changes something and cannot be judged, and says how to get out."""
        if self._mode != ENFORCE or not changes_state(tool_name, args):
            return ALLOWED
        mode = self._paths.policy_mode
        reason = (
            f"{clip(why, 300)}. While that is so no call that changes something runs. A person can mend the file, or"
            f" switch the policy off by writing the word off into {mode}"
        )
        return Decision(
            BLOCK, BROKEN_FILE if why.startswith(str(self._paths.policy)) else CANNOT_DECIDE, "HIGH", inert(reason)
        )

    # -- what the ledger and the host's store know -----------------------------------------------------------------

    def _family(self, session_id: str) -> Family:
        known = self._families.get(session_id)
        if known is not None and known[1] > self._mono():
            return known[0]
        found = family(self._paths.state, session_id)
        self._families[session_id] = (found, math.inf if found.known else self._mono() + _FAMILY_FRESH_S)
        while len(self._families) > _REMEMBERED_SESSIONS:
            self._families.popitem(last=False)
        return found

    def _search(self, path: str, relatives: Family) -> Iterable[tuple[CallId, dict[str, Made]]]:
        """Calls of this conversation in the ledger that speak of this file, newest first."""
        name = path.rpartition("/")[2]
        members = relatives.members or (relatives.root,)
        sql = _SEARCH.format(rows=_SEARCHED_ROWS, found=_FOUND_ROWS, marks=",".join("?" * len(members)))

        def work(store: Store) -> list[tuple[int, str, str]]:
            return list(store.connection.execute(sql, (*members, name)).fetchall())

        for call_id, tool_name, args_json in self._keeper.ask(work) or []:
            args = _arguments(args_json)
            if args:
                yield call_id, dict(examine(tool_name, args).made)

    def _count(self, rule: Rule, relatives: Family) -> int:
        """Calls that a rule's budget counts and that the ledger knows of before this process did."""
        members = relatives.members or (relatives.root,)
        sql = _COUNT.format(marks=",".join("?" * len(members)))

        def work(store: Store) -> list[tuple[str, int]]:
            return list(store.connection.execute(sql, members).fetchall())

        return sum(count for name, count in self._keeper.ask(work) or [] if named(rule.tools, name))


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _without_secrets(decision: Decision) -> Decision:
    text, redacted = redact_text(decision.reason)
    return replace(decision, reason=inert(text)) if redacted else decision
