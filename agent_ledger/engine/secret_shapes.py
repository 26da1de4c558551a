"""Secrets that show by their own shape: tokens with a documented beginning, key blocks, headers, options of commands.

Shapes come from public reports (hermes-agent #19845, #17691, #18707, #19202) and from the documented token formats of
the services named below.
"""

from __future__ import annotations

import re

from .secret_values import EDGE, MARK, NAME_HINTS, Q


def _pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(text.replace(r"\b", EDGE), flags)


_TOKENS = (
    # Documented prefixes: OpenAI and kin, GitHub, GitLab, Slack, Google, AWS, Hugging Face, npm, PyPI, Stripe, ...
    r"sk-[A-Za-z0-9_\-]{16,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_\-]{16,}",
    r"xox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"AIza[A-Za-z0-9_\-]{30,}",
    r"(?:AKIA|ASIA(?=[A-Z]*\d))[A-Z0-9]{12,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_\-]{30,}",
    r"dop_v1_[a-f0-9]{40,}",
    r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    r"gsk_[A-Za-z0-9]{16,}",
    r"xai-[A-Za-z0-9_\-]{16,}",
    r"xapp-1-[A-Za-z0-9\-]{10,}",
    r"GOCSPX-[A-Za-z0-9_\-]{16,}",
    r"whsec_[A-Za-z0-9+/=_\-]{16,}",
    r"hvs\.[A-Za-z0-9_\-]{16,}",
    r"dckr_[a-z]{2,4}_[A-Za-z0-9_\-]{16,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{16,}",
)
"""Each is a word of its own, or begins one."""

_OTHER_TOKENS = (
    r"(?:(?<!\d)|(?<=\\u[0-9A-Fa-f]{4}))\d{8,10}:A[A-Za-z][A-Za-z0-9_\-]{30,}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/]+",
    r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w\-]+",
)

_TOKEN_HINTS = (
    "sk-", "k_live_", "k_test_", "gsk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "xox", "aiza",
    "akia", "asia", "hf_", "npm_", "pypi-", "dop_v1", "sg.", "eyj", ":a", "hooks", "xai-", "app-1-",
    "gocsp", "whsec_", "hvs.", "dckr_", "age-secret",
)  # fmt: skip
"""One of these stands in every such token, in small letters."""

_REST = r"(?(2)[^\"'\\\n]+|[^\s\"'\\]+)"
"""Up to the closing quote where group 2 took an opening one, else up to white space."""

_KEEP_HEAD = rf"\g<1>{MARK}"

