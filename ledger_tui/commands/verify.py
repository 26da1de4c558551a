"""`verify`: did calls that were never confirmed land after all? It only looks; the answer is kept beside the call."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from agent_ledger.engine.evidence import Recorded, Verdict, opened, recorded, verify_many
from agent_ledger.engine.evidence.verdict import verdict_json
from agent_ledger.engine.evidence.verdicts import save
from agent_ledger.engine.inert import clip, inert
from agent_ledger.engine.paths import UnsafePathError
from agent_ledger.engine.queries import COLUMNS_QUERY
from agent_ledger.engine.records import utc_text
from agent_ledger.engine.schema import ForeignSchemaError
from ledger_tui.commands.errors import usage
from ledger_tui.commands.output import print_json, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot

MOST_IDS = 10_000
"""Calls that can be named at once."""

_UNCONFIRMED = "WHERE status IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED'"
"""Spelled as the index over unconfirmed rows asks for."""


def verified(
    context: typer.Context,
    ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]…", help="Calls; without: all unconfirmed.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """Look for evidence whether unconfirmed calls landed. Nothing is run, nothing is changed but the stored verdict."""
    place: Place = context.obj
    wanted = sorted(set(ids or []))
    if any(not 0 < number < 2**63 for number in wanted):
        raise usage("A call's number is a whole number from 1 on; ledger-tui calls lists them.")
    if len(wanted) > MOST_IDS:
        raise usage(f"At most {MOST_IDS} calls can be named at once.")
    calls = _calls(place, wanted) if place.ledger_exists() else []
    missing = sorted(set(wanted) - {call.id for call in calls})
    if missing:
        raise usage(
            f"The ledger holds no call {', '.join(map(str, missing[:5]))}; ledger-tui calls lists what it holds."
        )
    with opened(place.paths, now=place.clock(), ledger=place.ledger, state=place.state) as facts:
        found = verify_many(calls, facts)
    untold = _kept(place, found)
    if json:
        print_json([verdict_json(call.id, inert(call.tool_name), verdict) for call, verdict in found])
    else:
        for line in as_text(found):
            say(line)
        if not found:
            say(
                "No unconfirmed calls."
                if place.ledger_exists()
                else f"Nothing recorded yet: {inert(str(place.ledger))} is not there."
            )
    if untold:
        warn(untold)


def _calls(place: Place, wanted: Sequence[int]) -> list[Recorded]:
    with snapshot.reading_ledger(place.ledger) as ledger:
        if not ledger.shape.columns:
            return []
        columns = [row[0] for row in ledger.connection.execute(*COLUMNS_QUERY)]
        if not wanted:
            rows = ledger.connection.execute(*recorded.query(columns, f"{_UNCONFIRMED} ORDER BY id")).fetchall()
        else:
            rows = []
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                where = f"WHERE id IN ({','.join('?' * len(part))}) ORDER BY id"
                rows += ledger.connection.execute(*recorded.query(columns, where, part)).fetchall()
        return [recorded.from_row(row) for row in rows]


def _kept(place: Place, found: Sequence[tuple[Recorded, Verdict]]) -> str:
    """Store the verdicts; one sentence where that is not ours to do."""
    try:
        save(place.ledger, [(call.id, verdict) for call, verdict in found])
    except (UnsafePathError, ForeignSchemaError) as error:
        return f"The verdicts were not stored: {error}."
    except (OSError, TimeoutError, sqlite3.Error) as error:
        return f"The verdicts were not stored: {place.ledger} cannot be written ({error})."
    return ""


def as_text(found: Sequence[tuple[Recorded, Verdict]]) -> list[str]:
    """A head for each call, its evidence below, and how many of each at the end."""
    lines: list[str] = []
    for call, verdict in found:
        at = f", issued {utc_text(call.at)[:19]}Z" if call.at is not None else ""
        lines.append(f"#{call.id} {clip(inert(call.tool_name), 60)}{at}: {verdict.verdict}")
        lines += [f"    {text}" for text in verdict.evidence]
    if len(found) > 1:
        counts: Mapping[str, int] = {
            word: sum(verdict.verdict == word for _, verdict in found) for word in ("landed", "absent", "unknown")
        }
        lines.append(", ".join(f"{count} {word}" for word, count in counts.items()))
    return lines


def register(app: typer.Typer) -> None:
    app.command("verify")(verified)
