"""One call to one verdict: the host's own transcript first, then the verifier for this kind of tool."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from .facts import CannotTellError, Facts
from .recorded import Recorded
from .verdict import ABSENT, LANDED, UNKNOWN, Verdict, quoted, unknown

log = logging.getLogger(__name__)

Judge = Callable[[Recorded, Facts], "Verdict | None"]

_BY_NAME = {
    "write_file": "files",
    "patch": "patches",
    "terminal": "terminal",
    "cronjob": "cron",
    "cronjob_manage": "cron",
    "delegate_task": "delegate",
    "memory": "memory",
    "skill_manage": "skills",
}
"""Tool to the module of its verifier. A module is loaded when it is first asked: the host's start need not wait."""

_BY_START = (("kanban_", "kanban"), ("mcp__", "mcp"))


def verifier_of(tool_name: str) -> Judge | None:
    """The verifier for a tool, by its old or its new name; None where there is none."""
    name = _BY_NAME.get(tool_name) or next((name for start, name in _BY_START if tool_name.startswith(start)), None)
    return None if name is None else _judge_of(name)


def _judge_of(module: str) -> Judge:
    judge: Judge = importlib.import_module(f".{module}", __package__).judge
    return judge


def verify(call: Recorded, facts: Facts) -> Verdict:
    """Did this call land? Never raises, and changes nothing."""
    found = _verified(call, facts)
    why = _why_not_absent(call, facts) if found.verdict == ABSENT else ""
    return unknown(facts.now, why, *found.evidence) if why else found


def _why_not_absent(call: Recorded, facts: Facts) -> str:
    """Why an effect that was not found may be there all the same; empty where nothing says so."""
    try:
        if facts.may_still_run(call):
            return "It may still be at work: its grace has not run out."
        if facts.clock_went_back(call):
            return "The clock of this machine was set back since the call, so times tell nothing."
        if call.folder and not facts.look(Path(call.folder)).exists:
            return f"The folder in which the call worked, {quoted(call.folder, 160)}, is not there any more."
    except CannotTellError as error:
        return str(error)
    return ""


def _verified(call: Recorded, facts: Facts) -> Verdict:
    why: list[str] = []
    judge = verifier_of(call.tool_name)
    found = _asked(judge, call, facts, why) if judge is not None and facts.quick else None
    if found is not None and found.verdict != UNKNOWN:
        return found  # Where time is short the transcript is only asked where nothing else tells.
    told = _asked(_judge_of("transcript"), call, facts, why)
    if told is not None and told.verdict == ABSENT:
        return told
    if judge is not None and not facts.quick:
        found = _asked(judge, call, facts, why)
    if told is not None and told.verdict == LANDED:
        return _beside(told, found)
    if found is not None and found.verdict != UNKNOWN:
        return _beside(found, told)
    evidence = [text for verdict in (told, found) if verdict is not None for text in verdict.evidence]
    if not evidence and not why:
        why.append(f"Nothing that can be read tells what became of a call of {quoted(call.tool_name, 40)}.")
    return unknown(facts.now, *evidence, *why)


def _asked(judge: Judge, call: Recorded, facts: Facts, why: list[str]) -> Verdict | None:
    try:
        return judge(call, facts)
    except CannotTellError as error:
        if str(error) not in why:
            why.append(str(error))
    except Exception as error:
        log.exception("agent-ledger: a verifier failed on call %s", call.id)
        why.append(f"Its verifier failed ({type(error).__name__}); please report that.")
    return None


def _beside(stands: Verdict, other: Verdict | None) -> Verdict:
    """The verdict that stands, with what the other source said."""
    if other is None or other.verdict == UNKNOWN:
        return stands
    return Verdict(stands.verdict, (*stands.evidence, *other.evidence)[:8], stands.checked_at)


def verify_many(
    calls: Iterable[Recorded],
    facts: Facts,
    *,
    tell: Callable[[Recorded, Verdict], None] = lambda call, verdict: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[tuple[Recorded, Verdict]]:
    """Verdicts in the order of the calls; `tell` hears of each at once, `stopped` is asked before each."""
    found: list[tuple[Recorded, Verdict]] = []
    for call in calls:
        if stopped():
            break
        found.append((call, verify(call, facts)))
        tell(*found[-1])
    return found
