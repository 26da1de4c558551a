"""Checks of the ledger's folder and the files in it: private, no links, of one owner."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent_ledger.engine.paths import Paths
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
from ledger_tui.commands.checks.disk import BRING_BACK, in_its_place
from ledger_tui.commands.place import Place
from ledger_tui.sources.guard import real_path

_MOST = 10_000
"""Files that are looked at."""

BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database."""

_YOURS = frozenset({"policy.json", "policy_mode", "prompt_policy.json", "prompt_policy_mode", "settings.json"})
"""Files that a person puts there: a link of theirs is followed, and who may read them is up to the folder."""

_FOLDERS = frozenset({"spool", "repairs"})
_FILES = _YOURS | {"ledger.db", *(f"ledger.db{end}" for end in BESIDE), "ledger.lock", "hash.key", "ignored.json"}


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file or folder, and what `lstat` says of it."""

    path: Path
    info: os.stat_result
    name: str
    """As a person is told: below the ledger's folder, or in full."""
    kind: str = ""
    """What belongs there, `file` or `folder`; empty where the name is none of ours."""

    @property
    def mode(self) -> int:
        return stat.S_IMODE(self.info.st_mode)

    @property
    def yours(self) -> bool:
        return self.name in _YOURS

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.info.st_mode)


def data_folder(place: Place) -> list[Check]:
    """Mode, owner, links and kinds of the ledger's folder, of everything in it, and of the spool elsewhere."""
    folder, around = place.data, place.ledger_paths
    elsewhere = [] if around is None else _spool_elsewhere(around)
    above = None if around is None else _foreign_link(around)
    if above is not None:
        return [above]
    if blocked := in_its_place(folder.parent):
        return [Check("data-folder", FAIL, f"{folder.parent} is {blocked}, so {folder} cannot be made.", BRING_BACK)]
    try:
        info = os.lstat(folder)
    except FileNotFoundError:
        nothing = Check("data-folder", OK, f"Nothing is recorded yet: {folder} is made with the first call.")
        return [nothing, *_of_entries(place, elsewhere, _user())] if elsewhere else [nothing]
    except OSError as error:
        return [Check("data-folder", FAIL, f"{folder} cannot be looked at ({error.strerror}).", "Check its rights.")]
    if around is None:
        return _outside(place)
    if not stat.S_ISDIR(info.st_mode):
        return [_no_folder(folder, info)]
    try:
        entries = [*islice(_entries(folder), _MOST), *elsewhere]
    except OSError as error:
        text = f"{folder} cannot be listed ({error.strerror}), so nothing is known of the files in it."
        return [_folder_mode(folder, info), Check("file-modes", UNKNOWN, text, "Look as its owner.")]
    return [_folder_mode(folder, info), *_of_entries(place, entries, info.st_uid)]


def _outside(place: Place) -> list[Check]:
    found = Check("data-folder", OK, f"This ledger lies in no Hermes home, but in {place.data}.")
    beside = list(_beside(place))
    return [found, *(_of_entries(place, beside, beside[0].info.st_uid) if beside else ())]


def _no_folder(folder: Path, info: os.stat_result) -> Check:
    what = "a link, and the plugin writes through no link" if stat.S_ISLNK(info.st_mode) else "no folder"
    return Check(
        "data-folder",
        FAIL,
        f"{folder} is {what}.",
        "Put the folder itself there, or point HERMES_HOME to where the data is to be.",
    )


def _foreign_link(around: Paths) -> Check | None:
    """A person may keep the folder above ours elsewhere by a link; a link of somebody else leads astray."""
    above = around.data.parent
    try:
        info, owner = os.lstat(above), os.stat(around.home).st_uid
    except OSError:
        return None
    if not stat.S_ISLNK(info.st_mode) or info.st_uid in (owner, _user(), 0):
        return None
    return Check(
        "data-folder",
        FAIL,
        f"{above} is a link that user {info.st_uid} put there, and the plugin follows none of another user.",
        f"Find out who did, then remove it: rm {shlex.quote(str(above))}",
    )


def _folder_mode(folder: Path, info: os.stat_result) -> Check:
    if os.name == "nt":
        return Check("data-folder", UNKNOWN, "Windows has no file modes: who may read the ledger is up to the folder.")
    if info.st_uid not in (_user(), 0):
        return Check(
            "data-folder",
            WARN,
            f"{folder} belongs to user {info.st_uid}, not to you.",
            "Look at it as its owner; the host must run as that user to write it.",
        )
    mode = stat.S_IMODE(info.st_mode)
    if mode & 0o077:
        remedy = f"Run: chmod 700 {shlex.quote(str(folder))}"
        return Check("data-folder", WARN, f"Others may enter {folder} (mode {mode:04o}).", remedy)
    return Check("data-folder", OK, f"Only its owner may enter {folder}.")


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _entries(folder: Path) -> Iterator[_Entry]:
    """Everything below the folder, through no link. Raises OSError where the folder itself cannot be listed."""
    os.listdir(folder)
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(above, name)
            below = path.relative_to(folder)
            yield from _entry(path, str(below), _kind(below.parts))


