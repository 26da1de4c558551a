"""`prompt_policy.json`: read, checked, and made into rules; a mistake is named with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from ..inert import clip
from ..policy.file import PolicyError, read_policy
from ..severity import SEVERITY_WEIGHT
from .addresses import Finder, host_finder, mail_finder
from .credentials import find_credential
from .gates import COUNTED, DAYS, PERIODS_S, Gate, Limit, QuietHours
from .hidden import find_hidden
from .identifiers import CHECKS, PatternError, compiled, finder, from_shape
from .numbers import find_card, find_iban
from .overrides import find_override
from .rules import PromptPolicy, Rule

LARGEST = 1_000_000
"""Bytes of a policy file; a larger one is refused."""

LONGEST_MESSAGE = 2_000

_TOP = frozenset({"version", "about", "rules", "unreadable_parts"})
_EVERY_RULE = frozenset({"name", "kind", "severity", "message", "enabled", "about"})


class _MistakeError(ValueError):
    pass


def load(path: Path) -> PromptPolicy | PolicyError:
    """The policy in this file, or what is wrong with it. Never raises."""
    text = read_policy(path, LARGEST)
    return text if isinstance(text, PolicyError) else parse(text, str(path))


def parse(text: str, file: str = "prompt_policy.json") -> PromptPolicy | PolicyError:
    """The same from the file's text."""
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        return PolicyError(file, error.lineno, f"it is no JSON: {error.msg}")
    except (_MistakeError, RecursionError) as error:
        return PolicyError(file, _line_of(text, str(error)), str(error) or "it is nested too deeply")
    except ValueError as error:
        return PolicyError(file, 0, f"it is no JSON ({error})")
    try:
        top = _top(data)
    except _MistakeError as error:
        return PolicyError(file, 1, str(error))
    starts = _starts_of_rules(text)
    rules: list[Rule] = []
    for place, entry in enumerate(top["rules"]):
        try:
            rule = _rule(entry)
            if rule.name in {one.name for one in rules}:
                raise _MistakeError(f"a second rule is named {rule.name!r}")
        except (_MistakeError, PatternError) as error:
            return PolicyError(file, starts[place] if place < len(starts) else 0, f"rule {place + 1}: {error}")
        if entry.get("enabled", True):
            rules.append(rule)
    return PromptPolicy(tuple(rules), top["unreadable"])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _MistakeError(f"the name {name!r} stands twice in one object")
        found[name] = value
    return found


def _line_of(text: str, reason: str) -> int:
    """The line of the second mention of a name that stands twice."""
    named = re.search(r"'([^']*)'", reason)
    places = [found.start() for found in re.finditer(re.escape(json.dumps(named[1])), text)] if named else []
    return text.count("\n", 0, places[1]) + 1 if len(places) > 1 else 0


def _starts_of_rules(text: str) -> list[int]:
    """The line on which each element of `rules` begins; the text is known to be JSON."""
    found = re.search(r"\"rules\"\s*:\s*\[", text)
    lines: list[int] = []
    at = found.end() if found else len(text)
    while at < len(text):
        while at < len(text) and (text[at].isspace() or text[at] == ","):
            at += 1
        if at >= len(text) or text[at] == "]":
            break
        lines.append(text.count("\n", 0, at) + 1)
        _, at = json.JSONDecoder().raw_decode(text, at)
    return lines


def _top(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _MistakeError("it is no JSON object")
    _no_other(data, _TOP)
    if data.get("version", 1) != 1:
        raise _MistakeError("its version is not 1, which is the one that is understood here")
    rules = data.get("rules")
    if not isinstance(rules, list):
        raise _MistakeError("it has no list called rules")
    unreadable = data.get("unreadable_parts", {})
    if not isinstance(unreadable, dict) or not unreadable.keys() <= {"action", "message"}:
        raise _MistakeError("unreadable_parts must be an object with action and message")
    action = unreadable.get("action", "allow")
    if action not in ("allow", "block"):
        raise _MistakeError("unreadable_parts: action is neither allow nor block")
    return {"rules": rules, "unreadable": _message(unreadable) if action == "block" else ""}


def _no_other(data: Mapping[str, Any], known: frozenset[str]) -> None:
    other = sorted(set(data) - known)
    if other:
        raise _MistakeError(f"unknown entry {clip(repr(other[0]), 60)}; known are {', '.join(sorted(known))}")


def _rule(entry: Any) -> Rule:
    if not isinstance(entry, dict):
        raise _MistakeError("it is no object")
    name = entry.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_.\-]{0,63}", name):
        raise _MistakeError("its name must be 1 to 64 small letters, digits, dots, dashes or underscores")
    kind = entry.get("kind")
    if not _one_of(kind, KINDS):
        raise _MistakeError(f"{name}: its kind is none of {', '.join(KINDS)}")
    more, make = KINDS[kind]
    try:
        _no_other(entry, _EVERY_RULE | more)
        if not isinstance(entry.get("enabled", True), bool):
            raise _MistakeError("enabled is neither true nor false")
        severity = entry.get("severity", "HIGH")
        if not _one_of(severity, SEVERITY_WEIGHT):
            raise _MistakeError(f"severity is none of {', '.join(SEVERITY_WEIGHT)}")
        made = make(entry)
        finds = made if callable(made) else None
        gate = made if isinstance(made, (Limit, QuietHours)) else None
        return Rule(name, kind, severity, _message(entry), finds, gate)
    except (_MistakeError, PatternError) as error:
        raise _MistakeError(f"{name}: {error}") from error


