"""`prompt-policy test` and `lint`: what the rules say about a message, and whether the file can be used."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import agent_ledger
from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.mode import mode_of
from agent_ledger.engine.prompts import Guard, PolicyError, Verdict, load
from ledger_tui.commands.errors import unreadable, usage
from ledger_tui.commands.output import print_json, print_json_line, say, warn
from ledger_tui.commands.place import Place

EXAMPLE = Path(agent_ledger.__file__).with_name("prompt_policy.example.json")

_group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Rules over what a person writes to the agent.")

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
    guard = _guard(place, _policy_file(place, policy))
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


def _policy_file(place: Place, named: str | None) -> Path:
    """The file to judge by. Without one in the home the shipped example serves, and that is said."""
    if named is not None:
        path = Path(named).expanduser()
        if not path.exists():
            raise unreadable(f"The policy {named} named by --policy does not exist; check the path.")
        return path
    own = place.data / "prompt_policy.json"
    if own.exists():
        return own
    warn(f"There is no {own}; the example that comes with the program serves: {EXAMPLE}.")
    return EXAMPLE


def _guard(place: Place, policy: Path) -> Guard:
    mode = place.data / "prompt_policy_mode"
    return Guard(policy, mode, place.ledger, clock=place.clock, host_version=lambda: None)


def _judged_lines(guard: Guard) -> Iterator[Verdict]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            event = json_module.loads(line)
            message = event["user_message"]
        except (ValueError, KeyError, TypeError, RecursionError):
            warn(f"Line {number} is no JSON object with a user_message.")
            yield Verdict("block", "cannot-decide", "MEDIUM", f"Line {number} is no JSON object with a user_message.")
            continue
        yield guard.verdict(message)


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
    place: Place = context.obj
    path = Path(policy).expanduser() if policy else place.data / "prompt_policy.json"
    if policy and not path.exists():
        raise unreadable(f"The policy {policy} named by --policy does not exist; check the path.")
    found = examined(path, place.data / "prompt_policy_mode")
    if json:
        print_json(found)
        return
    for line in _lint_text(found):
        say(line)


def examined(path: Path, mode_path: Path) -> dict[str, Any]:
    """The shape of `prompt-policy lint --json`."""
    mode = mode_of(mode_path)
    there = path.exists()
    loaded = load(path) if there else None
    wrong = loaded if isinstance(loaded, PolicyError) else None
    rules = [] if loaded is None or isinstance(loaded, PolicyError) else [rule.name for rule in loaded.rules]
    return {
        "file": str(path),
        "exists": there,
        "valid": there and wrong is None,
        "line": wrong.line if wrong and wrong.line else None,
        "reason": wrong.reason if wrong else None,
        "rules": rules,
        "mode": mode.value,
        "mode_valid": mode.valid,
    }


def _lint_text(found: dict[str, Any]) -> Iterator[str]:
    file = inert(found["file"])
    if not found["exists"]:
        yield f"There is no {file}. To begin: cp {inert(str(EXAMPLE))} {file}"
    elif found["valid"]:
        yield f"{file}: in order, {len(found['rules'])} rules are on: {', '.join(found['rules']) or 'none'}"
    else:
        line = f", line {found['line']}" if found["line"] else ""
        yield f"{file}{line}: {inert(found['reason'])}"
    if found["mode_valid"]:
        yield f"The mode is {found['mode']}."
    else:
        yield "prompt_policy_mode holds no mode; write one of off, dry_run, enforce into it."
    if found["mode"] == "enforce" and not found["valid"]:
        yield "Until that is mended every message is refused; writing off into prompt_policy_mode ends that."


def register(app: typer.Typer) -> None:
    app.add_typer(_group, name="prompt-policy")
