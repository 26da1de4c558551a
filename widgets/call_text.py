"""One recorded call in words that fit a line: what it did, and what came of it. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import ERROR_PREFIX, Call

_TELLING = ("action", "command", "path", "file_path", "name", "goal", "title", "url", "task", "code")
"""Arguments that say most about a call, in the order in which they are shown."""

GIST_LIMIT = 400
"""Characters that a gist may have: more than any terminal is wide."""


def error_type(call: Call) -> str:
    """`timeout` of `ERROR:timeout`; empty for other statuses."""
    return call.status[len(ERROR_PREFIX) :] if call.status.startswith(ERROR_PREFIX) else ""


def gist(call: Call) -> str:
    """What the call was asked to do, in one line: the telling arguments first, then the others by name."""
    return _gist(call.args_json, call.args_cut) if call.args_json else ""


@lru_cache(maxsize=4096)
def _gist(args_json: str, cut: bool) -> str:
    args = _parsed(args_json) if not cut else args_json
    if not isinstance(args, Mapping):
        return inert(args if isinstance(args, str) else args_json)[:GIST_LIMIT]
    told = [_plain(args[name]) for name in _TELLING if args.get(name) not in (None, "")]
    rest = [f"{name}={_plain(value)}" for name, value in args.items() if name not in _TELLING]
    # JSON escapes were undone by parsing, so what comes out has to be made harmless again.
    return inert("  ".join([*told, *rest])[:GIST_LIMIT])


def _parsed(args_json: str) -> Any:
    try:
        return json.loads(args_json)
    except ValueError:
        return args_json


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
