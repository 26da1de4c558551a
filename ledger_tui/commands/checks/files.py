"""Checks of the home and of our folder in it: there, private, ours, and what a person wrote into it understood."""

from __future__ import annotations

import os
import shutil
import stat
from itertools import islice
from pathlib import Path

from agent_ledger.engine import settings, spool
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.commands.status import read_mode
from ledger_tui.sources import set_aside as apart
from ledger_tui.sources.small_files import read_text

_MOST = 10_000
_LITTLE_ROOM = 20_000_000
"""Bytes of free disk below which a full disk is near."""


def home(place: Place) -> Check:
    if place.home.is_dir():
        return Check("home", OK, f"The Hermes home is {place.home}.")
    return Check(
        "home",
        FAIL,
        f"There is no Hermes home at {place.home}.",
        "Run hermes once, or name its home with --hermes-home or HERMES_HOME.",
    )


def data_folder(place: Place) -> list[Check]:
    """Mode, owner and links of the ledger's folder and of everything in it."""
    folder = place.data
    try:
        info = os.lstat(folder)
    except FileNotFoundError:
        return [Check("data-folder", OK, f"Nothing is recorded yet: {folder} is made with the first call.")]
    except OSError as error:
        return [Check("data-folder", FAIL, f"{folder} cannot be looked at ({error.strerror}).", "Check its rights.")]
    if stat.S_ISLNK(info.st_mode):
        return [
            Check(
                "data-folder",
                FAIL,
                f"{folder} is a link, and the plugin writes through no link.",
                "Put the folder itself there, or point HERMES_HOME to where the data is to be.",
            )
        ]
    return [_folder_mode(folder, info), _file_modes(folder, info.st_uid), _writable(folder)]


def _writable(folder: Path) -> Check:
    """Can the ledger be written at all: rights, and room on the disk?"""
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check(
            "writable",
            FAIL,
            f"{folder} cannot be written by you; what the host records as you is spooled elsewhere meanwhile.",
            "Give the folder back to the user as whom the host runs, writable.",
        )
    free = shutil.disk_usage(folder).free
    if free < _LITTLE_ROOM:
        return Check(
            "writable",
            WARN,
            f"Only {free // 1_000_000} MB are free where the ledger lies.",
            "Make room; ledger-tui prune lets the ledger use its own room again.",
        )
    return Check("writable", OK, "The ledger's folder can be written.")


def _folder_mode(folder: Path, info: os.stat_result) -> Check:
    if os.name == "nt":
        return Check("data-folder", UNKNOWN, "Windows has no file modes: who may read the ledger is up to the folder.")
    if info.st_uid not in (os.geteuid(), 0):
        return Check(
            "data-folder",
            WARN,
            f"{folder} belongs to user {info.st_uid}, not to you.",
            "Look at it as its owner; the host must run as that user to write it.",
        )
    mode = stat.S_IMODE(info.st_mode)
    if mode & 0o077:
        return Check("data-folder", WARN, f"Others may enter {folder} (mode {mode:04o}).", f"Run: chmod 700 '{folder}'")
    return Check("data-folder", OK, f"Only its owner may enter {folder}.")


def _file_modes(folder: Path, owner: int) -> Check:
    loose, links, foreign = [], [], []
    try:
        paths = list(islice(folder.rglob("*"), _MOST))
    except OSError as error:
        return Check("file-modes", UNKNOWN, f"{folder} cannot be listed ({error.strerror}).", "Look as its owner.")
    for path in paths:
        try:
            info = os.lstat(path)
        except OSError:
            continue  # It went away meanwhile.
        if stat.S_ISLNK(info.st_mode):
            links.append(path.name)
        elif info.st_uid != owner:
            foreign.append(path.name)
        elif os.name != "nt" and stat.S_IMODE(info.st_mode) & 0o077 and _holds_records(path):
            loose.append(path.name)
    if links:
        return Check(
            "file-modes", FAIL, f"Links lie in {folder}: {_few(links)}.", "Replace them by the files themselves."
        )
    if foreign:
        return Check(
            "file-modes",
            WARN,
            f"Files of another user lie in {folder}: {_few(foreign)}.",
            "Give them to the user as whom the host runs (chown).",
        )
    if loose:
        return Check(
            "file-modes",
            WARN,
            f"Others may read files in {folder}: {_few(loose)}.",
            f"Run: chmod -R go-rwx '{folder}'",
        )
    return Check("file-modes", OK, "Only their owner may read the ledger's files.")


