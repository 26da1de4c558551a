"""`ledger-check`: is the recorded chain whole? Names the first row that is not as it was recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import LIMITS, Checked, Head, head_of
from agent_ledger.engine.inert import inert
from agent_ledger.engine.schema import VERSION, columns_of
from ledger_tui.commands.errors import DONE, FOUND, unreadable, usage
from ledger_tui.commands.output import print_json, say
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import progress
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
    with snapshot.reading_ledger(place.ledger) as ledger:
        if not ledger.shape.columns:
            return Checked()
        (version,) = ledger.connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION and "issue_seal" in columns_of(ledger.connection):
            raise unreadable(f"{place.ledger} is by a newer plugin; update ledger-tui to check it.")
        (total,) = ledger.connection.execute("SELECT count(*) FROM ledger").fetchone()
        with progress("checking the calls", quiet=quiet) as tell:
            return check_chain(ledger.connection, lambda rows: tell(rows, total), expected)


def _fine(report: Checked, expected: Head | None) -> bool:
    """Whole, and the head that was asked for is there."""
    return report.whole and (expected is None or report.expected is True)


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
        "pruned_at": _pruned_at(report),
        "unproven": report.unproven,
        "first": found[0] if found else None,
        "broken": report.broken,
        "found": found,
        "head": None if report.head is None else str(report.head),
        "expected": report.expected,
        "fixed_from": report.fixed_from,
        "proves": report.proves,
        "limits": LIMITS,
    }


def as_text(place: Place, report: Checked, *, asked: bool = False) -> list[str]:
    """The same for a person: the verdict, what it rests on, what it cannot say. `asked`: for a head, by --expect."""
    if report.state == "empty":
        return [f"Nothing recorded yet: {inert(str(place.ledger))} holds no call."]
    lines = [_verdict(report)]
    lines += [f"  {inert(one.text)}" for one in report.found[:SHOWN]]
    if report.broken > SHOWN:
        lines.append(f"  and {report.broken - SHOWN} more; --json has the first hundred.")
    if report.uncovered and report.state != "not covered":
        older = ", being older than all that have one" if report.records else ""
        lines.append(f"{_calls(report.uncovered)} without a seal{older}: nothing can be told of them.")
    lines += _gone(report)
    lines += _head(report, asked)
    return [*lines, *([report.proves] if report.whole and report.records else []), LIMITS]


def _verdict(report: Checked) -> str:
    if report.broken:
        found = "1 finding" if report.broken == 1 else f"{report.broken} findings, the first of them"
        return f"Not whole. {_records(report.records)} checked, {found}:"
    if report.state == "not covered":
        return f"{_calls(report.rows)}, none with a seal: there is nothing to check."
    return f"Whole: {_records(report.records)} of {_calls(report.rows - report.uncovered)}."


def _gone(report: Checked) -> list[str]:
    lines = []
    if report.pruned:
        at = _pruned_at(report)
        how = f"pruned, last at {at}" if at else "pruned"
        if report.by_hand:
            how = "no record says who took the oldest, so it may have been a person's own DELETE"
        lines.append(f"{_calls(report.pruned)} gone from the ledger: {how}.")
    if report.unproven:
        verb = "record builds" if report.unproven == 1 else "records build"
        lines.append(f"{report.unproven} {verb} on one that went with them: what stood between cannot be proven.")
    return lines


def _pruned_at(report: Checked) -> str | None:
    """When `prune` last ran, to the second; None when it never did, or at a time that is none."""
    if report.pruned_us is None:
        return None
    try:
        return datetime.fromtimestamp(report.pruned_us // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return None


def _head(report: Checked, asked: bool) -> list[str]:
    lines = []
    if report.expected:
        lines.append(f"The head that you noted is still there{_fixed(report)}.")
    elif report.expected is None and asked:
        lines.append(
            "Whether the head that you noted was there cannot be told: where it belongs, records were pruned. Note a"
            " new head after pruning."
        )
    if report.head is not None and report.whole:
        lines.append(f"Head: {report.head}")
        lines.append("Note it where the agent cannot write, and give it to --expect another time.")
    return lines


def _fixed(report: Checked) -> str:
    if not report.whole:
        return ""
    if report.fixed_from is None:
        return ", and so is everything that was recorded before it"
    return (
        f", and so is everything from call #{report.fixed_from} up to it; before that, records are gone, so for older"
        " ones the head is no proof"
    )


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


def register(app: typer.Typer) -> None:
    app.command("ledger-check")(checked)