def _kind(parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return "folder" if parts[0] in _FOLDERS else "file" if parts[0] in _FILES else ""
    return "file" if len(parts) == 2 and parts[0] in _FOLDERS else ""


def _beside(place: Place) -> Iterator[_Entry]:
    """A ledger that lies in no home: only its own files are looked at, not what else is in that folder."""
    ledger = real_path(place.ledger)
    for end in ("", *BESIDE):
        yield from _entry(Path(f"{ledger}{end}"), f"{ledger.name}{end}", "file")


def _spool_elsewhere(around: Paths) -> list[_Entry]:
    """The spool below the temporary folder, where anybody may take its name first."""
    folder = around.spool_elsewhere
    found = _entry(folder, str(folder), "folder")
    if not found or not stat.S_ISDIR(found[0].info.st_mode):
        return found
    try:
        names = sorted(os.listdir(folder))[:_MOST]
    except OSError:
        return found
    return found + [one for name in names for one in _entry(folder / name, str(folder / name), "file")]


def _entry(path: Path, name: str, kind: str) -> list[_Entry]:
    try:
        return [_Entry(path, os.lstat(path), name, kind)]
    except OSError:
        return []  # It went away meanwhile, or was never there.


def _of_entries(place: Place, entries: Sequence[_Entry], owner: int) -> list[Check]:
    return [_links(place, entries, owner), _owners(place, entries, owner), _file_modes(place, entries)]


def _links(place: Place, entries: Sequence[_Entry], owner: int) -> Check:
    links = [one.name for one in entries if one.is_link and not _is_your_own_link(one, owner)]
    if links:
        return Check(
            "links",
            FAIL,
            f"Links stand where files of {place.data} should be: {_few(links)}; the plugin writes through none.",
            "Look where each leads (ls -l), then put the file itself there, or remove a link that you did not make.",
        )
    odd = [one.name for one in entries if not one.is_link and not _is_its_kind(one)]
    if odd:
        return Check(
            "links",
            FAIL,
            f"What stands in {place.data} under names of ours is not what belongs there: {_few(odd)}.",
            "Move it away; what the plugin needs there it makes anew.",
        )
    return Check("links", OK, "No link and nothing strange stands where a file of the ledger should be.")


def _is_your_own_link(one: _Entry, owner: int) -> bool:
    """A person may keep a file of their own elsewhere by a link, if nobody else made it and nobody else owns it."""
    if not one.yours or one.info.st_uid not in (owner, 0):
        return False
    try:
        return os.stat(one.path).st_uid in (owner, 0)
    except OSError:
        return True  # It leads nowhere: that is told where the file is read.


def _is_its_kind(one: _Entry) -> bool:
    mode = one.info.st_mode
    if not one.kind:
        return not one.is_link
    return stat.S_ISDIR(mode) if one.kind == "folder" else stat.S_ISREG(mode)


def _owners(place: Place, entries: Sequence[_Entry], owner: int) -> Check:
    foreign = [one for one in entries if one.info.st_uid != owner and not (one.yours and one.info.st_uid == 0)]
    if not foreign or os.name == "nt":
        return Check("owners", OK, "The ledger's files are all of one owner.")
    names = _few([one.name for one in foreign])
    return Check(
        "owners",
        WARN,
        f"Files of another user (number {foreign[0].info.st_uid}) lie in {place.data}: {names}.",
        f"If you know how they came there, give them back (chown -h {owner} …); else move them away.",
    )


def _file_modes(place: Place, entries: Sequence[_Entry]) -> Check:
    if os.name == "nt":
        return Check("file-modes", OK, "Windows has no file modes.")
    loose = [one for one in entries if _is_its_kind(one) and _is_loose(one)]
    if loose:
        return Check(
            "file-modes",
            WARN,
            f"Others may read or change files of {place.data}: {_few([one.name for one in loose])}.",
            _closing(place, loose),
        )
    return Check("file-modes", OK, "Only their owner may read the ledger's files.")


def _is_loose(one: _Entry) -> bool:
    """What was recorded is its owner's alone. A person's own files only nobody else may change, in an own folder."""
    if not one.yours:
        return bool(one.mode & 0o077)
    try:
        open_folder = os.stat(one.path.parent).st_mode & 0o011
    except OSError:
        open_folder = 0
    return bool(one.mode & (0o066 if open_folder else 0o022))


def _closing(place: Place, loose: Sequence[_Entry]) -> str:
    """The command that closes them; names of files of a ledger in no home are written out."""
    if place.ledger_paths is None:
        return "Run: chmod go-rwx " + " ".join(shlex.quote(str(one.path)) for one in loose[:5])
    tops = {str(place.data) if not os.path.isabs(one.name) else str(_top(place, one)) for one in loose}
    return "Run: chmod -R go-rwx " + " ".join(shlex.quote(top) for top in sorted(tops))


def _top(place: Place, one: _Entry) -> Path:
    around = place.ledger_paths
    return one.path if around is None else around.spool_elsewhere


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
