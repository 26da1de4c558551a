"""One line for a tmux status bar, in a few milliseconds: imports nothing that takes longer than the answer.

The counts agree with `queries.totals` and `state_of` of the engine; a test holds the two together. What only
a ledger by other software needs (grace by tool name) is imported when such a file is met.
"""

import os
import sqlite3
import sys
import time
from datetime import UTC, datetime

from ledger_tui.homes import distinct, profile_home, profile_name, unlisted, with_profiles

WIDTH = 40
"""Cells that the line may take in the status bar."""

_WITH_VALUE = ("--hermes-home", "--profile", "--ledger", "--state")
_REPEATED = ("--hermes-home", "--profile")
_DEFAULT_GRACE_S = 120.0
_BUSY_MS = 60
_ALL_BUSY_MS = 90
"""Milliseconds that are waited for locks: of one ledger, and of several together."""

MARKS = {"pending": "○", "overdue": "▲", "ghost": "◆", "waiting": "…", "ok": "✓ ", "unread": "?"}
"""The marks of the app (`widgets.look.GLYPHS`); a test holds the two together."""

PLAIN_MARKS = {"pending": "", "overdue": "!", "ghost": "*", "waiting": "+", "ok": "", "unread": "?"}


def wanted(argv: list[str]) -> dict[str, list[str]] | None:
    """The options before the command if `argv` is exactly `[options] status --tmux`, else None."""
    options: dict[str, list[str]] = {}
    rest = list(argv)
    while rest and rest[0].startswith("--"):
        name, equals, value = rest.pop(0).partition("=")
        if name == "--all-profiles" and not equals:
            options[name] = []
            continue
        if name not in _WITH_VALUE or (name in options and name not in _REPEATED):
            return None
        if not equals:
            if not rest:
                return None
            value = rest.pop(0)
        if not value:
            return None
        options.setdefault(name, []).append(value)
    return options if rest == ["status", "--tmux"] else None


def is_fleet(options: dict[str, list[str]]) -> bool:
    """Do these options ask for several homes?"""
    return "--all-profiles" in options or any(len(options.get(name, ())) > 1 for name in _REPEATED)


def ledger_paths(options: dict[str, list[str]], environ: "os._Environ[str] | dict[str, str]") -> list[str] | None:
    """Where the ledgers lie by these options; None where the full command line has to judge them."""
    named = options.get("--ledger")
    if named is not None:
        ledger = _path(named[0])
        return None if is_fleet(options) or not ledger else [ledger]
    profiles, every = options.get("--profile", []), "--all-profiles" in options
    if not all(map(profile_name, profiles)) or (is_fleet(options) and "--state" in options) or (every and profiles):
        return None
    given = options.get("--hermes-home") or (_of_settings() if every else [])
    usual = [environ.get("HERMES_HOME") or "~/.hermes"]
    homes = list(map(_path, given or usual))
    if not all(homes):
        return None
    if profiles:
        homes = [profile_home(home, profile) for home in homes for profile in profiles]
    for home in homes:
        if not os.path.isdir(home) and (profiles or given or os.path.lexists(home)):
            return None
    if every:
        if any(map(unlisted, homes)):
            return None
        homes = [one for home in homes for one in with_profiles(home)]
    return [os.path.join(home, "plugin-data", "agent-ledger", "ledger.db") for home in distinct(homes)]


def _path(text: str) -> str:
    """The path that was typed, from the root on; empty where that takes the care of `place.path_of`."""
    typed = os.path.expanduser(text)
    if typed.startswith("~") or ".." in typed:
        return ""
    try:
        return os.path.abspath(typed)
    except OSError:  # The working folder is gone.
        return ""


def _of_settings() -> list[str]:
    from ledger_tui.config import load  # Only here: it takes longer than the rest.

    return list(load().config.homes)


def line(path: str, *, now: float, mono_now: float, unicode: bool) -> str:
    """The line for the ledger at `path`, at most `WIDTH` cells, never an exception."""
    found = _look(path, now, mono_now, _BUSY_MS)
    return found if isinstance(found, str) else text(*found[:3], waiting=found[3], unicode=unicode)


def sums(paths: list[str], *, now: float, mono_now: float, unicode: bool, missing: int = 0) -> str:
    """The same for all these ledgers together, with how many cannot be read; `missing` more are known to be away."""
    found = [_look(path, now, mono_now, min(_BUSY_MS, _ALL_BUSY_MS / len(paths))) for path in paths]
    read = [one for one in found if not isinstance(one, str)]
    unread = missing + sum(isinstance(one, str) and one != _NONE for one in found)
    if not read and not unread:
        return _NONE
    pending, overdue, ghost = (sum(one[at] for one in read) for at in range(3))
    return text(pending, overdue, ghost, waiting=any(one[3] for one in read), unread=unread, unicode=unicode)


