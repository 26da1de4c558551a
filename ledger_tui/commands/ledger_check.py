"""`ledger-check`: is the recorded chain whole? Names the first row that is not as it was recorded."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import LIMITS, PROVES, Checked, Head, head_of
from agent_ledger.engine.inert import inert
from ledger_tui.commands.errors import DONE, FOUND, usage
from ledger_tui.commands.output import print_json, say
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot

SHOWN = 10
"""Findings that are told to a person; `--json` has up to a hundred."""


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
    report = _check(place, expected) if place.ledger_exists() else Checked()
    if json:
        print_json(as_json(place, report))
    else:
        for line in as_text(place, report):
            say(line)
    raise typer.Exit(DONE if report.whole else FOUND)


def _expected(text: str | None) -> Head | None:
    if text is None:
        return None
    head = head_of(text)
    if head is None:
        raise usage("--expect takes a head as ledger-check prints it: a number, a colon and 64 hexadecimal digits.")
    return head


def _check(place: Place, expected: Head | None) -> Checked:
    with snapshot.reading_ledger(place.ledger) as ledger:
        return check_chain(ledger.connection, expected=expected) if ledger.shape.columns else Checked()


def as_json(place: Place, report: Checked) -> dict[str, Any]:
    """The document of `--json`."""
    found = [{"ledger_id": one.ledger_id, "kind": one.kind, "text": inert(one.text)} for one in report.found]
    return {
        "ledger": inert(str(place.ledger)),
        "state": report.state,
        "whole": report.whole,
        "rows": report.rows,
        "records": report.records,
        "uncovered": report.uncovered,
        "pruned": report.pruned,
        "pruned_by_hand": report.by_hand,
        "unproven": report.unproven,
        "first": found[0] if found else None,
        "broken": report.broken,
        "found": found,
        "head": None if report.head is None else str(report.head),
        "expected": report.expected,
        "proves": PROVES,
        "limits": LIMITS,
    }


def as_text(place: Place, report: Checked) -> list[str]:
    """The same for a person: the verdict, what it rests on, what it cannot say."""
    if report.state == "empty":
        return [f"Nothing recorded yet: {inert(str(place.ledger))} holds no call."]
    lines = [_verdict(report)]
    lines += [f"  {inert(one.text)}" for one in report.found[:SHOWN]]
    if report.broken > SHOWN:
        lines.append(f"  and {report.broken - SHOWN} more; --json has the first hundred.")
    if report.uncovered:
        lines.append(f"{_calls(report.uncovered)} from before there were seals: nothing can be told of them.")
    if report.pruned:
        how = "no record says who took them, so it may have been a person's own DELETE" if report.by_hand else "pruned"
        lines.append(f"{_calls(report.pruned)} at numbers that are gone: {how}.")
    if report.unproven:
        lines.append(f"{report.unproven} records built on one of those: their place in time cannot be proven.")
    if report.expected is not None or report.broken == 0:
        lines += _head(report)
    return [*lines, *([PROVES] if report.whole and report.records else []), LIMITS]


def _verdict(report: Checked) -> str:
    if report.broken:
        return f"Not whole: {report.broken} of {report.records} records or places do not fit. The first:"
    if report.state == "not covered":
        return f"{_calls(report.rows)}, none with a seal: there is nothing to check."
    return f"Whole: {report.records} records of {_calls(report.rows - report.uncovered)}."


def _head(report: Checked) -> list[str]:
    lines = []
    if report.expected is not None:
        lines.append(
            "The head that you noted is still there." if report.expected else "The head that you noted is not."
        )
    if report.head is not None and report.whole:
        lines.append(f"Head: {report.head}")
        lines.append("Note it where the agent cannot write, and give it to --expect another time.")
    return lines


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def register(app: typer.Typer) -> None:
    app.command("ledger-check")(checked)
