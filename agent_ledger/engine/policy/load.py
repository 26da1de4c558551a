"""`policy.json`: read, checked, and made into rules; a mistake is named with its line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..inert import clip
from ..severity import SEVERITIES
from .file import PolicyError, read_policy
from .patterns import PatternError, compiled
from .rules import Budget, Rule, ToolPolicy

LARGEST = 1_000_000
"""Bytes of a policy file; a larger one is refused."""

MOST_RULES = 500

_TOP = frozenset({"about", "version", "rules"})
_RULE = frozenset(
    {"name", "about", "enabled", "severity", "message", "tools", "kinds", "at_least", "except_targets", "contains",
     "pattern", "paths", "budget"}
)  # fmt: skip
_CONDITIONS = ("kinds", "contains", "pattern", "paths", "budget", "tools")


class _MistakeError(ValueError):
    pass


def load(path: Path) -> ToolPolicy | PolicyError:
    """The policy in this file, or what is wrong with it. Never raises."""
    try:
        path.stat()
    except FileNotFoundError:
        return PolicyError(str(path), 0, "it is not there; copy policy.example.json to it")
    except (OSError, ValueError):
        pass  # What keeps it from being read is said below.
    text = read_policy(path, LARGEST)
    return text if isinstance(text, PolicyError) else parse(text, str(path))


def parse(text: str, file: str = "policy.json") -> ToolPolicy | PolicyError:
    """The same from the file's text."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        return PolicyError(file, error.lineno, f"it is no JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return PolicyError(file, 0, f"it is no JSON ({error})")
    if not isinstance(data, dict) or not isinstance(data.get("rules"), list):
        return PolicyError(file, 1, "it must be an object with a list named rules")
    unknown = sorted(set(data) - _TOP)
    if unknown:
        return PolicyError(file, _line(text, unknown[0]), f"unknown entry {clip(repr(unknown[0]), 60)}")
    if len(data["rules"]) > MOST_RULES:
        return PolicyError(file, 0, f"it has more than {MOST_RULES} rules")
    lines = _starts(text)
    rules: list[Rule] = []
    for place, entry in enumerate(data["rules"]):
        try:
            rule = _rule(entry)
            if any(one.name == rule.name for one in rules):
                raise _MistakeError(f"a second rule is named {clip(repr(rule.name), 60)}")
        except (_MistakeError, PatternError) as error:
            line = lines[place] if place < len(lines) else 0
            return PolicyError(file, line, f"rule {place + 1}: {error}")
        if entry.get("enabled", True):
            rules.append(rule)
    return ToolPolicy(tuple(rules), str(data.get("about", "")))


def _line(text: str, name: str) -> int:
    at = text.find(json.dumps(name))
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _starts(text: str) -> list[int]:
    """The line on which each rule begins; the text is known to be JSON."""
    decoder, lines = json.JSONDecoder(), []
    at = text.find("[", text.find('"rules"')) + 1
    while 0 < at < len(text):
        while at < len(text) and (text[at].isspace() or text[at] == ","):
            at += 1
        if text[at : at + 1] in ("", "]"):
            break
        lines.append(text.count("\n", 0, at) + 1)
        try:
            _, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
    return lines


def _rule(entry: Any) -> Rule:
    if not isinstance(entry, Mapping):
        raise _MistakeError("it is no object")
    unknown = sorted(set(entry) - _RULE)
    if unknown:
        raise _MistakeError(f"unknown entry {clip(str(unknown[0]), 60)!r}")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _MistakeError("it has no name")
    if not any(condition in entry for condition in _CONDITIONS):
        raise _MistakeError(
            f"{clip(repr(name), 60)} says of no call that it means it: name kinds, tools, paths, contains or pattern"
        )
    if not isinstance(entry.get("enabled", True), bool):
        raise _MistakeError("enabled must be true or false")
    pattern = entry.get("pattern")
    if pattern is not None and not isinstance(pattern, str):
        raise _MistakeError("pattern must be a text")
    return Rule(
        name=name.strip(),
        severity=_severity(entry, "severity"),
        message=_text(entry, "message"),
        tools=_list(entry, "tools"),
        kinds=_list(entry, "kinds"),
        at_least=_severity(entry, "at_least"),
        except_targets=_list(entry, "except_targets"),
        contains=_list(entry, "contains"),
        pattern=compiled(pattern) if pattern else None,
        paths=_list(entry, "paths"),
        budget=_budget(entry),
    )


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise _MistakeError(f"{name} must be a text")
    return clip(value, 400)


def _severity(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "HIGH")
    if value not in SEVERITIES:
        raise _MistakeError(f"{name} must be one of {', '.join(SEVERITIES)}")
    return str(value)


def _list(entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = entry.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise _MistakeError(f"{name} must be a list of texts")
    return tuple(value)


def _budget(entry: Mapping[str, Any]) -> Budget | None:
    value = entry.get("budget")
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value or set(value) - {"calls", "fan_out", "depth"}:
        raise _MistakeError("budget must be an object with calls, fan_out or depth")
    for name, most in value.items():
        if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= 1_000_000:
            raise _MistakeError(f"budget: {name} must be a number of at least 0")
    if any(name in entry for name in ("kinds", "contains", "pattern", "paths")):
        raise _MistakeError("a budget counts calls of tools: only tools may stand beside it")
    return Budget(**value)
