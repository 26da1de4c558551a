"""Checks of what the ledger says: is the chain whole, do its times make sense, and who wrote without a seal?"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import Checked
from agent_ledger.engine.process import is_dead
from agent_ledger.engine.records import utc_text
from ledger_tui.commands import plugin_folder
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot
from ledger_tui.sources.snapshot import Reading

_ROWS_WAL, _ROWS_SHARED = 100_000, 5_000
"""Calls that are checked in passing: some two seconds; outside WAL mode only as long as no writer has to wait."""

_AHEAD_S = 120.0
"""Clocks of machines differ by less."""

_NEWEST = 1_000


def chain(reading: Reading) -> Check:
    """Is every record as it was written, and is none missing?"""
    if not reading.shape.columns:
        return Check("chain", OK, "The ledger is empty as yet.")
    ((rows,),) = reading.connection.execute("SELECT count(*) FROM ledger").fetchall()
    if rows > (_ROWS_WAL if reading.shape.wal else _ROWS_SHARED):
        text = f"{amount(rows, 'call')} are too many to check their chain in passing."
        return Check("chain", UNKNOWN, text, "Run: ledger-tui ledger-check")
    try:
        return _told(check_chain(reading.connection))
    except sqlite3.OperationalError as error:  # A column is missing, or text that is none.
        text = f"The chain cannot be read ({error})."
        return Check(
            "chain", UNKNOWN, text, "Let Hermes record a call with this plugin, then run: ledger-tui ledger-check"
        )


def _told(found: Checked) -> Check:
    if found.first is not None:
        others = found.broken - 1
        more = f", and {amount(others, 'more place does', 'more places do')} not fit" if others else ""
        text = f"The record is not whole: {found.first.text.rstrip('.')}{more}."
        return Check("chain", FAIL, text, _remedy(found.first.kind))
    if found.state == "not covered":
        return Check(
            "chain",
            UNKNOWN,
            f"None of {amount(found.rows, 'call')} has a seal, so whether they were changed cannot be told.",
            "Nothing to do: what this plugin records from now on can be checked.",
        )
    if found.state == "empty":
        return Check("chain", OK, "The ledger is empty as yet.")
    text = f"Every one of {amount(found.records, 'record')} is as it was written"
    if found.pruned:
        how = "were taken out by hand" if found.by_hand else "were pruned"
        text += f"; {found.pruned} older calls {how}"
    if found.uncovered:
        text += f"; {amount(found.uncovered, 'call')} from before there were seals cannot be told of"
    return Check("chain", OK, f"{text}.")


def _remedy(kind: str) -> str:
    see = "Run: ledger-tui ledger-check"
    if kind == "added":
        return f"{see}; if an older plugin or other software still writes to this ledger, update or stop it."
    return f"{see}; compare with a copy from before, and ask who can write this file: the agent's own user can."


def times(reading: Reading, place: Place) -> Check:
    """Rows from the future: the clock was set back since, or was wrong when they were written."""
    now = place.clock()
    if "changed" not in reading.shape.columns:
        return Check("clock", OK, "No call is from the future, as far as this ledger tells.")
    # Every change counter is at least as late as the row's time, so that few rows are read.
    ((ahead, newest),) = reading.connection.execute(
        "SELECT count(*), CAST(max(ts) AS BLOB) FROM ledger WHERE changed > ? AND typeof(ts) = 'text' AND ts > ?",
        (int((now + _AHEAD_S) * 1_000_000), utc_text(now + _AHEAD_S)),
    ).fetchall()
    if not ahead:
        return Check("clock", OK, "No call is from the future.")
    return Check(
        "clock",
        WARN,
        f"{amount(ahead, 'call is', 'calls are')} from the future, up to {newest.decode('utf-8', 'replace')}: the clock"
        " of this machine was ahead then, or is behind now.",
        f"Compare the clock (it says {utc_text(now)}) with another; ages of these calls are wrong until it gets there.",
    )


@dataclass(frozen=True, slots=True)
class _Living:
    pid: int
    version: str


def versions(reading: Reading, place: Place) -> Check:
    """Does a plugin of another version write here beside the one that is installed?"""
    unsealed = _without_seal(reading)
    if unsealed:
        calls, version = unsealed
        who = f"plugin {version}" if version else "other software, or a plugin from before there were seals,"
        return Check(
            "versions",
            WARN,
            f"{amount(calls, 'call')} among the newest {_NEWEST} came without a seal after others had one: {who} writes"
            " to this ledger too.",
            "Update the plugin wherever it writes here (ledger-tui plugin install), then restart those processes.",
        )
    installed = plugin_folder.installed(place.home)
    wanted = installed.manifest.version if installed is not None and installed.manifest.ours else ""
    others = [one for one in _living(reading) if wanted and one.version and one.version != wanted]
    if others:
        return Check(
            "versions",
            WARN,
            f"Process {others[0].pid} still runs plugin {others[0].version}, while the home has {wanted}.",
            "Restart it: hermes gateway restart, and close open chats.",
        )
    return Check("versions", OK, "No other version of the plugin is seen to write here.")


def _without_seal(reading: Reading) -> tuple[int, str] | None:
    """(calls, version of their writer if it is known) of the newest calls that came unsealed after sealed ones."""
    if not {"issue_seal", "writer_id"} <= reading.shape.columns:
        return None
    rows = reading.connection.execute(
        "SELECT id, issue_seal IS NULL, writer_id FROM ledger ORDER BY id DESC LIMIT ?", (_NEWEST,)
    ).fetchall()
    first = min((number for number, bare, _ in rows if not bare), default=None)
    if first is None:
        return None
    bare = [writer for number, is_bare, writer in rows if is_bare and number > first]
    if not bare:
        return None
    return len(bare), _version_of(reading, bare)


def _version_of(reading: Reading, writers: Sequence[object]) -> str:
    known = dict(_versions(reading))
    return next((known[one] for one in writers if known.get(one)), "")


def _versions(reading: Reading) -> list[tuple[object, str]]:
    if "writer" not in reading.shape.tables:
        return []
    try:
        rows = reading.connection.execute("SELECT id, CAST(plugin_version AS BLOB) FROM writer").fetchall()
    except sqlite3.OperationalError:
        return []  # A table of that name by other software.
    return [(number, version.decode("utf-8", "replace")) for number, version in rows if version is not None]


def _living(reading: Reading) -> list[_Living]:
    known = dict(_versions(reading))
    writers = snapshot.read_writers(reading) if known else {}
    return [_Living(one.pid, known.get(key, "")) for key, one in writers.items() if is_dead(one) is False]
