"""The simulated host: plays chats turn by turn, keeps its sessions and cron jobs, and calls the plugin's hooks."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import Paths
from ledger_tui.demo import policies
from ledger_tui.demo.hooks import Hooks, Ids, result_text
from ledger_tui.demo.store import SessionStore
from ledger_tui.demo.story import Call, Chat, Compaction, Ending, Scenario, Switch, Turn
from ledger_tui.demo.turn_start import TurnStart, block_message

THINKS_S = 1.5
"""From a message, or a tool's result, to what the agent does next."""

PAUSE_S = (6.0, 14.0)
"""Between two turns of small talk in one chat."""

Beat = Callable[[float], None]
"""Something that happens at a moment; it is told the moment, in seconds from the opening of the demonstration."""


@dataclass(slots=True)
class _Session:
    """What the host knows of a conversation while it runs."""

    id: str
    ids: random.Random
    history: list[dict[str, Any]] = field(default_factory=list)
    small_talk: int = 0
    renewed: int = 0
    titled: bool = False


@dataclass(slots=True)
class _Answer:
    """What the agent will say at a turn's end."""

    text: str

    def refused(self, why: str) -> None:
        """A call of this turn was not allowed to run; the person hears of it."""
        self.text = f"I was not allowed to do all of that. {why}"


@dataclass(slots=True)
class _Running:
    """One call on its way."""

    call: Call
    args: dict[str, Any]
    ids: Ids
    answer: _Answer
    refused: bool = False


