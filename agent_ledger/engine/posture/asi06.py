"""ASI06, as far as text shows it: standing orders for later sessions, put where an agent reads them as its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..inert import inert
from ..severity import HIGH, MEDIUM
from .finding import Finding, finding
from .rows import Row

_LASTING = re.compile(
    r"(?:^|/)(?:SOUL|AGENTS|CLAUDE|MEMORY|USER|SKILL|GEMINI)\.md$|(?:^|/)\.(?:cursorrules|hermes\.md)$", re.I
)
_TEXTS = ("content", "new_text", "new_string", "text")

_STANDING = (
    r"\b(?:always|whenever|every time|each time|from now on|in (?:all|every) (?:future )?(?:session|chat|turn)s?)\b"
)
_DOING = (
    r"\b(?:run|execute|call|invoke|use|send|forward|post|upload|e-?mail|bcc|copy|fetch|download|install|curl|wget)\b"
)
_MEANS = (
    r"(?:https?://|\b[\w.+-]+@[\w-]+\.\w|\b(?:terminal|execute_code|write_file|patch|cronjob\w*|delegate_task|memory"
    r"|browser_\w+|mcp__\w+|curl|wget|bash|ssh|scp|nc)\b)"
)
_ORDER = re.compile(
    rf"{_STANDING}[^.\n]{{0,120}}{_DOING}[^\n]{{0,160}}?{_MEANS}|{_STANDING}[^.\n]{{0,120}}{_MEANS}", re.I
)
_SECRECY = re.compile(
    r"\b(?:never|do not|don't)\s+(?:tell|mention|inform|ask|warn|notify|reveal|show)\b"
    r"[^.\n]{0,60}\b(?:user|person|owner|human)\b",
    re.I,
)
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:previous|prior|earlier|above|system)\s+"
    r"(?:instructions?|rules?|prompts?|messages?)",
    re.I,
)
_REFUSING = re.compile(
    r"\b(?:refuse|reject|decline|never|don't|do not|if (?:someone|anyone|a)|attempts?|asks?)\b", re.I
)

_UNSEEN = re.compile(r"\\u(?:200[b-f]|202[a-e]|206[0-9]|feff|00ad|db40|180e)", re.I)
"""Characters that show nothing, as inert text writes them."""


def judge(row: Row, args: Mapping[str, Any]) -> Finding | None:
    """A lasting text that gives orders, hides something, or asks to be kept from the person: the first of these."""
    where = _place(row, args)
    if where is None:
        return None
    text = "\n".join(_texts(args, 0))
    if _UNSEEN.search(inert(text)):
        return finding("hidden-text", "ASI06", HIGH, row, f"characters that nobody sees, written into {where}")
    for rule, severity, pattern in (
        ("secrecy-order", HIGH, _SECRECY),
        ("override-text", HIGH, _OVERRIDE),
        ("standing-order", MEDIUM, _ORDER),
    ):
        match = pattern.search(text)
        if match and not (pattern is _OVERRIDE and _REFUSING.search(text, max(0, match.start() - 60), match.start())):
            return finding(rule, "ASI06", severity, row, f"written into {where}: {text[match.start() :]}")
    return None


def _place(row: Row, args: Mapping[str, Any]) -> str | None:
    """Where the text will be read from later, or None where it is no such place."""
    if row.tool_name == "memory":
        return "memory"
    if row.tool_name == "skill_manage":
        return "a skill"
    path = args.get("path")
    if row.tool_name in ("write_file", "patch") and isinstance(path, str) and _LASTING.search(path):
        return path
    return None


def _texts(value: object, depth: int) -> Iterator[str]:
    """Every text that is written, also inside lists of operations."""
    if depth > 4:
        return
    if isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, str) and name in _TEXTS:
                yield part
            elif isinstance(part, (Mapping, list)):
                yield from _texts(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, depth + 1)
