"""The plugin's folder in a home: is it there, is it ours, and putting it there whole or not at all."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import agent_ledger
from ledger_tui.commands.errors import refused, unreadable
from ledger_tui.sources.small_files import read_text

NAME = "agent-ledger"
_FIELD = re.compile(r"^(name|version|author):[ ]+(.+?)\s*$")
_MANIFESTS = ("plugin.yaml", "plugin.yml")
_LIMIT = 65_536
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a plugin says of itself; empty where it says nothing."""

    name: str = ""
    version: str = ""
    author: str = ""

    @property
    def ours(self) -> bool:
        return self.name == NAME and bool(self.author) and self.author == own_manifest().author


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin folder named ours, or one whose manifest has our name."""

    path: Path
    manifest: Manifest
    linked: bool

    @property
    def key(self) -> str:
        """The name by which the host enables it: its folder, below a category if it lies in one."""
        parent = self.path.parent
        return self.path.name if parent.name == "plugins" else f"{parent.name}/{self.path.name}"


@dataclass(frozen=True, slots=True)
class Former:
    """What lay at our place before, and where it was moved because files were in it that are not the plugin's."""

    version: str
    linked: bool
    kept: Path | None = None


def source() -> Path:
    """The plugin as it came with this program."""
    return Path(agent_ledger.__file__).resolve().parent


def own_manifest() -> Manifest:
    return read_manifest(source())


def read_manifest(folder: Path) -> Manifest:
    """The plain fields of a manifest; of a folder without one, an empty one."""
    for name in _MANIFESTS:
        with contextlib.suppress(OSError):
            text = read_text(folder / name, _LIMIT)
            found = {m[1]: m[2].split(" #")[0].strip().strip("\"'") for m in map(_FIELD.match, text.splitlines()) if m}
            return Manifest(**found)
    return Manifest()


def target(home: Path) -> Path:
    return home / "plugins" / NAME


def installed(home: Path) -> Found | None:
    """What lies at our place in a home, ours or not; None where nothing does."""
    path = target(home)
    return Found(path, read_manifest(path), path.is_symlink()) if os.path.lexists(path) else None


def others(home: Path) -> list[Found]:
    """Plugins of the same name that are not ours, wherever they lie below `plugins/`."""
    found = [Found(path, read_manifest(path), path.is_symlink()) for path in _folders(home / "plugins")]
    same = [one for one in found if one.manifest.name == NAME or one.path.name == NAME]
    return [one for one in same if not one.manifest.ours]


def _folders(plugins: Path) -> Iterator[Path]:
    """Plugin folders, also one category deeper, as the host looks for them."""
    with contextlib.suppress(OSError):
        for path in sorted(plugins.iterdir()):
            if not path.is_dir() or path.name.startswith("."):
                continue
            if any((path / name).exists() for name in _MANIFESTS) or path.name == NAME:
                yield path
            else:
                with contextlib.suppress(OSError):
                    yield from (below for below in sorted(path.iterdir()) if read_manifest(below).name)


def put(home: Path, *, link: bool) -> Former | None:
    """Puts the plugin into `home`; what lay there before, if anything did.

    Raises CommandError: 4 rather than overwrite somebody else's plugin, 3 where the home cannot be written.
    """
    before = installed(home)
    if before is not None and not before.manifest.ours:
        author = before.manifest.author or "nobody named"
        raise refused(
            f"{before.path} holds a plugin of the same name by {author}, which is left as it is;"
            " disable it and move that folder away, then install again."
        )
    plugins = home / "plugins"
    try:
        plugins.mkdir(mode=0o755, exist_ok=True)
        part = plugins.resolve().parent / f".{NAME}-{secrets.token_hex(4)}"
        try:
            _make(part, link=link)
            _own(part, home)
            kept = _swap(part, plugins / NAME)
        finally:
            _remove(part)
    except OSError as error:
        raise unreadable(f"{plugins} cannot be written ({error.strerror}); check its disk and its rights.") from error
    return None if before is None else Former(before.manifest.version, before.linked, kept)


def take_away(home: Path) -> Former | None:
    """Removes our plugin from `home`; None where there is none. Raises CommandError."""
    found = installed(home)
    if found is None:
        return None
    if not found.manifest.ours:
        raise refused(
            f"{found.path} is not this plugin but one by {found.manifest.author or 'nobody named'}; it stays."
        )
    try:
        kept = _dispose(found.path, _home_of(found.path))
    except OSError as error:
        raise unreadable(f"{found.path} cannot be removed ({error.strerror}); check its rights.") from error
    return Former(found.manifest.version, found.linked, kept)


_LEFT_BY_PYTHON = ("__pycache__", "*.pyc", "*.pyo", ".*")


def strangers(folder: Path) -> list[str]:
    """Files in a folder of ours that the plugin does not bring, by their paths in it; none in a link."""
    if folder.is_symlink():
        return []
    found: list[str] = []
    for above, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [
            str((Path(above) / name).relative_to(folder)) for name in files if not name.endswith((".pyc", ".pyo"))
        ]
    return sorted(name for name in found if not (source() / name).is_file())


def _home_of(place: Path) -> Path:
    return place.parent.resolve().parent


def _dispose(old: Path, home: Path) -> Path | None:
    """Removes a former folder; one that holds somebody's own files is moved into the home, and named."""
    if not strangers(old):
        _remove(old)
        return None
    number = 1
    while os.path.lexists(kept := home / f"{NAME}-plugin-kept-{number}"):
        number += 1
    os.rename(old, kept)
    return kept


def _make(part: Path, *, link: bool) -> None:
    if link:
        part.symlink_to(source(), target_is_directory=True)
    else:
        _copy(source(), part)


def _copy(original: Path, folder: Path) -> None:
    """A folder that nobody else can write, from the first moment: whoever can write a plugin, acts as the host."""
    os.mkdir(folder, 0o755)
    for entry in sorted(original.iterdir()):
        if any(fnmatch.fnmatch(entry.name, left) for left in _LEFT_BY_PYTHON):
            continue
        if entry.is_dir():
            _copy(entry, folder / entry.name)
            continue
        descriptor = os.open(folder / entry.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o644)
        with open(descriptor, "wb") as file:
            file.write(entry.read_bytes())


def _own(part: Path, home: Path) -> None:
    """A plugin installed by root into somebody's home belongs to that person."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    info = home.stat()
    for path in (part, *(part.rglob("*") if not part.is_symlink() else ())):
        os.chown(path, info.st_uid, info.st_gid, follow_symlinks=False)


def _swap(part: Path, place: Path) -> Path | None:
    """`part` takes the place; where what lay there is kept, if it is."""
    old = part.with_name(f"{part.name}.old")
    if os.path.lexists(place):
        os.rename(place, old)
    try:
        os.rename(part, place)
    except OSError:
        if os.path.lexists(old):
            os.rename(old, place)
        raise
    return _dispose(old, _home_of(place))


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)
