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

from .fingerprint import plain

MARK = "[redacted]"

_NAME = (
    r"(?:pass(?:wd|word|phrase|code)|(?<!by)(?<!com)(?<!tres)(?<!sur)(?<!over)(?<!under)pass|pwd|secret|token|credential"
    r"|(?:private|api|access|account|auth|encryption|signing|subscription)[_-]?key|bearer)"
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
    r"\b(?:AKIA|ASIA(?=[A-Z]*\d))[A-Z0-9]{12,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[A-Za-z0-9_\-]{30,}",
    r"\bdop_v1_[a-f0-9]{40,}",
    r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    r"\b\d{8,10}:AA[A-Za-z0-9_\-]{30,}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/]+",
)

_VALUE = (
    # "quoted", where a backslash hides a quote; \"quoted inside JSON\"; or bare up to white space and separators.
    r"(?:(?P<quote>[\"'])(?P<quoted>(?:\\(?:.|\Z)|(?!(?P=quote))[^\\])*)(?P<end>(?P=quote)|\Z)"
    r"|(?P<quote2>\\+[\"'])(?P<quoted2>(?:(?!(?<!\\)(?P=quote2)).)*)(?P<end2>(?P=quote2)|\Z)"
    r"|(?P<bare>(?:[^\s\"'\\,;&|)}\]]|,(?=[^\s\"'\\]))+))"
)

_ASSIGNMENT = re.compile(
    rf"(?P<head>(?<![A-Za-z0-9])[A-Za-z0-9_.\-]{{0,40}}{_NAME}{_Q}?\s*(?:=|:=|=>|:)\s*){_VALUE}", re.I | re.S
)
"""NAME=value, "name": "value", name: value."""

_FLAG = re.compile(rf"(?P<head>(?:^|\s)--?[A-Za-z0-9_\-]{{0,30}}{_NAME}[ \t]+)(?!-){_VALUE}", re.I | re.S)
"""--name value."""

_REST = r"(?(2)[^\"'\\\n]+|[^\s\"'\\]+)"
"""Up to the closing quote where group 2 took an opening one, else up to white space."""

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
        ("://",),  # scheme://user:password@host, or a long user name that is the secret itself
        re.compile(
            r"(\b[a-z][a-z0-9+.\-]{1,20}://(?:[^\s/:@\"'\\]{0,200}:(?!\$|\d{1,5}\Z))?)"
            r"(?:(?<=:)[^\s/\"'\\]{1,500}(?=@|\Z)|(?<=/)[\w\-]{20,}(?=@))",
            re.I,
        ),
        _KEEP_HEAD,
    ),
    (
        ("authorization",),  # Authorization: Bearer abc, "Authorization": "Basic abc", and schemes nobody knows
        re.compile(
            rf"(\b(?:proxy-)?authorization{_Q}?\s*[:=]\s*{_Q}?\s*)(?:((?:bearer|basic|token|digest|apikey)\s+)"
            r"[^\s\"'\\,;]{3,}|([a-z][\w\-]*[ \t]+)(?=[^\s\"'\\]*\d|[^\s\"'\\]{16})[^\s\"'\\,;]{6,}"
            r"|[^\s\"'\\,;]{3,})",
            re.I,
        ),
        rf"\g<1>\g<2>\g<3>{MARK}",
    ),
    (
        ("bearer ", "basic "),
        re.compile(r"(\bbearer\s+)(?=[^\s\"'\\]*\d)[A-Za-z0-9._~+/=\-]{12,}", re.I),
        _KEEP_HEAD,
    ),
    (
        ("basic ",),  # Base64 mixes its letters; a word of prose has capitals in front at most.
        re.compile(r"(\b[Bb]asic\s+)(?=[^\s\"'\\]+[A-Z])(?=[^\s\"'\\]*[a-z0-9])[A-Za-z0-9+/]{8,}={0,2}(?![\w\-])"),
        _KEEP_HEAD,
    ),
    (("cookie",), re.compile(rf"(\b(?:set-)?cookie{_Q}?\s*:\s*{_Q}?)[^\"'\\\r\n]{{3,}}", re.I), _KEEP_HEAD),
    (_NAME_HINTS, _ASSIGNMENT, ""),
    (_NAME_HINTS, _FLAG, ""),
    (
        ("curl",),  # curl -u user:password
        re.compile(
            r"(\bcurl\b[^|;&\n]{0,300}?\s(?:-u|-U|--user|--proxy-user)[ =]*(\\*[\"'])?[^\s:\"'\\]{1,100}:)" + _REST
        ),
        _KEEP_HEAD,
    ),
    (("sshpass",), re.compile(r"(\bsshpass\s+-p\s*(\\*[\"'])?)" + _REST), _KEEP_HEAD),
    (("mysql",), re.compile(r"(\bmysql(?:dump|admin)?\b[^|;&\n]{0,300}?\s-p(\\*[\"'])?)" + _REST), _KEEP_HEAD),
    (("login",), re.compile(r"(\blogin\s+\S{1,100}\s+password\s+)\S+"), _KEEP_HEAD),
)

