"""What a host's report of an outcome means: status, effect, exit code, and the start of the result's text.

Statuses and error types as Hermes 0.19 and 0.22 send them with `post_tool_call`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .fingerprint import plain
from .records import CONFIRMED, DIGEST_LIMIT, ERROR_PREFIX, storable
from .redact import redact_start, redact_text

_BY_STATUS = frozenset({"blocked", "timeout", "cancelled"})

_NEVER_STARTED = frozenset(
    {
        "plugin_block",
        "guardrail_block",
        "tool_scope_block",
        "invalid_tool_arguments",
        "suspected_pruned_tool_arguments",
        "edit_approval_denied",
        "edit_approval_error",
    }
)
"""Error types with which the host says that it refused before the tool ran."""

_LONGEST_PARSED = 200_000
"""Characters of a result that are parsed for an `error`, where the host names no status."""


@dataclass(slots=True)
class Outcome:
    """How a call ended: `status` CONFIRMED or `ERROR:<type>`, `effect` done, none or unknown."""

    status: str
    effect: str
    exit_code: int | None
    duration_ms: int | None
    digest: str | None

    @property
    def confirmed(self) -> bool:
        return self.status == CONFIRMED


def judge(
    *,
    tool_name: str,
    result: Any,
    status: object,
    error_type: object,
    duration_ms: object,
    redact: bool,
) -> Outcome:
    """The outcome that a `post_tool_call` reports.

    Hermes 0.19 calls a command with a failing exit code "ok" and 0.22 calls it an error; both become one here.
    """
    text = result_text(result)
    exit_code = _exit_code(tool_name, result, text)
    kind = _error_kind(status, _without_secrets(error_type) if redact else error_type, exit_code, result, text)
    if kind is None:
        final, effect = CONFIRMED, "done"
    else:
        final = ERROR_PREFIX + kind
        never = kind == "blocked" or error_type in _NEVER_STARTED
        effect = "none" if never else "unknown"
    return Outcome(final, effect, exit_code, _whole(duration_ms), digest(text, redact=redact))


def _whole(value: object) -> int | None:
    """A number as the ledger takes it, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -(2.0**63) < value < 2.0**63:
        return None
    return int(value)


def unannounced(outcome: Outcome) -> Outcome:
    """The same for a call without a `pre_tool_call`: what was cancelled then never started."""
    return replace(outcome, effect="none") if outcome.status == f"{ERROR_PREFIX}cancelled" else outcome


def _error_kind(status: object, error_type: object, exit_code: int | None, result: Any, text: str | None) -> str | None:
    if isinstance(status, str) and status in _BY_STATUS:
        return status
    kind = error_type if isinstance(error_type, str) and error_type else None
    if status in ("ok", "success"):
        return "tool_error" if exit_code else None
    if isinstance(status, str) and status:
        return _word(kind or "error")
    # No status at all: the host derives it from a truthy `error` in a JSON result, and so do we.
    if kind is not None:
        return _word(kind)
    return "tool_error" if exit_code or _has_error(result, text) else None


def _without_secrets(error_type: object) -> object:
    return redact_text(error_type)[0] if isinstance(error_type, str) else error_type


def _word(kind: str) -> str:
    return "".join(c if c.isalnum() or c in "_.-" else "_" for c in kind)[:60] or "error"


def _has_error(result: Any, text: str | None) -> bool:
    data = result if isinstance(result, Mapping) else _object(text)
    return bool(data and data.get("error"))


def result_text(result: Any) -> str | None:
    """The result as the host gave it: its own text, or the JSON of a structured one."""
    if result is None or isinstance(result, str):
        return result
    if isinstance(result, bytes):
        return result[: 4 * DIGEST_LIMIT].decode("utf-8", "replace")
    try:
        return json.dumps(result, ensure_ascii=False, default=str)
    except Exception:  # A result may be anything, with a `__str__` that raises.
        return plain(result)


def digest(text: str | None, *, redact: bool) -> str | None:
    """The first `DIGEST_LIMIT` characters without secrets. Redacted on a longer piece, so none is cut in half."""
    if text is None:
        return None
    start = redact_start(text, DIGEST_LIMIT) if redact else text[:DIGEST_LIMIT]
    return storable(start)[:DIGEST_LIMIT]


_EXIT_CODE = re.compile(r'"exit_code"\s*:\s*(-?\d{1,10})')
"""The name with its quotes bare: inside the output, which is a JSON string, they would be escaped."""


def _exit_code(tool_name: str, result: Any, text: str | None) -> int | None:
    if tool_name != "terminal" or not text:
        return None
    if type(result) is not str and isinstance(result, Mapping):  # The class alone is told ten times as fast.
        return _whole(result.get("exit_code"))
    if text[0] != "{":
        return None
    # The host writes it behind the output, which may be long.
    at = text.rfind('"exit_code"')
    found = _EXIT_CODE.match(text, at) if at >= 0 else None
    return int(found.group(1)) if found else None


def _object(text: str | None) -> Mapping[str, Any] | None:
    if not text or text[0] != "{" or len(text) > _LONGEST_PARSED:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
