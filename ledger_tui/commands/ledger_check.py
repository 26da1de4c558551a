"""`ledger-check`: is the recorded chain whole? Names the first row that is not as it was recorded."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agent_ledger.engine.chain import words
from agent_ledger.engine.chain.report import Checked, Head, head_of
from agent_ledger.engine.inert import inert
from ledger_tui.commands.errors import DONE, FOUND, unreadable, usage
from ledger_tui.commands.output import print_json, say
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import progress
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.record import check_ledger


def checked(
    context: typer.Context,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="HEAD", help="A head that an earlier check printed; is it still there?"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Check that no recorded call was edited, deleted, reordered or cut off since. Exit 1 when one was."""
    place: Place = context.obj
    expected = _expected(expect)
    report = _check(place, expected, quiet=json) if place.ledger_exists() else Checked()
    if expected is not None and not report.records and report.whole:
        report.expected = False
        report.add(None, "cut off", "The head that was noted is not in this chain: no record with a seal is here.")
    if json:
        print_json(as_json(place, report))
    else:
        for line in as_text(place, report, asked=expected is not None):
            say(line)
    raise typer.Exit(DONE if _fine(report, expected) else FOUND)


def _expected(text: str | None) -> Head | None:
    if text is None:
        return None
    head = head_of(text)
    if head is None:
        raise usage("--expect takes a head as ledger-check prints it: a number, a colon and 64 hexadecimal digits.")
    return head


def _check(place: Place, expected: Head | None, *, quiet: bool) -> Checked:
    try:
        with progress("checking the calls", quiet=quiet) as tell:
            return check_ledger(place.ledger, tell, expected, copied=place.shipped is not None)
    except SourceError as error:
        if place.shipped is None:
            raise
        raise unreadable(f"{place.ledger_name} {error.reason}: {error.remedy}.") from error


def _fine(report: Checked, expected: Head | None) -> bool:
    """Whole, and the head that was asked for is there."""
    return report.whole and (expected is None or report.expected is True)


def as_json(place: Place, report: Checked) -> dict[str, Any]:
    """The document of `--json`. Of a shipped ledger, `ledger` is its path on its own machine."""
    if place.shipped is None:
        return {"ledger": inert(str(place.ledger)), **words.as_json(report)}
    source = place.shipped.source
    return {"home": source.name, "ledger": source.place, "shipped": source.shipped, **words.as_json(report)}


def as_text(place: Place, report: Checked, *, asked: bool = False) -> list[str]:
    """The same for a person. `asked`: for a head, by --expect."""
    if report.state == "empty":
        return [f"Nothing recorded yet: {inert(place.ledger_name)} holds no call."]
    return words.as_text(report, asked=asked)


def register(app: typer.Typer) -> None:
    app.command("ledger-check")(checked)
