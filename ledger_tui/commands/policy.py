"""`policy report`, `test`, `replay` and `lint`: what the tool policy refuses, and whether it can be used."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.load import load
from agent_ledger.engine.policy.mode import mode_of
from agent_ledger.engine.policy.rehearsal import Rehearsal
from agent_ledger.engine.policy.rules import Decision, ToolPolicy
from agent_ledger.progress import Tell
from ledger_tui.commands.calls import since_seconds
from ledger_tui.commands.errors import unreadable, usage
from ledger_tui.commands.output import amount, print_json, print_json_line, print_json_list, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.policy_file import TOOLS, events, file_to_judge_by, lint, no_event
from ledger_tui.commands.progress import progress, stdout_is_terminal
from ledger_tui.commands.reading import count_rows
from ledger_tui.sources import snapshot
from ledger_tui.sources.decisions import read_refusals, refusal_json

_PAGE = 1_000

_group = typer.Typer(rich_markup_mode=None, help="Rules over what the agent's tool calls do.")

_PolicyFile = Annotated[
    str | None, typer.Option("--policy", metavar="FILE", help="Another file than the home's policy.json.")
]
_Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
_Since = Annotated[
    str | None, typer.Option("--since", metavar="WHEN", help="90m, 24h, 2d ago, or a day such as 2026-01-02 (UTC).")
]


@_group.command("report")
def reported(context: typer.Context, since: _Since = None, json: _Json = False) -> None:
    """What the policy refused, or in dry_run would have refused. Exit 0 whatever is found."""
    place: Place = context.obj
    start = since_seconds(since, place.clock())
    rows = _decisions(place, start)
    if json:
        print_json_list(rows)
        return
    count = 0
    for row in rows:
        count += 1
        say(_line(row))
    mode = mode_of(place.data / "policy_mode")
    say(f"{amount(count, 'decision')} of the tool policy; its mode is {mode.value if mode.valid else 'invalid'}.")


def _decisions(place: Place, since: float | None) -> Iterator[dict[str, Any]]:
    if not place.ledger_exists():
        return
    with snapshot.reading_ledger(place.ledger) as ledger:
        yield from map(refusal_json, read_refusals(ledger, since))


@_group.command("test")
def judged(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(metavar="COMMAND", help="What the agent would run.")] = None,
    tool: Annotated[str, typer.Option("--tool", metavar="NAME", help="The tool that would be called.")] = "terminal",
    stdin: Annotated[
        bool, typer.Option("--stdin", help='One JSON object {"tool": …, "args": …} a line; one verdict a line.')
    ] = False,
    policy: _PolicyFile = None,
    json: _Json = False,
) -> None:
    """What the rules say about a call, whatever the mode is; nothing runs. Exit 0 whatever the verdict."""
    if stdin == (command is not None):
        raise usage("policy test takes either a command or --stdin.")
    rehearsal = Rehearsal(_rules(context.obj, policy))
    if stdin:
        for decision in _judged_lines(rehearsal):
            print_json_line(shape(decision))
        return
    decision = rehearsal.judge(tool, arguments(tool, command or ""), session_id="", call_id=1)
    if json:
        print_json(shape(decision))
    elif decision.blocks:
        say(f"block  {inert(decision.rule)} ({decision.severity})")
        say(f"       {decision.reason}")
    else:
        say("allow  no rule holds")


def arguments(tool: str, text: str) -> Mapping[str, Any]:
    """A call's arguments from one text: a JSON object as it is, else the argument that such a tool is about."""
    if text.lstrip().startswith("{"):
        try:
            value = json_module.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and tool != "terminal":
            return value
    names = {"execute_code": "code", "write_file": "path", "patch": "path", "read_file": "path"}
    return {names.get(tool, "command"): text}


def _judged_lines(rehearsal: Rehearsal) -> Iterator[Decision]:
    for number, event in events():
        tool, args, session = event.get("tool"), event.get("args") or {}, event.get("session_id") or ""
        if isinstance(tool, str) and isinstance(args, dict):
            yield rehearsal.judge(tool, args, session_id=str(session), call_id=number)
        else:
            yield Decision("block", "cannot-decide", "MEDIUM", inert(no_event(number, "a tool and its args")))


def shape(decision: Decision) -> dict[str, Any]:
    """A decision as `policy test --json` gives it."""
    return {
        "decision": decision.decision,
        "rule": inert(decision.rule) or None,
        "severity": decision.severity or None,
        "reason": decision.reason or None,
        "call_ids": list(decision.call_ids),
    }


