"""`repair-routing` and `repair-undo`: lost conversations brought back to their chats, and that taken back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agent_ledger.engine.inert import inert
from ledger_tui.commands.consent import ask, confirmed, need_terminal, refuse_failed, vouched_for
from ledger_tui.commands.errors import FOUND, UNREADABLE, CommandError, refused, unreadable, usage
from ledger_tui.commands.output import amount, print_json, say, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import progress
from ledger_tui.commands.repair_shapes import as_json, check_lines, dormant_lines, preview, row_text
from ledger_tui.commands.surveys import stored
from ledger_tui.routing.ignored import IgnoredFile
from ledger_tui.routing.orphans import MAX_GAP_S
from ledger_tui.routing.repair import journal
from ledger_tui.routing.repair.apply import PROOFS, Applied, Step, apply
from ledger_tui.routing.repair.holders import FAIL, OK, SafetyCheck, safety_checks
from ledger_tui.routing.repair.plan import LEFT_OUT, Findings, Plan, look, propose
from ledger_tui.routing.repair.refused import NothingToUndoError, RefusedError
from ledger_tui.routing.repair.undo import Repair, finish, repairs, undo
from ledger_tui.routing.zombies import Zombie, find_zombies
from ledger_tui.sources.guard import SourceError, real_path

_STEPS = {
    "checks": "checking that everything is stopped",
    "scan": "reading the sessions again",
    "backup": "copying the store and checking the copy",
    "write": "writing",
    "proof": "proving what was written",
}


def repair(
    context: typer.Context,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="More sessions for --only, or pairs for --choose.")
    ] = None,
    apply_: Annotated[bool, typer.Option("--apply", help="Really do it; without it nothing is changed.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="This lost session; may repeat.")
    ] = None,
    choose: Annotated[
        list[str] | None, typer.Option("--choose", metavar="ORPHAN=DONOR", help="You know whose it is; may repeat.")
    ] = None,
    end: Annotated[
        list[str] | None,
        typer.Option("--end", metavar="ID", help="End this open session: its talk is over; may repeat."),
    ] = None,
    because: Annotated[
        str | None, typer.Option("--because", metavar="TEXT", help="Why you chose so; kept in the journal.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; also says that everything is stopped, where nobody can see it.")
    ] = False,
    max_gap_seconds: Annotated[
        float, typer.Option("--max-gap-seconds", metavar="N", help="How near the older session must have fallen quiet.")
    ] = MAX_GAP_S,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Bring lost conversations back to their chats. Without --apply it only shows what it would do."""
    place: Place = context.obj
    only, pairs = _several(only or [], choose or [], more or [])
    _need_pairs(pairs)
    if math.isnan(max_gap_seconds) or max_gap_seconds < 0:
        raise usage("--max-gap-seconds needs a number of seconds, from 0 on.")
    place.need_home()  # With --state too: copy and journal go there.
    if not place.state_exists():
        _tell_nothing(place, json)
        return 0
    if apply_ and json and not yes:
        raise refused("With --json nothing is asked, and nothing shown before it is done; add --yes.")
    checks = safety_checks(place.state, place.home, now=place.clock())
    unfinished, stopped_by = _unfinished(place), None
    if apply_ and unfinished:
        stopped_by = vouched_for(checks, yes)
        unfinished = _finished(place, stopped_by)
    findings, plan, choices = _plan(place, only, pairs, end or [], max_gap_seconds, quiet=json)
    if apply_:
        _refuse_choices(plan, choices, end or [])
    if not apply_ or plan.empty:
        if json:
            print_json(as_json(findings, plan, checks, unfinished, _dormant(place, findings, plan)))
        else:
            _say_plan(findings, plan, checks, unfinished, _dormant(place, findings, plan), apply_)
        return 0
    refuse_failed(checks)
    if not json:
        _say_plan(findings, plan, checks, unfinished, (), apply_)
    stopped_by = stopped_by or vouched_for(checks, yes)
    chosen_by = confirmed(plan, because, yes)
    with _stoppable(place, quiet=json) as tell:
        done = apply(
            place.state, place.home, plan, clock=place.clock, stopped_by=stopped_by, chosen_by=chosen_by, tell=tell
        )
    if json:
        print_json(as_json(findings, plan, checks, unfinished, applied=done))
    else:
        _say_done(done)
    return 0 if done.proven else FOUND


@contextmanager
def _stoppable(place: Place, *, quiet: bool) -> Iterator[Callable[[Step], None]]:
    """Tells how far a repair or an undo is, and after Ctrl-C what became of it. Raises CommandError for a refusal."""
    before = {one.repair_id: one.state for one in _mine(place)}
    try:
        with progress("checking", quiet=quiet) as tell:
            yield lambda step: tell(step.done, step.total, _STEPS[step.stage])
    except NothingToUndoError:
        raise
    except RefusedError as error:
        raise refused(str(error)) from error
    except KeyboardInterrupt:
        touched = [one for one in _mine(place) if before.get(one.repair_id) != one.state]
        warn(f"Stopped. Repair {touched[-1].text}." if touched else "Stopped before anything was changed.")
        raise


