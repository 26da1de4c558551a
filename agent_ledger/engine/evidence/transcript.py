"""The host's own record: a stored result of this very call, in this session, is the strongest sign there is.

Only rows of the role `tool` count, under this call's id and tool, after this call, and asked for with these arguments.
A summary, a notice, a placeholder or a recovery note proves nothing; a message that was withheld is not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ..lineage import is_fork
from ..outcome import judge as judge_outcome
from .facts import CannotTellError, Facts
from .recorded import Recorded
from .verdict import Verdict, absent, landed, quoted, unknown

MOST_ROWS = 50_000
"""Results of one session that are looked at."""

ROTATIONS = 20
"""Ids that a conversation may get by later compactions, and that are followed."""

EARLY_S = 1.0
"""A result cannot be older than its call; by so much may the clocks of two threads differ."""

LONGEST = 2_000_000
"""Characters of a result that are read."""


@dataclass(frozen=True, slots=True)
class Result:
    """One stored result. `said`: its leading JSON object, or None where it is not one."""

    tool_name: str
    at: float
    disposition: str
    said: Mapping[str, Any] | None
    text: str
    asked: tuple[str, Mapping[str, Any] | None]
    """Tool and arguments of the request that it answers; the name is empty where none is found."""


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """What the transcript says of this call; None where it says nothing. Raises CannotTellError."""
    if not call.tool_call_id or not call.session_id or call.at is None:
        return None
    if not facts.look(facts.state).exists or _used_again(call, facts):
        return None
    stored = results(facts, call.session_id, call.tool_call_id, call.at - EARLY_S)
    found = [one for one in stored if _is_of(call, one, facts)]
    return told(call.tool_name, found, facts.now)


def told(tool_name: str, found: list[Result], now: float) -> Verdict | None:
    """Pure: one verdict from the results stored for one call."""
    words = {_word(tool_name, one) for one in found} - {None}
    if len(words) != 1:
        return None
    (word,) = words
    if word == "done":
        return landed(now, "The host's transcript holds this call's own result, and it is a success.")
    if word == "none":
        return absent(now, "The host's transcript says of this call that it had no effect: it never started.")
    said = next((text for one in found if (text := _failure(one.said or {}))), "")
    return unknown(now, f"The host's transcript holds a failure of this call{said}.")


def _failure(said: Mapping[str, Any]) -> str:
    """How a failed result tells of it, to end a sentence with; empty where it does not."""
    if said.get("error"):
        return f": {quoted(said['error'], 120)}"
    code = said.get("exit_code")
    return f": the command ended with {code}" if isinstance(code, int) and code else ""


def _word(tool_name: str, one: Result) -> str | None:
    """ "done", "none", "failed", or None for what proves nothing."""
    if one.text.startswith("["):  # Placeholders and recovery notes of the host stand in brackets.
        return "none" if one.disposition == "none" and not one.text.startswith("[Orphan recovery") else None
    if one.disposition == "none":
        return "none"
    if one.said is None or one.disposition == "unknown":
        return None
    outcome = judge_outcome(
        tool_name=tool_name, result=one.said, status=None, error_type=None, duration_ms=None, redact=False
    )
    refused = one.said.get("success") is False or str(one.said.get("status", "")).lower() in _NO_SUCCESS
    return "done" if outcome.effect == "done" and not refused else "failed"


_NO_SUCCESS = frozenset(
    {"error", "failed", "blocked", "denied", "timeout", "cancelled", "approval_required", "rejected"}
)


_SAME = {
    name: pair
    for pair in (("cronjob", "cronjob_manage"), ("process", "process_manage"), ("todo", "todo_list"))
    for name in pair
}
"""Tools that the model may still call by their old name."""


def _is_of(call: Recorded, one: Result, facts: Facts) -> bool:
    """Is it the result of this call, and not of another one with the same id?"""
    assert call.at is not None
    names = _SAME.get(call.tool_name, (call.tool_name,))
    if one.at < call.at - EARLY_S or one.tool_name not in ("", *names) or one.asked[0] not in names:
        return False
    asked = one.asked[1]
    if not call.args_cut and not call.args_redacted:
        return asked == call.args
    if asked is None or not call.args.keys() <= asked.keys():
        return False
    if facts.key is None:
        return True
    return all(name in asked and facts.is_value(call, name, asked[name]) for name in call.value_hashes)


def _used_again(call: Recorded, facts: Facts) -> bool:
    """Does the ledger know another call of this session under the same id? Then a result tells of neither."""
    if facts.ledger is None:
        return False
    used = _cache(facts).used
    if call.session_id not in used:
        sql = (
            "SELECT tool_call_id FROM ledger WHERE session_id = ? AND tool_call_id <> ''"
            " GROUP BY tool_call_id HAVING count(*) > 1"
        )
        rows = facts.ask(facts.ledger, facts.paths.ledger, sql, (call.session_id,), limit=MOST_ROWS)
        used[call.session_id] = {str(row[0]) for row in rows}
    return call.tool_call_id in used[call.session_id]


# -- reading state.db --------------------------------------------------------------------------------------------------


class _Cache:
    def __init__(self) -> None:
        self.rows: dict[str, tuple[float, dict[str, list[tuple[Any, ...]]]]] = {}
        self.chains: dict[str, list[str]] = {}
        self.used: dict[str, set[str]] = {}


_caches: WeakKeyDictionary[Facts, _Cache] = WeakKeyDictionary()


def _cache(facts: Facts) -> _Cache:
    found = _caches.get(facts)
    if found is None:
        found = _caches[facts] = _Cache()
    return found


def results(facts: Facts, session_id: str, tool_call_id: str, since: float) -> list[Result]:
    """Every result stored under this call id since a moment, in the session or in those it became by compaction."""
    columns = facts.columns(facts.state, "messages")
    if not {"id", "session_id", "role", "content", "tool_call_id", "tool_calls", "timestamp"} <= columns:
        raise CannotTellError("The host's transcript is of a form that is not known.")
    return [
        _result(facts, one, tool_call_id, row)
        for one in _chain(facts, session_id)
        for row in _rows(facts, one, columns, since).get(tool_call_id, [])
    ]


def _chain(facts: Facts, session_id: str) -> list[str]:
    known = _cache(facts).chains.get(session_id)
    if known is not None:
        return known
    chain = [session_id]
    columns = facts.columns(facts.state, "sessions")
    if {"parent_session_id", "end_reason", "model_config"} <= columns:
        sql = (
            "SELECT c.id, c.model_config FROM sessions c JOIN sessions p ON p.id = c.parent_session_id"
            " WHERE c.parent_session_id = ? AND p.end_reason = 'compression'"
        )
        while len(chain) < ROTATIONS:
            children = facts.rows(facts.state, sql, (chain[-1],))
            heirs = [str(child) for child, config in children if not is_fork(config, chain[-1]) and child not in chain]
            if len(heirs) != 1:
                break
            chain.append(heirs[0])
    _cache(facts).chains[session_id] = chain
    return chain


def _rows(facts: Facts, session_id: str, columns: frozenset[str], since: float) -> dict[str, list[tuple[Any, ...]]]:
    """The session's results by call id; where time is short those since a moment, which an index answers."""
    known = _cache(facts).rows.get(session_id)
    if known is not None and (not facts.quick or known[0] <= since):
        return known[1]
    since = since if facts.quick else 0.0
    name = "tool_name" if "tool_name" in columns else "NULL"
    disposition = "effect_disposition" if "effect_disposition" in columns else "NULL"
    sql = (
        f"SELECT tool_call_id, id, {name}, {disposition}, timestamp FROM messages"
        " WHERE session_id = ? AND timestamp >= ? AND role = 'tool' AND tool_call_id IS NOT NULL"
    )
    found: dict[str, list[tuple[Any, ...]]] = {}
    for call_id, *rest in facts.rows(facts.state, sql, (session_id, since), limit=MOST_ROWS):
        found.setdefault(str(call_id), []).append(tuple(rest))
    _cache(facts).rows[session_id] = (since, found)
    return found


