"""The answer to "did it land?": one of three words, the evidence in plain sentences, and when it was gathered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..inert import clip, inert
from ..records import Inert, utc_text

LANDED, ABSENT, UNKNOWN = "landed", "absent", "unknown"

VERDICTS = (LANDED, ABSENT, UNKNOWN)

SENTENCE = 400
"""Characters of one sentence that are kept."""

SENTENCES = 8
"""Sentences of one verdict that are kept."""

_QUOTED = 80


@dataclass(frozen=True, slots=True)
class Verdict:
    """`evidence` is never empty: each sentence inert, foreign text in it quoted. `checked_at`: seconds since 1970."""

    verdict: str
    evidence: tuple[Inert, ...]
    checked_at: float


def landed(at: float, *evidence: str) -> Verdict:
    """The effect is there, and this call is the only explanation."""
    return _verdict(LANDED, at, evidence)


def absent(at: float, *evidence: str) -> Verdict:
    """The effect would have to be in a place that was read, and is not there."""
    return _verdict(ABSENT, at, evidence)


def unknown(at: float, *evidence: str) -> Verdict:
    """It cannot be told; the evidence says why."""
    return _verdict(UNKNOWN, at, evidence)


def _verdict(verdict: str, at: float, evidence: tuple[str, ...]) -> Verdict:
    if not evidence:
        raise ValueError("a verdict without evidence")
    return Verdict(verdict, tuple(inert(clip(text, SENTENCE)) for text in evidence[:SENTENCES]), at)


Finding = tuple[str, str]
"""One of the three words, and the sentence for it: what is said of one part of a call."""


def together(at: float, found: Sequence[Finding]) -> Verdict:
    """One verdict for all parts of a call: landed or absent only where every part is."""
    words = {word for word, _ in found}
    sentences = list(dict.fromkeys(text for _, text in found))
    if len(words) > 1 and UNKNOWN not in words:
        sentences.insert(0, "A part of it landed, and a part did not.")
    return _verdict(words.pop() if len(words) == 1 else UNKNOWN, at, tuple(sentences))


def quoted(text: object, limit: int = _QUOTED) -> str:
    """Foreign text inside a sentence: one inert line between double quotes; no quote of its own ends ours, and no
    secret is in it: what is read from the host's own stores was not redacted when it was recorded."""
    from ..redact import redact_start  # Costs more than all of this module, and who only reads verdicts needs it not.

    shown = inert(clip(redact_start(str(text), limit + 1), limit)).replace("`", "'")
    return json.dumps(shown, ensure_ascii=False)


def verdict_json(ledger_id: int, tool_name: str, verdict: Verdict) -> Mapping[str, Any]:
    """The shape of `verify --json` for one call."""
    return {
        "ledger_id": ledger_id,
        "tool_name": tool_name,
        "verdict": verdict.verdict,
        "evidence": list(verdict.evidence),
        "checked_at": utc_text(verdict.checked_at),
    }
