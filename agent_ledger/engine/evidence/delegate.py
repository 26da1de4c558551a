"""Delegates: what the host's store says of a call to `delegate_task`.

Sent off in the background, a batch has a row in `async_delegations` at once (Hermes 0.19 and 0.22); each delegate that
began to work has a session marked with the one that sent it. Only a recorded agent sends one off, so that one which is
seen minutes later still is the call's; but rows can be deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..secret_values import MARK
from .around import LATE_S, chosen, issued, may_be_of, may_explain, others, reads_as
from .facts import COARSE_S, CannotTellError, Facts
from .recorded import Recorded, members
from .verdict import Verdict, absent, landed, quoted, unknown

TOOLS = ("delegate_task",)

KEPT = 40
KEPT_S = 6 * 86_400.0
"""The host keeps so many finished rows at least, and for so long."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch, or one delegate, that the store shows. `goals`: empty where they are not stored with it."""

    goals: tuple[str, ...]
    at: float
    words: str
    session: bool = False
    """Is it a delegate's session, not a batch?"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one call."""

    mine: tuple[str, ...] = ()
    """Batches with the call's goals, sent by its session after it, that no other recorded call explains; in words."""
    shared: int = 0
    taken: int = 0
    unlike: int = 0
    """Delegates of that session sent at that time whose goals cannot be compared."""
    kept: str = ""
    """Why a row may have been there and be gone; empty where it would still be there."""


def judge_seen(seen: Seen, now: float) -> Verdict:
    """Landed: sent off, whatever became of it. Absent: nothing was sent, and nothing is missing in the store."""
    if seen.mine:
        return landed(now, *seen.mine, "That it was sent off does not say that it finished.")
    if seen.shared > seen.taken:
        return unknown(now, "The store shows such a delegate, but another call of the session may have sent it.")
    if seen.unlike:
        return unknown(now, "The session sent a delegate off at that time, whose task cannot be compared.")
    if seen.kept:
        return unknown(now, "The store shows no such delegate.", seen.kept)
    if seen.shared:
        return absent(now, "The store shows such a delegate since the call, but it is that of another, confirmed call.")
    return absent(now, "The store shows neither such a delegate nor a session of one since the call.")


# -- gathering ---------------------------------------------------------------------------------------------------------


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on one call. Raises CannotTellError where the store cannot be read."""
    action = chosen(call, facts, "action", ("spawn", "steer", "stop", "list"))
    if action == "list":
        return None
    if action in ("steer", "stop"):
        return unknown(
            facts.now, "Whether a running delegate was spoken to is not kept anywhere but in the transcript."
        )
    at = issued(call)
    if not call.session_id:
        raise CannotTellError("Which session sent the delegate is not recorded.")
    columns = facts.columns(facts.state, "async_delegations")
    sent = [*(_batches(facts, call, at) if columns else ()), *_sessions(facts, call, at)]
    rivals = [other for other in others(facts, call, TOOLS) if other.session_id == call.session_id]
    batches = _told(call, facts, [one for one in sent if not one.session], rivals)
    children = _told(call, facts, [one for one in sent if one.session], rivals)
    # A batch and its delegates' sessions are two signs of one thing: sessions count where they are more.
    told = children if len(children.mine) + children.shared > len(batches.mine) + batches.shared else batches
    seen = Seen(
        mine=told.mine or batches.mine or children.mine,
        shared=told.shared,
        taken=told.taken,
        unlike=told.unlike,
        kept=_kept(facts, call, at, bool(columns)),
    )
    return judge_seen(seen, facts.now)


def _told(call: Recorded, facts: Facts, sent: Sequence[Sent], rivals: Sequence[Recorded]) -> Seen:
    """What these batches, or these sessions, say; `taken` is how many of them the confirmed calls sent."""
    mine: list[str] = []
    shared = unlike = 0
    sure: dict[int, int] = {}
    for one in sent:
        if not may_be_of(call, one.at, soon=LATE_S):
            continue
        fits = _fits(call, facts, one.goals)
        too = [other for other in rivals if _may_have_sent(other, one) and _fits(other, facts, one.goals) is not False]
        sure |= {other.id: max(1, len(_asked(other) or ())) for other in too if other.confirmed}
        if fits and not too:
            mine.append(one.words)
        elif fits:
            shared += 1
        elif fits is None:
            unlike += not too
    return Seen(tuple(mine), shared, sum(sure.values()), unlike)


def _may_have_sent(other: Recorded, one: Sent) -> bool:
    """A row is written before the call is confirmed, a session begins when the delegate does: maybe much later."""
    if one.session and other.confirmed:
        return other.at is None or other.at - COARSE_S <= one.at <= other.at + LATE_S
    return may_explain(other, one.at, alike=True)


def _batches(facts: Facts, call: Recorded, at: float) -> list[Sent]:
    sql = (
        "SELECT delegation_id, state, dispatched_at, task_json FROM async_delegations"
        " WHERE parent_session_id = ? AND dispatched_at >= ?"
    )
    found = []
    for delegation, state, dispatched, task in facts.rows(facts.state, sql, (call.session_id, at - 0.05)):
        goals = _goals_of(_object(task))
        words = (
            f"The delegate {quoted(delegation, 40)} was sent off right after the call; its state is {quoted(state)}."
        )
        found.append(Sent(goals, _time(dispatched), words))
    return found


def _goals_of(task: Mapping[str, Any]) -> tuple[str, ...]:
    goals = task.get("goals") or [task.get("goal")]
    return tuple(goal.strip() for goal in goals if isinstance(goal, str) and goal.strip())


def _sessions(facts: Facts, call: Recorded, at: float) -> list[Sent]:
    """Sessions of delegates. Their first message is the task."""
    sql = (
        "SELECT s.id, s.started_at, s.model_config, (SELECT m.content FROM messages m WHERE m.session_id = s.id"
        " AND m.role = 'user' ORDER BY m.id LIMIT 1) FROM sessions s WHERE s.started_at >= ?"
        " AND (s.parent_session_id = ? OR instr(coalesce(s.model_config, ''), ?) > 0)"
    )
    found = []
    for child, started, config, first in facts.rows(facts.state, sql, (at - 0.05, call.session_id, call.session_id)):
        if _object(config).get("_delegate_from") != call.session_id:
            continue
        goals = (first.strip(),) if isinstance(first, str) and first.strip() else ()
        words = f"A session of a delegate, {quoted(child, 60)}, began right after the call."
        found.append(Sent(goals, _time(started), words, session=True))
    return found


def _time(value: object) -> float:
    """Seconds since 1970. Raises CannotTellError for anything else that stands in such a column."""
    if not isinstance(value, (int, float)):
        raise CannotTellError("The store holds a delegate whose time is none.")
    return float(value)


def _object(text: object) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _fits(call: Recorded, facts: Facts, goals: Sequence[str]) -> bool | None:
    """Are these the call's goals, or the first message to one of its delegates? None where it cannot be compared."""
    if not goals:
        return None
    if "goal" in call.value_hashes and any(
        facts.is_value(call, "goal", goal + end) for goal in goals for end in ("", "\n")
    ):
        return True
    asked = _asked(call)
    if asked is None:
        return None
    if all(any(reads_as(kept, goal) for kept in asked) for goal in goals):
        return True
    if len(goals) == 1 and any(reads_as(kept + MARK, goals[0]) for kept in asked):
        return True  # The first message to a delegate may say more than the task.
    return None if call.args_cut and not call.args.get("goal") else False


