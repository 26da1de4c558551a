"""Where things lie in a Hermes home, and how files are made that only their owner may read."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

DATA_FOLDER = Path("plugin-data") / "agent-ledger"


class UnsafePathError(OSError):
    """A file or folder of ours is not ours: a link, or owned by somebody else."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Every path of one home. Nothing is created by asking."""

    home: Path

    @property
    def data(self) -> Path:
        return self.home / DATA_FOLDER

    @property
    def ledger(self) -> Path:
        return self.data / "ledger.db"

    @property
    def state(self) -> Path:
        return self.home / "state.db"

    @property
    def settings(self) -> Path:
        return self.data / "settings.json"

    @property
    def key(self) -> Path:
        return self.data / "hash.key"

    @property
    def turnstile(self) -> Path:
        return self.data / "ledger.lock"

    @property
    def spool(self) -> Path:
        return self.data / "spool"

    @property
    def spool_elsewhere(self) -> Path:
        """Where records wait when the home itself cannot be written: a private folder under the temporary one."""
        name = sha256(os.fsencode(os.path.abspath(self.home))).hexdigest()[:16]
        owner = os.geteuid() if hasattr(os, "geteuid") else 0
        return _temporary() / f"agent-ledger-{owner}-{name}"

    @property
    def policy(self) -> Path:
        return self.data / "policy.json"

    @property
    def policy_mode(self) -> Path:
        return self.data / "policy_mode"

    @property
    def prompt_policy(self) -> Path:
        return self.data / "prompt_policy.json"

    @property
    def prompt_policy_mode(self) -> Path:
        return self.data / "prompt_policy_mode"


def _temporary() -> Path:
    """Where this system keeps temporary files. Only looked for: `tempfile` would try it out by writing into it."""
    if tempfile.tempdir is not None:
        return Path(os.fsdecode(tempfile.tempdir))
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    for folder in filter(None, (*named, "/tmp", "/var/tmp")):
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return Path(folder).absolute()
    return Path(os.sep, "tmp")  # None can be written right now; opening a file in it will say so.


def in_data_folder(path: Path) -> bool:
    """Would a file of this name lie in, or below, the plugin's data folder of some home?"""
    parents = path.parent.resolve().parts
    return any(parents[at : at + 2] == DATA_FOLDER.parts for at in range(len(parents)))


def default_home(environ: dict[str, str] | os._Environ[str]) -> Path:
    """`$HERMES_HOME`, else `~/.hermes`. A `~` of nobody who is known stands for itself, as it does for the host."""
    return Path(os.path.expanduser(environ.get("HERMES_HOME") or "~/.hermes"))


def _ours(info: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or info.st_uid in (os.geteuid(), 0)


_CAREFULLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
"""Not through a link, not into child processes, and without waiting for the other end of a pipe."""


def is_own_folder(folder: Path) -> bool:
    """Is there a folder of ours at this path, and no link? Raises OSError where nothing is there."""
    info = os.lstat(folder)
    return stat.S_ISDIR(info.st_mode) and _ours(info)


def is_own_file(path: Path) -> bool:
    """Is there a plain file of ours at this path, and no link? Raises OSError where nothing is there."""
    info = os.lstat(path)
    return stat.S_ISREG(info.st_mode) and _ours(info)


def private_folder(folder: Path) -> None:
    """Make `folder` with mode 0700, or check that it is a folder of ours. Raises OSError, UnsafePathError."""
    _no_foreign_link(folder.parent)
    try:
        info = os.lstat(folder)
    except FileNotFoundError:
        _make_parents(folder.parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or not _ours(info):
        raise UnsafePathError(f"{folder} is not a folder of this user")
    if hasattr(os, "geteuid") and info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) & 0o077:
        os.chmod(folder, 0o700)


def _no_foreign_link(parent: Path) -> None:
    """A person may keep the folder above ours elsewhere by a link; a link that somebody else put there leads astray."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        info = os.lstat(parent)
        if stat.S_ISLNK(info.st_mode) and not _ours(info):
            raise UnsafePathError(f"{parent} is a link of another user")


def _make_parents(folder: Path) -> None:
    """Folders above ours, where they are missing: never writable for others, whatever the umask allows."""
    if not folder.is_dir():
        _make_parents(folder.parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o755)


def private_file(path: Path, flags: int) -> int:
    """Open `path` (made with mode 0600 where `flags` says O_CREAT), never through a link. Returns a descriptor.

    Raises OSError, and UnsafePathError for a link, a non-file, or a file of another user.
    """
    try:
        descriptor = os.open(path, flags | _CAREFULLY, 0o600)
    except OSError as error:
        if os.path.islink(path):
            raise UnsafePathError(f"{path} is a link") from error
        raise
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or not _ours(info):
        os.close(descriptor)
        raise UnsafePathError(f"{path} is not a file of this user")
    if hasattr(os, "fchmod") and stat.S_IMODE(info.st_mode) & 0o077 and info.st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)
    return descriptor
