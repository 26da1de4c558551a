"""From a tool call to what it does: which argument of which tool is a command, a script, a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..inert import clip, inert
from . import inline, places, signatures
from .act import Act
from .run import quote
from .shell import Shell
from .tree import UnreadableError

LONGEST_READ = 65_536
"""Characters of one argument that are looked at."""

_COMMANDS = ("command", "cmd", "script", "shell_command", "commands")
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


def acts(tool_name: str, args: Mapping[str, Any], *, cut: bool = False) -> tuple[Act, ...]:
    """What this call would do that deserves a second look, worst first as found. `cut`: the arguments were shortened.

    Never raises. Commands are followed for at most some thousand steps; where that does not reach, an act of the
    kind "unreadable" says so.
    """
    try:
        return _judge(tool_name, args, cut)[0]
    except Exception as error:
        return (Act("unreadable", "MEDIUM", inert(f"could not be judged ({type(error).__name__})")),)


def scripts_written(tool_name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of files that a call writes or downloads, in normal form."""
    try:
        if tool_name in _WRITERS:
            return tuple(places.normal(path) for path in _texts(args, _PATHS))
        shell = _judge(tool_name, args, False)[1]
        return tuple(
            dict.fromkeys(
                [
                    *(places.normal(path, shell.folder) for path in shell.files if not path.startswith("/dev/")),
                    *shell.fetched,
                ]
            )
        )
    except Exception:
        return ()


def scripts_run(tool_name: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of files that a call would execute, in normal form."""
    try:
        return tuple(dict.fromkeys(_judge(tool_name, args, False)[1].executed))
    except Exception:
        return ()


def _judge(tool_name: str, args: Mapping[str, Any], cut: bool) -> tuple[tuple[Act, ...], Shell]:
    shell = Shell(signatures.judge, inline.judge)
    try:
        for text in _commands(tool_name, args):
            if len(text) > LONGEST_READ:
                shell.note("unreadable", "MEDIUM", "is longer than what is looked at", "", "")
            shell.script(text[:LONGEST_READ])
        if tool_name == "execute_code":
            for text in _texts(args, _CODE):
                shell.code("python", text, ["execute_code"])
        elif tool_name in _WRITERS or tool_name in _READERS:
            _paths(shell, tool_name, args)
    except (UnreadableError, RecursionError) as error:
        shell.note("unreadable", "MEDIUM", f"could not be followed to its end ({error})", "", "")
    return tuple(shell.acts.values()), shell


def _commands(tool_name: str, args: Mapping[str, Any]) -> Iterator[str]:
    if tool_name in _WRITERS or tool_name in _READERS or tool_name == "execute_code":
        return
    for name in _COMMANDS:
        value = args.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
            yield " ".join(quote(word) for word in value)
    if tool_name in ("process", "process_manage") and isinstance(args.get("data"), str):
        yield args["data"]


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
    """What a file would do if it were run: by its first line, else by its name's ending. Never raises."""
    shell = Shell(signatures.judge, inline.judge)
    try:
        language = script_language(path, content)
        if language == "sh":
            shell.script(content[:LONGEST_READ])
        elif language:
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
