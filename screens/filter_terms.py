"""The filter line: `tool:terminal state:ghost since:2h some text`, read into a Filter or answered with a sentence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo

from agent_ledger.engine.evidence.verdict import VERDICTS
from agent_ledger.engine.queries import UNCHECKED, Filter
from agent_ledger.engine.records import ERROR_PREFIX, STATES

TERMS: Mapping[str, str] = {
    "tool": "name of the tool",
    "state": ", ".join(STATES),
    "verdict": ", ".join((*VERDICTS, UNCHECKED)),
    "session": "session id, its start, or a word of its title",
    "since": "30m, 2h, 3d, or 2026-05-31 14:00",
    "until": "the same, as the end",
}
"""What stands before a colon, and what may follow it."""

_STATUS_STATES: Mapping[str, frozenset[str]] = {
    "pending": frozenset({"pending", "overdue"}),
    "confirmed": frozenset({"confirmed", "revived"}),
    "ghost_reported": frozenset({"ghost"}),
}
_NO_MORE: Mapping[str, Collection[str]] = {}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNIT_S: Mapping[str, float] = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class FilterError(ValueError):
    """The line cannot be read as a filter; the text is one sentence for the person who typed it."""


def parse_filter(line: str, *, now: float, zone: tzinfo | None, sessions: Mapping[str, str] | None = None) -> Filter:
    """Read a filter line. `sessions` maps known ids to titles; `zone` is the person's own (None: the system's).

    Raises FilterError.
    """
    return filter_of(split_terms(line), now=now, zone=zone, sessions=sessions or {})


def filter_of(
    terms: Iterable[str],
    *,
    now: float,
    zone: tzinfo | None,
    sessions: Mapping[str, str],
    known: Iterable[str] = tuple(TERMS),
) -> Filter:
    """The same for terms that are apart already. `known`: names of terms, to be told of. Raises FilterError."""
    wanted = Filter()
    words: list[str] = []
    for term in terms:
        name, colon, value = term.partition(":")
        name = name.lower()
        if not colon or (name not in TERMS and name != "status"):
            if colon and name.isalpha() and value and not value.startswith(("/", "\\")):
                raise FilterError(f"There is no filter '{name}:'; known are {listed(f'{t}:' for t in known)}.")
            words.append(term)
            continue
        if not value:
            raise FilterError(f"'{name}:' needs a value: {TERMS.get(name, TERMS['state'])}.")
        wanted = _with_term(wanted, name, value, now, zone, sessions)
    return replace(wanted, text=" ".join(words)) if words else wanted


def _with_term(
    wanted: Filter, name: str, value: str, now: float, zone: tzinfo | None, sessions: Mapping[str, str]
) -> Filter:
    if name == "tool":
        return replace(wanted, tool_name=value)
    if name in {"state", "status"}:
        return replace(wanted, states=(wanted.states or frozenset()) | _states(value, status=name == "status"))
    if name == "verdict":
        return replace(wanted, verdicts=(wanted.verdicts or frozenset()) | _verdicts(value))
    if name == "session":
        return replace(wanted, session_id=find_session(value, sessions))
    moment = read_moment(value, name, now, zone)
    return replace(wanted, since=moment) if name == "since" else replace(wanted, until=moment)


def split_terms(line: str) -> list[str]:
    """The words of a filter line; what stands in quotation marks is one. Raises FilterError."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    try:
        return list(lexer)
    except ValueError:
        raise FilterError('A quotation mark is open: close it with ".') from None


def _states(value: str, *, status: bool) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for word in value.lower().split(","):
        if word in STATES and not (status and word in _STATUS_STATES):
            found |= {word}
        elif word in _STATUS_STATES:
            found |= _STATUS_STATES[word]
        elif word.startswith(ERROR_PREFIX.lower()):
            found |= {"error"}
        else:
            raise FilterError(f"'{word}' is no state; a call is {listed(STATES, last='or')}.")
    return found


def _verdicts(value: str) -> frozenset[str]:
    found = frozenset(value.lower().split(","))
    for word in sorted(found - {*VERDICTS, UNCHECKED}):
        raise FilterError(f"'{word}' is no verdict; it is {listed((*VERDICTS, UNCHECKED), last='or')}.")
    return found


def find_session(value: str, sessions: Mapping[str, str]) -> str:
    """The one session that is meant by an id, its start, or a word of its title. Raises FilterError."""
    if value in sessions or not sessions:
        return value
    lower = value.lower()
    starts = [known for known in sessions if known.lower().startswith(lower)]
    found = starts or [known for known, title in sessions.items() if lower in title.lower()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise FilterError(f"No session is called or begins with '{value}'.")
    raise FilterError(f"'{value}' fits {len(found)} sessions: type more of the id.")


def read_moment(value: str, name: str, now: float, zone: tzinfo | None) -> float:
    """Seconds since 1970 of `2h` (ago) or of a date with a time. `name` is the term's own. Raises FilterError."""
    span = _SPAN.fullmatch(value.lower())
    if span is not None:
        return now - float(span[1]) * _UNIT_S[span[2]]
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise FilterError(f"'{name}:{value}' is no time; write {TERMS['since']}.") from None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (OverflowError, OSError, ValueError):
        raise FilterError(f"'{value}' lies outside the calendar.") from None


def listed(words: Iterable[str], *, last: str = "and") -> str:
    """`a, b and c`."""
    *rest, end = list(words)
    return f"{', '.join(rest)} {last} {end}" if rest else end


def complete(
    line: str, *, tools: Collection[str], sessions: Collection[str], more: Mapping[str, Collection[str]] = _NO_MORE
) -> str | None:
    """The line with its last term completed, None where nothing is known to follow. `more`: further terms."""
    known = {
        **more,
        "tool": sorted(tools),
        "state": STATES,
        "status": STATES,
        "verdict": (*VERDICTS, UNCHECKED),
        "session": sorted(sessions),
    }
    return complete_term(line, (*more, *TERMS), known)


def complete_term(line: str, terms: Iterable[str], known: Mapping[str, Iterable[str]]) -> str | None:
    """The line with its last term completed: its name from `terms`, or its value from those `known` for the name.

    What would be two words stands in quotation marks then, which may also begin in the middle of a word.
    """
    spaces = (at for at, char in enumerate(line) if char == " " and not line.count('"', 0, at) % 2)
    typed = line[max(spaces, default=-1) + 1 :]
    term, in_quotes = typed.replace('"', ""), typed.count('"') % 2 == 1
    if not term:
        return None
    name, colon, value = term.partition(":")
    options = known.get(name.lower(), ()) if colon else [f"{one}:" for one in terms]
    start = value if colon else term
    for option in options:
        rest = option[len(start) :]
        if rest and option.lower().startswith(start.lower()) and '"' not in rest:
            in_one = in_quotes or rest.split() == [rest]
            return line + ("" if in_one else '"') + rest + ('"' if in_quotes or not in_one else "")
    return None