_HARMLESS = re.compile(
    r"(?i)^(?:true|false|null|none|\d{1,6}|\$\{?\w+\}?|\$\(.*|<[^>]*>|\*+|x+|\.\.\.|…|required|optional|string|str|int)$"
)


_RARE = "zxjkwyb_-:.gpc"
"""Characters that much text lacks, rarest first. One look for a character costs a tenth of one for a text."""


def _by_rarest(hints: set[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Hints under the rarest character they contain; under the empty text those that contain none.

    Left out is a hint that contains another: where it stands, the other stands too.
    """
    needed = sorted(hint for hint in hints if not any(other in hint for other in hints - {hint}))
    groups: dict[str, list[str]] = {}
    for hint in needed:
        groups.setdefault(next((mark for mark in _RARE if mark in hint), ""), []).append(hint)
    return tuple((mark, tuple(group)) for mark, group in groups.items())


_HINTS = _by_rarest({hint for hints, _, _ in _RULES for hint in hints})


def may_hold_secret(text: str) -> bool:
    """False only where no pattern can match. A few microseconds, so that the common case stays cheap."""
    lowered = text.lower()
    for mark, hints in _HINTS:
        if mark in lowered:
            for hint in hints:
                if hint in lowered:
                    return True
    return False


def redact_text(text: str) -> tuple[str, int]:
    """`text` without its secrets, and how many were taken out."""
    if not may_hold_secret(text):
        return text, 0
    lowered = text.lower()
    total = 0
    for hints, pattern, replacement in _RULES:
        if any(map(lowered.__contains__, hints)):
            text, count = pattern.subn(replacement, text) if replacement else _named(pattern, text)
            total += count
    return text, total


def redact_start(text: str, keep: int) -> str:
    """The first `keep` characters without secrets. Judged on a longer piece, so that none is cut in half.

    A secret that reaches into the first `keep` characters announces itself there, so the rest is only read then.
    """
    if not may_hold_secret(text[: keep + 16]):
        return text[:keep]
    return redact_text(_piece(text, keep + 4096))[0][:keep]


_HALF_WORD = re.compile(r"\S{1,200}\Z")


def _piece(text: str, limit: int) -> str:
    """At most `limit` characters, without the word that the cut goes through: it may be half a secret."""
    return text if len(text) <= limit else _HALF_WORD.sub("", text[:limit])


def _named(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    """Take out what is given under the name of a secret, unless it plainly is none."""
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        head, bare = match["head"], match["bare"]
        value = bare or match["quoted"] or match["quoted2"]
        if not value or value.startswith(MARK[:-1]) or _HARMLESS.match(value) or _is_prose(match, head, bare):
            return match[0]
        count += 1
        quote, end = match["quote"] or match["quote2"] or "", match["end"] or match["end2"] or ""
        return f"{head}{quote}{MARK}{end}"

    return pattern.sub(replace, text), count


_ARTICLE = re.compile(r"(?i)\b(?:the|an?|your|my|our|their|this|that|any|no|new|each|valid|wrong|same)\s+\Z")


def _is_prose(match: re.Match[str], head: str, bare: str | None) -> bool:
    name = head.rstrip(" :=>\t\\\"'")
    if _NOT_SECRET_NAME.search(name):
        return True
    if bare is None:
        return False
    if name.lower().endswith("pwd") and bare[0] in "/~$.":
        return True  # The working directory of a shell.
    return (
        bare.isalpha()
        and bare.islower()
        and bool(_ARTICLE.search(match.string[max(0, match.start() - 12) : match.start()]))
    )


_SHORT_NAME = 15
"""No token format is this short, so an argument's name that is one plain word need not be searched."""


def _is_plain_name(name: str) -> bool:
    return len(name) <= _SHORT_NAME and name.isidentifier()


def redact_name(name: str) -> str:
    """The name of an argument as it may be stored."""
    return name if _is_plain_name(name) else redact_text(name)[0]


@lru_cache(maxsize=512)
def redact_tool(tool_name: str) -> str:
    """The name of a tool as it may be stored. A host has few tools, so each is looked at once."""
    return redact_text(tool_name)[0]


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Does an argument of this name hold a secret, whatever its value looks like?"""
    return _SECRET_NAME.search(name) is not None and _NOT_SECRET_NAME.search(name) is None


_DEEPEST = 40
"""Levels of arguments that are looked at one by one; what lies deeper is treated as one text."""

_MOST_READ = 8
"""Times `limit` that is read at most, should nearly all of it be secrets."""


def redact_value(value: Any, limit: int) -> tuple[Any, int]:
    """A JSON value without its secrets, and how many were taken out; what is no JSON comes back as its text.

    What is stored is shorter than `limit` characters, so no string is read further than that, and when as much has
    been kept the rest is left out.
    """
    work = _Redaction(limit)
    return work.value(value, False, 0), work.hidden


class _Redaction:
    """One pass over the arguments of a call."""

    def __init__(self, limit: int) -> None:
        self.hidden = 0
        self._limit = limit
        self._kept = 0
        self._read = 0

    def value(self, value: Any, secret: bool, depth: int) -> Any:
        """`secret` says that the value stands under the name of one, however deep."""
        if isinstance(value, str):
            return self._hide() if secret and value and not _HARMLESS.match(value) else self._text(value)
        self._kept += 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return self._hide() if secret and not _HARMLESS.match(str(value)) else value
        if depth >= _DEEPEST or not isinstance(value, (Mapping, list, tuple)):
            return self._hide() if secret else self._text(plain(value))
        if isinstance(value, Mapping):
            return self._mapping(value, secret, depth + 1)
        out = []
        for item in value:
            if self._enough():
                out.append("…")
                break
            out.append(self.value(item, secret, depth + 1))
        return out

    def _mapping(self, value: Mapping[Any, Any], secret: bool, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for name, item in value.items():
            if self._enough():
                out["…"] = "…"
                break
            below = secret or (isinstance(name, str) and is_secret_name(name))
            out[self._name(name)] = self.value(item, below, depth)
        return out

    def _name(self, name: Any) -> Any:
        if name is None or isinstance(name, (int, float)) or (isinstance(name, str) and _is_plain_name(name)):
            return name
        return self._text(name if isinstance(name, str) else plain(name))

    def _text(self, text: str) -> str:
        piece = _piece(text, self._limit)
        self._read += len(piece)
        out, hidden = redact_text(piece)
        self.hidden += hidden
        self._kept += len(out)
        return out

    def _hide(self) -> str:
        self.hidden += 1
        self._kept += len(MARK)
        return MARK

    def _enough(self) -> bool:
        return self._kept > self._limit or self._read > _MOST_READ * self._limit
