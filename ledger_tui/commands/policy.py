"""`policy report`, `test`, `replay` and `lint`: what the tool policy refuses, and whether it can be used."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import agent_ledger
from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.load import load
from agent_ledger.engine.policy.mode import mode_of
from agent_ledger.engine.policy.rehearsal import Rehearsal
from agent_ledger.engine.policy.rules import Decision, ToolPolicy
from ledger_tui.commands.calls import since_seconds
from ledger_tui.commands.errors import unreadable, usage
from ledger_tui.commands.output import amount, print_json, print_json_line, print_json_list, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot
from ledger_tui.sources.decisions import read_refusals, refusal_json

EXAMPLE = Path(agent_ledger.__file__).with_name("policy.example.json")

_PAGE = 1_000

_group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Rules over what the agent's tool calls do.")

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
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            event = json_module.loads(line)
            tool, args, session = event["tool"], event.get("args") or {}, event.get("session_id") or ""
            if not isinstance(tool, str) or not isinstance(args, dict):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            warn(f"Line {number} is no JSON object with a tool and its args.")
            yield Decision(
                "block", "cannot-decide", "MEDIUM", inert(f"line {number} is no JSON object with tool and args")
            )
            continue
        yield rehearsal.judge(tool, args, session_id=str(session), call_id=number)


def shape(decision: Decision) -> dict[str, Any]:
    """A decision as `policy test --json` gives it."""
    return {
        "decision": decision.decision,
        "rule": decision.rule or None,
        "severity": decision.severity or None,
        "reason": decision.reason or None,
        "call_ids": list(decision.call_ids),
    }


@_group.command("replay")
def replayed(context: typer.Context, since: _Since = None, policy: _PolicyFile = None, json: _Json = False) -> None:
    """What this policy would have refused among the recorded calls. Exit 0 whatever is found."""
    place: Place = context.obj
    rehearsal = Rehearsal(_rules(place, policy), place.state)
    seen = {"calls": 0, "partial": 0}
    rows = _replayed(place, rehearsal, since_seconds(since, place.clock()), seen)
    if json:
        print_json_list(rows)
    else:
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
    place: Place, rehearsal: Rehearsal, since: float | None, seen: dict[str, int]
) -> Iterator[dict[str, Any]]:
    if not place.ledger_exists():
        return
    after = -(2**62)
    with snapshot.reading_ledger(place.ledger) as ledger:
        while page := snapshot.read_calls(ledger, snapshot.Filter(since=since), _PAGE, after_id=after):
            after = page[-1].id
            for call in page:
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
                        "rule": decision.rule,
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
    place: Place = context.obj
    path = _named(policy) or place.data / "policy.json"
    found = examined(path, place.data / "policy_mode")
    if json:
        print_json(found)
        return
    for line in _lint_text(found):
        say(line)


def examined(path: Path, mode_path: Path) -> dict[str, Any]:
    """The shape of `policy lint --json`."""
    mode = mode_of(mode_path)
    there = path.exists()
    loaded = load(path)
    wrong = loaded if isinstance(loaded, PolicyError) else None
    return {
        "file": str(path),
        "exists": there,
        "valid": wrong is None,
        "line": wrong.line if wrong and wrong.line else None,
        "reason": wrong.reason if wrong and there else None,
        "rules": [] if isinstance(loaded, PolicyError) else [rule.name for rule in loaded.rules],
        "mode": mode.value,
        "mode_valid": mode.valid,
    }


def _lint_text(found: Mapping[str, Any]) -> Iterator[str]:
    file = inert(found["file"])
    if not found["exists"]:
        yield f"There is no {file}. To begin: cp {inert(str(EXAMPLE))} {file}"
    elif found["valid"]:
        yield f"{file}: in order, {amount(len(found['rules']), 'rule')}: {inert(', '.join(found['rules']) or 'none')}"
    else:
        line = f", line {found['line']}" if found["line"] else ""
        yield f"{file}{line}: {inert(found['reason'])}"
    if found["mode_valid"]:
        yield f"The mode is {found['mode']}."
    else:
        yield "policy_mode holds no mode; write off, dry_run or enforce into it. The last valid one stays in force."
    if found["mode"] == "enforce" and not found["valid"]:
        yield "Until that is mended calls that change something are refused; writing off into policy_mode ends that."


def _named(policy: str | None) -> Path | None:
    if policy is None:
        return None
    path = Path(policy).expanduser()
    if not path.exists():
        raise unreadable(f"The policy {policy} named by --policy does not exist; check the path.")
    return path


def _rules(place: Place, policy: str | None) -> ToolPolicy:
    """The policy to judge by. Without one in the home the shipped example serves, and that is said."""
    path = _named(policy) or place.data / "policy.json"
    if policy is None and not path.exists():
        warn(f"There is no {path}; the example that comes with the program serves: {EXAMPLE}.")
        path = EXAMPLE
    loaded = load(path)
    if isinstance(loaded, PolicyError):
        raise unreadable(f"{loaded}.")
    return loaded


def register(app: typer.Typer) -> None:
    app.add_typer(_group, name="policy")
