"""`doctor`: what is wrong with this set-up, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from agent_ledger.engine.inert import inert
from ledger_tui.commands.checks import (
    FAIL,
    OK,
    UNKNOWN,
    WARN,
    Check,
    disk,
    files,
    held,
    host,
    ledger,
    modes,
    policy,
    private,
    prompts,
    sessions,
    waiting,
)
from ledger_tui.commands.errors import DONE, UNREADABLE
from ledger_tui.commands.fleet import Fleet, Round, say_in_turn
from ledger_tui.commands.output import print_json, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.policy_file import PROMPTS, TOOLS
from ledger_tui.sources.guard import SourceError

_MARKS = {OK: "ok", WARN: "WARN", FAIL: "FAIL", UNKNOWN: "?"}


def examined(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> int:
    """What is wrong with this set-up, and what to do. Exit 0 whatever is found, 3 if a named file is unreadable."""
    if isinstance(context.obj, Fleet):
        return _of_fleet(context.obj, json=json)
    checks, problems = _examined(context.obj, quiet=json)
    if json:
        print_json([asdict(check) for check in checks])
    else:
        for line in as_text(checks):
            say(line)
    for problem in problems:
        warn(str(problem))
    return UNREADABLE if problems else DONE


def _of_fleet(fleet: Fleet, *, json: bool) -> int:
    """The same for several homes; in JSON each check names its home."""
    asked = Round(fleet)
    each = asked.each(lambda place: _examined(place, quiet=json)[0])
    if json:
        print_json([{"home": place.home_text, **asdict(check)} for place, checks in each for check in checks])
    else:
        say_in_turn((place, as_text(checks)) for place, checks in each)
    return asked.code


def _examined(place: Place, *, quiet: bool) -> tuple[list[Check], list[SourceError]]:
    place.state_exists()
    return examine(place, quiet=quiet)


def examine(place: Place, *, quiet: bool = True) -> tuple[list[Check], list[SourceError]]:
    """Every check, and which files named by option could not be read. Raises CommandError for a missing one."""
    # First of all: a ledger that is opened to be read may get files beside it.
    of_files = [*modes.data_folder(place), disk.writable(place)]
    ledger_checks, merged, ledger_error = ledger.ledger(place)
    store_checks, store_error = sessions.sessions(place, quiet=quiet)
    checks = [
        files.home(place),
        host.profile(place),
        *of_files,
        *ledger_checks,
        held.lock(place),
        held.replaced(place),
        waiting.spooled(place, merged),
        waiting.set_aside(place),
        *disk.temporary(place),
        private.report(place),
        files.settings_file(place),
        *files.policy_modes(place),
        policy.policy_file(place, TOOLS),
        policy.policy_file(place, PROMPTS),
        *prompts.honoured(place),
        *store_checks,
        sessions.mended(place),
        *host.plugin(place),
        host.misleading_log(place),
    ]
    named = [(place.ledger_named, ledger_error), (place.state_named, store_error)]
    return [_inert(check) for check in checks], [error for by_option, error in named if by_option and error]


def _inert(check: Check) -> Check:
    return Check(check.check, check.state, inert(check.text), inert(check.remedy))


def as_text(checks: Sequence[Check]) -> list[str]:
    """The findings for a person, each with its remedy below it."""
    lines = []
    width = max((len(check.check) for check in checks), default=0)
    for check in checks:
        lines.append(f"{_MARKS[check.state]:<5} {check.check:<{width}}  {check.text}")
        if check.remedy and check.state != OK:
            lines.append(f"{'':<{5 + 1 + width}}  -> {check.remedy}")
    return lines


def register(app: typer.Typer) -> None:
    app.command("doctor")(examined)
