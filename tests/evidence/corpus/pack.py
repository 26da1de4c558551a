"""The corpus as one small file: of each home what a verdict needs, with the times of every entry beside it.

Nobody can set back when an entry last changed (ctime), and moving a tree to another place must not change a verdict.
So what `lstat` said in the place where the stories played is kept in `times.json`, and `Unpacked` answers with it.
Databases are stored compacted, without the words in them that tell of the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import stat
import tarfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_ledger.engine.evidence import Facts
from agent_ledger.engine.evidence.facts import Place
from agent_ledger.engine.paths import Paths
from tests.host.environments import Host

from .stage import Batch, chat_of
from .story import Case, Scene

PACKED = Path(__file__).with_name("corpus.tar.xz")

LEFT_OUT = frozenset({
    "plugins", "logs", "audio_cache", "image_cache", "cache", "pairing", "hooks", "backups", "SOUL.md", "sessions",
    "config.yaml", "spool", ".bundled_manifest", "__pycache__",
})  # fmt: skip
"""Names in a home that no verdict looks at."""

_FORGETTING = (
    "UPDATE sessions SET system_prompt = NULL",
    "DELETE FROM system_prompts",
    "UPDATE writer SET machine = '0', boot_id = '0', pid_namespace = '0'",
)
"""What tells of the machine that made the corpus."""

_MACHINE = (socket.gethostname().encode(), b"a-machine")

KEPT_TIMES = "times.json"

CHOSEN = "chosen"


def choose(folder: Path, made: Sequence[tuple[Host, Scene, Sequence[Batch]]]) -> None:
    """Put what verdicts need of the homes that were played below `folder` into its folder `CHOSEN`, with an index."""
    chosen = folder / CHOSEN
    shutil.rmtree(chosen, ignore_errors=True)
    index: list[dict[str, Any]] = []
    for host, scene, batches in made:
        for batch in batches:
            place = chosen / host.name / batch.name
            times = _choose(folder / host.name / batch.name, place)
            (place / KEPT_TIMES).write_text(json.dumps(times), encoding="utf-8")
            where = {"host": host.name, "home": batch.name, "root": str(scene.root)}
            index += [{**where, **_indexed(case)} for case in batch.cases]
    (chosen / "index.json").write_text(json.dumps({"made": time.time(), "cases": index}), encoding="utf-8")


def _indexed(case: Case) -> dict[str, Any]:
    return {
        "kind": case.kind, "name": case.name, "chat": chat_of(case), "tool": case.lost.tool, "nth": case.nth,
        "group": case.group, "truth": case.truth, "knowable": case.knowable,
    }  # fmt: skip


def pack(folder: Path) -> None:
    """Write what was chosen into `corpus.tar.xz` in `folder`."""
    chosen = folder / CHOSEN
    with tarfile.open(folder / PACKED.name, "w:xz", preset=9, format=tarfile.PAX_FORMAT) as packed:
        for path in sorted(chosen.rglob("*"), key=_alike):
            packed.add(path, str(path.relative_to(chosen)), recursive=False, filter=_nobodys)


def _alike(path: Path) -> tuple[str, ...]:
    """Like beside like: databases of one name come one after the other, so that they pack well."""
    return ("", str(path)) if path.is_dir() else (path.name, str(path))


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(entry.mtime)
    return entry


def _choose(source: Path, place: Path) -> dict[str, list[float]]:
    """Copy what a verdict needs; returns (mtime, ctime) of every entry of the source by its path below it."""
    times: dict[str, list[float]] = {}
    for path in _entries(source):
        name = path.relative_to(source)
        info = path.lstat()
        # That the maker put the whole home aside is no part of its story.
        times[str(name)] = [info.st_mtime, info.st_mtime if path == source else info.st_ctime]
        target = place / name
        if stat.S_ISDIR(info.st_mode):
            target.mkdir(parents=True, exist_ok=True)
            os.chmod(target, stat.S_IMODE(info.st_mode) | 0o700)
        elif stat.S_ISLNK(info.st_mode):
            target.symlink_to(os.readlink(path))
        elif path.suffix == ".db":
            _compacted(path, target)
        elif stat.S_ISREG(info.st_mode) and not path.name.endswith((".db-wal", ".db-shm", ".lock")):
            said = path.read_bytes()
            target.write_bytes(said.replace(*_MACHINE) if "logs" in path.parts or path.suffix == ".json" else said)
            os.chmod(target, stat.S_IMODE(info.st_mode))
    return times


def _entries(source: Path) -> Iterable[Path]:
    yield source
    for folder, names, files in os.walk(source):
        here = Path(folder)
        if here.name == "hermes-home" or here.name == "agent-ledger":
            names[:] = [name for name in names if name not in LEFT_OUT]
            files = [name for name in files if name not in LEFT_OUT]
        for name in sorted((*names, *files)):
            yield here / name


def _compacted(path: Path, target: Path) -> None:
    shutil.copyfile(path, target)
    for end in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(path.with_name(path.name + end), target.with_name(target.name + end))
    connection = sqlite3.connect(target, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
        for statement in _FORGETTING:
            with contextlib.suppress(sqlite3.OperationalError):  # Not every host or database has the table.
                connection.execute(statement)
        connection.execute("VACUUM")
    finally:
        connection.close()


def unpack(folder: Path, packed: Path = PACKED) -> dict[str, Any]:
    """Unpack the corpus into `folder`; returns its index."""
    with tarfile.open(packed) as corpus:
        if hasattr(tarfile, "tar_filter"):
            corpus.extractall(folder, filter="tar")
        else:  # The first releases of Python 3.11.
            corpus.extractall(folder)
    found: dict[str, Any] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return found


class Unpacked(Facts):
    """Facts of a home that was moved: asked by its old paths, answering with its old times."""

    def __init__(self, root: Path, place: Path, *, now: float) -> None:
        """`root`: where the home was; `place`: where it is."""
        self._root, self._place = root, place
        self._real_root = Path(os.path.realpath(root))  # On some systems the folder of the invented root is a link.
        self._times: dict[str, list[float]] = json.loads((place / KEPT_TIMES).read_text(encoding="utf-8"))
        super().__init__(Paths(root / "hermes-home"), now=now)
        self.ledger = self.database(self.paths.ledger)

    def _here(self, path: Path) -> Path:
        path = Path(os.path.normpath(path))
        for root in (self._root, self._real_root):
            if path.is_relative_to(root):
                return self._place / path.relative_to(root)
        return path

    def look(self, path: Path) -> Place:
        here = self._here(path)
        found = super().look(here)
        name = str(here.relative_to(self._place)) if here.is_relative_to(self._place) else None
        if name in self._times and found.exists:
            modified, changed = self._times[name]
            found = replace(found, modified=modified, changed=changed)
        return replace(found, path=path)

    def content(self, path: Path, **limits: int) -> bytes:
        return super().content(self._here(path), **limits)

    def names(self, folder: Path) -> list[str]:
        return super().names(self._here(folder))

    def link(self, path: Path) -> str:
        return super().link(self._here(path))

    def database(self, path: Path) -> sqlite3.Connection:
        return super().database(self._here(path))
