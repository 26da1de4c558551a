"""How things look everywhere: state glyphs and words, times in few cells, text that fits a cell."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime, tzinfo
from functools import lru_cache

from rich.cells import cell_len, get_character_cell_size

GLYPHS: Mapping[str, str] = {
    "pending": "○",
    "overdue": "▲",
    "ghost": "◆",
    "confirmed": "✓",
    "error": "✗",
    "revived": "↺",
}
"""One narrow glyph a state. It always stands beside the word or a number, so that colour is never alone."""

VERDICT_GLYPHS: Mapping[str, str] = {"landed": "↓", "absent": "∅", "unknown": "?", "": "·"}
"""The same for whether a call landed; the empty name stands for calls that nobody has checked."""

HEALTH_GLYPHS: Mapping[str, str] = {
    "ok": "●",
    "missing": "◌",
    "stale": "▲",
    "unreadable": "✕",
    "foreign-owner": "✕",
    "degraded": "⚠",
}

HEALTH_WORDS: Mapping[str, str] = {"ok": "live", "foreign-owner": "not ours"}
"""Words for a source's state where the state's own name is not one."""

NO_SESSION = "(no session)"


def age_text(seconds: float | None) -> str:
    """How long ago, in at most seven cells: `12s`, `4m 05s`, `2h 10m`, `3d 04h`."""
    if seconds is None:
        return "?"
    whole = int(max(0.0, seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d {hour:02d}h" if days < 100 else f"{days}d"
    if hours:
        return f"{hours}h {minute:02d}m"
    return f"{minutes}m {second:02d}s" if minutes else f"{second}s"


def coarse_age_text(seconds: float | None) -> str:
    """The same without seconds beyond the first minute, so that an old row is repainted once a minute at most."""
    if seconds is None or seconds < 60 or seconds >= 3600:
        return age_text(seconds)
    return f"{int(seconds // 60)}m"


def late_text(seconds: float) -> str:
    """How long past its time, in the largest unit only and at most nine cells: `45s late`, `10h late`, `12d late`."""
    whole = int(max(0.0, seconds))
    for size, unit in ((365 * 86_400, "y"), (86_400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit} late"
    return f"{whole}s late"


def countdown_text(seconds: float) -> str:
    """Time that is left, rounded up to the second, in at most nine cells: `1:48`, `1:02:03`; days as an age."""
    whole = max(0, -int(-seconds // 1))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    if hours >= 100:
        return age_text(whole)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minutes}:{second:02d}"


def took_text(milliseconds: float | None) -> str:
    """A duration in at most six cells: `8ms`, `1.4s`, `2m 05s`."""
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{int(milliseconds)}ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f}s"
    return age_text(milliseconds / 1000)


def clock_text(at: float | None, now: float, zone: tzinfo | None) -> str:
    """Time of day where it was today, else month and day with the minute. Eleven cells at most."""
    if at is None:
        return "?"
    moment, today = datetime.fromtimestamp(at, zone), datetime.fromtimestamp(now, zone)
    if moment.date() == today.date():
        return f"{moment:%H:%M:%S}"
    return f"{moment:%m-%d %H:%M}" if moment.year == today.year else f"{moment:%Y-%m-%d}"


def short_clock_text(at: float | None, now: float, zone: tzinfo | None) -> str:
    """The same in eight cells at most: another day loses its time of day."""
    text = clock_text(at, now, zone)
    return text if len(text) <= 8 else text[:5] if text[5] == " " else text[:7]


def count_text(number: int) -> str:
    """A count with thin groups: `1,048,576`."""
    return f"{number:,}"


def short_count(number: int) -> str:
    """A count in at most four cells: `950`, `12k`, `3M`."""
    if number < 1000:
        return str(number)
    return f"{number // 1000}k" if number < 1_000_000 else f"{number // 1_000_000}M"


_MARKS_KEPT = 2


def _steady(text: str) -> str:
    """`text` without what makes terminals disagree about widths: variation selectors, and stacks of marks."""
    out: list[str] = []
    marks = 0
    for character in text:
        if 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF:
            continue
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MARKS_KEPT:
            out.append(character)
    return "".join(out)


@lru_cache(maxsize=2048)
def fit(text: str, width: int) -> str:
    """`text` in exactly `width` cells: padded, or cut at a character's edge with an ellipsis."""
    if width <= 0:
        return ""
    if text.isascii():
        return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
    text = _steady(text)
    length = cell_len(text)
    if length <= width:
        return text + " " * (width - length)
    kept, used = [], 0
    for character in text:
        size = get_character_cell_size(character)
        if used + size > width - 1:
            break
        kept.append(character)
        used += size
    return "".join(kept) + "…" + " " * (width - 1 - used)


def fit_tail(text: str, width: int) -> str:
    """The same, but what is too long loses its beginning: ids differ at their ends."""
    if not text.isascii() or len(text) <= width or width <= 0:
        return fit(text, width)
    return "…" + text[len(text) - width + 1 :]


def fit_right(text: str, width: int) -> str:
    """The same, set to the right."""
    fitted = fit(text, width)
    bare = fitted.rstrip(" ")
    return " " * (len(fitted) - len(bare)) + bare
