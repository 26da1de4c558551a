"""Reads single words of a shell text: quotes, escapes, variables, substitutions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from .tree import Part, Pipeline, Word, unescape

_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`]+")
_PARENTHESIS = re.compile(r"[()]")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
NAME = re.compile(r"[A-Za-z_]\w*|[@*#?$!0-9-]")
_BRACED = re.compile(r"([#!]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])(\[[^\]]*\])?(.*)", re.DOTALL)


class WordReader(ABC):
    """A place in a text. What stands in a substitution is read by the subclass."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth

    @abstractmethod
    def inside(self) -> list[Pipeline]:
        """The commands up to a closing parenthesis, which is consumed."""

    @abstractmethod
    def nested(self, text: str) -> list[Pipeline]:
        """The commands of a text one level deeper."""

    def word(self) -> Word | None:
        """The word that starts here; None where none does."""
        text, parts = self.text, []
        start = self.at
        if text.startswith("#", start):
            return None
        while self.at < len(text):
            match = _PLAIN.match(text, self.at)
            if match:
                self.at = match.end()
                parts.append(Part("text", match[0]))
                continue
            char = text[self.at]
            if char == "'":
                parts.append(self.single())
            elif char == '"':
                self.at += 1
                parts += self.quoted('"') or [Part("text", "", True)]
            elif char == "\\":
                escaped = text[self.at + 1 : self.at + 2]
                self.at += 2
                if escaped != "\n":
                    parts.append(Part("text", escaped, True))
            elif char == "$":
                parts += self.dollar(quoted=False)
            elif char == "`":
                parts.append(self.backticks(quoted=False))
            elif char in "<>" and text.startswith("(", self.at + 1):
                self.at += 2
                parts.append(Part("process", char, body=self.inside()))
            elif (
                char == "(" and parts and parts[-1].kind == "text" and parts[-1].text[-1:] in ("?", "*", "+", "@", "!")
            ):
                end = text.find(")", self.at)  # An extended pattern.
                end = len(text) if end < 0 else end + 1
                parts.append(Part("text", text[self.at : end]))
                self.at = end
            else:
                break
        return parts if self.at > start else None

    def single(self) -> Part:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        found = Part("text", self.text[self.at + 1 : end], True)
        self.at = end + 1
        return found

    def quoted(self, closer: str) -> Word:
        """Up to `closer` (consumed), or to the end of the text; as between double quotes."""
        text, parts = self.text, []
        while self.at < len(text):
            match = _IN_QUOTES.match(text, self.at) if closer else None
            if match:
                self.at = match.end()
                parts.append(Part("text", match[0], True))
                continue
            char = text[self.at]
            if char == closer:
                self.at += 1
                break
            if char == "\\":
                escaped = text[self.at + 1 : self.at + 2]
                self.at += 2
                parts.append(
                    Part("text", "" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped, True)
                )
            elif char == "$":
                parts += self.dollar(quoted=True)
            elif char == "`":
                parts.append(self.backticks(quoted=True))
            else:
                end = min((e for e in (text.find(c, self.at + 1) for c in "\\$`") if e >= 0), default=len(text))
                parts.append(Part("text", text[self.at : end], True))
                self.at = end
        return parts

    def dollar(self, *, quoted: bool) -> Word:
        text = self.text
        following = text[self.at + 1 : self.at + 2]
        if following == "'" and not quoted:
            end = self.at + 2
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            found = Part("text", unescape(text[self.at + 2 : end]), True)
            self.at = end + 1
            return [found]
        if following == '"' and not quoted:
            self.at += 2
            return self.quoted('"')
        if text.startswith("$((", self.at):
            end = self._closing(self.at + 1)
            found = Part("arithmetic", text[self.at + 3 : max(self.at + 3, end - 2)], quoted)
            self.at = end
            return [found]
        if following == "(":
            self.at += 2
            return [Part("command", quoted=quoted, body=self.inside())]
        if following == "{":
            return [self.braced(quoted=quoted)]
        match = NAME.match(text, self.at + 1)
        if match:
            self.at = match.end()
            return [Part("variable", match[0], quoted)]
        self.at += 1
        return [Part("text", "$", quoted)]

    def _closing(self, at: int) -> int:
        """Behind the parenthesis that closes the one at `at`; the end of the text where none does."""
        level = 0
        for match in _PARENTHESIS.finditer(self.text, at):
            level += 1 if match[0] == "(" else -1
            if not level:
                return match.end()
        return len(self.text)

    def braced(self, *, quoted: bool) -> Part:
        text, end, level = self.text, self.at + 2, 1
        while end < len(text):
            char = text[end]
            if char == "\\":
                end += 1
            elif char == "'" and not quoted:
                close = text.find("'", end + 1)
                end = len(text) if close < 0 else close
            elif char == "{":
                level += 1
            elif char == "}":
                level -= 1
                if not level:
                    break
            end += 1
        inner = text[self.at + 2 : end]
        self.at = end + 1
        match = _BRACED.match(inner)
        if match is None:
            return Part("text", "${" + inner + "}", quoted)
        quoted = quoted and match[3] != "[@]"  # Each element of an array is a word of its own, quoted or not.
        return Part("variable", match[2], quoted, operator=(match[1] or "") + match[4])

    def backticks(self, *, quoted: bool) -> Part:
        text, end = self.text, self.at + 1
        while end < len(text) and text[end] != "`":
            end += 2 if text[end] == "\\" else 1
        inner = re.sub(r"\\([`$\\])", r"\1", text[self.at + 1 : end])
        self.at = end + 1
        return Part("command", quoted=quoted, body=self.nested(inner))