def _result(facts: Facts, session_id: str, tool_call_id: str, row: tuple[Any, ...]) -> Result:
    number, name, disposition, timestamp = row
    content = facts.rows(facts.state, "SELECT substr(content, 1, ?) FROM messages WHERE id = ?", (LONGEST, number))
    text = content[0][0] if content and isinstance(content[0][0], str) else ""
    return Result(
        tool_name=name if isinstance(name, str) else "",
        at=float(timestamp) if isinstance(timestamp, (int, float)) else 0.0,
        disposition=disposition if isinstance(disposition, str) else "",
        said=_object(text),
        text=text.lstrip(),
        asked=_asked(facts, session_id, tool_call_id, number),
    )


def _asked(facts: Facts, session_id: str, tool_call_id: str, before: int) -> tuple[str, Mapping[str, Any] | None]:
    """The nearest request before a result that carries its id."""
    sql = (
        "SELECT tool_calls FROM messages WHERE session_id = ? AND id < ? AND role = 'assistant'"
        " AND tool_calls IS NOT NULL ORDER BY id DESC LIMIT 20"
    )
    for (text,) in facts.rows(facts.state, sql, (session_id, before)):
        try:
            calls = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            continue
        for one in calls if isinstance(calls, list) else []:
            if isinstance(one, dict) and tool_call_id in (one.get("id"), one.get("call_id")):
                function = one.get("function")
                function = function if isinstance(function, dict) else {}
                return str(function.get("name") or ""), _object(function.get("arguments"))
    return "", None


_DECODER = json.JSONDecoder()


def _object(text: object) -> Mapping[str, Any] | None:
    """The JSON object at the start of a text: the host may add a remark behind it."""
    if isinstance(text, dict):
        return text
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return None
    try:
        found, _ = _DECODER.raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
