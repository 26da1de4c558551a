"""From a tool call to what it does: which argument of which tool is a command, a script, a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..inert import clip, inert
from . import databases, inline, places, signatures
from .act import Act
from .run import quote, shown
from .shell import Shell
from .tree import UnreadableError

LONGEST_READ = 65_536
"""Characters of one argument that are looked at."""

LONGEST_KEPT = 16_384
"""Characters of a written file that are kept, should it be run later."""

COMMANDS = ("command", "cmd", "script", "shell_command", "commands")
_STATEMENTS = ("sql", "query", "statement")
_CHANGING = ("drop ", "truncate ", "delete ", "update ", "alter ", "with ", "begin")
_CODE = ("code", "source", "python")
_WRITERS = frozenset({"write_file", "patch", "edit_file", "create_file", "str_replace", "append_file"})
_READERS = frozenset({"read_file", "search_files"})
_PATHS = ("path", "file_path", "filename", "file")
_CONTENTS = ("content", "new_string", "new_str", "text", "patch", "diff", "file_text")
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-\S+\s+)?)?([A-Za-z]+)[\d.]*(?:\s|$)")
_SCRIPT_SUFFIX = {
    ".sh": "sh", ".bash": "sh", ".zsh": "sh", ".py": "python", ".pl": "perl", ".rb": "ruby", ".js": "node",
    ".mjs": "node", ".php": "php",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A file that a call makes: its text where the call holds it, or that it comes from the network."""

    text: str = ""
    network: bool = False


@dataclass(frozen=True)
class Examined:
    """Everything that one reading of a call tells."""

    acts: tuple[Act, ...] = ()
    words: tuple[list[str], ...] = ()
    """The words of every plain command."""
    made: Mapping[str, Made] = field(default_factory=dict)
    """Files that it writes or downloads, by path."""
    run: tuple[str, ...] = ()
    """Files that it executes."""

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """Plain commands in their normal form."""
        return tuple(map(shown, self.words))


def examine(tool_name: str, args: Mapping[str, Any], *, cut: bool = False) -> Examined:
    """Read a call once. Never raises."""
    try:
        shell = _read(tool_name, args)
        if cut:
            shell.note("cut", "LOW", "was cut when it was recorded: what stood behind that is not known", "", "")
        return Examined(
            tuple(shell.acts.values()),
            tuple(shell.commands),
            _made(tool_name, args, shell),
            tuple(dict.fromkeys(shell.executed)),
        )
    except Exception as error:
        return Examined((Act("unreadable", "MEDIUM", inert(f"could not be judged ({type(error).__name__})")),))


def acts(tool_name: str, args: Mapping[str, Any], *, cut: bool = False) -> tuple[Act, ...]:
    """What this call would do that deserves a second look, in the order of reading. `cut`: arguments were shortened.

    Never raises. Commands are followed for a bounded number of steps; where that does not reach, an act of the kind
    "unreadable" says so.
    """
    return examine(tool_name, args, cut=cut).acts


def scripts_written(tool_name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of files that a call writes or downloads, in normal form."""
    return tuple(examine(tool_name, args).made)


def scripts_run(tool_name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of files that a call would execute, in normal form."""
    return examine(tool_name, args).run


def _read(tool_name: str, args: Mapping[str, Any]) -> Shell:
    shell = Shell(signatures.judge, inline.judge)
    try:
        for text in _commands(tool_name, args):
            if len(text) > LONGEST_READ:
                shell.note("unreadable", "MEDIUM", "is longer than what is looked at", "", "")
            shell.script(text[:LONGEST_READ])
            shell.finish()
        if tool_name.startswith("mcp__"):
            _statements(shell, args)
        if tool_name == "execute_code":
            for text in _texts(args, _CODE):
                shell.code("python", text, ["execute_code"])
        elif tool_name in _WRITERS or tool_name in _READERS:
            _paths(shell, tool_name, args)
    except (UnreadableError, RecursionError) as error:
        shell.note("unreadable", "MEDIUM", f"could not be followed to its end ({error})", "", "")
    return shell


def _made(tool_name: str, args: Mapping[str, Any], shell: Shell) -> dict[str, Made]:
    if tool_name in _WRITERS:
        text = "\n".join(_texts(args, _CONTENTS))[:LONGEST_KEPT]
        return {places.normal(path): Made(text) for path in _texts(args, _PATHS)}
    found = {
        places.normal(path, shell.folder): Made((stream.text or "")[:LONGEST_KEPT], "network" in stream.origins)
        for path, stream in shell.files.items()
        if not path.startswith("/dev/")
    }
    return {**found, **{path: Made(network=True) for path in shell.fetched}}


def _commands(tool_name: str, args: Mapping[str, Any]) -> Iterator[str]:
    if tool_name in _WRITERS or tool_name in _READERS or tool_name == "execute_code":
        return
    for name in COMMANDS:
        value = args.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
            yield " ".join(quote(word) for word in value)
    if tool_name in ("process", "process_manage") and isinstance(args.get("data"), str):
        yield args["data"]


def _statements(shell: Shell, args: Mapping[str, Any]) -> None:
    """Database servers take their statements as an argument; a text that begins like none is a question in words."""
    for text in _texts(args, _STATEMENTS):
        if text.lstrip()[:9].lower().startswith(_CHANGING):
            for kind, severity, what, target in databases.statements(text):
                shell.note(kind, severity, what, target, clip(" ".join(text.split()), 120))


def _texts(args: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [value for name in names if isinstance(value := args.get(name), str) and value]


def _paths(shell: Shell, tool_name: str, args: Mapping[str, Any]) -> None:
    writes = tool_name in _WRITERS
    for path in _texts(args, _PATHS):
        path = places.normal(path)
        if writes and places.is_ledger(path):
            shell.note("ledger-touch", "HIGH", "writes a file of the ledger or of its policies", path, "")
        elif not writes and places.is_secret(path):
            shell.note("credential-read", "HIGH", "reads a file of secrets", path, "")


def script_acts(path: str, content: str) -> tuple[Act, ...]:
    """What a file would do if it were run: by its first line, its ending, else as a shell script. Never raises."""
    shell = Shell(signatures.judge, inline.judge)
    try:
        language = script_language(path, content) or "sh"
        if language == "sh":
            shell.script(content[:LONGEST_READ])
            shell.finish()
        else:
            shell.code(language, content[:LONGEST_READ], [clip(path, 80)])
    except (UnreadableError, RecursionError) as error:
        shell.note("unreadable", "MEDIUM", f"could not be followed to its end ({error})", "", "")
    except Exception as error:
        return (Act("unreadable", "MEDIUM", inert(f"could not be judged ({type(error).__name__})")),)
    return tuple(shell.acts.values())


def script_language(path: str, content: str) -> str:
    """The language of a script: "sh", "python" …; empty where neither its first line nor its ending tells."""
    match = _SHEBANG.match(content)
    if match:
        return "sh" if match[1].endswith("sh") else match[1]
    dot = path.rfind(".")
    return _SCRIPT_SUFFIX.get(path[dot:], "") if dot > 0 else ""
