"""The four hooks and the middleware for one home: from what the host passes to what is kept and what is said.

Every method here may raise; the door (`agent_ledger/__init__.py`) lets nothing through to the host.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from . import fingerprint
from .events import Contradiction, Issue, Key, Settlement
from .evidence.hook import in_hook
from .history import messages_of
from .keeper import Keeper
from .lineage import Conversations, keep_rotations
from .outcome import Outcome, judge
from .paths import Paths
from .policy.gate import Gate, Verdict
from .prompts import Guard, Refusal
from .prompts.decisions import Decisions
from .reconcile import LEARN_FROM, Turn, last_compaction, reconcile
from .records import ARGS_LIMIT, storable
from .redact import may_hold_secret, redact_name, redact_tool, redact_value
from .settings import SettingsFile
from .store import Store
from .tools import changes_state, grace_seconds
from .workplace import Workplaces

REMEMBERED_RETURNS = 2_000

_READ_ARGS = 2 * ARGS_LIMIT
"""Characters of one argument that are searched for secrets; what is stored is at most half of that."""

GIVEN_UP = frozenset({"ERROR:timeout", "ERROR:cancelled"})
"""Outcomes after which the tool itself may still be at work."""

REFUSED = Outcome("ERROR:blocked", "none", None, None, None)
"""A call that the tool policy refused: it never started."""

POST_LATE_S = 5.0
"""A post follows its tool's return at once; after this long it is not going to."""

_Nested = tuple[str, str, bytes | None]
"""A call from inside a script: task, tool, hash of the arguments. It has no id."""

_SQUARE_S = 0.03

SENT, BACK = 0, 1
"""Of each tool it is counted how often it was called, and how often word of it came."""


