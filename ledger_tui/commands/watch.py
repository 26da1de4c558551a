"""`watch`: one line for every change as it happens, until interrupted; for pipes and alerts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from rich.cells import cell_len

from ledger_tui.commands.calls import args_line
from ledger_tui.commands.errors import DONE
from ledger_tui.commands.fleet import Fleet, Round
from ledger_tui.commands.output import fit, print_json_line, say_now
from ledger_tui.commands.place import Place
from ledger_tui.commands.reading import count_sessions
from ledger_tui.sources import snapshot

Report = Callable[[Place, Mapping[str, Any]], None]


def watched(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document a line.")] = False,
) -> int:
    """One line for every change as it happens.

    The changes: issued, settled, overdue, ghost, revived, finding, session. Ends with Ctrl-C.
    """
    asked = Round(context.obj) if isinstance(context.obj, Fleet) else None
    if asked is None:
        _need_readable(context.obj)
        places: tuple[Place, ...] = (context.obj,)
    else:
        places = tuple(place for place, _ in asked.each(_need_readable))
    if places:
        _watch(places, sender(places, json=json, named=asked is not None))
    return DONE if asked is None else asked.code


def _need_readable(place: Place) -> None:
    """What cannot be read at all is an error now, not a silent watch."""
    if place.ledger_exists():
        with snapshot.reading_ledger(place.ledger):
            pass
    if place.shipped is None and place.state_exists() and place.state_named:
        count_sessions(place.state)


def _watch(places: Sequence[Place], report: Report) -> None:
    # Only here: the other commands need not wait for what following takes.
    from ledger_tui.commands.following import follow, told

    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as kept:  # That is how watching ends.
        for place in places:
            if place.shipped is not None:
                kept.enter_context(place.shipped.following(partial(told, place)))
        follow(places, report)


def sender(places: Sequence[Place], *, json: bool, named: bool) -> Report:
    """Sends what happened, with its home where there are several."""
    width = max(cell_len(place.name) for place in places)

    def send(place: Place, event: Mapping[str, Any]) -> None:
        if json:
            print_json_line({"home": place.home_text, **event} if named else event)
        else:
            say_now(f"{fit(place.name, width)}  {as_line(event)}" if named else as_line(event))

    return send


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
