"""Which plugins a host's `config.yaml` enables; changes that by whole lines, so that every comment stays.

This is no YAML reader. It understands the shapes that people and the host write, and refuses every other one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SCALAR = r"""(?:[A-Za-z0-9_][\w./@+-]*|"[^"\\]*"|'[^']*')"""
_KEY = re.compile(r"""^( *)("[^"\\]*"|'[^']*'|[A-Za-z_][\w.-]*) *:(?: +(.*)|)$""")
_ITEM = re.compile(rf"^( *)- +({_SCALAR}) *(#.*)?$")
_BLOCK_TEXT = re.compile(r"[:-] +[|>][-+0-9]*(?: +#.*)?$")
_EMPTY = ("", "{}", "null", "~")


class ShapeError(ValueError):
    """The file cannot be changed safely by lines; the text says why."""


@dataclass(frozen=True, slots=True)
class PluginLists:
    """`enabled` is None where the file has no such list: the host then loads no plugin of the person's."""

    enabled: tuple[str, ...] | None
    disabled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _List:
    """One list under `plugins`: the line of its key, its values, and how it is written."""

    line: int
    indent: int
    value: str
    """What stands behind the colon, its comment left out."""
    names: tuple[str, ...]
    items: tuple[int, ...]
    """Lines of its items; empty for a list in brackets."""
    item_indent: int


@dataclass(frozen=True, slots=True)
class _Section:
    line: int
    value: str
    indent: int
    """Indent of its entries; 0 where it has none."""
    lists: dict[str, _List]


def read(text: str) -> PluginLists:
    """The two lists. Raises ShapeError where this cannot be told for certain."""
    section = _section(_lines(text))
    if section is None:
        return PluginLists(None, ())
    enabled, disabled = section.lists.get("enabled"), section.lists.get("disabled")
    return PluginLists(
        None if enabled is None or not (enabled.names or enabled.value) else enabled.names,
        disabled.names if disabled is not None else (),
    )


def enable(text: str, name: str) -> str:
    """`text` with plugin `name` enabled and no longer disabled. Raises ShapeError."""
    out = _without(text, "disabled", name)
    before = read(out)
    if name not in (before.enabled or ()):
        out = _with_enabled(out, name)
    _check(out, name, enabled=True)
    return out


def disable(text: str, name: str) -> str:
    """`text` with plugin `name` taken out of the enabled ones. Raises ShapeError."""
    out = _without(text, "enabled", name)
    _check(out, name, enabled=False)
    return out


def _check(text: str, name: str, *, enabled: bool) -> None:
    """The proof of the pudding: what was written must read as it was meant."""
    lists = read(text)
    if (name in (lists.enabled or ())) is not enabled or (enabled and name in lists.disabled):
        raise ShapeError("its section `plugins` is written in a way that cannot be changed line by line")


# -- reading ---------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """Lines with their ends. A byte order mark stays with the first one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _body(line: str) -> str:
    return line.rstrip("\r\n").removeprefix("\ufeff").rstrip(" ")


def _idle(body: str) -> bool:
    return not body.strip() or body.lstrip(" ").startswith("#")


def _indent(body: str) -> int:
    return len(body) - len(body.lstrip(" "))


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') else text


def _split_comment(text: str) -> tuple[str, str]:
    """(value, spaces and comment behind it)."""
    quote = ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#" and (place == 0 or text[place - 1] == " "):
            value = text[:place].rstrip(" ")
            return value, text[len(value) :]
    return text.rstrip(" "), ""


def _section(lines: list[str]) -> _Section | None:
    """The section `plugins`. Raises ShapeError for a file or section of an unknown shape."""
    tops = _top_keys(lines)
    ours = [place for place, (_, name) in enumerate(tops) if name == "plugins"]
    if not ours:
        return None
    if len(ours) > 1:
        raise ShapeError("it has more than one section `plugins`")
    start = tops[ours[0]][0]
    end = tops[ours[0] + 1][0] if ours[0] + 1 < len(tops) else len(lines)
    match = _KEY.match(_body(lines[start]))
    value, _ = _split_comment((match[3] if match else "") or "")
    if value not in _EMPTY:
        raise ShapeError("its section `plugins` is written on one line")
    return _entries(lines, start, end, value)


def _top_keys(lines: list[str]) -> list[tuple[int, str]]:
    tops: list[tuple[int, str]] = []
    open_value = False
    for number, line in enumerate(lines):
        body = _body(line)
        if _idle(body) or (body.startswith(" ") and tops):
            continue
        if body.startswith("\t"):
            raise ShapeError(f"its line {number + 1} is indented with a tab")
        if body == "---" and not tops:
            continue
        if body.startswith("- ") and open_value:
            continue
        match = _KEY.match(body)
        if match is None or match[1]:
            raise ShapeError(f"its line {number + 1} has a shape that is not understood")
        tops.append((number, _unquoted(match[2])))
        open_value = not _split_comment(match[3] or "")[0]
    return tops


