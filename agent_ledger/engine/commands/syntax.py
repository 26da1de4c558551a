"""Shell text to a tree: words, redirections, pipelines, lists, compound commands. Lenient: never a syntax error.

Grammar: POSIX.1-2024 "Shell Command Language" with what bash adds to it (here-strings, `$'…'`, `<( )`, `|&`, `&>`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from .tree import DEEPEST, UNREAD, Command, Compound, Part, Pipeline, Redirection, Simple, UnreadableError, Word
from .words import NAME, WordReader

_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_MAYBE_BLANK = frozenset(" \t\r\\")
_WORDS = re.compile(r"(?:[ \t]++[\w@%+:,./=~^*?\[\]{}!-]++(?=[ \t\n;|&)]|\Z))+", re.ASCII)
"""Words of which nothing has to be taken apart."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]\s]*\])?(\+?=)")
_REDIRECTION = re.compile(r"(\d*|\{\w+\})(<<<|<<-|<<|<>|<&|>>|>\||>&|<(?!\()|>(?!\())|(&>>|&>)")
_FUNCTION = re.compile(r"(?:function[ \t]+([\w:.-]+)[ \t]*(?:\([ \t]*\))?|([\w:.-]+)[ \t]*\([ \t]*\))\s*(?=[{(])")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|while|until|for|select|do|done|case|esac|in|\{|\}|!|time)(?=[\s;&|()<>]|$)"
)


MOST = 600
"""Commands of one text that are read, more than are mostly followed; behind them stands a mark."""

REMEMBERED, SHORT = 8, 4_096
"""Texts whose tree is remembered, since loops have the same ones read again; and the longest of them."""


def parse(text: str, depth: int = 0) -> list[Pipeline]:
    """Everything that `text` runs, in order. Raises UnreadableError only for absurd nesting."""
    return _parse_short(text, depth) if len(text) <= SHORT else _parse(text, depth)


def _parse(text: str, depth: int) -> list[Pipeline]:
    reader = _Reader(text, depth)
    found: list[Pipeline] = []
    while reader.at < len(text):
        found += reader.list_until(frozenset(), "")
        if reader.at < len(text):
            reader.at += 1  # A closer without its opener; the rest still counts.
    return found + _unread(reader)


def _unread(reader: _Reader) -> list[Pipeline]:
    """The mark, where commands were left unread."""
    return [Pipeline([Compound(UNREAD)])] if reader.commands > MOST else []


def parse_text(text: str, depth: int = 0) -> Word:
    """`text` as it stands between double quotes, or in a here-document: variables and substitutions live in it."""
    return _parse_short_text(text, depth) if len(text) <= SHORT else _parse_text(text, depth)


def _parse_text(text: str, depth: int) -> Word:
    reader = _Reader(text, depth)
    word = reader.quoted("")
    return [*word, Part("command", body=unread)] if (unread := _unread(reader)) else word


_parse_short = lru_cache(maxsize=REMEMBERED)(_parse)
_parse_short_text = lru_cache(maxsize=REMEMBERED)(_parse_text)