_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    # (texts of which one must stand in the lowered text, pattern, replacement); the texts make the common case cheap.
    (
        ("-----begin",),  # A private key block, closed or running to the end of the text.
        _pattern(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.S,
        ),
        MARK,
    ),
    (
        _TOKEN_HINTS,
        _pattern("|".join((rf"\b(?:{'|'.join(_TOKENS)})", *_OTHER_TOKENS))),
        MARK,
    ),
    (
        ("://",),  # scheme://user:password@host, or a long user name that is the secret itself
        _pattern(
            r"(\b[a-z][a-z0-9+.\-]{1,20}://(?:[^\s/:@\"'\\]{0,200}:(?!\$|\d{1,5}\Z))?)"
            r"(?:(?<=:)[^\s/\"'\\]{1,500}(?=@|\Z)|(?<=/)[\w\-]{20,}(?=@))",
            re.I,
        ),
        _KEEP_HEAD,
    ),
    (
        ("authorization",),  # Authorization: Bearer abc, "Authorization": "Basic abc", and schemes nobody knows
        _pattern(
            rf"(\b(?:proxy-)?authorization{Q}?\s*[:=]\s*(?:{Q}\s*)?)(?:((?:bearer|basic|token|digest|apikey)\s+)"
            r"[^\s\"'\\,;]{3,}|([a-z][\w\-]*[ \t]+)(?=[^\s\"'\\]*\d|[^\s\"'\\]{16})[^\s\"'\\,;]{6,}"
            r"|[^\s\"'\\,;]{3,})",
            re.I,
        ),
        rf"\g<1>\g<2>\g<3>{MARK}",
    ),
    (
        ("bearer ", "basic "),
        _pattern(r"(\bbearer\s+)(?=[^\s\"'\\]*\d)[A-Za-z0-9._~+/=\-]{12,}", re.I),
        _KEEP_HEAD,
    ),
    (
        ("basic ",),  # Base64 mixes its letters; a word of prose has capitals in front at most.
        _pattern(r"(\b[Bb]asic\s+)(?=[^\s\"'\\]+[A-Z])(?=[^\s\"'\\]*[a-z0-9])[A-Za-z0-9+/]{8,}={0,2}(?![\w\-])"),
        _KEEP_HEAD,
    ),
    (("cookie",), _pattern(rf"(\b(?:set-)?cookie{Q}?\s*:\s*{Q}?)[^\"'\\\r\n]{{3,}}", re.I), _KEEP_HEAD),
    (
        ("curl",),  # curl -u user:password
        _pattern(
            r"(\bcurl\b[^|;&\n]{0,300}?\s(?:-u|-U|--user|--proxy-user)[ =]*(\\*[\"'])?[^\s:\"'\\]{1,100}:)" + _REST
        ),
        _KEEP_HEAD,
    ),
    (("sshpass",), _pattern(r"(\bsshpass\s+-p\s*(\\*[\"'])?)" + _REST), _KEEP_HEAD),
    (("mysql",), _pattern(r"(\bmysql(?:dump|admin)?\b[^|;&\n]{0,300}?\s-p(\\*[\"'])?)" + _REST), _KEEP_HEAD),
    (("login",), _pattern(r"(\blogin\s+\S{1,100}\s+password\s+)[^\s\"'\\]+"), _KEEP_HEAD),
    (
        ("login",),
        _pattern(
            r"(\b(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|oc|az)\b[^|;&\n]{0,100}?"
            r"\blogin\b[^|;&\n]{0,200}?\s-p[ =]?\s*(\\*[\"'])?)" + _REST
        ),
        _KEEP_HEAD,
    ),
    (("redis-cli",), _pattern(r"(\bredis-cli\b[^|;&\n]{0,200}?\s-a\s*(\\*[\"'])?)" + _REST), _KEEP_HEAD),
    (
        ("pass", "identified by"),  # SQL: PASSWORD 'x', IDENTIFIED BY 'x'
        _pattern(
            r"(\b(?:password|passphrase|identified(?:\s+with\s+\S{1,40})?\s+(?:by|as))\s+(?:is\s+)?(?:E|N)?\\*')[^'\n\\]{1,200}(?=\\*')",
            re.I,
        ),
        _KEEP_HEAD,
    ),
)


_RARE = "-zjkwyb_:.gpcuiso"
"""Characters that much text lacks, rarest first; one of them stands in every hint. Not `x`, which fills texts."""


def _any_of(hints: set[str]) -> re.Pattern[str]:
    """A pattern that finds one of these, in one pass that stops only where the rarest character of a hint stands.

    Left out is a hint that contains another: where it stands, the other stands too.
    """
    by_rarest: dict[str, list[str]] = {}
    for hint in sorted(hints):
        if not any(other in hint for other in hints - {hint}):
            by_rarest.setdefault(next(mark for mark in _RARE if mark in hint), []).append(hint)
    return re.compile("|".join(f"{re.escape(mark)}(?:{_around(mark, found)})" for mark, found in by_rarest.items()))


def _around(mark: str, hints: list[str]) -> str:
    """What stands before and after `mark` in one of these."""
    parts = (hint.partition(mark) for hint in hints)
    return "|".join(f"(?<={re.escape(head + mark)}){re.escape(tail)}" for head, _, tail in parts)


_HINT = _any_of({hint for hints, _, _ in _RULES for hint in hints} | set(NAME_HINTS))


def may_hold_secret(text: str) -> bool:
    """False only where no pattern can match. A microsecond or two, so that the common case stays cheap."""
    return _HINT.search(text.lower()) is not None


def redact_shapes(text: str) -> tuple[str, int]:
    """`text` without what shows by its shape, and how many were taken out."""
    lowered = text.lower()
    total = 0
    for hints, pattern, replacement in _RULES:
        if any(map(lowered.__contains__, hints)):
            text, count = pattern.subn(replacement, text)
            total += count
    return text, total