_NONE = "no ledger yet"


def _look(path: str, now: float, mono_now: float, busy_ms: float) -> tuple[int, int, int, bool] | str:
    """(pending, overdue, ghost, does anything wait in the spool?), or why it cannot be told."""
    try:
        real = os.path.realpath(path)
        if not os.path.lexists(real):
            return _NONE
        if not _may_open(real):
            return "ledger cannot be read"
        counts, merged = read_counts(real, now=now, mono_now=mono_now, busy_ms=busy_ms)
    except sqlite3.OperationalError as error:
        busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (5, 6)
        return "ledger is busy" if busy else "ledger cannot be read"
    except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError):
        return "ledger cannot be read"
    return *counts, _waiting(os.path.dirname(path), merged)


def _may_open(path: str) -> bool:
    """A file, and ours: reading another user's idle WAL store could lock its owner out (see `sources.guard`)."""
    info = os.stat(path)
    if info.st_mode & 0o170000 != 0o100000:
        return False
    if not hasattr(os, "geteuid") or os.geteuid() in (0, info.st_uid):
        return True
    return os.path.exists(path + "-wal") and os.path.exists(path + "-shm")


def text(
    pending: int, overdue: int, ghost: int, *, waiting: bool = False, unread: int = 0, unicode: bool = True
) -> str:
    """The counts in words; figures shrink (`12k`) before words do, so that the line always fits."""
    marks = MARKS if unicode else PLAIN_MARKS
    parts = [
        f"{marks[name]}{_short(amount)} {name}"
        for name, amount in (("pending", pending), ("overdue", overdue), ("ghost", ghost))
        if amount
    ]
    if waiting:
        parts.append(f"{marks['waiting']}spool")
    if unread:
        parts.append(f"{marks['unread']}{_short(unread)} unread")
    if not parts:
        return f"{marks['ok']}ledger ok"
    out = " ".join(parts)
    if len(out) > WIDTH:
        out = " ".join(part.partition(" ")[0] for part in parts)
    return out


def _short(amount: int) -> str:
    for limit, unit, size in ((10_000, "", 1), (1_000_000, "k", 1_000), (10**12, "M", 1_000_000)):
        if amount < limit:
            return f"{amount // size}{unit}"
    return "many"


def read_counts(
    path: str, *, now: float, mono_now: float, busy_ms: float = _BUSY_MS
) -> tuple[tuple[int, int, int], dict[str, int]]:
    """(pending, overdue, ghost) of the ledger at `path`, and how many bytes of each spool file are in it already.

    Raises sqlite3.Error, OSError.
    """
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=busy_ms / 1000, isolation_level=None)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("BEGIN")
        have = {row[0] for row in connection.execute("SELECT name FROM pragma_table_info('ledger')")}
        # The second condition lets the partial index over unconfirmed rows answer.
        where = " FROM ledger WHERE status = '{}' AND status <> 'CONFIRMED'"
        (ghost,) = connection.execute("SELECT count(*)" + where.format("GHOST_REPORTED")).fetchone()
        columns = ", ".join(
            name if name in have else "NULL"
            for name in ("ts", "tool_name", "grace_s", "mono", "writer_id", "no_signal")
        )
        rows = connection.execute(f"SELECT {columns}" + where.format("PENDING")).fetchall()
        writers = {row[4] for row in rows} - {None}
        known = _writers(connection, writers) if writers else {}
        merged = _merged(connection)
    finally:
        connection.close()
    overdue = sum(_overdue(row, known, now, mono_now) for row in rows)
    return (len(rows) - overdue, overdue, ghost), merged


def _merged(connection: sqlite3.Connection) -> dict[str, int]:
    try:
        return dict(connection.execute("SELECT name, size FROM spool_merged").fetchall())
    except sqlite3.OperationalError:
        return {}  # A ledger by other software has no spool.