def _one_of(value: object, known: Container[str]) -> TypeGuard[str]:
    """Is it one of these words? Other values of a file may be of kinds that a table cannot even be asked for."""
    return isinstance(value, str) and value in known


def _message(entry: Mapping[str, Any]) -> str:
    """What the person will read: a block without it would be ignored by the host, so it must be there."""
    message = entry.get("message")
    if not isinstance(message, str) or not message.strip():
        raise _MistakeError("it has no message for the person who wrote; a host ignores a block without one")
    if len(message) > LONGEST_MESSAGE:
        raise _MistakeError(f"its message is longer than {LONGEST_MESSAGE} characters")
    return message.strip()


def _texts(entry: Mapping[str, Any], name: str) -> list[str]:
    found = entry.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        raise _MistakeError(f"{name} must be a list of texts")
    return found


def _flag(entry: Mapping[str, Any], name: str) -> bool:
    found = entry.get(name, False)
    if not isinstance(found, bool):
        raise _MistakeError(f"{name} is neither true nor false")
    return found


def _identifier(entry: Mapping[str, Any]) -> Finder:
    patterns = []
    for written in [*map(from_shape, _texts(entry, "shapes")), *_texts(entry, "patterns")]:
        try:
            patterns.append(compiled(written, ignore_case=_flag(entry, "ignore_case")))
        except PatternError as error:
            raise _MistakeError(f"pattern {clip(repr(written), 80)}: {error}") from error
    if not patterns:
        raise _MistakeError("it has neither shapes nor patterns")
    check = entry.get("check")
    if check is not None and not _one_of(check, CHECKS):
        raise _MistakeError(f"check is none of {', '.join(CHECKS)}")
    return finder(patterns, check)


def _hosts(entry: Mapping[str, Any]) -> Finder:
    suffixes, names = _texts(entry, "suffixes"), _texts(entry, "names")
    private = _flag(entry, "private_addresses")
    if not (suffixes or names or private):
        raise _MistakeError("it has no suffixes, no names, and private_addresses is not true")
    for one in [*suffixes, *names]:
        if not re.fullmatch(r"[A-Za-z0-9._\-]{2,253}", one) or not one.strip("."):
            raise _MistakeError(f"{clip(repr(one), 60)} is no host name")
    return host_finder(suffixes, names, private, _texts(entry, "except"))


def _limit(entry: Mapping[str, Any]) -> Gate:
    what, per, most = entry.get("count"), entry.get("per"), entry.get("at_most")
    if not _one_of(what, COUNTED):
        raise _MistakeError(f"count is none of {', '.join(COUNTED)}")
    if not _one_of(per, PERIODS_S):
        raise _MistakeError(f"per is none of {', '.join(PERIODS_S)}")
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise _MistakeError("at_most is no whole number")
    return Limit(what, PERIODS_S[per], most)


def _quiet(entry: Mapping[str, Any]) -> Gate:
    begin, end = _minutes(entry, "from"), _minutes(entry, "to")
    if begin == end:
        raise _MistakeError("from and to are the same time")
    days = _texts(entry, "days") if "days" in entry else list(DAYS)
    if not days or not set(days) <= set(DAYS):
        raise _MistakeError(f"days are some of {', '.join(DAYS)}")
    return QuietHours(begin, end, frozenset(map(DAYS.index, days)), _zone(entry.get("zone", "local")))


def _minutes(entry: Mapping[str, Any], name: str) -> int:
    found = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", str(entry.get(name)))
    if found is None:
        raise _MistakeError(f"{name} is no time of day such as 22:30")
    return int(found[1]) * 60 + int(found[2])


def _zone(name: Any) -> Any:
    if name == "local":
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except Exception as error:  # Unknown names raise one of several kinds; so does a system without a zone database.
        raise _MistakeError(f"zone {clip(repr(name), 60)} is not known on this system; local always is") from error


KINDS: dict[str, tuple[frozenset[str], Callable[[Mapping[str, Any]], Finder | Gate]]] = {
    "identifier": (frozenset({"shapes", "patterns", "ignore_case", "check"}), _identifier),
    "card-number": (frozenset(), lambda _: find_card),
    "iban": (frozenset(), lambda _: find_iban),
    "email": (frozenset({"except"}), lambda entry: mail_finder(_texts(entry, "except"))),
    "internal-host": (frozenset({"suffixes", "names", "private_addresses", "except"}), _hosts),
    "credential": (frozenset(), lambda _: find_credential),
    "injection": (frozenset(), lambda _: find_override),
    "invisible-text": (frozenset(), lambda _: find_hidden),
    "limit": (frozenset({"count", "per", "at_most"}), _limit),
    "quiet-hours": (frozenset({"from", "to", "days", "zone"}), _quiet),
}
"""Every kind of rule: the entries it takes beside the common ones, and what makes it."""