def _asked(call: Recorded) -> tuple[str, ...] | None:
    """The goals of a call as they are stored; of one that was cut the first, where it stands there whole."""
    tasks = call.args.get("tasks")
    if isinstance(tasks, str):
        try:
            tasks = json.loads(tasks)
        except (ValueError, RecursionError):
            return None
    if call.args_cut and tasks is None:
        _, found, text = call.args_text.partition('"tasks": [')
        tasks = [members(text)] if found else None
    if isinstance(tasks, list) and tasks:
        goals = [task.get("goal") if isinstance(task, dict) else task for task in tasks]
    else:
        goals = [call.args.get("goal")]
    return tuple(goal.strip() for goal in goals if isinstance(goal, str) and goal.strip()) or None


def _requested(facts: Facts, call: Recorded) -> bool:
    """Does the store hold the agent's own word that it makes this call? It is written before the call is made."""
    sql = (
        "SELECT 1 FROM messages WHERE session_id = ? AND role = 'assistant' AND instr(coalesce(tool_calls, ''), ?) > 0"
        " LIMIT 1"
    )
    if not call.tool_call_id:
        return True  # The host gave none, so there is nothing to look for.
    known = "tool_calls" in facts.columns(facts.state, "messages")
    return known and bool(facts.rows(facts.state, sql, (call.session_id, call.tool_call_id)))


def _kept(facts: Facts, call: Recorded, at: float, has_rows: bool) -> str:
    """Could a row or a session have been there and be gone?"""
    if not facts.rows(facts.state, "SELECT 1 FROM sessions WHERE id = ?", (call.session_id,)):
        return "The session that sent it is not in the store either."
    if facts.look(facts.state).put_back_since(at) or not _requested(facts, call):
        return "But the store does not go as far as the call: it may have been put back from a backup."
    if has_rows:
        done = "SELECT count(*) FROM async_delegations WHERE state NOT IN ('running', 'finalizing')"
        if facts.now - at > KEPT_S or facts.rows(facts.state, done)[0][0] >= KEPT:
            return "But the host keeps only the newest of them."
    # Messages are numbered without reuse: a delegate that began and was deleted leaves a gap right after the call.
    before = facts.rows(facts.state, "SELECT max(id) FROM messages WHERE timestamp <= ?", (at,))[0][0] or 0
    after = facts.rows(facts.state, "SELECT min(id) FROM messages WHERE id > ?", (before,))[0][0]
    given = facts.rows(facts.state, "SELECT seq FROM sqlite_sequence WHERE name = 'messages'")
    if (after or (given[0][0] + 1 if given else before + 1)) != before + 1:
        return "But messages from right after the call were deleted from the store."
    return ""
