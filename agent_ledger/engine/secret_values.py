"""Where the value begins and ends that stands under the name of a secret: `NAME=…`, `"name": …`, `--name …`, pairs.

A name is found by a pattern; what follows it is read piece by piece, as shells, configuration files and programs
write values. Every piece that could hold the secret goes; references (`$NAME`, `os.environ["NAME"]`) stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

MARK = "[redacted]"

NAME = (
    r"(?=[pstcaemb])"  # First letters of what follows: most places are passed over at one look.
    r"(?:pass(?:wd|word|phrase|code)s?|(?<!by)(?<!com)(?<!tres)(?<!sur)(?<!over)(?<!under)pass|pwd|(?<![a-z])pw|(?<=\\[nrt])pw"
    r"|secret(?:[_\- ]?key(?:[_-]?base)?|s)?|token|(?:(?<![a-z])|(?<=\\[nrt]))creds?|credentials?"
    r"|(?:private|api|access|account|auth|encryption|signing|subscription|master|app)[_\- ]?key|bearer)"
)
"""Ends of names. A look-behind counts capitals as small letters, since the patterns ignore case."""

EDGE = r"(?:\b|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2}))"
"""The start of a word, also right behind a line break, a tab or another character that stands escaped in JSON."""

NAME_HINTS = ("pass", "pw", "secret", "token", "cred", "key", "bearer")
"""One of these stands in every name, in small letters."""

Q = r"(?:\\*[\"'])"
"""A quote, also one that is escaped because the text is JSON inside JSON."""

NOT_SECRET_NAME = re.compile(
    r"(?i)(?:max|num|total|count|limit|budget|used|prompt|completion|input|output)\w*tokens?$|tokens_|token_(?:count|limit)|tokeniz"
)

HARMLESS = re.compile(
    r"(?i)^(?:true|false|null|none|undefined|\d{1,6}|\$\{?\w+\}?|\$\(.*|\$?\{\{[^{}]*\}\}|\{[\w.\[\]()]*\}|%\w+%|<[^>]*>|\*+|x+|\.\.\.|…"
    r"|\?|:[a-z_]+|%s|%\(\w+\)s|[{\[(]+|required|optional|string|str|int|inherit"
    r"|(?:[a-z]{2,7}\.(?:meta\.)?env(?:iron)?|self|this|args|var|secrets|settings)(?:\.[a-z_]\w*)+)$"
)

_NAMED = rf"[A-Za-z0-9_.\-]{{0,40}}{NAME}"

_ASSIGNMENT = re.compile(
    rf"(?<![A-Za-z0-9])(?P<name>{_NAMED})(?:{Q}?\s*\]|{Q}|\*\*)?\s*(?P<sep>=>|[!=]=+|[:?+|]{{0,2}}=>?|\??:(?!:|//))",
    re.I,
)
"""NAME=value, "name": value, 'name' => value, x["name"] = value, name: type = value."""

_OTHERS = (
    # --name value, and the same as two items of a list.
    re.compile(
        rf"(?:^|[\s\"']|\\[nrt])--?(?P<name>[A-Za-z0-9_\-]{{0,30}}{NAME})(?:[ \t]+(?!-)|{Q}\s*,\s*(?={Q}))", re.I
    ),
    # setenv("NAME", value)
    re.compile(rf"{EDGE}(?:set|put|add|append)\w{{0,20}}\(\s*{Q}(?P<name>{_NAMED}){Q}\s*,\s*", re.I),
    # setx NAME value, set -x NAME value, configure set name value, secret set NAME --body value
    re.compile(
        rf"{EDGE}(?P<word>setx|setenv|set[ \t]+-\w{{1,8}}|(?:config(?:ure)?|secret|env)[ \t:]+(?:set|add))[ \t]+"
        rf"(?P<name>[\w.\-:/]{{0,60}}{NAME})[ \t]+(?:(?:--body|-b|/m)[ \t]+)?(?!-)",
        re.I,
    ),
    # {"name": "NAME", "value": value}, and the same in YAML, in XML and without quotes.
    re.compile(
        rf"(?:(?<![a-z])|(?<=\\[nrt]))(?:name|key|header|variable|selector)(?:{Q})?\s*[:=]\s*(?:{Q})?[#.]?(?P<name>{_NAMED}|authorization|cookie)"
        rf"(?:{Q})?(?:[\s,]|\\+[nrt]){{0,40}}(?:{Q})?(?:value|val|text)(?:{Q})?\s*[:=]\s*",
        re.I,
    ),
)

_CLOSES = re.compile(r"[ \t]*\\*(?P<quote>[\"'])(?=[\s,;:)\]}+]|\Z)")
"""A quote that rather ends a text than begins one."""

_ELEMENT = re.compile(
    rf"(?P<head><(?:[\w.\-]{{1,20}}:)?{_NAMED}(?:\s[^<>]{{0,100}})?>)(?P<value>[^<>]{{1,500}})(?=</)", re.I
)
"""<password>value</password>"""

_STRING = re.compile(
    r"(?:[rbfu]{1,2}|[@$]{1,2})?(?:"
    r"(?P<triple>\"\"\"|''')(?P<long>.*?)(?:(?P=triple)|\Z)"
    r"|(?P<quote>[\"'])(?P<short>(?:\\(?:.|\Z)|(?!(?P=quote))[^\\])*)(?:(?P=quote)|\Z)"
    r"|(?P<quote2>\\+[\"'])(?P<inner>(?:(?!(?<!\\)(?P=quote2)).)*)(?:(?P=quote2)|\Z))",
    re.I | re.S,
)
"""A literal with its quotes; a backslash hides a quote, and JSON inside JSON has backslashes before its quotes."""

_BARE = re.compile(r"(?:[^\s\"'\\,;&|)}\]]|,(?=[^\s\"'\\])|\\(?![nrtbfu\"'\\/]|\Z))+")
_GLUED = re.compile(r"(?P<q>[\"'])[^\"'\s,:{}]+(?P=q)(?=[\s;&|]|\Z)")
"""A quoted part right behind a bare one, as in a'b'."""

_MORE = re.compile(r"(?:\s{0,20}(?:\|\||\?\?|\+|\bor\b)\s{0,20})?(?=(?:[rbfu]{1,2}|[@$]{1,2})?\\*[\"'])", re.I)
"""Between the parts of an expression: glued together, added, or the one for want of the other."""

_ANNOTATION = re.compile(
    r"(?:&(?:'\w+ )?(?:mut )?|\?)?[A-Za-z_\[][\w.\]]{0,40}(?:[\[<|?](?:[^=\n\"']|'static\b){0,60})?"
    r"(?:\s+=\s+|\s*=(?=\s*[rbfu]{0,2}\\*[\"']))\s*",
    re.I,
)
_INTRODUCES = re.compile(rf"{Q}[^\"']{{0,300}}?{NAME}s?(?:[=:\s]\W{{0,20}}?{Q}|{Q}\s*\]?\s*[=:])", re.I)
"""A quote, and up to the next one a name that is given a value."""
_TAG = re.compile(r"(?:[!&][\w!:/.,\-]*[ \t]+)+(?=[^\s])")
_REFERS = re.compile(r"!(?:Ref|GetAtt|Sub|ImportValue|secret|env\w*)\b", re.I)
"""Tags that name a value kept elsewhere."""
_ITEM = r"(?:\r?\n|\\+n)[ \t]*-[ \t]+"
_LIST = re.compile(rf"{_ITEM}(?P<items>(?![\w.\-]+:\s)[^\r\n\\\"]+(?:{_ITEM}(?![\w.\-]+:\s)[^\r\n\\\"]+)*)")
_OPENS = re.compile(r"(?:new\s+)?(?P<callee>[A-Za-z_][\w.:]{0,60}!?)?(?P<bracket>[(\[])", re.I)
_PART = re.compile(
    rf"(?P<string>{_STRING.pattern})|(?P<callee>[A-Za-z_][\w.:]*)?(?P<open>[(\[{{])|(?P<close>[)\]}}])", re.I | re.S
)
_LOOKS_UP = re.compile(
    r"(?i)(?:^|[.:_])(?:get\w*|env\w*|input|prompt\w*|ask\w*|read\w*|load\w*|open|fetch\w*|lookup|var|params?|resolve\w*|find\w*"
    r"|post|request\w*|query\w*|select\w*|config)$"
)
"""Calls whose first text names the thing that is asked for."""

MOST_NAMES = 200
"""Names whose values are read one by one. What stands behind so many goes whole: a hook must not be kept busy."""

_BRACKET_LIMIT = 300
"""Characters of a bracket that are read."""

_LINE_START = re.compile(
    r"(?:\n|(?P<escape>\\+)[nr]|[:\[,{] ?(?P<text>\\*)\"|\A)"
    r"(?P<before>[ \t]*(?:[+>]?[ \t]*(?:[\-*][ \t]+)?|\d{1,6}[|:\t][ \t]?)(?:(?:export|env|set|arg)[ \t]+)?)\Z",
    re.I,
)
"""The start of a line, a real one or one inside JSON, up to a name that begins it."""

_ARTICLE = re.compile(r"(?i)\b(?:the|an?|your|my|our|their|this|that|any|no|new|each|valid|wrong|same)\s+\Z")

_SPACE = re.compile(r"(?:\s|(?:\\+r)?\\+n(?=[ \t]+\S))*")
_BLANKS = re.compile(r"[ \t\u00a0]*(?:\\\r?\n[ \t]*)?")
"""Blanks on the same line, or on the next where a backslash joins the two."""
_KEY = re.compile(r"[^\s\"'\\]+:(?=[\s\\\"']|\Z)")

Span = tuple[int, int]


def redact_named(text: str, *, lines: bool) -> tuple[str, int]:
    """`text` without what is given under the name of a secret, and how many pieces went.

    `lines` says that a value at the start of a line runs to its end, as in files; not so in a shell's command.
    """
    text, count = _replaced(text, _assigned(text, lines))
    for pattern in _OTHERS:
        text, more = _replaced(text, _values(text, pattern, lambda match: False))
        count += more
    if "</" in text:
        elements = (match.span("value") for match in _ELEMENT.finditer(text) if _hides(match["value"]))
        text, more = _replaced(text, elements)
        count += more
    return text, count


def _replaced(text: str, spans: Iterator[Span]) -> tuple[str, int]:
    out, kept_to, count = [], 0, 0
    for start, end in spans:
        out += [text[kept_to:start], MARK]
        kept_to, count = end, count + 1
    return ("".join(out) + text[kept_to:], count) if count else (text, 0)


def _assigned(text: str, lines: bool) -> Iterator[Span]:
    heredoc = text.find("<<")

    def to_its_end(match: re.Match[str]) -> bool:
        may = match["name"].lower() != "pass" and match["sep"] in (":", "=")
        return may and (lines or match["sep"] == ":" or -1 < heredoc < match.start())

    return _values(text, _ASSIGNMENT, to_its_end)


def _values(text: str, pattern: re.Pattern[str], to_its_end: Callable[[re.Match[str]], bool]) -> Iterator[Span]:
    """What the names that `pattern` finds are given; `to_its_end` tells of which the value may be a whole line."""
    at = names = 0
    while match := pattern.search(text, at):
        at = match.end()
        if NOT_SECRET_NAME.search(match["name"]) or (pattern is _ASSIGNMENT and _is_told(text, match)):
            continue
        names += 1
        if names > MOST_NAMES:
            yield at, len(text)
            return
        for span in _Value(text, match, to_its_end(match)).spans():
            yield span
            at = max(at, span[1])


def _hides(value: str) -> bool:
    return bool(value.strip()) and value != MARK and not HARMLESS.match(value)


class _Value:
    """What follows one name."""

    def __init__(self, text: str, match: re.Match[str], as_line: bool) -> None:
        self._text, self._match = text, match
        self._name = match["name"].lower()
        self._sep = match.groupdict().get("sep") or ""
        self._line = self._indent() if as_line or self._sep == ":" else None
        self._as_line = as_line

    def _indent(self) -> tuple[int, int] | None:
        """(indentation, backslashes of a line break there: 0 for a real one) where the name begins its line."""
        text, start = self._text, self._match.start()
        if text[start - 1 : start] == "\\" and text[start : start + 1] in "nr":
            start += 1  # The pattern took the n of a line break for the name's first letter.
        found = _LINE_START.search(text, max(0, start - 80), start)
        if found is None:
            return None
        before = found["before"]
        escapes = len(found["escape"] or "") or (len(found["text"]) + 1 if found["text"] is not None else 0)
        return len(before) - len(before.lstrip(" \t")), escapes

    def spans(self) -> Iterator[Span]:
        """The pieces to take out, in order."""
        text, at = self._text, self._match.end()
        if self._sep.endswith(":"):
            if listed := _LIST.match(text, at):
                yield listed.span("items")
                return
            if block := self._block(at):
                yield block
                return
            at = _end(_SPACE, text, at)
            if _REFERS.match(text, at):
                return
            for prefix in (_ANNOTATION, _TAG):
                if found := prefix.match(text, at):
                    at = found.end()
            if block := self._block(at):
                yield block
                return
        else:
            at = _end(_BLANKS, text, at)
        if text.startswith("** ", at):
            at += 3
        yield from self._expression(at)

    def _block(self, at: int) -> Span | None:
        """`|` or `>-` and the lines below that are indented deeper."""
        indent = self._line[0] if self._line else 0
        head = re.compile(r"[ \t]*[|>][+\-0-9]{0,2}[ \t]*(?:#[^\n\\]*)?(?P<nl>\r?\n|(?:\\+r)?\\+n)").match(
            self._text, at
        )
        if head is None:
            return None
        ends = r"\r\n" if "\n" in head["nl"] else r"\r\n\\\"'"
        nl = r"\r?\n" if "\n" in head["nl"] else r"(?:\\+r)?\\+n"
        body = re.compile(rf"(?:[ \t]{{{indent + 1},}}[^{ends}]*(?:{nl}|\Z|(?=[{ends}]))|[ \t]*{nl})+").match(
            self._text, head.end()
        )
        if body is None:
            return None
        found = body[0]
        start = body.start() + len(found) - len(found.lstrip(" \t"))
        end = body.start() + len(re.sub(rf"(?:{nl}|[ \t])+\Z", "", found))
        return (start, end) if start < end else None

    def _expression(self, at: int) -> Iterator[Span]:
        """Literals, calls and brackets with literals in them, or bare text."""
        text = self._text
        first = True
        while True:
            if literal := _STRING.match(text, at):
                yield from _content(literal)
                at = literal.end()
            elif first and (parts := self._bracket(at)) is not None:
                spans, at = parts
                yield from spans
            elif first:
                if (span := self._bare(at)) is None:
                    return
                if span[0] < span[1]:
                    yield span
                at = span[1]
            else:
                return
            first = False
            more = _MORE.match(text, at)
            if more is None or (more.end() == at and (text[at - 1] not in "\"'" or _is_over(text, at))):
                return
            at = more.end()

    def _bracket(self, at: int) -> tuple[list[Span], int] | None:
        """Texts in a call or a list, and its end; None where there are none, or no end."""
        text = self._text
        opens = _OPENS.match(text, at)
        if opens is None or text.startswith(MARK, at):
            return None
        spans: list[Span] = []
        keep_next, depth, literals = False, 0, 0
        for part in _PART.finditer(text, opens.start(), at + _BRACKET_LIMIT):
            if part["open"]:
                depth += 1
                callee = part["callee"] or ""
                keep_next = bool(_LOOKS_UP.search(callee)) or (part["open"] == "[" and bool(callee))
            elif part["close"]:
                depth -= 1
                if depth <= 0:
                    return (spans, part.end()) if literals or self._is_code(text[at : part.end()]) else None
            else:
                literals += 1
                if not keep_next:
                    spans += _content(part)
                keep_next = False
        return (spans, spans[-1][1]) if spans else None

    def _is_code(self, value: str) -> bool:
        """Is it plainly a call of a program, `name = call()`?"""
        return self._text[self._match.end() : self._match.end() + 1] == " " and bool(
            re.fullmatch(r"[A-Za-z_][\w.:]*\([\w., ]*\)", value)
        )

    def _bare(self, at: int) -> Span | None:
        """Up to white space and separators; a whole line where values run so far. None for what is no secret."""
        text, begin = self._text, at
        if text.startswith(MARK, at):
            at += len(MARK)
            if text[at : at + 1] in (",", ""):
                return None
        if self._is_key(at):
            return None
        found = _BARE.match(text, at)
        if self._as_line and self._line is not None:
            value = text[begin : self._end_of_line(at, self._line[1])].rstrip(" \t")
            if not value or value == MARK or self._is_reference(value) or self._is_path(value):
                return None
            return at, begin + len(value)
        if found is None:
            return None
        value, end = found[0], found.end()
        refers = self._refers(value) or self._refers(value + text[end : end + 1])
        if refers or self._is_path(value) or self._is_prose(value):
            return None
        glued = _GLUED.match(text, end)
        return at, glued.end() if glued else end

    def _refers(self, word: str) -> bool:
        """Plainly no secret: a placeholder, a reference, or the name itself, as in `connect(token=token)`."""
        lowered = word.lower()
        return HARMLESS.match(word) is not None or f".{self._name}".endswith((f".{lowered}", f"_{lowered}"))

    def _is_reference(self, line: str) -> bool:
        """Does a line's value begin with something that is plainly no secret?"""
        first, _, rest = line.partition(" ")
        word = first.rstrip(",;")
        if HARMLESS.match(line) or not self._refers(word):
            return HARMLESS.match(line) is not None
        return word != first or word.isalpha() or word[0] in "$<" or (rest.lstrip() or "#")[0] in "#/,;)]}|=&"

    def _end_of_line(self, at: int, escapes: int) -> int:
        breaks = rf"(?<!\\)\\{{{escapes}}}[nr]|(?<!\\)\\{{{escapes - 1}}}\"" if escapes else r"[\r\n]"
        found = re.compile(breaks).search(self._text, at)
        return found.start() if found else len(self._text)

    def _is_path(self, value: str) -> bool:
        """The working directory of a shell."""
        return self._name.endswith("pwd") and value[0] in "/~$."

    def _is_prose(self, value: str) -> bool:
        if not (value.isalpha() and value.islower()):
            return False
        if "word" in self._match.groupdict():
            return True
        start = self._match.start()
        return bool(_ARTICLE.search(self._text[max(0, start - 12) : start]))

    def _is_key(self, at: int) -> bool:
        """On a line of its own below the name, and itself the name of something: `secret:` over `name: x`."""
        between = self._text[self._match.end() : at]
        return ("\n" in between or "\\" in between) and _KEY.match(self._text, at) is not None


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _is_over(text: str, at: int) -> bool:
    """Does the quote here end a text around the value, rather than begin one more part of it?"""
    before, quote = text[max(0, at - 100) : at - 1], re.compile(r"\\*\"").match(text, at)
    outer = quote is not None and len(quote[0]) <= len(before) - len(before.rstrip("\\"))
    return outer or _INTRODUCES.match(text, at) is not None


def _content(literal: re.Match[str]) -> Iterator[Span]:
    for part in ("long", "short", "inner"):
        if _hides(literal[part] or ""):
            yield literal.span(part)


def _is_told(text: str, match: re.Match[str]) -> bool:
    """Does the text that the name stands in end right behind it, as in print("password:", x)?"""
    found = _CLOSES.match(text, match.end())
    if found is None or '"' in match[0] or "'" in match[0]:
        return False
    line = text[max(text.rfind("\n", 0, match.start()), match.start() - 500) + 1 : match.start()]
    return line.count(found["quote"]) % 2 == 1