class Recorder:
    """The ledger's side of one Hermes home in this process."""

    def __init__(
        self,
        paths: Paths,
        *,
        clock: Callable[[], float] = time.time,
        mono: Callable[[], float] = time.monotonic,
        about: Callable[[], dict[str, str]] = dict,
    ) -> None:
        self.paths = paths
        self._clock, self._mono = clock, mono
        self._settings = SettingsFile(paths.settings)
        self.keeper = Keeper(paths, self._settings, clock=clock, mono=mono, about=about)
        self.guard = Guard(
            paths.prompt_policy, paths.prompt_policy_mode, paths.ledger,
            clock=clock, host_version=lambda: about().get("host"),
        )  # fmt: skip
        self._decisions = Decisions(self.keeper, clock)
        self.gate = Gate(paths, self.keeper, clock=clock, mono=mono)
        self._key: bytes | None = None
        self._conversations = Conversations(paths.state, mono)
        self._workplaces = Workplaces(mono)
        self._compacted: dict[str, str] = {}
        self._scripts: dict[str, Key] = {}
        self._returned: OrderedDict[Key, tuple[str, Outcome, float]] = OrderedDict()
        self._given_up: OrderedDict[Key, None] = OrderedDict()
        self._nested_done: deque[tuple[_Nested, str]] = deque(maxlen=REMEMBERED_RETURNS)
        self._signals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])

    # -- the hooks -------------------------------------------------------------------------------------------------

    def judge_call(
        self, tool_name: str, args: Any, *, session_id: str, turn_id: str, tool_call_id: str, task_id: str
    ) -> Verdict | None:
        """What the tool policy makes of a call that is about to run; None while the policy is off."""
        if not self.gate.on():
            return None
        if not session_id and not tool_call_id and task_id in self._scripts:
            session_id = self._scripts[task_id][0]
        call = (session_id, turn_id, tool_call_id) if tool_call_id else object()
        redact = self._settings.get(self._mono()).redact
        return self.gate.judge(tool_name, _mapping(args), session_id=session_id, call=call, redact=redact)

    def pre_tool_call(
        self,
        tool_name: str,
        args: Any,
        *,
        session_id: str,
        turn_id: str,
        tool_call_id: str,
        task_id: str,
        request_id: str,
        verdict: Verdict | None = None,
    ) -> None:
        """Keep a PENDING row before the tool runs; one that says so for a call that the policy refuses."""
        values = _mapping(args)
        if not changes_state(tool_name, values):
            self._settle_verdict(verdict, None, (session_id, turn_id, tool_call_id), self._shown(tool_name))
            return
        tool_name = self._shown(tool_name)
        now, mono = self._clock(), self._mono()
        settings = self._settings.get(mono)
        parent = None
        if not session_id and not tool_call_id and task_id in self._scripts:
            parent = self._scripts[task_id]
            session_id, turn_id = parent[0], parent[1]
        key = (session_id, turn_id, tool_call_id)
        stored, cut, redacted, args_hash, hashes = self._arguments(tool_name, values, settings.redact)
        self._signals[tool_name][SENT] += 1
        chain = self._conversations.so_far(session_id, turn_id)
        if tool_name == "execute_code" and task_id:
            self._scripts[task_id] = key
        grace_s = grace_seconds(tool_name, values, settings.grace_seconds)
        repeats_since = now - settings.repeat_window_seconds
        compacted, late = self._compacted.get(chain[-1], ""), key in self._given_up
        workplace = self._workplaces.of(tool_name, task_id, values)
        # In the order of its fields: with names it takes five times as long.
        issue = Issue(
            now, session_id, turn_id, tool_call_id, task_id, request_id, tool_name, stored, int(cut), redacted,
            args_hash, hashes, grace_s, mono, parent, chain, repeats_since, compacted, late, workplace,
        )  # fmt: skip
        row = self.keeper.keep(issue)
        if verdict is not None and verdict.refuses:
            self._settle(tool_name, values, REFUSED, key, task_id, request_id, by="policy")
        self._settle_verdict(verdict, row, key, tool_name)

    def _settle_verdict(self, verdict: Verdict | None, row: int | None, key: Key, tool_name: str) -> None:
        if verdict is not None:
            self.gate.settled(verdict, row, session_id=key[0], turn_id=key[1], tool_call_id=key[2], tool_name=tool_name)

    def post_tool_call(
        self,
        tool_name: str,
        args: Any,
        result: Any,
        *,
        session_id: str,
        turn_id: str,
        tool_call_id: str,
        task_id: str,
        request_id: str,
        status: object,
        error_type: object,
        duration_ms: object,
    ) -> None:
        """Settle the row that `pre_tool_call` made."""
        values = _mapping(args)
        if not changes_state(tool_name, values):
            return
        tool_name = self._shown(tool_name)
        outcome = self._outcome(tool_name, result, status, error_type, duration_ms)
        self._signals[tool_name][BACK] += 1
        key = (session_id, turn_id, tool_call_id)
        self._returned.pop(key, None)
        if tool_call_id and outcome.status in GIVEN_UP:
            self._given_up[key] = None
            if len(self._given_up) > REMEMBERED_RETURNS:
                self._given_up.popitem(last=False)
        if tool_name == "execute_code":
            self._scripts.pop(task_id, None)
        if not tool_call_id and self._closed_already(tool_name, values, task_id, outcome):
            return
        self._settle(tool_name, values, outcome, key, task_id, request_id, by="post")

    def tool_returned(
        self,
        tool_name: str,
        args: Any,
        result: Any,
        *,
        error: BaseException | None,
        session_id: str,
        turn_id: str,
        tool_call_id: str,
        task_id: str,
    ) -> None:
        """A tool was seen to return, or to raise: a second closing signal for calls that get no post.

        A call without an id (made inside an `execute_code` script) is settled here, since Hermes 0.22 sends no
        post for it. For every other call the return is only remembered, for the case that its post never comes.
        """
        values = _mapping(args)
        if not changes_state(tool_name, values):
            return
        tool_name = self._shown(tool_name)
        status, error_type = (None, None) if error is None else ("error", type(error).__name__)
        outcome = self._outcome(tool_name, result, status, error_type, None)
        key = (session_id, turn_id, tool_call_id)
        if key in self._given_up:
            # The host stopped waiting, the tool went on: this is how it really ended. An error that is no Exception
            # is the host's own way of abandoning a call that has not started.
            if error is None or isinstance(error, Exception):
                self._settle(tool_name, values, outcome, key, task_id, "", by="middleware")
            return
        if tool_call_id:
            self._returned[key] = (tool_name, outcome, self._mono())
            if len(self._returned) > REMEMBERED_RETURNS:
                self._returned.popitem(last=False)
            return
        self._settle(tool_name, values, outcome, key, task_id, "", by="middleware")
        self._nested_done.append(((task_id, tool_name, self._arguments(tool_name, values, False)[3]), outcome.status))

    def judge_prompt(self, user_message: object, *, session_id: str, turn_id: str) -> Refusal | None:
        """What the prompt policy makes of this turn's message; None where it may go on."""
        refusal = self.guard.judge(user_message)
        if refusal is not None:
            self._decisions.keep(refusal, session_id=session_id, turn_id=turn_id)
        return refusal

    def pre_llm_call(self, *, session_id: str, turn_id: str, task_id: str, history: object) -> str:
        """The notice for this turn; empty when there is nothing to say."""
        mono = self._mono()
        messages = messages_of(history)
        chain = self._conversations.of(session_id)
        self._settle_returned()
        now, settings = self._clock(), self._settings.get(mono)
        turn = Turn(
            session_id=session_id,
            turn_id=turn_id,
            task_id=task_id,
            conversation=chain,
            messages=messages,
            now=now,
            mono=mono,
            writer_id=self.keeper.writer_id(),
            repeats_since=now - settings.repeat_window_seconds,
            never_confirmed=frozenset(
                t for t, (sent, back) in self._signals.items() if sent >= LEARN_FROM and not back
            ),
        )

        def work(store: Store) -> tuple[str, str]:
            store.use(settings.durability)
            with store.transaction():
                check = partial(in_hook, store, self.paths, now=now, mono=self._mono, begun=mono)
                text = reconcile(store, turn, check=check)
                keep_rotations(store.connection, chain)
                store.rows.keep_head(turn.ts)
                return text, last_compaction(store, chain)

        found = self.keeper.ask(work)
        if found is None:
            return ""
        self._compacted[chain[-1]] = found[1]
        return found[0]

    def on_session_start(self, *, session_id: str) -> None:
        """Square the accounts: merge what was spooled, learn which conversation this is."""
        self.keeper.square(_SQUARE_S)
        self.guard.announce()
        self._conversations.of(session_id)

    # -- arguments and outcomes ------------------------------------------------------------------------------------

    def _arguments(
        self, tool_name: str, args: Mapping[str, Any], redact: bool
    ) -> tuple[str, bool, int, bytes | None, str | None]:
        """(stored text, cut?, secrets taken out, hash of the whole, hashes of the values if not stored as they are)."""
        whole = self._json(args)
        if len(whole) <= _READ_ARGS and not (redact and may_hold_secret(whole)):
            shown, redacted, shortened = whole, 0, False
        else:
            value, redacted = redact_value(args, _READ_ARGS) if redact else (args, 0)
            shown = self._json(value)
            shortened = any(isinstance(item, str) and len(item) > _READ_ARGS for item in args.values())
        cut = shortened or len(shown) > ARGS_LIMIT
        stored = storable(shown[:ARGS_LIMIT])[:ARGS_LIMIT]
        key = self._key or self._hash_key()
        if key is None:
            return stored, cut, redacted, None, None
        hashes = fingerprint.value_hashes(key, args, redact_name if redact else str) if cut or redacted else None
        same = fingerprint.call_hash(key, tool_name, fingerprint.canonical(args, whole))
        return stored, cut, redacted, same, hashes

    def _shown(self, tool_name: str) -> str:
        """The tool's name as it is stored."""
        shown = redact_tool(tool_name)
        return shown if shown == tool_name or self._settings.get(self._mono()).redact else tool_name

    @staticmethod
    def _json(value: Any) -> str:
        try:
            return fingerprint.dumps(value)
        except (TypeError, ValueError, RecursionError):
            return fingerprint.plain(value)

    def _hash_key(self) -> bytes | None:
        if self._key is None:
            try:
                self._key = fingerprint.load_key(self.paths.key)
            except OSError:
                return None
        return self._key

    def _outcome(self, tool_name: str, result: Any, status: object, error_type: object, duration_ms: object) -> Outcome:
        return judge(
            tool_name=tool_name,
            result=result,
            status=status,
            error_type=error_type,
            duration_ms=duration_ms,
            redact=self._settings.get(self._mono()).redact,
        )

    def _settle(
        self,
        tool_name: str,
        args: Mapping[str, Any],
        outcome: Outcome,
        key: Key,
        task_id: str,
        request_id: str,
        *,
        by: str,
    ) -> int | None:
        # With a call id the row is found without its arguments; they only matter where no row exists.
        stored, args_hash = "{}", None
        if not key[2] or (args and not self.keeper.is_open(key)):
            stored, _, _, args_hash, _ = self._arguments(tool_name, args, self._settings.get(self._mono()).redact)
        # In the order of its fields, as above.
        done = Settlement(
            self._clock(), *key, task_id, request_id, tool_name, stored, args_hash, outcome, by, by == "post"
        )
        return self.keeper.keep(done)

    # -- the second closing signal ---------------------------------------------------------------------------------

    def _closed_already(self, tool_name: str, args: Mapping[str, Any], task_id: str, outcome: Outcome) -> bool:
        """A post for a nested call (Hermes 0.19) whose return was seen and recorded just before.

        The first word stands, as for every call; only a post that contradicts it is worth a search for its row.
        """
        mark = (task_id, tool_name, self._arguments(tool_name, args, False)[3])
        for place, (nested, status) in enumerate(self._nested_done):
            if nested == mark:
                del self._nested_done[place]
                if status != outcome.status:
                    self.keeper.keep(Contradiction(self._clock(), tool_name, task_id, mark[2], outcome))
                return True
        return False

    def _settle_returned(self) -> None:
        """Calls that were seen to return a while ago and whose post has not come."""
        late = self._mono() - POST_LATE_S
        while self._returned:
            key, (tool_name, outcome, at) = next(iter(self._returned.items()))
            if at > late:
                return
            del self._returned[key]
            if self.keeper.is_open(key):
                self._settle(tool_name, {}, outcome, key, "", "", by="middleware")


def _mapping(args: Any) -> Mapping[str, Any]:
    """Arguments as the host should pass them; anything else is kept under one name."""
    if type(args) is dict or isinstance(args, Mapping):  # The class alone is told ten times as fast.
        return args
    return {} if args is None or args == "" else {"value": args}
