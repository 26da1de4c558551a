"""One recorded call in words that fit a line: what it did, and what came of it. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import ERROR_PREFIX, Call, known_status, too_deep, utc_seconds

_TELLING = ("action", "command", "path", "file_path", "name", "goal", "title", "url", "task", "code")
"""Arguments that say most about a call, in the order in which they are shown."""

GIST_LIMIT = 400
"""Characters that a gist may have: more than any terminal is wide."""


def error_type(call: Call) -> str:
    """`timeout` of `ERROR:timeout`; empty for other statuses of ours, and what others wrote called unknown."""
    if not known_status(call.status):
        return f"unknown ({call.status})" if call.status else "unknown"
    return call.status[len(ERROR_PREFIX) :] if call.status.startswith(ERROR_PREFIX) else ""


def gist(call: Call) -> str:
    """What the call was asked to do, in one line: the telling arguments first, then the others by name."""
    return _gist(call.args_json, call.args_cut) if call.args_json else ""


@lru_cache(maxsize=1024)
def _gist(args_json: str, cut: bool) -> str:
    args, lost = readable_head(args_json) if cut else (_parsed(args_json), "")
    if not isinstance(args, Mapping):
        return inert(args if isinstance(args, str) else args_json)[:GIST_LIMIT]
    told = [_plain(args[name]) for name in _TELLING if args.get(name) not in (None, "")]
    rest = [f"{name}={_plain(value)}" for name, value in args.items() if name not in _TELLING]
    # JSON escapes were undone by parsing, so what comes out has to be made harmless again.
    return inert("  ".join([*told, *rest, *([lost] if lost else [])])[:GIST_LIMIT])


def _parsed(args_json: str) -> Any:
    try:
        return args_json if too_deep(args_json) else json.loads(args_json)
    except ValueError:
        return args_json


def readable_head(cut_json: str) -> tuple[dict[str, Any] | None, str]:
    """The arguments that can be read from the start of a JSON object, or None where it starts no object.

    A value that was cut through ends in an ellipsis. The second text is an ellipsis where whole arguments were cut off.
    """
    read = json.JSONDecoder(strict=False).raw_decode
    found: dict[str, Any] = {}
    if not cut_json.startswith("{") or too_deep(cut_json):
        return None, ""
    at = 1
    while name := _NAME.match(cut_json, at):
        key, at = json.loads(name[1], strict=False), name.end()
        try:
            value, end = read(cut_json, at)
        except ValueError:
            end = len(cut_json)
        if end == len(cut_json):  # Also a number may have been longer.
            found[key] = _cut_value(cut_json[at:]) + "…"
            return found, ""
        found[key] = value
        comma = _COMMA.match(cut_json, end)
        if comma is None:
            break
        at = comma.end()
    return (found, "…") if found else (None, "")


_NAME = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:\s*')
_COMMA = re.compile(r"\s*,")
_HALF_ESCAPE = 6
"""Characters of the longest JSON escape, of which a cut may have left less."""


def _cut_value(text: str) -> str:
    """A text without its end as what it means so far; anything else as it is written."""
    if not text.startswith('"'):
        return text
    for less in range(_HALF_ESCAPE):
        try:
            return str(json.loads(text[: len(text) - less] + '"', strict=False))
        except ValueError:
            continue
    return text[1:]


def took_ms(call: Call) -> float | None:
    """How long the call took: as the host measured it, else from its two moments; None where that is not known."""
    if call.duration_ms is not None or not call.settled or call.closed_by == "no-pre":
        return call.duration_ms
    ended = utc_seconds(call.settled_ts)
    return None if call.at is None or ended is None or ended < call.at else (ended - call.at) * 1000


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value[:GIST_LIMIT]
    return json.dumps(value, ensure_ascii=False)[:GIST_LIMIT]


def outcome(call: Call) -> str:
    """What came of a settled call: its error type, a contradiction, the start of the result."""
    parts = [part for part in (error_type(call),) if part]
    if call.later_status is not None:
        parts.append(f"later {call.later_status}")
    if call.exit_code:
        parts.append(f"exit {call.exit_code}")
    if call.result_digest:
        parts.append(call.result_digest)
    return " · ".join(parts)
