"""`watch`: one line for every change as it happens, until interrupted; for pipes and alerts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ledger_tui.commands.calls import args_line
from ledger_tui.commands.errors import DONE
from ledger_tui.commands.output import fit, print_json_line, say_now
from ledger_tui.commands.place import Place
from ledger_tui.commands.reading import count_sessions
from ledger_tui.sources import snapshot


def watched(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document a line.")] = False,
) -> int:
    """One line for every change as it happens.

    The changes: issued, settled, overdue, ghost, revived, finding, session. Ends with Ctrl-C.
    """
    place: Place = context.obj
    if place.ledger_exists():
        with snapshot.reading_ledger(place.ledger):
            pass  # What cannot be read at all is an error now, not a silent watch.
    if place.shipped is None and place.state_exists() and place.state_named:
        count_sessions(place.state)
    # Only here: the other commands need not wait for what following takes.
    from ledger_tui.commands.following import follow

    kept = place.shipped.following() if place.shipped is not None else contextlib.nullcontext()
    with contextlib.suppress(KeyboardInterrupt), kept:  # That is how watching ends.
        follow(place, print_json_line if json else _say)
    return DONE


def _say(event: Mapping[str, Any]) -> None:
    say_now(as_line(event))


def as_line(event: Mapping[str, Any]) -> str:
    """An event for a person."""
    head = f"{str(event['at'])[:19].replace('T', ' ')}  {event['kind']:<8}"
    if event["kind"] == "session":
        parts = [event["session_id"], event["source"], event["change"], event["end_reason"], event["title"]]
    elif event["kind"] == "finding":
        parts = [f"#{event['ledger_id']}", event["severity"], event["asi"], event["rule"], event["evidence"]]
    else:
        status = event["status"] if event["kind"] in ("settled", "revived") else ""
        args = fit(args_line(event["args"]), 80).rstrip()
        parts = [f"#{event['id']}", event["tool_name"], status, event["session_id"], args]
    return f"{head}  " + "  ".join(str(part) for part in parts if part)


def register(app: typer.Typer) -> None:
    app.command("watch")(watched)