class _Reader(WordReader):
    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.waiting: list[tuple[Redirection, str, bool]] = []
        self.commands = 0

    # -- lists and commands ----------------------------------------------------------------------------------------

    def list_until(self, stops: frozenset[str], closer: str) -> list[Pipeline]:
        """Pipelines up to a reserved word in `stops`, or up to `closer`; neither is consumed."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnreadableError("nested too deeply")
        found: list[Pipeline] = []
        while True:
            self.between()
            if self.at >= len(self.text) or self.text[self.at] == ")":
                break
            word = self.reserved()
            if word in stops:
                break
            before = self.at
            pipeline = self.pipeline()
            self.blank()
            if self.text.startswith("&", self.at) and not self.text.startswith("&&", self.at):
                pipeline.background = True
            if pipeline.commands:
                found.append(pipeline)
            if self.at == before:
                self.at += 1
        self.depth -= 1
        return found

    def blank(self) -> None:
        if self.text[self.at : self.at + 1] in _MAYBE_BLANK:
            match = _BLANK.match(self.text, self.at)
            if match:
                self.at = match.end()

    def between(self) -> None:
        """Skip blanks, separators, comments and line ends; here-documents follow a line end."""
        text = self.text
        while self.at < len(text):
            self.blank()
            char = text[self.at : self.at + 1]
            if char == "\n":
                self.at += 1
                self.bodies()
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif char and char in ";&|" and not text.startswith("&>", self.at):
                self.at += 1
            else:
                return

    def bodies(self) -> None:
        waiting, self.waiting = self.waiting, []
        for redirection, delimiter, strip in waiting:
            lines = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                line = line.lstrip("\t") if strip else line
                if line.rstrip("\r") == delimiter:
                    break
                lines.append(line)
            redirection.body = "\n".join(lines) + "\n" if lines else ""

    def reserved(self) -> str:
        match = _RESERVED.match(self.text, self.at)
        return match[0] if match else ""

    def pipeline(self) -> Pipeline:
        commands: list[Command] = []
        while True:
            self.blank()
            while self.reserved() in ("!", "time"):
                self.at += len(self.reserved())
                self.blank()
                if self.text.startswith("-p ", self.at):
                    self.at += 3
            command = self.command()
            if command is not None:
                commands.append(command)
            self.blank()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                return Pipeline(commands)
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            while True:
                self.blank()
                if not self.text.startswith("\n", self.at):
                    break
                self.at += 1
                self.bodies()

    def command(self) -> Command | None:
        text = self.text
        self.commands += 1
        if self.commands > MOST:
            self.at = len(text)
            return None
        if text.startswith("(", self.at):  # Plain sh knows no arithmetic command: `((` is two subshells there.
            self.at += 1
            return self.closed(Compound("subshell", [self.list_until(frozenset(), ")")]), ")")
        match = _FUNCTION.match(text, self.at)
        if match and (match[1] or match[2]) not in ("if", "while", "until", "for", "case"):
            self.at = match.end()
            body = self.command()
            return Compound("function", [[Pipeline([body])] if body else []], name=match[1] or match[2])
        word = self.reserved()
        return self.compound(word) if word else self.simple()

    def closed(self, compound: Compound, closer: str) -> Compound:
        """The compound with its closer consumed and its redirections read."""
        self.between()
        if self.text.startswith(closer, self.at):
            self.at += len(closer)
        while True:
            self.blank()
            match = _REDIRECTION.match(self.text, self.at)
            if not match:
                return compound
            compound.redirections.append(self.redirection(match))

    def compound(self, word: str) -> Command | None:
        self.at += len(word)
        if word == "{":
            return self.closed(Compound("group", [self.list_until(frozenset("}"), "")]), "}")
        if word == "if":
            found = Compound("if", [self.list_until(frozenset({"then"}), "")])
            while self.reserved() in ("then", "elif", "else"):
                self.at += len(self.reserved())
                found.bodies.append(self.list_until(frozenset({"then", "elif", "else", "fi"}), ""))
            return self.closed(found, "fi")
        if word in ("while", "until"):
            found = Compound("loop", [self.list_until(frozenset({"do"}), "")])
            return self.loop_body(found)
        if word in ("for", "select"):
            return self.loop_body(self.for_head())
        if word == "case":
            return self.case()
        return None  # A word that closes nothing here: what follows it still counts.

    def loop_body(self, found: Compound) -> Compound:
        self.between()
        if self.reserved() == "do":
            self.at += 2
        found.bodies.append(self.list_until(frozenset({"done"}), ""))
        return self.closed(found, "done")

    def for_head(self) -> Compound:
        found = Compound("for")
        self.blank()
        if self.text.startswith("((", self.at):
            end = self.text.find("))", self.at)
            self.at = len(self.text) if end < 0 else end + 2
            return found
        match = NAME.match(self.text, self.at)
        if match:
            found.name = match[0]
            self.at = match.end()
        self.blank()
        if self.reserved() == "in":
            self.at += 2
            while True:
                self.blank()
                word = self.word()
                if word is None:
                    break
                found.words.append(word)
        return found

    def case(self) -> Compound:
        found = Compound("case")
        self.blank()
        word = self.word()
        found.words = [word] if word else []
        self.between()
        if self.reserved() == "in":
            self.at += 2
        while True:
            self.between()
            if self.at >= len(self.text) or self.reserved() == "esac":
                return self.closed(found, "esac")
            end = self.text.find(")", self.at + 1)
            if end < 0:
                self.at = len(self.text)
                return found
            self.at = end + 1
            body: list[Pipeline] = []
            while self.at < len(self.text) and self.reserved() != "esac" and not self.text.startswith(";;", self.at):
                before = self.at
                pipeline = self.pipeline()
                body += [pipeline] if pipeline.commands else []
                self.blank()
                if self.text.startswith(";;", self.at):
                    break
                if self.text[self.at : self.at + 1] in (";", "\n", "&"):
                    self.at += 1
                self.blank()
                if self.at == before:
                    self.at += 1
            found.bodies.append(body)

    def simple(self) -> Command | None:
        found = Simple()
        while True:
            self.blank()
            match = _REDIRECTION.match(self.text, self.at)
            if match:
                found.redirections.append(self.redirection(match))
                continue
            if not found.words:
                match = _ASSIGNMENT.match(self.text, self.at)
                if match:
                    found.assignments.append(self.assignment(match))
                    continue
            word = self.word()
            if word is None:
                return found if found.words or found.assignments or found.redirections else None
            found.words.append(word)
            match = _WORDS.match(self.text, self.at)
            if match:
                self.at = match.end()
                found.words += [[Part("text", text)] for text in match[0].split()]

    def assignment(self, match: re.Match[str]) -> tuple[str, Word]:
        self.at = match.end()
        name = match[1] + ("+" if match[3] == "+=" else "")
        if self.text.startswith("(", self.at):  # An array: its words with blanks between them.
            self.at += 1
            parts: Word = []
            while self.at < len(self.text) and not self.text.startswith(")", self.at):
                self.blank()
                word = self.word()
                if word is None:
                    if self.text[self.at : self.at + 1] != "\n":
                        break
                    self.at += 1
                    continue
                parts += [Part("text", " "), *word] if parts else word
            self.at += 1
            return name, parts
        return name, self.word() or []

    def redirection(self, match: re.Match[str]) -> Redirection:
        self.at = match.end()
        operator = match[2] or match[3]
        self.blank()
        if operator in ("<<", "<<-"):
            start = self.at
            word = self.word() or []
            raw = self.text[start : self.at]
            found = Redirection("<<", [], match[1] or "", "", literal=bool(set(raw) & set("'\"\\")))
            self.waiting.append((found, "".join(part.text for part in word), operator == "<<-"))
            return found
        return Redirection(operator, self.word() or [], match[1] or "")

    def nested(self, text: str) -> list[Pipeline]:
        return parse(text, self.depth + 1)

    def inside(self) -> list[Pipeline]:
        body = self.list_until(frozenset(), ")")
        if self.text.startswith(")", self.at):
            self.at += 1
        return body
