"""`posture` and `export posture`: the score of a ledger, and every finding it is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TextIO

import typer

from agent_ledger.engine.posture import Posture, report
from agent_ledger.engine.posture import reading as posture_reading
from ledger_tui.commands import export
from ledger_tui.commands.calls import since_seconds
from ledger_tui.commands.errors import DONE, unreadable, usage
from ledger_tui.commands.fleet import Fleet, Round, one_home, say_in_turn
from ledger_tui.commands.output import amount, print_json, say, table, terminal_width
from ledger_tui.commands.place import Place, path_of
from ledger_tui.commands.plain import asked_for_plain
from ledger_tui.commands.progress import progress
from ledger_tui.commands.reading import count_rows
from ledger_tui.commands.target import target
from ledger_tui.sources import snapshot
from ledger_tui.sources.forms import document, markdown_cell, write_csv, write_markdown
from ledger_tui.sources.outgoing import Hider

COLUMNS = (
    "ledger_id", "ts", "session_id", "tool_name", "rule", "asi", "title", "severity", "weight", "left", "rows",
    "evidence",
)  # fmt: skip


def scored(place: Place, *, since: float | None = None, quiet: bool = True) -> Posture:
    """The posture of a ledger; an empty one where the default ledger is not there yet.

    `quiet`: not a word on how far it is. Raises CommandError for a missing file named by option, SourceError where
    it cannot be read.
    """
    if not place.ledger_exists():
        return Posture()
    with snapshot.reading_ledger(place.ledger) as ledger, progress("scoring the calls", quiet=quiet) as tell:
        total = count_rows(ledger)
        return posture_reading.scored(
            ledger.connection, ledger.shape.columns, since=since, tell=lambda rows: tell(rows, total)
        )


def _named(place: Place, ledger: str | None) -> Place:
    """The same place with the ledger that the command names, if it names one."""
    if ledger is None:
        return place
    if place.shipped is not None:
        raise usage("--source and LEDGER exclude each other; choose one.")
    if not ledger:
        raise usage("LEDGER needs a path, but what it was given is empty.")
    path = path_of(ledger, "LEDGER")
    if not os.path.lexists(path):
        raise unreadable(f"The ledger {path} does not exist; check the path.")
    return replace(place, ledger=path, ledger_named=True)


def show(
    context: typer.Context,
    ledger: Annotated[str | None, typer.Argument(metavar="[LEDGER]", help="A ledger.db; else the home's.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="Only calls from then on: as for calls.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """How risky the recorded activity looks: the score, and every finding behind it."""
    if ledger is None and isinstance(context.obj, Fleet):
        return _of_fleet(context.obj, since, json=json, plain=asked_for_plain(context))
    place = _named(one_home(context, "posture LEDGER"), ledger)
    posture = scored(place, since=since_seconds(since, place.clock()), quiet=json)
    if json:
        print_json(report.as_json(posture))
        return DONE
    for line in _whole(place, posture):
        say(line)
    return DONE


def _whole(place: Place, posture: Posture) -> Iterator[str]:
    there = place.shipped is not None or os.path.lexists(place.ledger)
    return report.as_text(posture, place.ledger_name, there=there)


def _of_fleet(fleet: Fleet, since: str | None, *, json: bool, plain: bool) -> int:
    """The same for several homes, the worst first; those without a score come last."""
    asked = Round(fleet)
    begin = since_seconds(since, fleet.places[0].clock())
    found = sorted(asked.each(lambda place: scored(place, since=begin, quiet=json)), key=lambda one: _worst(one[1]))
    if json:
        print_json([{"name": place.name, "home": place.home_text, **report.as_json(one)} for place, one in found])
        return asked.code
    for line in _spoken(found) if plain else _overview(found):
        say(line)
    say()
    say_in_turn((place, _whole(place, one)) for place, one in found)
    return asked.code


def _overview(found: Sequence[tuple[Place, Posture]]) -> list[str]:
    rows = [(place.name, "-" if one.score is None else str(one.score), str(len(one.findings))) for place, one in found]
    return table(("NAME", "SCORE", "FINDINGS"), rows, width=terminal_width(), flexible=0)


def _spoken(found: Sequence[tuple[Place, Posture]]) -> Iterator[str]:
    """The same, to be read aloud."""
    for place, one in found:
        score = "no score" if one.score is None else f"score {one.score}"
        yield f"{place.name}: {score}, {amount(len(one.findings), 'finding')}."


def _worst(one: Posture) -> int:
    return 101 if one.score is None else one.score


def exported(
    context: typer.Context,
    format: export.Format,
    output: export.Output = None,
    force: export.Force = False,
    since: Annotated[str | None, typer.Option("--since", metavar="WHEN", help="As for calls.")] = None,
) -> None:
    """The score with every finding and the limits, to be read or recomputed elsewhere."""
    place: Place = context.obj
    write, path = export.chosen(_WRITERS, format), export.file_of(output)
    posture = scored(place, since=since_seconds(since, place.clock()), quiet=False)
    hide = Hider()
    shape = hide.counting(report.as_json(posture))
    with target(path, force=force, keep=(place.ledger, place.state)) as stream:
        write(shape, stream)
    export.tell_hidden(hide)


def as_csv(shape: Mapping[str, Any], stream: TextIO) -> None:
    """A line for each finding, with what is left of the 100 after it."""
    write_csv(COLUMNS, rows_with_rest(shape), stream)


def as_markdown(shape: Mapping[str, Any], stream: TextIO) -> None:
    """The score as title, the findings as a table, the limits below it."""
    score = "no score: nothing was recorded" if shape["score"] is None else shape["score"]
    stream.write(f"# Posture: {score}\n\n")
    write_markdown(COLUMNS, rows_with_rest(shape), stream)
    stream.write(f"\n{markdown_cell(shape['formula'])}\n\n")
    for limit in shape["trust"]:
        stream.write(f"- {markdown_cell(limit)}\n")


def rows_with_rest(shape: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The findings, each with what is left after it."""
    left = 100
    for one in shape["findings"]:
        left -= one["weight"]
        yield {**one, "left": left}


def as_document(shape: Mapping[str, Any], stream: TextIO) -> None:
    """The document of `posture --json`."""
    stream.write(document(shape, indent=2) + "\n")


_WRITERS: Mapping[str, Callable[[Mapping[str, Any], TextIO], None]] = {
    "csv": as_csv,
    "json": as_document,
    "md": as_markdown,
}


def register(app: typer.Typer) -> None:
    app.command("posture")(show)
    export.group.command("posture")(exported)