def _several(only: list[str], choose: list[str], more: list[str]) -> tuple[list[str], list[str]]:
    """`--only A B` and `--choose A=B C=D` with what follows the first. Raises CommandError for what follows neither."""
    if more and not only and not choose:
        raise usage(f"{more[0]} stands alone; write --only before the sessions that are meant.")
    pairs = [one for one in more if choose and "=" in one]
    return [*only, *(one for one in more if one not in pairs)], [*choose, *pairs]


def _need_pairs(texts: Sequence[str]) -> None:
    """Raises CommandError for what is no pair."""
    for text in texts:
        if "=" not in text[1:-1]:
            raise usage(f"--choose {text!r} names no pair; write ORPHAN=DONOR with two session ids.")


def _choices(texts: Sequence[str], ids: Collection[str]) -> dict[str, str]:
    """Ids may hold a `=` themselves: it is parted where both sides are sessions, else at the first.

    Raises CommandError for what can be parted in two ways, and for an orphan that is named twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        ways = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "="]
        known = [pair for pair in ways if pair[0] in ids and pair[1] in ids]
        if len(known) > 1:
            raise usage(f"--choose {text!r} can be read as several pairs; choose it in the app.")
        orphan, donor = (known or [pair for pair in ways if all(pair)])[0]
        if found.setdefault(orphan, donor) != donor:
            raise usage(f"--choose names two donors for {orphan}; leave one out.")
    return found


def _plan(
    place: Place, only: list[str], pairs: list[str], end: list[str], max_gap_s: float, *, quiet: bool
) -> tuple[Findings, Plan, dict[str, str]]:
    """With the choices. Raises SourceError, and CommandError for an id that no session has."""
    try:
        store = stored(place, quiet=quiet)
    except SourceError as error:
        raise _cut_short(place) or error from error
    choices = _choices(pairs, store.sessions)
    for option, ids in (("--only", only), ("--choose", [*choices, *choices.values()]), ("--end", end)):
        for one in ids:
            if one not in store.sessions:
                raise usage(f"{option}: there is no session {one}; ledger-tui sessions lists them.")
    findings = look(store, max_gap_s=max_gap_s)
    now = place.clock()
    wanted = only or ([] if end and not choices else None)  # To end a session does not ask for anything else.
    plan = propose(place.state, findings, only=wanted, choices=choices, end=end, now=now, max_gap_s=max_gap_s)
    return findings, plan, choices


def _cut_short(place: Place) -> CommandError | None:
    """A store that cannot be read because a repair of ours died inside its transaction."""
    unfinished = _unfinished(place)
    if not unfinished:
        return None
    text = f"{unfinished[-1]}; until then {place.state} cannot be read. Run: ledger-tui repair-undo"
    return CommandError(text + ", which lets SQLite put it right.", UNREADABLE)


def _mine(place: Place) -> list[Repair]:
    """Repairs of this store, oldest first."""
    store = real_path(place.state)
    return [one for one in repairs(place.home) if one.store == store]


def _unfinished(place: Place) -> list[str]:
    return [one.text for one in _mine(place) if one.crashed]


def _finished(place: Place, stopped_by: str | None) -> list[str]:
    """Brings repairs to an end that were cut short, and says what became of them."""
    if not any(one.crashed for one in _mine(place)):
        return []
    try:
        return list(finish(place.state, place.home, clock=place.clock, stopped_by=stopped_by))
    except RefusedError as error:
        raise refused(str(error)) from error


def _refuse_choices(plan: Plan, choices: dict[str, str], end: list[str]) -> None:
    """What a person chose is done or refused, never passed over."""
    for one in plan.skipped:
        if one.orphan_id in end and one.reason != LEFT_OUT:
            raise refused(f"{one.orphan_id} cannot be ended: {one.reason}; nothing was changed.")
        if one.orphan_id in choices:
            raise refused(f"{one.orphan_id} cannot go to {choices[one.orphan_id]}: {one.reason}; nothing was changed.")


def _tell_nothing(place: Place, json: bool) -> None:
    if json:
        print_json(as_json(None, None, (), ()))
    else:
        say(f"There is no session store at {inert(str(place.state))} yet, so nothing is lost.")


def _dormant(place: Place, findings: Findings, plan: Plan) -> list[Zombie]:
    """Open sessions that fell silent long ago, but for those that were set aside or are dealt with by the plan."""
    ignored = IgnoredFile(place.data).read()
    dealt_with = {change.session_id for change in plan.changes}
    found = find_zombies(
        findings.store, findings.orphans, findings.further, now=plan.asked.now, max_gap_s=plan.asked.max_gap_s
    )
    return [
        one
        for one in found
        if one.grade == "dormant" and one.session_id not in dealt_with and (one.session_id, "zombie") not in ignored
    ]


def _say_plan(
    findings: Findings,
    plan: Plan,
    checks: Sequence[SafetyCheck],
    unfinished: Sequence[str],
    dormant: Sequence[Zombie],
    apply_: bool,
) -> None:
    for line in (
        *(f"Earlier repair {text}." for text in unfinished),
        *preview(findings, plan),
        *dormant_lines(dormant),
    ):
        say(line)
    say()
    if plan.empty:
        say("There is nothing to repair.")
        return
    if not apply_:
        say("Before a repair:")
        for line in check_lines(checks):
            say(line)
        say("Nothing was changed; add --apply to do it.")


def _say_done(done: Applied) -> None:
    ended = f", {done.ended} ended" if done.ended else ""
    say(f"Done: {amount(len(done.orphan_ids), 'conversation')} brought back{ended}. Repair {done.repair_id}")
    for line in check_lines(done.checks, done=True):
        say(line)
    for one in done.answers:
        say(f"  {inert(one.session_key)} goes on in {row_text(one.after_id)}. {one.text}")
    say(f"The copy from before is {inert(str(done.backup))}.")
    say("Start the gateway now. To take it back: ledger-tui repair-undo " + done.repair_id)


def take_back(
    context: typer.Context,
    repair_id: Annotated[
        str | None, typer.Argument(metavar="[REPAIR_ID]", help="Which repair; else the newest in effect.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; also says that everything is stopped, where nobody can see it.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Only list the repairs of this store.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Put the rows of a repair back as they were."""
    place: Place = context.obj
    place.need_home()
    mine = _mine(place) if place.state_exists() else []
    odd = journal.unreadable(place.home)
    if repair_id is not None and all(one.repair_id != repair_id for one in mine):
        _refuse_unreadable([one for one in odd if one.stem == repair_id], mine)
        raise usage(f"There is no repair {repair_id} of {place.state}; ledger-tui repair-undo --list names them.")
    if repair_id is None and not list_:
        _refuse_unreadable(odd, mine)
    if list_ or not any(one.state == "applied" or one.crashed for one in mine):
        _say_repairs(place, mine, odd, json)
        return 0
    stopped_by = vouched_for(safety_checks(place.state, place.home, now=place.clock()), yes)
    wanted = next(
        (one for one in reversed(mine) if repair_id in (None, one.repair_id) and one.state == "applied"), None
    )
    if not yes and wanted is not None:
        need_terminal()
        ask(f"Type 'undo' to take back repair {wanted.repair_id}: ", "undo")
    try:
        with _stoppable(place, quiet=json) as tell:
            done = undo(place.state, place.home, repair_id, clock=place.clock, stopped_by=stopped_by, tell=tell)
    except NothingToUndoError:
        _say_repairs(place, _mine(place), odd, json)
        return 0
    if json:
        print_json({"undone": done.repair_id, "rows": done.rows, "checks": [asdict(one) for one in done.checks]})
    else:
        proven = all(check.state == OK for check in done.checks if check.name in PROOFS)
        end = "as before" if proven else "written back, which could not be proven in full"
        say(f"Repair {done.repair_id} is undone: {amount(done.rows, 'row')} {end}.")
        for line in check_lines(done.checks, done=True):
            say(line)
    return 0 if all(check.state != FAIL for check in done.checks) else FOUND