@_group.command("replay")
def replayed(context: typer.Context, since: _Since = None, policy: _PolicyFile = None, json: _Json = False) -> None:
    """What this policy would have refused among the recorded calls. Exit 0 whatever is found."""
    place: Place = context.obj
    start = since_seconds(since, place.clock())  # Before the rules, which may say that the example serves.
    rehearsal = Rehearsal(_rules(place, policy), place.state)
    seen = {"calls": 0, "partial": 0}
    with ExitStack() as line:
        tell = line.enter_context(progress("judging the calls", quiet=json))
        rows = _replayed(place, rehearsal, start, seen, tell)
        if json:
            print_json_list(rows)
        else:
            if stdout_is_terminal():  # There they and the line that says how far it is would tear each other.
                rows = iter(list(rows))
                line.close()
            refused = 0
            for row in rows:
                refused += 1
                say(_line(row))
            say(f"{refused} of {amount(seen['calls'], 'recorded call')} would have been refused.")
    if seen["partial"]:
        warn(
            f"{amount(seen['partial'], 'call')} of {seen['calls']} were recorded cut or with secrets taken out:"
            " what was not kept could not be judged."
        )


def _replayed(
    place: Place, rehearsal: Rehearsal, since: float | None, seen: dict[str, int], tell: Tell
) -> Iterator[dict[str, Any]]:
    if not place.ledger_exists():
        return
    after = -(2**62)
    with snapshot.reading_ledger(place.ledger) as ledger:
        total = count_rows(ledger) if since is None else 0
        while page := snapshot.read_calls(ledger, snapshot.Filter(since=since), _PAGE, after_id=after):
            after = page[-1].id
            for call in page:
                tell(seen["calls"], total)
                seen["calls"] += 1
                partial = bool(call.args_cut or call.args_redacted)
                seen["partial"] += partial
                args, whole = _recorded(call.args_json)
                decision = rehearsal.judge(
                    call.tool_name or "", args, session_id=call.session_id or "", call_id=call.id, cut=not whole
                )
                if decision.blocks:
                    yield {
                        "ledger_id": call.id,
                        "ts": call.ts,
                        "session_id": call.session_id,
                        "tool_name": call.tool_name,
                        "rule": inert(decision.rule),
                        "severity": decision.severity,
                        "reason": decision.reason,
                        "mode": "replay",
                        "call_ids": list(decision.call_ids),
                        "args_cut": bool(call.args_cut) or not whole,
                        "args_redacted": bool(call.args_redacted),
                    }


def _recorded(text: str | None) -> tuple[Mapping[str, Any], bool]:
    """A row's arguments, and whether they are whole: of what was cut, the start is read."""
    try:
        value = json_module.loads(text or "{}")
    except (ValueError, RecursionError):
        from widgets.call_text import readable_head

        head, _ = readable_head(text or "")
        return head or {}, False
    return (value if isinstance(value, dict) else {}), True


def _line(row: Mapping[str, Any]) -> str:
    number = row["ledger_id"] if row["ledger_id"] is not None else "-"
    with_calls = f", with call {', '.join(map(str, row['call_ids']))}" if row["call_ids"] else ""
    partial = " [arguments cut when recorded]" if row.get("args_cut") else ""
    partial += " [secrets taken out when recorded]" if row.get("args_redacted") else ""
    when = str(row["ts"] or "?")[:19].replace("T", " ")
    return (
        f"{when}  #{number}  {row['tool_name'] or '?'}  {row['rule']} ({row['severity']}, {row['mode']})"
        f"{with_calls}  {row['reason']}{partial}"
    )


@_group.command("lint")
def linted(context: typer.Context, policy: _PolicyFile = None, json: _Json = False) -> None:
    """Can the policy's files be used? A mistake is named with its line. Exit 0 whatever is found."""
    lint(context.obj, TOOLS, policy, json=json)


def _rules(place: Place, policy: str | None) -> ToolPolicy:
    """The policy to judge by."""
    loaded = load(file_to_judge_by(place, TOOLS, policy))
    if isinstance(loaded, PolicyError):
        raise unreadable(f"{loaded}.")
    return loaded


def register(app: typer.Typer) -> None:
    app.add_typer(_group, name="policy")
