"""Mail addresses, internal host names and private network addresses in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from .text import Text

_LOCAL = re.compile(r"[A-Za-z0-9_%+](?:[A-Za-z0-9._%+'\-]{0,63})\Z")
_DOMAIN = re.compile(r"((?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,62})\.){1,6}[A-Za-z]{2,24})(?![A-Za-z0-9_\-]|\.[A-Za-z0-9])")
_LONGEST_LOCAL, _LONGEST_DOMAIN = 66, 254

Finder = Callable[[Text, int, int], bool]
"""Is there something that begins in the stretch from the first place up to, not including, the second?"""


def mail_finder(but: Collection[str] = ()) -> Finder:
    """Finds mail addresses, except those of the domains in `but` and of what lies below them."""
    allowed = tuple(domain.lower().lstrip("@.") for domain in but)

    def find(text: Text, start: int, end: int) -> bool:
        plain = text.plain
        place = plain.find("@", start, end)
        while place != -1:
            local = _LOCAL.search(plain, max(0, place - _LONGEST_LOCAL), place) if place else None
            domain = _DOMAIN.match(plain, place + 1, place + _LONGEST_DOMAIN) if local else None
            if local and domain and not _is_remote(plain, local[0], domain.end()):
                name = domain[1].lower()
                if not any(name == one or name.endswith("." + one) for one in allowed):
                    return True
            place = plain.find("@", place + 1, end)
        return False

    return find


def _is_remote(plain: str, local: str, end: int) -> bool:
    """`git@host.example:team/project` names a repository, no person."""
    return local == "git" and plain[end : end + 1] in (":", "/")


def host_finder(
    suffixes: Collection[str], names: Collection[str], private_addresses: bool, but: Collection[str] = ()
) -> Finder:
    """Finds hosts below `suffixes`, hosts called one of `names`, and, where asked, addresses of private networks.

    A host whose name is one of `but` may be named.
    """
    allowed = frozenset(name.lower().strip(".") for name in but)
    ends = tuple("." + suffix.lower().strip(".") for suffix in suffixes)
    whole = tuple(name.lower().strip(".") for name in names)

    def find(text: Text, start: int, end: int) -> bool:
        low = text.lower
        return (
            any(_ends_host(low, suffix, start, end, allowed) for suffix in ends)
            or any(_stands_alone(low, name, start, end) for name in whole)
            or (private_addresses and _private(text.plain, start, end))
        )

    return find


def _places(text: str, part: str, start: int, end: int) -> list[int]:
    found, place = [], text.find(part, start, end + len(part) - 1)
    while place != -1:
        found.append(place)
        place = text.find(part, place + 1, end + len(part) - 1)
    return found


def _goes_on(low: str, end: int) -> bool:
    """Does the name continue: with a letter, a dash, or one more label?"""
    after = low[end : end + 2]
    return bool(after) and (after[0].isalnum() or after[0] in "-_" or (after[0] == "." and after[1:].isalnum()))


_LABELS = re.compile(r"[a-z0-9_\-.]{1,200}\Z")


def _ends_host(low: str, suffix: str, start: int, end: int, allowed: frozenset[str]) -> bool:
    for place in _places(low, suffix, start, end):
        after = place + len(suffix)
        if not low[place - 1 : place].isalnum() or _goes_on(low, after):
            continue
        labels = _LABELS.search(low, max(0, place - 200), place)
        if labels is None or (labels[0] + suffix).strip(".") not in allowed:
            return True
    return False


def _stands_alone(low: str, name: str, start: int, end: int) -> bool:
    return any(
        not (place and (low[place - 1].isalnum() or low[place - 1] in "-_.")) and not _goes_on(low, place + len(name))
        for place in _places(low, name, start, end)
    )


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PRIVATE = re.compile(
    rf"(?<![A-Za-z0-9_.\-])(?:10\.{_OCTET}|172\.(?:1[6-9]|2[0-9]|3[01])|192\.168)\.{_OCTET}\.{_OCTET}"
    r"(?![A-Za-z0-9_\-]|\.[0-9])"
)
_VERSION = re.compile(r"(?i)(?:version|release|ver|v|==|>=|<=|~=|\^)[\"']?[ :=]*[\"']?\Z")


def _private(plain: str, start: int, end: int) -> bool:
    """An address of RFC 1918, where the words before it do not call it a version."""
    for found in _PRIVATE.finditer(plain, start, min(len(plain), end + 16)):
        if found.start() >= end:
            return False
        if not _VERSION.search(plain[max(0, found.start() - 12) : found.start()]):
            return True
    return False
