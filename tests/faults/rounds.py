"""What seeded rounds share: dice, damage done to files, and the accounts of what a ledger must still hold."""

from __future__ import annotations

import contextlib
import os
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent_ledger.engine import spool
from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.paths import Paths

from .children import Child, Ended, Nursery


def dice(seed: int, *words: object) -> random.Random:
    """Dice that fall the same way for the same seed and words, on every machine and Python."""
    return random.Random("/".join(map(str, (seed, *words))))


def spread(seed: int, most: int) -> int:
    """A number from 1 to `most`; the first seeds, however few, are spread evenly over the whole."""
    return 1 + int(most * (seed * 0.6180339887498949 % 1))


# -- damage --------------------------------------------------------------------------------------------------------


def flip(path: Path, thrown: random.Random, most: int = 8) -> str:
    """Change one to `most` bytes of a file in place; what was done, in words. An empty file stays as it is."""
    size = path.stat().st_size
    if not size:
        return f"{path.name} is empty"
    places = sorted(thrown.randrange(size) for _ in range(thrown.randint(1, most)))
    with path.open("r+b", buffering=0) as stream:
        for place in places:
            stream.seek(place)
            (byte,) = stream.read(1)
            stream.seek(place)
            stream.write(bytes([byte ^ thrown.randint(1, 255)]))
    return f"{path.name}: bytes {places} of {size} flipped"


def truncate(path: Path, thrown: random.Random) -> str:
    """Cut a file somewhere; what was done, in words."""
    size = path.stat().st_size
    left = thrown.randrange(size) if size else 0
    os.truncate(path, left)
    return f"{path.name}: cut from {size} to {left} bytes"


def overwrite(path: Path, thrown: random.Random) -> str:
    """Overwrite a run of a file with zeros or noise; what was done, in words."""
    size = path.stat().st_size
    start = thrown.randrange(size) if size else 0
    length = min(size - start, thrown.choice((64, 512, 4096)))
    noise = bytes(length) if thrown.random() < 0.5 else thrown.randbytes(length)
    with path.open("r+b", buffering=0) as stream:
        stream.seek(start)
        stream.write(noise)
    return f"{path.name}: bytes {start} to {start + length} overwritten"


DAMAGE = (flip, truncate, overwrite)


# -- reading -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10)
    try:
        connection.row_factory = sqlite3.Row
        yield connection
    finally:
        connection.close()


def chain(path: Path) -> str:
    """What the check of the chain has against a ledger first; `whole` where it has nothing."""
    with reading(path) as connection:
        connection.row_factory = None
        first = check_chain(connection).first
    return "whole" if first is None else first.text


def integrity(path: Path) -> str:
    """What SQLite says of a whole database; `ok` for a sound one."""
    with reading(path) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


# -- a home and its accounts ---------------------------------------------------------------------------------------


