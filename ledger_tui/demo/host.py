"""The simulated host: plays chats turn by turn, keeps its sessions and cron jobs, and calls the plugin's hooks."""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import utc_text
from ledger_tui.demo import policies
from ledger_tui.demo.hooks import Hooks, Ids, result_text
from ledger_tui.demo.store import SessionStore, identity_of
from ledger_tui.demo.story import Call, Chat, Compaction, Ending, Scenario, Switch, Turn
from ledger_tui.demo.turn_start import TurnStart, block_message
from ledger_tui.demo.world import World
from ledger_tui.routing.hardened import Message, Routed

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
    chat: Chat
    ids: random.Random
    history: list[Message] = field(default_factory=list)
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
    """One simulated host. Whoever drives it tells when each beat is due."""

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
        """`clock`: the story's present, seconds since 1970. `kill` makes a call in another process and kills it."""
        self.hooks = hooks
        self.speed = 1.0
        self._store, self._routes, self._kill = store, store.routes(), kill
        self._chats = {chat.name: chat for chat in scenario.chats}
        self._paths = Paths(home)
        self._jobs = home / "cron" / "jobs.json"
        self._clock, self._world = clock, World(home, clock())
        self._start = TurnStart([lambda **payload: self.hooks.pre_llm_call(**payload)])
        self._sessions: dict[str, _Session] = {}
        self._numbers = {name: random.Random(f"{seed} {name}") for name in self._chats}
        self._small_talks, self._parts = Counter[str](), Counter[str]()
        self._beats: list[tuple[float, int, Beat]] = []
        self._order, self._number = count(), count(1)
        for switch in scenario.switches:
            self.plan(switch.at, self._switch(switch))
        for chat in scenario.chats:
            for turn in chat.turns:
                self.plan(turn.at, self._turn(chat, turn, last=turn is chat.turns[-1]))
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
            self.plan(self._numbers[chat.name].uniform(1.0, PAUSE_S[1]) / speed, self._small_talk(chat))

    def plan(self, at: float, beat: Beat) -> None:
        """Let something happen later, `at` seconds from the opening."""
        heapq.heappush(self._beats, (at, next(self._order), beat))

    def _switch(self, switch: Switch) -> Beat:
        return lambda _: policies.set_mode(self._paths, switch)

    # -- the gateway -----------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """Everything that was only in memory is gone, and with it what was under way."""
        self._beats.clear()
        self._sessions.clear()
        self._store.close()

    def start(self, store: SessionStore) -> None:
        """A gateway starts on what the last one left in the store."""
        self._store, self._routes = store, store.routes()

    def reset(self, name: str) -> None:
        """A chat begins anew."""
        chat = self._chats[name]
        self._routes.reset(identity_of(chat), lambda: self._new_id(chat))

    def recall(self, name: str) -> tuple[str, list[Message]]:
        """Session and transcript of a chat, as the gateway itself answers; nothing of that is stored."""
        session = self._session(self._chats[name])
        return session.id, session.history

    def play(self, name: str, turn: Turn, at: float) -> None:
        """Somebody says something in a chat now."""
        self._play(self._chats[name], turn, at)

    def talk(self, name: str, at: float) -> None:
        """The small talk of a chat begins, and goes on."""
        self.plan(at, self._small_talk(self._chats[name]))

    # -- sessions --------------------------------------------------------------------------------------------------

    def _new_id(self, chat: Chat) -> str:
        """Depends on the seed and the chat only, not on what happens in other chats meanwhile."""
        return f"sim_{chat.name}_{_hex(self._numbers[chat.name], 8)}"

    def _session(self, chat: Chat) -> _Session:
        """The session of a chat's next message."""
        known = self._sessions.get(chat.name)
        routed = self._routed(chat, known)
        if known is not None and known.id == routed.session_id:
            return known
        history = self._store.transcript(routed.session_id)
        session = _Session(routed.session_id, chat, self._numbers[chat.name], history, titled=bool(history))
        self._sessions[chat.name] = session
        if not history:
            self.hooks.session_start(session.id, chat.source)
        return session

    def _routed(self, chat: Chat, known: _Session | None) -> Routed:
        if chat.session_key is not None:
            return self._routes.session_for(identity_of(chat), lambda: self._new_id(chat))
        if known is not None:
            return Routed(known.id)
        session_id = self._new_id(chat)
        self._store.add_session(session_id, chat, parent=self._sessions[chat.child_of].id if chat.child_of else None)
        return Routed(session_id, new=True)

    def _say(self, session: _Session, message: dict[str, Any]) -> None:
        session.history.append(message)
        self._store.add_message(session.id, session.chat, message)

    def _model_says(self, session: _Session, message: dict[str, Any]) -> None:
        self._store.count_request(session.id)
        self._say(session, {"role": "assistant", **message})

    # -- a turn ----------------------------------------------------------------------------------------------------

    def _small_talk(self, chat: Chat) -> Beat:
        def beat(at: float) -> None:
            session = self._session(chat)
            turn = _numbered(chat.small_talk[self._small_talks[chat.name] % len(chat.small_talk)], next(self._number))
            self._small_talks[chat.name] += 1
            ends = self._play(chat, turn, at)
            self.plan(ends + session.ids.uniform(*PAUSE_S) / self.speed, self._small_talk(chat))

        return beat

    def _turn(self, chat: Chat, turn: Turn, *, last: bool) -> Beat:
        def beat(at: float) -> None:
            ends = self._play(chat, turn, at)
            if last and chat.ends:
                self.plan(ends, lambda _: self._end(chat))

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
        self._title(session)
        answer = _Answer(turn.reply)
        for call in turn.calls:
            at += THINKS_S / self.speed
            named = {**ids, "tool_call_id": f"call_{_hex(session.ids, 24)}"}
            self._announce(session, _Running(call, dict(call.args), named, answer), at)
            at += call.takes / self.speed if call.ending else 0.0
        at += THINKS_S / self.speed
        if turn.compaction:
            self.plan(at, self._compact(chat, turn.compaction))
        self.plan(at, lambda _: self._model_says(session, {"content": answer.text}))
        return at

    def _title(self, session: _Session) -> None:
        """A title is made in the first turn that reaches a model, and asked of one."""
        if not session.titled and session.chat.title:
            session.titled = True
            self._store.count_request(session.id)
            self._store.title_session(session.id, self._next_title(session.chat))

    def _next_title(self, chat: Chat) -> str | None:
        """No two sessions may have the same: the second one of a chat is numbered."""
        self._parts[chat.name] += 1
        number = self._parts[chat.name]
        return f"{chat.title} #{number}" if chat.title and number > 1 else chat.title

    def _end(self, chat: Chat) -> None:
        self._store.end_session(self._sessions[chat.name].id, chat.ends or "")

    # -- a call ----------------------------------------------------------------------------------------------------

    def _announce(self, session: _Session, run: _Running, at: float) -> None:
        call, args, ids = run.call, run.args, run.ids
        asked = {"id": ids["tool_call_id"], "name": call.tool, "arguments": json.dumps(args, ensure_ascii=False)}
        self.plan(at, lambda _: self._model_says(session, {"content": "", "tool_calls": [asked]}))
        if call.killed:
            self.plan(at, lambda _: self._kill(call.tool, args, ids))
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
        self.plan(at, lambda moment: None if run.refused else beat(moment))

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

        self.plan(at, issue)
        if call.ending:
            text = result_text(call.result)
            self._unless_refused(run, at + takes, lambda _: self._work(call, run.args))
            self._unless_refused(run, at + takes, lambda _: self.hooks.returned(call.tool, run.args, text, ids))

    def _work(self, call: Call, args: Mapping[str, Any]) -> None:
        """What the simulated tools really do: files are written, and a new cron job where a host keeps its jobs."""
        self._world.work(call.tool, args, self._clock())
        if call.tool.startswith("cronjob") and args.get("action") == "create":
            jobs = json.loads(self._jobs.read_text(encoding="utf-8")) if self._jobs.exists() else {"jobs": []}
            kept = {name: args[name] for name in ("name", "schedule", "prompt") if name in args}
            made = {"created_at": utc_text(self._clock()), "schedule_display": kept.get("schedule"), "enabled": True}
            jobs["jobs"].append({"id": f"job{len(jobs['jobs']) + 1}", **kept, **made})
            self._jobs.parent.mkdir(exist_ok=True)
            self._jobs.write_text(json.dumps(jobs, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    # -- compaction ------------------------------------------------------------------------------------------------

    def _compact(self, chat: Chat, compaction: Compaction) -> Beat:
        def beat(_: float) -> None:
            session = self._sessions[chat.name]
            self._store.count_request(session.id)  # For the summary.
            text = f"[CONTEXT COMPACTION — REFERENCE ONLY] {compaction.summary}"
            summary = {"role": "user", "content": text, "_compressed_summary": True}
            session.history.clear()
            if compaction.rotates:
                self._rotate(session, summary)
            else:
                self._store.fold(session.id)
                self._say(session, summary)

        return beat

    def _rotate(self, session: _Session, summary: Message) -> None:
        """The conversation goes on under a new id, and its summary is the first message there."""
        before, session.id = session.id, self._new_id(session.chat)
        session.history.append(summary)
        self._store.compress(before, session.id, session.chat, summary, self._next_title(session.chat))
        self._routes.advance(identity_of(session.chat), session.id)


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
