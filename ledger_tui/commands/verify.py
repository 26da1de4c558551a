"""`verify`: did calls that were never confirmed land after all? It only looks; the answer is kept beside the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from agent_ledger.engine.evidence import Recorded, Verdict, opened, verify_many
from agent_ledger.engine.evidence.verdict import verdict_json
from agent_ledger.engine.inert import clip, inert
from agent_ledger.engine.records import utc_text
from ledger_tui.commands.errors import usage
from ledger_tui.commands.output import print_json, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import counting, progress
from ledger_tui.sources import verdicts

MOST_IDS = 10_000
"""Calls that can be named at once."""


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
    calls = verdicts.read(place.ledger, wanted or None) if place.ledger_exists() else []
    missing = sorted(set(wanted) - {call.id for call in calls})
    if missing:
        raise usage(
            f"The ledger holds no call {', '.join(map(str, missing[:5]))}; ledger-tui calls lists what it holds."
        )
    with (
        opened(place.paths, now=place.clock(), ledger=place.ledger, state=place.state) as facts,
        progress("looking for evidence", quiet=json) as tell,
    ):
        found = verify_many(counting(calls, tell, len(calls)), facts)
    untold = verdicts.keep(place.ledger, found)
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