class FaultHome:
    """A Hermes home in which children do things, and what must have come of them."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        folder.mkdir()
        self.temporary = folder.parent / f"{folder.name}-tmp"
        self.temporary.mkdir()
        self.paths = Paths(folder)
        self._nursery = nursery
        self.issued: list[str] = []
        """Calls whose `pre_tool_call` returned."""
        self.settled: list[str] = []
        """Calls whose `post_tool_call` returned."""

    @property
    def environment(self) -> dict[str, str]:
        return {"HERMES_HOME": str(self.paths.home), "TMPDIR": str(self.temporary), "TZ": "UTC"}

    def child(self, script: str, **environment: str) -> contextlib.AbstractContextManager[Child]:
        return self._nursery.child(script, **{**self.environment, **environment})

    def run(self, script: str, **environment: str) -> Ended:
        """Run a script in a child to its end, and enter what it announced into the accounts."""
        with self.child(script, **environment) as child:
            return self.account(child.end())

    def account(self, ended: Ended) -> Ended:
        """Enter what a child announced, line by line."""
        for line in ended.words:
            self.enter(line.strip())
        return ended

    def enter(self, line: str) -> None:
        """`pre ID` and `post ID` stand for hooks that have returned; other lines mean nothing here."""
        word, _, call = line.partition(" ")
        if word == "pre":
            self.issued.append(call)
        elif word == "post":
            self.settled.append(call)

    def reading(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        return reading(self.paths.ledger)

    def lines(self, script: str) -> int:
        """How many lines of the program a script runs that ends with `say(lines_run())`."""
        ended = self._nursery.run(script, **self.environment)
        assert ended.code == 0, ended
        return int(ended.words[-1])

    def rows(self) -> list[dict[str, Any]]:
        """Rows in order; none where the ledger has not been made yet, or was not made to its end."""
        if not self.paths.ledger.is_file():
            return []
        with self.reading() as connection:
            try:
                made = connection.execute("SELECT 1 FROM sqlite_master WHERE name='ledger'").fetchone()
            except sqlite3.OperationalError as error:
                # Its maker died in its first writes, and only a writer may put that in order.
                if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                    raise
                return []
            if not made:
                return []
            return [dict(row) for row in connection.execute("SELECT * FROM ledger ORDER BY id")]

    def spool_files(self) -> list[Path]:
        elsewhere = [path for path in self.temporary.rglob(f"*{spool.SUFFIX}") if not path.is_symlink()]
        inside = list(self.paths.spool.glob(f"*{spool.SUFFIX}")) if self.paths.spool.is_dir() else []
        return inside + elsewhere

    def waiting_calls(self) -> set[str]:
        """Calls of which an issue stands in a spool file, merged or not, or in a file that was set aside."""
        beside = self.paths.spool / "unreadable.txt"
        files = self.spool_files() + ([beside] if beside.exists() else [])
        return {call for path in files for call in _issues(path.read_bytes())}

    def recover(self) -> None:
        """The next process of the host: it merges whatever waits."""
        ended = self._nursery.run("start()\nsay(merged(30))", **self.environment)
        assert (ended.code, ended.out) == (0, "True\n"), ended
        assert self.spool_files() == []

    def nothing_lost(self) -> None:
        """Before anybody cleans up: every call that a hook accepted stands somewhere."""
        stand = {str(row["tool_call_id"]) for row in self.rows()}
        assert set(self.issued) - stand - self.waiting_calls() == set()

    def whole(self, *, apart: Iterable[str] = ()) -> None:
        """Once all is merged: each accepted call in one row, settled where its post was accepted; a sound file.

        `apart`: calls that may be missing, as what this fault may take.
        """
        rows = self.rows()
        found = Counter(str(row["tool_call_id"]) for row in rows)
        assert {call: n for call, n in found.items() if n > 1} == {}, "doubled"
        may_miss = set(apart)
        lost = [call for call in self.issued if not found[call] and call not in may_miss]
        assert lost == [], f"lost: {lost}"
        status = {str(row["tool_call_id"]): row["status"] for row in rows}
        wrong = {call: status[call] for call in self.settled if call in status and status[call] != "CONFIRMED"}
        assert wrong == {}, "settlements lost"
        assert integrity(self.paths.ledger) == "ok"
        assert chain(self.paths.ledger) == "whole"


_CALL = re.compile(rb'tool_call_id\\*": ?\\*"([\w-]+)\\*"')


def _issues(data: bytes) -> Iterator[str]:
    """Ids of the calls whose issue stands in the lines of a spool; also in lines that were set aside as text."""
    for line in data.splitlines():
        if b"args_cut" in line:
            yield from (found.decode() for found in _CALL.findall(line))


def told_clearly(ended: Ended, *codes: int) -> None:
    """A command ended in one of these codes; with a code that is an error it said one sentence, and nothing else."""
    assert ended.code in codes, ended
    assert "Traceback" not in ended.err, ended.err
    if ended.code >= 2:
        (sentence,) = ended.err.strip().splitlines()
        assert sentence.endswith("."), sentence
        assert ended.out == "", ended.out


CALLS = """
def calls(prefix, count, size=1, unsettled=3, session="s1"):
    "Make calls and say each id once its hook has returned; every third stays unsettled."
    for n in range(count):
        args = {"path": f"/{prefix}-{n}", "content": "x" * size}
        pre(f"{prefix}-{n}", args, session=session)
        os.write(1, f"pre {prefix}-{n}\\n".encode())
        if n % unsettled:
            post(f"{prefix}-{n}", args, session=session)
            os.write(1, f"post {prefix}-{n}\\n".encode())
"""
"""Beginning of a script: `calls(prefix, count)`, whose lines the accounts understand."""