def _holds_records(path: Path) -> bool:
    """What a person put there to set things up may be readable; what was recorded may not."""
    return path.name not in {"policy.json", "policy_mode", "prompt_policy.json", "prompt_policy_mode", "settings.json"}


def _few(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def settings_file(place: Place) -> Check:
    path = place.data / "settings.json"
    try:
        found = settings.parse(read_text(path, 1_000_000, errors="strict"))
    except FileNotFoundError:
        return Check("settings", OK, "There is no settings.json: the defaults hold.")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return Check("settings", FAIL, f"{path} cannot be read ({why}); the defaults hold.", "Mend or remove it.")
    if found.problems:
        return Check("settings", WARN, f"{'; '.join(found.problems)}.", f"Mend {path}; until then those defaults hold.")
    if not found.redact:
        return Check(
            "settings",
            WARN,
            "Secrets are not taken out of what is recorded: settings.json says redact: false.",
            "Remove that entry unless you mean it.",
        )
    return Check("settings", OK, "settings.json is understood.")


def policy_modes(place: Place) -> list[Check]:
    checks = []
    for name in ("policy_mode", "prompt_policy_mode"):
        mode = read_mode(place.data / name)
        if mode == "invalid":
            checks.append(
                Check(
                    name.replace("_", "-"),
                    WARN,
                    f"{place.data / name} holds no word that is understood.",
                    "Write one of off, dry_run, enforce into it.",
                )
            )
        else:
            checks.append(Check(name.replace("_", "-"), OK, f"The mode is {mode}."))
    return checks


def spooled(place: Place, merged: dict[str, int]) -> Check:
    """Records that wait beside the ledger or under the temporary folder, and why they could not be written."""
    around = place.ledger_paths
    if around is None:
        return Check("spool", OK, "This ledger lies in no Hermes home, so nothing waits beside it.")
    state = spool.waiting(around, merged)
    if not state.records:
        return Check("spool", OK, "No record waits to be written.")
    elsewhere = any(path.parent == around.spool_elsewhere for path in spool.files(around))
    where = f"{around.spool} and {around.spool_elsewhere}" if elsewhere else str(around.spool)
    why = f" ({state.reason})" if state.reason else ""
    return Check(
        "spool",
        WARN,
        f"{amount(state.records, 'record waits', 'records wait')} in {where},"
        f" the oldest since {state.oldest or 'an unknown time'}{why}.",
        "Remove what keeps the ledger from being written (full disk, rights, a lock); the host merges them then.",
    )


def set_aside(place: Place) -> Check:
    """Records that the plugin could not understand when it merged them, and therefore kept apart."""
    around = place.ledger_paths
    aside = apart.set_aside(around)
    if around is None or aside == 0:
        return Check("set-aside", OK, "No record was set aside as not understood.")
    path = apart.set_aside_path(around)
    if aside is None:
        return Check(
            "set-aside",
            UNKNOWN,
            f"{path} cannot be read, so what was set aside in it is not known.",
            "Look at its rights.",
        )
    are = amount(aside, "record that was not understood is", "records that were not understood are")
    return Check(
        "set-aside",
        WARN,
        f"{are} in {path} and not in the ledger; nothing merges them any more.",
        "Look into that file for calls that the ledger lacks, then move it away; please report how it came about.",
    )