def _writers(connection: sqlite3.Connection, ids: set[int]) -> dict[int, tuple[bool, bool]]:
    """Per writer: is it proven gone, and does it run on this very boot (so that its clock is ours)?"""
    try:
        rows = connection.execute("SELECT id, pid, started, boot_id, pid_namespace, machine FROM writer").fetchall()
    except sqlite3.OperationalError:
        return {}
    boot, machine = _read("/proc/sys/kernel/random/boot_id"), _read("/etc/machine-id") or _node()
    try:
        namespace = os.readlink(f"/proc/{os.getpid()}/ns/pid")
    except OSError:
        namespace = ""
    out: dict[int, tuple[bool, bool]] = {}
    for number, pid, started, its_boot, its_namespace, its_machine in rows:
        if number not in ids:
            continue
        here = its_machine == machine
        rebooted = bool(its_boot and boot and its_boot != boot)
        gone = here and (rebooted or (its_namespace == namespace and _gone(pid, started)))
        out[number] = (gone, here and bool(its_boot) and its_boot == boot)
    return out


def _gone(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # It is somebody else's process, or the number cannot be asked about.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return len(fields) > 19 and bool(started) and (fields[19] != started or fields[0] in ("Z", "X"))


def _overdue(
    row: tuple,  # type: ignore[type-arg]  # To name what is in it takes `typing`, which takes its time.
    known: dict[int, tuple[bool, bool]],
    now: float,
    mono_now: float,
) -> bool:
    ts, tool, grace, mono, writer, no_signal = row
    gone, same_boot = known.get(writer, (False, False))
    if gone or no_signal:
        return not no_signal  # A tool that this host never confirms is never late, whatever became of its process.
    issued = _seconds(ts)
    if issued is None:
        return True
    age = max(0.0, now - issued)
    if same_boot and isinstance(mono, (int, float)) and mono_now >= mono:
        age = min(age, mono_now - mono)
    if not isinstance(grace, (int, float)):
        from agent_ledger.engine.tools import grace_seconds

        grace = grace_seconds(tool if isinstance(tool, str) else str(tool), None, {})
    return age > float(grace)


def _seconds(value: object) -> float | None:
    if isinstance(value, (int, float)):
        return float(value) if 0 <= value < 4_200_000_000 else None
    try:
        moment = datetime.fromisoformat(value)  # type: ignore[arg-type]  # What is no text raises TypeError.
    except (ValueError, TypeError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _node() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _waiting(data: str, merged: dict[str, int]) -> bool:
    """Do records wait in the spool beside the ledger, or under the temporary folder?"""
    for folder in (os.path.join(data, "spool"), _spool_elsewhere(data)):
        try:
            if not _own_folder(folder):
                continue  # Others could have put it there, to make the line say something.
            with os.scandir(folder) as entries:
                files = [e for e in entries if e.name.endswith(".jsonl") and e.is_file(follow_symlinks=False)]
                if any(file.stat().st_size > merged.get(file.name, 0) for file in files):
                    return True
        except OSError:
            continue
    return False


def _own_folder(path: str) -> bool:
    """The same as `engine.paths.is_own_folder`."""
    info = os.lstat(path)
    own = not hasattr(os, "geteuid") or info.st_uid in (os.geteuid(), 0)
    return own and info.st_mode & 0o170000 == 0o040000


def _spool_elsewhere(data: str) -> str:
    """The same folder as `Paths.spool_elsewhere`, without what that module imports."""
    from hashlib import sha256

    home = os.path.dirname(os.path.dirname(os.path.abspath(data)))
    owner = os.geteuid() if hasattr(os, "geteuid") else 0
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    usable = (folder for folder in (*named, "/tmp", "/var/tmp") if folder and os.path.isdir(folder))
    temporary = next((folder for folder in usable if os.access(folder, os.W_OK | os.X_OK)), "/tmp")
    return os.path.join(temporary, f"agent-ledger-{owner}-{sha256(os.fsencode(home)).hexdigest()[:16]}")


def speaks_unicode(environ: "os._Environ[str] | dict[str, str]", encoding: str | None) -> bool:
    """Can whoever reads standard output show more than ASCII? By the locale that counts, and the stream itself."""
    if (encoding or "").lower().replace("-", "") != "utf8":
        return False
    named = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    return "utf" in named.lower()


def answer(argv: list[str]) -> bool:
    """Print the line if `argv` asks for nothing else; False where the full command line has to answer."""
    options = wanted(argv)
    paths = ledger_paths(options, os.environ) if options is not None else None
    if options is None or paths is None:
        return False
    unicode, now, mono = speaks_unicode(os.environ, sys.stdout.encoding), time.time(), time.monotonic()
    if is_fleet(options):
        out = sums(paths, now=now, mono_now=mono, unicode=unicode)
    else:
        out = line(paths[0], now=now, mono_now=mono, unicode=unicode)
    try:
        sys.stdout.write(out + "\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # The reader has left; the flush at exit must not complain.
    return True
