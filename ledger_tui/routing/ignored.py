"""Anomalies that a person set aside: `ignored.json` beside the ledger, private, replaced as a whole."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import private_folder

FILE = "ignored.json"
_MOST_BYTES = 16_000_000

Ignored = frozenset[tuple[str, str]]
"""Pairs of raw session id and kind of anomaly."""


class IgnoredError(Exception):
    """`ignored.json` cannot be understood or written: one plain sentence."""


class IgnoredFile:
    """The file in the ledger's folder. It is made with the first anomaly that is set aside."""

    def __init__(self, data: Path) -> None:
        self.path = data / FILE
        self.problem = ""
        """Why the last `read` understood nothing; empty where it did."""

    def read(self) -> Ignored:
        """What was set aside; nothing where the file is missing, or cannot be understood (see `problem`)."""
        try:
            found = self._read()
        except IgnoredError as error:
            self.problem = str(error)
            return frozenset()
        self.problem = ""
        return found

    def add(self, session_id: str, kind: str) -> Ignored:
        """Sets one anomaly aside. Raises IgnoredError; a file that cannot be understood is left alone."""
        return self._change(lambda pairs: pairs | {(session_id, kind)})

    def remove(self, session_id: str, kind: str) -> Ignored:
        """Takes it back. Raises the same."""
        return self._change(lambda pairs: pairs - {(session_id, kind)})

    def _read(self) -> Ignored:
        try:
            found = json.loads(self._content())
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise IgnoredError(f"{self.path} cannot be read ({error.strerror}); check its rights.") from error
        except (ValueError, RecursionError) as error:
            raise IgnoredError(f"{self.path} is no JSON text; mend or remove it.") from error
        try:
            return frozenset(_pair(entry) for entry in found["ignored"])
        except (KeyError, TypeError) as error:
            raise IgnoredError(f"{self.path} holds no list of sessions and kinds; mend or remove it.") from error

    def _content(self) -> bytes:
        """Raises OSError, also for a pipe or device: those would be waited for."""
        with open(self.path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "it is no plain file")
            return file.read(_MOST_BYTES)

    def _change(self, change: Callable[[Ignored], Ignored]) -> Ignored:
        kept = change(self._read())
        entries = [{"session": session, "kind": kind} for session, kind in sorted(kept)]
        try:
            private_folder(self.path.parent)
            self._replace(json.dumps({"ignored": entries}, indent=1) + "\n")
        except OSError as error:
            why = error.strerror or error
            raise IgnoredError(f"{self.path} cannot be written ({why}); check the disk and the folder.") from error
        return kept

    def _replace(self, content: str) -> None:
        descriptor, part = tempfile.mkstemp(prefix=f".{FILE}.", dir=self.path.parent)  # Mode 0600.
        try:
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)


def _pair(entry: Any) -> tuple[str, str]:
    session, kind = entry["session"], entry["kind"]
    if not (isinstance(session, str) and isinstance(kind, str)):
        raise TypeError
    return session, kind


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
