"""Checks of what is secret beside the ledger: the key of its hashes, and the credentials of the daily report."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from agent_ledger.engine.fingerprint import KEY_BYTES
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.place import Place
from ledger_tui.sources.small_files import read_bytes
from ledger_tui.sources.snapshot import Reading

_NEWEST = 1_000

_UNIT_BYTES = 65_536
_TOKEN = re.compile(rb"POSTURE_TELEGRAM_(?:BOT_TOKEN|CHAT_ID)[ \t]*=[ \t]*[^\s'\"$%]")
_NAMED = re.compile(rb"^[ \t]*EnvironmentFile[ \t]*=[ \t]*-?([^\r\n]+?)[ \t]*$", re.M)


def hash_key(place: Place, reading: Reading | None) -> Check:
    """The key by which arguments are compared: there, and of its size. It is never opened here."""
    around = place.ledger_paths
    if around is None:
        return Check("hash-key", OK, "This ledger lies in no Hermes home, so no key belongs to it.")
    try:
        info = os.lstat(around.key)
    except FileNotFoundError:
        return _missing(around.key, reading)
    except OSError as error:
        text = f"{around.key} cannot be looked at ({error.strerror})."
        return Check("hash-key", FAIL, text, "Check the rights of its folder.")
    if stat.S_ISREG(info.st_mode) and info.st_size == KEY_BYTES:
        return Check("hash-key", OK, "The key of the hashes is there.")
    what = f"holds {info.st_size} bytes instead of {KEY_BYTES}" if stat.S_ISREG(info.st_mode) else "is no plain file"
    return Check(
        "hash-key",
        FAIL,
        f"{around.key} {what}, so repeated calls are not recognised and no argument can be compared.",
        "Stop Hermes and put the key back from a backup of the home; without one, move it away: a new one is made, and"
        " compares with nothing that was recorded before.",
    )


def _missing(path: Path, reading: Reading | None) -> Check:
    if reading is None or not _has_hashes(reading):
        return Check("hash-key", OK, "There is no key as yet: it is made with the first call.")
    return Check(
        "hash-key",
        WARN,
        f"{path} is gone, so what was recorded cannot be compared with what is recorded from now on.",
        "Stop Hermes and put it back from a backup of the home; else a new one is made with the next call.",
    )


def _has_hashes(reading: Reading) -> bool:
    if "args_hash" not in reading.shape.columns:
        return False
    found = reading.connection.execute(
        "SELECT 1 FROM (SELECT args_hash FROM ledger ORDER BY id DESC LIMIT ?) WHERE args_hash IS NOT NULL LIMIT 1",
        (_NEWEST,),
    ).fetchall()
    return bool(found)


def report(place: Place) -> Check:
    """Where a scheduler keeps the credentials of the daily report: for its owner alone, and not in the agent's home."""
    for path in dict.fromkeys(_credentials(place)):
        try:
            info = os.stat(path)
        except OSError:
            continue
        if os.name != "nt" and stat.S_IMODE(info.st_mode) & 0o077:
            return Check(
                "report",
                WARN,
                f"Others may read {path}, which holds the credentials of the daily report.",
                f"Run: chmod 600 {shlex.quote(str(path))}; then ask @BotFather for a new token.",
            )
        if place.home.resolve() in path.resolve().parents:
            return Check(
                "report",
                WARN,
                f"{path}, which holds the credentials of the daily report, lies in the home that the agent works in.",
                "Move it out of the home, name its new place in the scheduler, and ask @BotFather for a new token.",
            )
    return Check("report", OK, "No credentials of the daily report were found where others can read them.")


def _credentials(place: Place) -> Iterator[Path]:
    """Files that hold them: the one that the manual names, and what the user's systemd units hold or name."""
    home = place.environ.get("HOME", "")
    if not os.path.isabs(home):
        return
    yield Path(home, ".config", "posture.conf")
    yield place.home / "posture.conf"
    units = Path(home, ".config", "systemd", "user")
    for unit in [*sorted(units.glob("*.service")), *sorted(units.glob("*.service.d/*.conf"))]:
        try:
            text = read_bytes(unit, _UNIT_BYTES)
        except OSError:
            continue
        if _TOKEN.search(text):
            yield unit
        if b"posture_daily" in text:
            yield from _files_named(text, home)


def _files_named(text: bytes, home: str) -> Iterator[Path]:
    for name in _NAMED.findall(text):
        path = Path(os.fsdecode(name).replace("%h", home))
        if path.is_absolute() and "\0" not in str(path):
            yield path
