"""Where an export goes: standard output, or a file that appears whole; nothing but an earlier export is replaced."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from agent_ledger.engine.paths import in_data_folder
from ledger_tui.commands.errors import CommandError, refused, unreadable
from ledger_tui.sources.small_files import read_bytes

_HEAD = 4096
_EXPORT = re.compile(
    rb"""\A(?:
        \[\s*[\]{]                                  # a JSON list of objects
      | \{\s*"score"                                # a JSON posture
      | [a-z][a-z_]*(?:,[a-z][a-z_]*)+\r?\n         # the head line of a CSV file
      | (?:\#[^\n]*\n\s*)?\|[ ][a-z][a-z ]*[ ]\|    # a Markdown table, with or without a title
    )""",
    re.X,
)


@contextlib.contextmanager
def target(path: Path | None, *, force: bool, keep: Iterable[Path]) -> Iterator[TextIO]:
    """Standard output, or a file that only its owner may read; it appears whole or not at all.

    `force` allows to replace a plain file that is empty or begins as an export does. Never replaced are links,
    pipes and devices, whatever lies in the plugin's data folder of any home, and the files of `keep`.
    Raises CommandError: 4 for what may not be replaced, 3 where the file cannot be written.
    """
    if path is None:
        with _standard_output() as stream:
            yield stream
        return
    _may_write(path, force=force, keep=keep)
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        with open(_new(part, path), "w", encoding="utf-8", newline="") as stream:
            yield stream
        _put(part, path, force=force)
    except OSError as error:
        raise unreadable(f"{path} cannot be written ({error.strerror}); check the disk and the folder.") from error
    finally:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(part)


def _new(part: Path, path: Path) -> int:
    """A descriptor of the new file `part`, private. Raises CommandError, which names `path`."""
    try:
        return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise unreadable(f"{path} cannot be written ({error.strerror}); {_remedy(error)}.") from error


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "check that its folder exists"
    return "check the rights of its folder" if isinstance(error, PermissionError) else "check the disk and the folder"


@contextlib.contextmanager
def _standard_output() -> Iterator[TextIO]:
    """UTF-8 into files and pipes, whatever the locale says; a terminal gets what it can show, else escapes."""
    stream = sys.stdout
    if not isinstance(stream, TextIOWrapper):
        yield stream
        return
    encoding, errors = stream.encoding, stream.errors
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        yield stream
    finally:
        stream.reconfigure(encoding=encoding, errors=errors)


def _may_write(path: Path, *, force: bool, keep: Iterable[Path]) -> None:
    """Raises CommandError where `path` may not become an export."""
    if any(_same(path, other) for other in keep):
        raise refused(f"{path} is a database of the home itself; choose another file for -o.")
    if in_data_folder(path):
        raise refused(f"{path} lies where the plugin keeps its own files; choose another folder for -o.")
    try:
        info = os.lstat(path)
    except OSError:
        return
    if stat.S_ISDIR(info.st_mode):
        raise refused(f"{path} is a folder; name a file for -o.")
    if not stat.S_ISREG(info.st_mode):
        raise refused(f"{path} is no plain file but a link, pipe or device; leave -o out and redirect the output.")
    if not force:
        raise _exists(path)
    if info.st_size and not _is_export(path):
        raise refused(f"{path} does not look like an earlier export, so --force leaves it alone; choose another file.")


def _exists(path: Path) -> CommandError:
    return refused(f"{path} exists already; choose another file for -o, or add --force to replace it.")


def _is_export(path: Path) -> bool:
    try:
        return _EXPORT.match(read_bytes(path, _HEAD)) is not None
    except OSError:
        return False


def _put(part: Path, path: Path, *, force: bool) -> None:
    if force:
        os.replace(part, path)
        return
    try:
        os.link(part, path)  # Fails where a file of that name has appeared meanwhile.
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError:  # A file system without hard links.
        os.rename(part, path)


def _same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return os.path.abspath(path) == os.path.abspath(other)