def _refuse_unreadable(odd: Sequence[Path], mine: Sequence[Repair]) -> None:
    """A repair whose journal cannot be understood may be the newest. Raises CommandError where there is one."""
    if not odd:
        return
    if not os.access(odd[-1], os.R_OK):
        raise unreadable(f"{odd[-1]} cannot be read by this user; undo the repair as the user who made it.")
    what = f"The journal {odd[-1]} cannot be understood, so its repair cannot be taken back"
    if any(one.state == "applied" for one in mine):
        raise unreadable(f"{what}, and it may be the newest; name the one to undo, as repair-undo --list shows them.")
    raise unreadable(f"{what}; put its rows back by hand from the copy beside it, then move the journal away.")


def _say_repairs(place: Place, mine: Sequence[Repair], odd: Sequence[Path], json: bool) -> None:
    if json:
        unread = [str(one) for one in odd]
        print_json({"undone": None, "rows": 0, "repairs": [_repair(one) for one in mine], "unreadable": unread})
        return
    for one in mine:
        ended = f", {len(one.ended_ids)} ended" if one.ended_ids else ""
        say(f"{one.text}; {amount(len(one.orphan_ids), 'conversation')}{ended}; copy: {inert(str(one.backup))}")
    for path in odd:
        problem = "be understood" if os.access(path, os.R_OK) else "be read by this user"
        say(f"{inert(str(path))}: it cannot {problem}, so its repair cannot be undone")
    store = real_path(place.state)
    for one in repairs(place.home):
        if one.store != store:  # Such as where the home was moved since.
            say(f"{inert(one.repair_id)} is a repair of another store: {inert(str(one.store))}")
    if not odd and not any(one.state == "applied" for one in mine):
        say("No repair of this store is in effect, so there is nothing to undo.")


def _repair(one: Repair) -> dict[str, object]:
    return {
        "repair_id": one.repair_id, "state": one.state, "at": one.at, "orphan_ids": list(one.orphan_ids),
        "ended_ids": list(one.ended_ids),
        "backup": str(one.backup), "text": one.text,
    }  # fmt: skip


def register(app: typer.Typer) -> None:
    app.command("repair-routing")(repair)
    app.command("repair-undo")(take_back)
