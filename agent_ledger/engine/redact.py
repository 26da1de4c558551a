"""Takes secrets out of text before it reaches the disk: keys, tokens, passwords, private key blocks.

Shapes come from public reports (hermes-agent #19845, #17691, #18707, #19202) and from the documented token
formats of the services named below. A secret that runs to the end of the text counts as well, so that
cutting afterwards cannot leave half of one behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

MARK = "[redacted]"

_NAME = (
    r"(?:pass(?:wd|word|phrase|code)?|pwd|secret|token|credential|private[_-]?key|api[_-]?key|apikey|access[_-]?key"
    r"|auth[_-]?key|encryption[_-]?key|signing[_-]?key|client[_-]?secret|bearer)"
)

_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.\s])(?:\w*{_NAME}s?|authorization|cookie|set-cookie|x-api-key)$")
_NOT_SECRET_NAME = re.compile(
    r"(?i)(?:max|num|total|count|limit|budget|used|prompt|completion|input|output)\w*tokens?$|tokens_|token_(?:count|limit)|tokeniz"
)

_Q = r"(?:\\*[\"'])"
"""A quote, also one that is escaped because the text is JSON inside JSON."""

_TOKENS = (
    # Documented prefixes: OpenAI and kin, GitHub, GitLab, Slack, Google, AWS, Hugging Face, npm, PyPI, Stripe, ...
    r"\bsk-[A-Za-z0-9_\-]{16,}",
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_\-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"\bAIza[A-Za-z0-9_\-]{30,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[A-Za-z0-9_\-]{30,}",
    r"\bdop_v1_[a-f0-9]{40,}",
    r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    r"\b\d{8,10}:AA[A-Za-z0-9_\-]{30,}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/]+",
)

_ASSIGNMENT = re.compile(
    rf"(?<![A-Za-z0-9])([A-Za-z0-9_.\-]{{0,40}}{_NAME}{_Q}?\s*(?:=|:=|=>|:)\s*)"
    rf"(?:({_Q})((?:(?!\2).){{1,2000}})(\2|\Z)|([^\s\"'\\,;&|)}}\]]+))",
    re.I | re.S,
)
"""NAME=value, "name": "value", name: value."""

_NAME_HINTS = ("pass", "pwd", "secret", "token", "credential", "key", "bearer")

_KEEP_HEAD = rf"\g<1>{MARK}"

_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    # (texts of which one must stand in the lowered text, pattern, replacement); the texts make the common case cheap.
    (
        ("-----begin",),  # A private key block, closed or running to the end of the text.
        re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.S),
        MARK,
    ),
    (
        (
            "sk-",
            "sk_",
            "rk_",
            "pk_",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat",
            "glpat",
            "xox",
            "aiza",
            "akia",
            "asia",
            "hf_",
            "npm_",
            "pypi-",
            "dop_v1",
            "sg.",
            "eyj",
            ":aa",
            "hooks.slack",
        ),
        re.compile("|".join(_TOKENS)),
        MARK,
    ),
    (
        ("://",),  # scheme://user:password@host
        re.compile(r"(\b[a-z][a-z0-9+.\-]{1,20}://[^\s/:@\"'\\]{0,200}:)[^\s/@\"'\\]{1,500}(?=@|\Z)", re.I),
        _KEEP_HEAD,
    ),
    (
        ("authorization",),  # Authorization: Bearer abc, "Authorization": "Basic abc"
        re.compile(
            rf"(\b(?:proxy-)?authorization{_Q}?\s*[:=]\s*{_Q}?\s*(?:(?:bearer|basic|token|digest|apikey)\s+)?)"
            r"[^\s\"'\\,;]{3,}",
            re.I,
        ),
        _KEEP_HEAD,
    ),
    (
        ("bearer ", "basic "),
        re.compile(r"(\b(?:bearer|basic)\s+)(?=[^\s\"'\\]*[\d/+=_\-])[A-Za-z0-9._~+/=\-]{12,}", re.I),
        _KEEP_HEAD,
    ),
    (("cookie",), re.compile(rf"(\b(?:set-)?cookie{_Q}?\s*:\s*{_Q}?)[^\"'\\\r\n]{{3,}}", re.I), _KEEP_HEAD),
    (_NAME_HINTS, _ASSIGNMENT, ""),
    (
        _NAME_HINTS,  # --name value
        re.compile(rf"((?:^|\s)--?[A-Za-z0-9_\-]{{0,30}}{_NAME}[ \t]+{_Q}?)([^\s\"'\\-][^\s\"'\\]*)", re.I),
        _KEEP_HEAD,
    ),
    (
        ("-u", "--user", "--proxy-user"),  # curl -u user:password
        re.compile(r"((?:^|\s)(?:-u|--user|--proxy-user)[ =]+[\"']?[^\s:\"']{1,100}:)[^\s\"']+"),
        _KEEP_HEAD,
    ),
    (("sshpass",), re.compile(r"(\bsshpass\s+-p\s*[\"']?)[^\s\"']+"), _KEEP_HEAD),
    (("mysql",), re.compile(r"(\bmysql(?:dump|admin)?\b[^|;&\n]*?\s-p)[^\s\"']+"), _KEEP_HEAD),
)

_HARMLESS = re.compile(
    r"(?i)^(?:true|false|null|none|\d{1,6}|\$\{?\w+\}?|\$\(.*|<[^>]*>|\*+|x+|\.\.\.|…|required|optional|string|str|int)$"
)


def _hints_with(mark: str) -> tuple[str, ...]:
    """Hints that contain `mark`, a character that much text lacks."""
    return tuple(hint for hint in _ALL_HINTS if mark in hint)


_ALL_HINTS = tuple(dict.fromkeys(hint for hints, _, _ in _RULES for hint in hints))
_MARKED_HINTS = tuple((mark, _hints_with(mark)) for mark in "_-:.")
_OTHER_HINTS = tuple(hint for hint in _ALL_HINTS if not set(hint) & set("_-:."))


def may_hold_secret(text: str) -> bool:
    """False only where no pattern can match. A few microseconds, so that the common case stays cheap."""
    lowered = text.lower()
    for mark, hints in _MARKED_HINTS:
        if mark in lowered:
            for hint in hints:
                if hint in lowered:
                    return True
    return any(map(lowered.__contains__, _OTHER_HINTS))


def redact_text(text: str) -> tuple[str, int]:
    """`text` without its secrets, and how many were taken out."""
    if not may_hold_secret(text):
        return text, 0
    lowered = text.lower()
    total = 0
    for hints, pattern, replacement in _RULES:
        if any(map(lowered.__contains__, hints)):
            text, count = _assignments(text) if pattern is _ASSIGNMENT else pattern.subn(replacement, text)
            total += count
    return text, total


def redact_start(text: str, keep: int) -> str:
    """The first `keep` characters without secrets. Judged on a longer piece, so that none is cut in half.

    A secret that reaches into the first `keep` characters announces itself there, so the rest is only read then.
    """
    if not may_hold_secret(text[: keep + 16]):
        return text[:keep]
    return redact_text(text[: keep + 4096])[0][:keep]


def _assignments(text: str) -> tuple[str, int]:
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        head, quote, quoted, end, bare = match.groups()
        value = quoted if quote else bare
        name = head.rstrip(" :=>\t\\\"'")
        if not value or value == MARK or MARK in value or _HARMLESS.match(value) or _NOT_SECRET_NAME.search(name):
            return match.group(0)
        count += 1
        return f"{head}{quote or ''}{MARK}{end or ''}"

    return _ASSIGNMENT.sub(replace, text), count


_SHORT_NAME = 15
"""No token format is this short, so the name of an argument need not be searched."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Does an argument of this name hold a secret, whatever its value looks like?"""
    return _SECRET_NAME.search(name) is not None and _NOT_SECRET_NAME.search(name) is None