class Host:
    """One simulated host. It reads no clock: whoever drives it tells when each beat is due."""

    def __init__(
        self,
        scenario: Scenario,
        store: SessionStore,
        hooks: Hooks,
        *,
        home: Path,
        seed: int,
        clock: Callable[[], float],
        kill: Callable[[str, dict[str, Any], Ids], None],
    ) -> None:
        """`clock` gives seconds since 1970; `kill` makes a call in another process and kills that process."""
        self.hooks = hooks
        self.speed = 1.0
        self._store, self._clock, self._kill = store, clock, kill
        self._chats = {chat.name: chat for chat in scenario.chats}
        self._paths = Paths(home)
        self._jobs = home / "cron" / "jobs.json"
        self._start = TurnStart([lambda **payload: self.hooks.pre_llm_call(**payload)])
        self._seed = seed
        self._sessions: dict[str, _Session] = {}
        self._beats: list[tuple[float, int, Beat]] = []
        self._order, self._number = count(), count(1)
        for switch in scenario.switches:
            self._plan(switch.at, self._switch(switch))
        for chat in scenario.chats:
            for turn in chat.turns:
                self._plan(turn.at, self._turn(chat, turn, last=turn is chat.turns[-1]))
        self._talkative = [chat for chat in scenario.chats if chat.name in scenario.talkative]

    # -- the driver's side -----------------------------------------------------------------------------------------

    def next_at(self) -> float | None:
        """When the next beat is due, in seconds from the opening; None when nothing is planned any more."""
        return self._beats[0][0] if self._beats else None

    def step(self) -> None:
        """Let the next beat happen."""
        at, _, beat = heapq.heappop(self._beats)
        beat(at)

    def go_on(self, hooks: Hooks, speed: float) -> None:
        """Somebody watches from now on: hooks of the present, and small talk, `speed` times faster than life.

        What is planned already keeps its moment: how long a call may take counts in real seconds.
        """
        self.hooks, self.speed = hooks, speed
        for chat in self._talkative:
            self._plan(self._random(chat).uniform(1.0, PAUSE_S[1]) / speed, self._small_talk(chat))

    def _plan(self, at: float, beat: Beat) -> None:
        heapq.heappush(self._beats, (at, next(self._order), beat))

    def _switch(self, switch: Switch) -> Beat:
        return lambda _: policies.set_mode(self._paths, switch)

    # -- sessions --------------------------------------------------------------------------------------------------

    def _random(self, chat: Chat) -> random.Random:
        """Numbers that depend on the seed and the chat only, not on what happens in other chats meanwhile."""
        known = self._sessions.get(chat.name)
        return known.ids if known else random.Random(f"{self._seed} {chat.name}")

    def _session(self, chat: Chat) -> _Session:
        known = self._sessions.get(chat.name)
        if known is not None:
            return known
        numbers = self._random(chat)
        session = _Session(f"sim_{chat.name}_{_hex(numbers, 8)}", numbers)
        parent = self._sessions[chat.child_of].id if chat.child_of else None
        self._sessions[chat.name] = session
        self._store.add_session(session.id, chat, at=self._clock(), parent=parent, title=None)
        self.hooks.session_start(session.id, chat.source)
        return session

    def _say(self, session: _Session, message: dict[str, Any]) -> None:
        session.history.append(message)
        self._store.add_message(session.id, message, at=self._clock())

    def _model_says(self, session: _Session, message: dict[str, Any]) -> None:
        self._store.count_request(session.id)
        self._say(session, {"role": "assistant", **message})

    # -- a turn ----------------------------------------------------------------------------------------------------

    def _small_talk(self, chat: Chat) -> Beat:
        def beat(at: float) -> None:
            session = self._session(chat)
            turn = _numbered(chat.small_talk[session.small_talk % len(chat.small_talk)], next(self._number))
            session.small_talk += 1
            ends = self._play(chat, turn, at)
            self._plan(ends + session.ids.uniform(*PAUSE_S) / self.speed, self._small_talk(chat))

        return beat

    def _turn(self, chat: Chat, turn: Turn, *, last: bool) -> Beat:
        def beat(at: float) -> None:
            ends = self._play(chat, turn, at)
            if last and chat.ends:
                self._plan(ends, lambda _: self._end(chat))

        return beat

    def _play(self, chat: Chat, turn: Turn, at: float) -> float:
        """Begin a turn and plan the rest of it, unless a hook ends it; the moment of its end."""
        session = self._session(chat)
        task_id = session.id
        ids = {
            "session_id": session.id,
            "turn_id": f"{session.id}:{task_id}:{_hex(session.ids, 8)}",
            "task_id": task_id,
        }
        opened = self._start.open(
            turn.text, session.history, session_id=session.id, turn_id=ids["turn_id"], platform=chat.source
        )
        for message in opened.rows():
            self._say(session, message)
        if opened.block is not None:
            return at  # No title, no compaction, no request.
        self._title(session, chat)
        answer = _Answer(turn.reply)
        for call in turn.calls:
            at += THINKS_S / self.speed
            named = {**ids, "tool_call_id": f"call_{_hex(session.ids, 24)}"}
            self._announce(session, _Running(call, dict(call.args), named, answer), at)
            at += call.takes / self.speed if call.ending else 0.0
        at += THINKS_S / self.speed
        if turn.compaction:
            self._plan(at, self._compact(chat, turn.compaction))
        self._plan(at, lambda _: self._model_says(session, {"content": answer.text}))
        return at

    def _title(self, session: _Session, chat: Chat) -> None:
        """A title is made in the first turn that reaches a model, and asked of one."""
        if not session.titled and chat.title:
            session.titled = True
            self._store.count_request(session.id)
            self._store.title_session(session.id, chat.title)

    def _end(self, chat: Chat) -> None:
        self._store.end_session(self._sessions[chat.name].id, chat.ends or "", at=self._clock())

    # -- a call ----------------------------------------------------------------------------------------------------

    def _announce(self, session: _Session, run: _Running, at: float) -> None:
        call, args, ids = run.call, run.args, run.ids
        asked = {"id": ids["tool_call_id"], "name": call.tool, "arguments": json.dumps(args, ensure_ascii=False)}
        self._plan(at, lambda _: self._model_says(session, {"content": "", "tool_calls": [asked]}))
        if call.killed:
            self._plan(at, lambda _: self._kill(call.tool, args, ids))
            return
        for _ in range(call.announced):
            self._unless_refused(run, at, self._issue(session, run))
        step = call.takes / (len(call.inside) + 1) / self.speed
        for place, nested in enumerate(call.inside):
            self._nested(run, nested, at + step * (place + 0.5), step / 2)
        ends = at + call.takes / self.speed
        if call.runs:
            self._unless_refused(run, ends, lambda _: self._work(call, args))
        if call.ending:
            self._unless_refused(run, ends, self._report(session, run, call.ending))
        if call.later:
            self._unless_refused(run, at + call.later.after, self._report(None, run, call.later))

    def _unless_refused(self, run: _Running, at: float, beat: Beat) -> None:
        self._plan(at, lambda moment: None if run.refused else beat(moment))

    def _issue(self, session: _Session, run: _Running) -> Beat:
        """The call is announced. One that the plugin blocks does not run, and is reported as blocked at once."""
        call, args, ids = run.call, run.args, run.ids

        def beat(_: float) -> None:
            why = block_message(self.hooks.issue(call.tool, args, ids))
            if why is None:
                return
            run.refused = True
            run.answer.refused(why)
            text = result_text({"error": why})
            self._say(session, _tool_message(run, text))
            self.hooks.report(call.tool, args, text, ids, "blocked", "plugin_block", 0)

        return beat

    def _report(self, session: _Session | None, run: _Running, ending: Ending) -> Beat:
        """The tool's end reaches the host; without a session only the plugin hears of it."""
        call, args, ids = run.call, run.args, run.ids
        text = result_text(call.result if ending.result is None else ending.result)
        took = int(1000 * (ending.after or call.takes / self.speed)) if call.runs else 0

        def beat(_: float) -> None:
            if call.runs and not ending.after and ending.status in ("ok", "error"):
                self.hooks.returned(call.tool, args, text, ids)
            if session is not None:
                self._say(session, _tool_message(run, text))
            self.hooks.report(call.tool, args, text, ids, ending.status, ending.error_type, took)

        return beat

    def _nested(self, script: _Running, call: Call, at: float, takes: float) -> None:
        """A call from inside a script: the host names its task only, and reports no end."""
        ids = {"session_id": "", "turn_id": "", "tool_call_id": "", "task_id": script.ids["task_id"]}
        run = _Running(call, dict(call.args), ids, script.answer)

        def issue(_: float) -> None:
            run.refused = script.refused or block_message(self.hooks.issue(call.tool, run.args, ids)) is not None

        self._plan(at, issue)
        if call.ending:
            text = result_text(call.result)
            self._unless_refused(run, at + takes, lambda _: self.hooks.returned(call.tool, run.args, text, ids))

    def _work(self, call: Call, args: Mapping[str, Any]) -> None:
        """What the simulated tools really do: a cron job that was created is written where a host keeps its jobs."""
        if call.tool.startswith("cronjob") and args.get("action") == "create":
            jobs = json.loads(self._jobs.read_text(encoding="utf-8")) if self._jobs.exists() else {"jobs": []}
            kept = {name: args[name] for name in ("name", "schedule", "prompt") if name in args}
            jobs["jobs"].append({"id": f"job{len(jobs['jobs']) + 1}", **kept, "enabled": True})
            self._jobs.parent.mkdir(exist_ok=True)
            self._jobs.write_text(json.dumps(jobs, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    # -- compaction ------------------------------------------------------------------------------------------------

    def _compact(self, chat: Chat, compaction: Compaction) -> Beat:
        def beat(_: float) -> None:
            session = self._sessions[chat.name]
            self._store.count_request(session.id)  # For the summary.
            self._store.fold(session.id)
            if compaction.rotates:
                self._rotate(chat, session)
            text = f"[CONTEXT COMPACTION — REFERENCE ONLY] {compaction.summary}"
            session.history.clear()
            self._say(session, {"role": "user", "content": text, "_compressed_summary": True})

        return beat

    def _rotate(self, chat: Chat, session: _Session) -> None:
        before, session.renewed = session.id, session.renewed + 1
        session.id = f"sim_{chat.name}_{_hex(session.ids, 8)}"
        title = f"{chat.title} #{session.renewed + 1}" if chat.title else None
        self._store.end_session(before, "compression", at=self._clock())
        self._store.add_session(session.id, chat, at=self._clock(), parent=before, title=title)


def _tool_message(run: _Running, text: str) -> dict[str, Any]:
    return {"role": "tool", "name": run.call.tool, "tool_call_id": run.ids["tool_call_id"], "content": text}


def _hex(numbers: random.Random, digits: int) -> str:
    return f"{numbers.getrandbits(4 * digits):0{digits}x}"


def _numbered(turn: Turn, number: int) -> Turn:
    """The turn with `{n}` replaced everywhere, so that it is not the same work each time."""
    calls = tuple(
        replace(call, args=_fill(call.args, number), result=_fill(call.result, number)) for call in turn.calls
    )
    return replace(turn, text=_fill(turn.text, number), reply=_fill(turn.reply, number), calls=calls)


def _fill(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, dict):
        return {key: _fill(item, number) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, number) for item in value]
    return value