def _entries(lines: list[str], start: int, end: int, value: str) -> _Section:
    keys: list[tuple[int, str, str]] = []
    indent = 0
    for number in range(start + 1, end):
        body = _body(lines[number])
        if "\t" in body[: len(body) - len(body.lstrip())]:
            raise ShapeError(f"its line {number + 1} is indented with a tab")
        if _idle(body):
            continue
        indent = indent or _indent(body)
        if not indent or _indent(body) < indent:
            raise ShapeError(f"its line {number + 1} has a shape that is not understood")
        if _indent(body) > indent or (body.lstrip().startswith("- ") and keys):
            continue
        match = _KEY.match(body)
        if match is None:
            raise ShapeError(f"its line {number + 1} has a shape that is not understood")
        keys.append((number, _unquoted(match[2]), _split_comment(match[3] or "")[0]))
    if keys and value:
        raise ShapeError("its section `plugins` is both empty and not")
    lists: dict[str, _List] = {}
    for place, (number, name, inline) in enumerate(keys):
        if name not in ("enabled", "disabled"):
            continue
        if name in lists:
            raise ShapeError(f"its section `plugins` has more than one list `{name}`")
        stop = keys[place + 1][0] if place + 1 < len(keys) else end
        lists[name] = _list(lines, number, stop, indent, inline)
    return _Section(start, value, indent, lists)


def _list(lines: list[str], start: int, stop: int, indent: int, inline: str) -> _List:
    numbers = [n for n in range(start + 1, stop) if not _idle(_body(lines[n]))]
    matches = [_ITEM.match(_body(lines[n])) for n in numbers]
    strange = ShapeError(f"the list in its line {start + 1} has a shape that is not understood")
    if inline and numbers:
        raise strange
    if inline.startswith("["):
        return _List(start, indent, inline, _in_brackets(inline, strange), (), indent + 2)
    if inline not in ("", "null", "~"):
        raise strange
    found = [match for match in matches if match is not None]
    if len(found) < len(matches) or len({len(match[1]) for match in found}) > 1:
        raise strange
    names = tuple(_unquoted(match[2]) for match in found)
    return _List(start, indent, "", names, tuple(numbers), len(found[0][1]) if found else indent + 2)


def _in_brackets(inline: str, strange: ShapeError) -> tuple[str, ...]:
    if not re.fullmatch(rf"\[ *(?:{_SCALAR}(?: *, *{_SCALAR})* *,? *)?\]", inline):
        raise strange
    return tuple(_unquoted(part) for part in re.findall(_SCALAR, inline))


# -- writing ---------------------------------------------------------------------------------------------------------


def _end_of(lines: list[str]) -> str:
    """The line end that this file uses."""
    return "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def _put(lines: list[str], place: int, texts: list[str]) -> str:
    """All lines with `texts` before line `place`."""
    end = _end_of(lines)
    if place and not lines[place - 1].endswith("\n"):
        if any(_BLOCK_TEXT.search(_body(line)) for line in lines):
            raise ShapeError("its last line has no end, and giving it one could change a block of text")
        lines[place - 1] += end
    lines[place:place] = [text + end for text in texts]
    return "".join(lines)


def _with_value(line: str, value: str) -> str:
    """A key's line with another value behind the colon, its comment kept."""
    body = line.rstrip("\r\n")
    head, _, rest = body.partition(":")
    _, comment = _split_comment(rest.lstrip(" "))
    spaced = f" {comment.lstrip(' ')}" if comment else ""
    return f"{head}:{' ' + value if value else ''}{' ' + spaced if spaced else ''}{line[len(body) :]}"


def _with_enabled(text: str, name: str) -> str:
    lines = _lines(text)
    section = _section(lines)
    if section is None:
        return _put(lines, len(lines), ["plugins:", "  enabled:", f"    - {name}"])
    found = section.lists.get("enabled")
    if found is None:
        if section.value:
            lines[section.line] = _with_value(lines[section.line], "")
        indent = " " * (section.indent or 2)
        return _put(lines, section.line + 1, [f"{indent}enabled:", f"{indent}  - {name}"])
    if found.value:
        joined = f"[{', '.join([*_written(found.value), name])}]"
        lines[found.line] = _with_value(lines[found.line], joined)
        return "".join(lines)
    lines[found.line] = _with_value(lines[found.line], "")
    place = (found.items[-1] if found.items else found.line) + 1
    return _put(lines, place, [" " * found.item_indent + f"- {name}"])


def _written(inline: str) -> list[str]:
    return re.findall(_SCALAR, inline)


def _without(text: str, which: str, name: str) -> str:
    lines = _lines(text)
    section = _section(lines)
    found = section.lists.get(which) if section is not None else None
    if found is None or name not in found.names:
        return text
    if found.value:
        left = [part for part in _written(found.value) if _unquoted(part) != name]
        lines[found.line] = _with_value(lines[found.line], f"[{', '.join(left)}]")
        return "".join(lines)
    gone = [number for number, item in zip(found.items, found.names, strict=True) if item == name]
    if len(gone) == len(found.items):
        lines[found.line] = _with_value(lines[found.line], "[]")
    return "".join(line for number, line in enumerate(lines) if number not in gone)