def redact_value(value: Any, limit: int) -> tuple[Any, int]:
    """A JSON value without its secrets, and how many were taken out.

    No string is read further than `limit` characters: what is stored is shorter than that.
    """
    if isinstance(value, str):
        return redact_text(value[:limit]) if len(value) > limit else redact_text(value)
    if isinstance(value, (int, float)) or value is None:
        return value, 0
    if isinstance(value, (dict, Mapping)):
        return _redact_mapping(value, limit)
    if isinstance(value, (list, tuple)):
        pairs = [redact_value(item, limit) for item in value[:limit]]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    return value, 0


def _is_secret(name: Any, item: Any) -> bool:
    if not isinstance(name, str) or not isinstance(item, str) or not item:
        return False
    return is_secret_name(name) and not _HARMLESS.match(item)


def _redact_mapping(value: Mapping[Any, Any], limit: int) -> tuple[dict[Any, Any], int]:
    out: dict[Any, Any] = {}
    total = 0
    for name, item in value.items():
        clean_name, hidden = redact_text(name) if isinstance(name, str) and len(name) > _SHORT_NAME else (name, 0)
        if _is_secret(name, item):
            item, hidden = MARK, hidden + 1
        total += hidden
        out[clean_name], count = redact_value(item, limit)
        total += count
    return out, total
