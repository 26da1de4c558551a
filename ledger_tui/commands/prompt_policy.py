"""`prompt-policy test` and `lint`: what the rules say about a message, and whether the file can be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_ledger.engine.inert import inert
from agent_ledger.engine.prompts import Guard, Verdict
from ledger_tui.commands.errors import usage
from ledger_tui.commands.output import print_json, print_json_line, say
from ledger_tui.commands.place import Place
from ledger_tui.commands.policy_file import PROMPTS, events, file_to_judge_by, lint, no_event

_group = typer.Typer(rich_markup_mode=None, help="Rules over what a person writes to the agent.")

_PolicyFile = Annotated[
    str | None, typer.Option("--policy", metavar="FILE", help="Another file than the home's prompt_policy.json.")
]


@_group.command("test")
def judged(
    context: typer.Context,
    message: Annotated[str | None, typer.Argument(metavar="MESSAGE", help="What a person would write.")] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help='One JSON object {"user_message": …} a line; one verdict a line.')
    ] = False,
    policy: _PolicyFile = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """What the rules say about a message, whatever the mode is; nothing is kept. Exit 0 whatever the verdict."""
    if stdin == (message is not None):
        raise usage("prompt-policy test takes either a message or --stdin.")
    place: Place = context.obj
    guard = _guard(place, file_to_judge_by(place, PROMPTS, policy))
    if stdin:
        for verdict in _judged_lines(guard):
            print_json_line(shape(verdict))
        return
    verdict = guard.verdict(message)
    if json:
        print_json(shape(verdict))
    else:
        for line in _as_text(verdict):
            say(line)


def _guard(place: Place, policy: Path) -> Guard:
    return Guard(policy, place.data / PROMPTS.mode, place.ledger, clock=place.clock, host_version=lambda: None)


def _judged_lines(guard: Guard) -> Iterator[Verdict]:
    for number, event in events():
        if "user_message" in event:
            yield guard.verdict(event["user_message"])
        else:
            yield Verdict("block", "cannot-decide", "MEDIUM", no_event(number, "a user_message"))


def shape(verdict: Verdict) -> dict[str, Any]:
    """A verdict as `prompt-policy test --json` gives it; `unread` are parts that no rule could look into."""
    return {
        "decision": verdict.decision,
        "rule": verdict.rule or None,
        "severity": verdict.severity or None,
        "reason": verdict.message or None,
        "call_ids": [],
        "unread": list(verdict.unread),
    }


def _as_text(verdict: Verdict) -> Iterator[str]:
    if verdict.blocks:
        yield f"block  {verdict.rule} ({verdict.severity})"
        yield f"       {inert(verdict.message)}"
    else:
        yield "allow  no rule holds"
    if verdict.unread:
        yield f"       not looked into: {', '.join(verdict.unread)}"


@_group.command("lint")
def linted(
    context: typer.Context,
    policy: _PolicyFile = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Can the file be used? A mistake is named with its line. Exit 0 whatever is found."""
    lint(context.obj, PROMPTS, policy, json=json)


def register(app: typer.Typer) -> None:
    app.add_typer(_group, name="prompt-policy")
