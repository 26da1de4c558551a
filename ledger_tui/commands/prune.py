"""`prune`: caps the ledger. It only says what would go until it is told to do it."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from agent_ledger.engine import prune as engine
from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import UnsafePathError
from agent_ledger.engine.prune import Plan
from agent_ledger.engine.schema import ForeignSchemaError
from ledger_tui.commands.calls import MOST_ROWS
from ledger_tui.commands.errors import refused, unreadable, usage
from ledger_tui.commands.output import print_json, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import progress
from ledger_tui.sources import guard, snapshot
from ledger_tui.sources.reading import one_snapshot


def capped(
    context: typer.Context,
    keep: Annotated[int, typer.Option("--keep", metavar="N", help="Rows to keep: the newest N.")],
    apply: Annotated[bool, typer.Option("--apply", help="Really drop them; without it nothing is changed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Keep the newest N calls. Unsettled calls stay whatever their age; without --apply nothing is changed."""
    place: Place = context.obj
    if keep < 0:
        raise usage(f"--keep {keep} is below zero; name how many of the newest calls shall stay.")
    planned = _plan(place, keep) if place.ledger_exists() else Plan(0, 0, 0, None)
    dropped = _apply(place, planned, quiet=json) if apply and planned.through_id is not None else 0
    after = _plan(place, keep).rows if dropped else planned.rows
    shape = {
        "keep": keep,
        "applied": apply,
        "rows": planned.rows,
        "drop": planned.drop,
        "spared": planned.spared,
        "oldest": _shown(planned.oldest),
        "newest": _shown(planned.newest),
        "dropped": dropped,
        "rows_after": after,
    }
    if json:
        print_json(shape)
    else:
        for line in _as_text(shape):
            say(line)


def _shown(ts: str | None) -> str | None:
    return None if ts is None else inert(ts)


def _plan(place: Place, keep: int) -> Plan:
    with snapshot.reading_ledger(place.ledger) as ledger:
        if not ledger.shape.columns:
            return Plan(0, 0, 0, None)
        with one_snapshot(ledger.connection) if ledger.shape.wal else nullcontext():
            return engine.plan(ledger.connection, min(keep, MOST_ROWS))


def _apply(place: Place, planned: Plan, *, quiet: bool) -> int:
    assert planned.through_id is not None
    path, gone = place.ledger, 0

    def told(dropped: int) -> None:
        nonlocal gone
        gone = dropped
        tell(dropped, planned.drop)

    try:
        with progress("dropping the oldest calls", quiet=quiet) as tell:
            return engine.prune(path, planned.through_id, tell=told)
    except KeyboardInterrupt:
        warn(f"Stopped part of the way: {gone} calls or a few more are gone, the others stay; run it again to go on.")
        raise
    except UnsafePathError as error:
        raise refused(f"Nothing was dropped: {error}; prune as its owner, and name the file itself.") from error
    except ForeignSchemaError as error:
        raise refused(f"{path}: nothing was dropped, for {error}; use that software to prune it.") from error
    except TimeoutError as error:
        raise unreadable(f"{path}: {error}; what went so far is gone, run the command again for the rest.") from error
    except sqlite3.Error as error:
        raise guard.explain(path, error) from error
    except OSError as error:
        raise unreadable(f"{path} cannot be written ({error.strerror}); check the rights of its folder.") from error


def _as_text(shape: dict[str, Any]) -> list[str]:
    if not shape["drop"]:
        return [f"Nothing to drop: {shape['rows']} calls, and the newest {shape['keep']} or unsettled ones stay."]
    times = f"issued from {shape['oldest']} to {shape['newest']}"
    spared = f" {shape['spared']} older ones stay, being unsettled." if shape["spared"] else ""
    if not shape["applied"]:
        return [
            f"Would drop {shape['drop']} of {shape['rows']} calls, {times}.{spared}",
            "Nothing was changed; add --apply to do it.",
        ]
    return [
        f"Dropped {shape['dropped']} of {shape['rows']} calls, {times}.{spared}",
        f"{shape['rows_after']} calls are in the ledger now. The file keeps its size; new calls use the room.",
    ]


def register(app: typer.Typer) -> None:
    app.command("prune")(capped)
