"""Payment cards and bank accounts: digits that pass the check their kind is made with, and nothing that only looks so.

Public sources: ISO/IEC 7812 (Luhn's sum, issuer prefixes), ISO 13616 with the SWIFT registry (length of an IBAN by
country, remainder 97). Product ids, times, hashes and versions stay quiet (llmgateway 3641, traceAI 195,
PraisonAI 1617).
"""

from __future__ import annotations

import re

from .text import Text

_CARDS: tuple[tuple[int, int, int, tuple[int, ...]], ...] = (
    # digits of the prefix, first and last prefix, lengths of the whole number
    (1, 4, 4, (16, 19)),  # Visa; the old length of 13 is that of article numbers too
    (2, 51, 55, (16,)), (4, 2221, 2720, (16,)),  # Mastercard
    (2, 34, 34, (15,)), (2, 37, 37, (15,)),  # American Express
    (4, 6011, 6011, (16, 19)), (3, 644, 649, (16, 19)), (2, 65, 65, (16, 19)),  # Discover
    (3, 300, 305, (14,)), (2, 36, 36, (14,)), (2, 38, 39, (14,)),  # Diners Club
    (4, 3528, 3589, (16, 19)),  # JCB
    (2, 62, 62, (16, 17, 18, 19)),  # UnionPay
    (2, 50, 50, (16, 19)), (2, 56, 58, (16, 19)), (2, 67, 67, (16, 19)),  # Maestro
)  # fmt: skip

_GROUPS = frozenset({(4, 4, 4, 4), (4, 4, 4, 4, 3), (4, 6, 5), (4, 6, 4), (6, 13)})
"""How people write a card number in groups."""

_RUN = re.compile(r"[0-9](?<![0-9]{2})[0-9]{3}(?:[ .\-]?[0-9]){10,124}(?![0-9])")
"""Begins with a set, and looks behind only then: that is what makes a search through a long text fast."""

_LONGEST_RUN = 256

_NAMED_AS_ID = re.compile(
    r"(?i)(?:(?<![a-z])(?:id|sku|ean|gtin|isbn|upc|asin|serial|timestamp|time|ts|epoch|sha|hash|uuid|version|build|commit"
    r"|order|ticket|issue|seed|offset|size|bytes|nonce|product|item|trace|span|request|tracking)|_id|Id|ID)"
    r"(?:[ _\-]?(?:no|nr|number|id))?[\"']?\s*[:=#]?\s*[\"']?\Z"
)
_NAMED_AS_CARD = re.compile(r"(?i)card|karte|\bpan\b|visa|master|amex|credit|kredit|payment")
_LOOK_BACK = 32


_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")


def luhn(digits: str) -> bool:
    """Does the last digit fit the others? Every second one from the right counts twice, less nine above nine."""
    values = digits.encode("ascii")
    total = sum(values[-1::-2]) + sum(values[-2::-2].translate(_DOUBLED)) - 48 * len(values)
    return total % 10 == 0


def _sizes_by_start() -> dict[str, frozenset[int]]:
    """Lengths of card numbers by their first four digits."""
    found: dict[str, frozenset[int]] = {}
    for width, first, last, sizes in _CARDS:
        rest = 4 - width
        for start in range(first * 10**rest, (last + 1) * 10**rest):
            found[str(start)] = found.get(str(start), frozenset()) | frozenset(sizes)
    return found


_SIZES = _sizes_by_start()


def is_card(digits: str) -> bool:
    """A number that an issuer could have given: prefix, length and check digit."""
    return len(digits) in _SIZES.get(digits[:4], ()) and luhn(digits)


def find_card(text: Text, start: int, end: int) -> bool:
    """Is there a card number that begins in this stretch?"""
    plain = text.plain
    for found in _RUN.finditer(plain, start, min(len(plain), end + _LONGEST_RUN)):
        if found.start() >= end:
            return False
        if _holds_card(plain, found.start(), found.end()):
            return True
    return False


def _holds_card(plain: str, start: int, end: int) -> bool:
    groups = re.split(r"[ .\-]", plain[start:end])
    if _inside_word(plain, start, end):
        return False
    sizes = tuple(map(len, groups))
    for first, group in enumerate(groups):
        if group[:4] not in _SIZES:
            continue
        if is_card(group) and not _is_named_id(plain, start):
            return True
        for count in (5, 4, 3, 2):
            if sizes[first : first + count] in _GROUPS and is_card("".join(groups[first : first + count])):
                return True
    return False


def _inside_word(plain: str, start: int, end: int) -> bool:
    """Part of a longer name: a UUID, a hash, a file name, a decimal number."""
    before, after = plain[max(0, start - 2) : start], plain[end : end + 2]
    if before[-1:].isalnum() or before[-1:] == "_" or after[:1].isalnum() or after[:1] == "_":
        return True
    glued_before = before[-1:] in "-./" and before[:1].isalnum() if len(before) == 2 else False
    return glued_before or (after[:1] in ("-", ".") and after[1:].isalnum())


def _is_named_id(plain: str, start: int) -> bool:
    before = plain[max(0, start - _LOOK_BACK) : start]
    return bool(_NAMED_AS_ID.search(before)) and not _NAMED_AS_CARD.search(before)


_LENGTHS = {
    country: size
    for size, countries in {
        15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW YE", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip

_IBAN = re.compile(r"[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})(?<![A-Za-z0-9][A-Za-z]{2}[0-9]{2})(?=[ \-]?[A-Za-z0-9])")
"""The check digits, behind two letters that begin a word."""

_WHOLE = {
    size: re.compile(rf"[A-Za-z0-9]{{4}}(?:[ \-]?[A-Za-z0-9]){{{size - 4}}}(?![A-Za-z0-9_])")
    for size in set(_LENGTHS.values())
}
"""By length: what such a number looks like, single blanks or dashes in it."""

_VALUES = {ord(letter): str(int(letter, 36)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def is_iban(text: str) -> bool:
    """An account number without blanks, in capitals: known country, its length, remainder 1."""
    if _LENGTHS.get(text[:2]) != len(text) or not text.isalnum() or not text.isascii() or not text[2:4].isdigit():
        return False
    return int((text[4:] + text[:4]).translate(_VALUES)) % 97 == 1


def find_iban(text: Text, start: int, end: int) -> bool:
    """Is there an account number that begins in this stretch?"""
    plain = text.plain
    for found in _IBAN.finditer(plain, start, min(len(plain), end + 4)):
        begin = found.start() - 2
        size = _LENGTHS.get(plain[begin : begin + 2].upper())
        whole = _WHOLE[size].match(plain, begin) if size else None
        if whole and is_iban(whole[0].replace(" ", "").replace("-", "").upper()):
            return True
    return False
