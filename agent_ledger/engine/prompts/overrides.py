"""Bare orders to drop the instructions that an agent works under, in somebody else's name: the obvious ones.

An order counts where it is given, not where it is talked about: as the first words of a sentence, not in a quotation
within a line, and not after "if", "never" or "an attacker may write" (hermes-agent #92644, defenseclaw 87,
fastapi-blueprint 215). Sentences are read as words, so that this file holds vocabulary and no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .text import Text

Step = tuple[frozenset[str], int, int]
"""Words of which at least and at most so many stand here."""

_AHEAD, _BEHIND = 240, 200
"""Characters that are read after and before the first word of an order."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _one(text: str) -> Step:
    return (_words(text), 1, 1)


_DROP = "ignore disregard forget override bypass discard neglect"
_FILL = "all any every each of the these those and other"
_WHOSE = "previous prior above earlier preceding foregoing original initial existing current your system safety"
_LAW = "instruction instructions prompt prompts guideline guidelines directive directives safeguards guardrails"
_RULES = f"{_LAW} directions orders rules policies constraints restrictions programming training"
_REST: tuple[Step, ...] = ((_words(_FILL), 0, 4), (_words(_WHOSE), 1, 3), (_words(_FILL), 0, 1), _one(_RULES))

_ORDERS: tuple[tuple[Step, ...], ...] = (
    (_one(_DROP), *_REST),
    (_one("stop"), _one("following obeying"), *_REST),
    (_one("do don't dont"), (_words("not"), 0, 1), _one("follow obey"), *_REST),
    (_one("pay"), _one("no"), _one("attention"), _one("to"), *_REST),
    (_one(_DROP), _one("all any every"), (_words("of the these those"), 0, 2), _one(_LAW)),
    (_one(_DROP), (_words("all of the"), 0, 3), _one(_RULES), _one("above before")),
    (_one(_DROP), (_words("all of the"), 0, 3), _one(_RULES), _one("you"), _one("were have"), (_words("been"), 0, 1),
     _one("given told taught")),
    (_one(_DROP), _one("everything all anything"), (_words("that"), 0, 1), _one("above before")),
    (_one(_DROP), _one("everything all anything"), (_words("that"), 0, 1), _one("you"),
     _one("know were have"), (_words("been told given taught"), 0, 2)),
    (_one("you"), _one("are"), (_words("now hereby"), 0, 2), _one("no"), _one("longer"), (_words("an a"), 0, 1),
     _one("bound restricted limited assistant ai")),
    (_one("you"), _one("are"), (_words("now hereby running in entering"), 1, 4),
     _one("developer debug god admin administrator jailbreak unrestricted unfiltered dan"), _one("mode")),
    (_one("you"), _one("are"), _one("now"), (_words("an a"), 0, 1),
     _one("dan unrestricted unfiltered uncensored jailbroken")),
    (_one("reveal print output repeat leak disclose dump"), (_words("me"), 0, 1), _one("your"),
     (_words("full entire exact complete own secret hidden initial original system"), 1, 4),
     _one("prompt instructions")),
    (_one("ignoriere vergiss missachte"), (_words("bitte sofort alle deine die eure"), 0, 4),
     _one("vorherigen bisherigen vorangegangenen obigen früheren"), _one("anweisungen instruktionen vorgaben regeln")),
    (_one("ignore ignorez oublie oubliez"), (_words("toutes les vos tes"), 1, 3), _one("instructions consignes règles"),
     _one("précédentes antérieures")),
    (_one("ignora ignore olvida"), (_words("todas las tus"), 1, 3), _one("instrucciones reglas indicaciones"),
     _one("anteriores previas")),
)  # fmt: skip

_FIRST = {order: order[0][0] for order in _ORDERS}
_BEGINS = re.compile(
    r"\b(?:" + "|".join(sorted({re.escape(word) for first in _FIRST.values() for word in first})) + r")\b"
)

_GAP = 24
"""Between the first two words of an order there is white space and little else."""


def _second(word: str) -> frozenset[str]:
    """Every word that can follow `word` where an order begins with it."""
    found: set[str] = set()
    for order in _ORDERS:
        if word in order[0][0]:
            for allowed, least, _ in order[1:]:
                found |= allowed
                if least:
                    break
    return frozenset(found)


_SECOND = {word: _second(word) for first in _FIRST.values() for word in first}

_LEAD = _words(
    "please now so ok okay also then and but instead first next from on starting as of actually hello hi hey dear"
    " immediately completely kindly simply just you must should shall will bitte ab sofort por favor"
    " system assistant user admin administrator developer ai agent model important urgent attention note notice new"
    " instruction instructions override message prompt inst im start hermes claude chatgpt gpt gemini copilot bot"
    " i can need have want required to"
)
"""Words that may come before an order in its sentence: politeness, addresses, labels."""

