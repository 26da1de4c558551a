"""ASI01, as far as calls show it: outside content, then a secret, then something sent away."""

from __future__ import annotations

import re

from ..severity import CRITICAL
from .finding import Finding, finding
from .memory import Session
from .rows import Row

CHAIN_S = 600.0
"""Longest time from the outside content to what is sent."""

_FETCHING = frozenset({"browser_navigate", "browser_exec", "web_extract", "web_search"})
_ADDRESS = re.compile(r"https?://(?!localhost|127\.|\[::1\]|0\.0\.0\.0)", re.I)
_SENDING_TOOL = re.compile(
    r"(?:^|_)(?:send|post|mail|email|publish|reply|comment|upload|dm|message|tweet)(?:_|$)", re.I
)
_SENDING_TEXT = re.compile(
    r"\s(?:-d|-F|-T|--data[\w-]*|--form|--upload-file|--post-(?:data|file)|-X\s*(?:POST|PUT))\b"
    r"|\b(?:scp|sftp|rsync|ncat|netcat|sendmail|mailx?)\s|requests\.(?:post|put)|\bmethod\b.{0,6}\bPOST\b",
    re.I,
)


def names_outside(args_text: str) -> bool:
    """Do the arguments hold an address that is not on this machine?"""
    return "://" in args_text and _ADDRESS.search(args_text) is not None


def is_outside(row: Row) -> bool:
    """Did this call bring in content from elsewhere?"""
    return row.tool_name in _FETCHING or names_outside(row.args_text)


def is_sending(row: Row, kinds: frozenset[str]) -> bool:
    """Did this call send something away? `kinds` are those of its acts."""
    if "exfiltration" in kinds or _SENDING_TOOL.search(row.tool_name):
        return True
    return row.tool_name in ("terminal", "execute_code") and _SENDING_TEXT.search(row.args_text) is not None


def judge(row: Row, session: Session, kinds: frozenset[str]) -> Finding | None:
    """Follows the chain in one session; a finding where all three parts lie within `CHAIN_S`, in this order."""
    if row.at is None:
        return None
    found = None
    if session.secret and is_sending(row, kinds):
        found = _chain(row, row.at, session)
    if "credential-read" in kinds and session.outside:
        session.secret.append((row.at, row.id))
        session.watched_until = row.at + CHAIN_S
    if is_outside(row):
        session.outside.append((row.at, row.id))
    return found


def _chain(row: Row, at: float, session: Session) -> Finding | None:
    for read_at, read_id in reversed(session.secret):
        for came_at, came_id in session.outside:
            if came_id < read_id < row.id and came_at <= read_at and 0 <= at - came_at <= CHAIN_S:
                session.secret.clear()
                text = f"outside content (call {came_id}), then a secret was read (call {read_id}), then this sent away"
                return finding("hijack-chain", "ASI01", CRITICAL, row, text, (came_id, read_id, row.id))
    return None