_OBLIGES = _words("need have want you required")
"""Words after which "to" leads to an order; elsewhere it names a purpose."""

_JOINS = _words("and then so now please instead but")
"""Words with which an order can follow a comma."""

_TALKED_ABOUT = _words(
    "if when whenever should never not refuse refuses reject rejects resist such example e.g like say says said tell"
    " tells told ask asks asked attempt attempts try tries trying attacker attackers write writes wrote read reads"
    " contain contains mean means meaning phrase phrases injection jailbreak attack attacks detect block flag wenn"
    " falls niemals beispiel schreibt sagt"
)
"""Words that make what follows a colon or a comma a report."""

_QUOTES = frozenset(map(chr, (0x22, 0x60, 0xAB, 0xBB, 0x201C, 0x201D, 0x201E)))
_ENDS, _SOFT = frozenset("\n.!?;"), frozenset(":,")
_TOKEN = re.compile(rf"[^\W\d_]+(?:'[^\W\d_]+)?|[\n.!?;:,{''.join(sorted(_QUOTES))}]")

_ALIKE = {
    0x0430: "a", 0x0435: "e", 0x043E: "o", 0x0440: "p", 0x0441: "c", 0x0443: "y", 0x0445: "x", 0x0456: "i",
    0x0455: "s", 0x0501: "d", 0x03BF: "o", 0x03B1: "a", 0x03B9: "i", 0x04CF: "l", 0x0261: "g", 0x2019: "'",
}  # fmt: skip
"""Cyrillic and Greek letters that look like Latin ones."""


def find_override(text: Text, start: int, end: int) -> bool:
    """Does a sentence in this stretch order the agent to drop its instructions?"""
    begin, until = max(0, start - _BEHIND), min(len(text.lower), end + _AHEAD)
    piece = text.lower[begin:until]
    if not piece.isascii():
        piece = piece.translate(_ALIKE)
    for found in _BEGINS.finditer(piece, start - begin):
        if found.start() >= end - begin:
            return False
        follows = _TOKEN.search(piece, found.end(), found.end() + _GAP)
        if follows is None or follows[0] not in _SECOND[found[0]]:
            continue
        if _is_order(piece[found.start() : found.start() + _AHEAD]) and _is_given(piece, found.start()):
            return True
    return False


def _is_order(piece: str) -> bool:
    words = [word for word in _TOKEN.findall(piece)[:20] if word != "\n"]
    return any(words[0] in first and _fits(words, order) for order, first in _FIRST.items())


def _fits(words: Sequence[str], order: Sequence[Step]) -> bool:
    at = 0
    for allowed, least, most in order:
        taken = 0
        while taken < most and at < len(words) and words[at] in allowed:
            taken, at = taken + 1, at + 1
        if taken < least:
            return False
    return True


def _is_given(piece: str, place: int) -> bool:
    """Do the words before `place` lead up to an order, rather than report one?"""
    before = _TOKEN.findall(piece[max(0, place - _BEHIND) : place])
    joined = quoted = False
    for back in range(len(before) - 1, -1, -1):
        token = before[back]
        if token in _ENDS:
            if token == "." and back and len(before[back - 1]) == 1:
                return False  # "e.g." and its like end no sentence.
            return not (quoted and _is_quotation(piece, place))
        if token in _QUOTES:
            quoted = True
        elif token in _SOFT:
            if token == ":" or joined:
                talked = _sentence(before[:back]) & _TALKED_ABOUT
                return not talked and not (quoted and _is_quotation(piece, place))
        elif token not in _LEAD or (token == "to" and not (back and before[back - 1] in _OBLIGES)):
            return False
        joined = token in _JOINS
    return not (quoted and _is_quotation(piece, place))


def _sentence(before: Sequence[str]) -> frozenset[str]:
    """The words of the sentence that `before` ends with."""
    for back in range(len(before) - 1, -1, -1):
        if before[back] in _ENDS:
            return frozenset(before[back + 1 :])
    return frozenset(before)


def _is_quotation(piece: str, place: int) -> bool:
    """Does the quoted order stand in a line that says something else as well?"""
    line = piece[piece.rfind("\n", 0, place) + 1 : place]
    opened = max(map(line.rfind, _QUOTES))
    if opened == -1:
        return False
    if any(letter.isalnum() for letter in line[:opened]):
        return True
    after = piece[place:].partition("\n")[0]
    closed = min((spot for spot in map(after.find, _QUOTES) if spot != -1), default=-1)
    return closed != -1 and any(letter.isalnum() for letter in after[closed:])
