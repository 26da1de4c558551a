"""`status`: one look at a home, for a person, a script, or a tmux status bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_ledger.engine import spool
from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.mode import INVALID, MODES, mode_of
from agent_ledger.engine.records import STATES
from ledger_tui import tmux_line
from ledger_tui.commands import fleet_status, gateway, hosts, posture, reading, surveys
from ledger_tui.commands.errors import DONE, FOUND, UNREADABLE, usage
from ledger_tui.commands.fleet import Fleet, Round, places_of
from ledger_tui.commands.output import amount, print_json, say, terminal_width, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.plain import asked_for_plain
from ledger_tui.config import THRESHOLDS, load
from ledger_tui.demo.home import MARKER
from ledger_tui.routing.survey import Survey
from ledger_tui.sources import snapshot
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.set_aside import set_aside

FAIL_ON = ("ghost", "orphan", "finding")


SCORED_AT_ONCE = THRESHOLDS["calls_scored"]
"""Rows of a ledger that is scored with every look. Larger ones take seconds, and are scored when that is asked for."""

SURVEYED_AT_ONCE = THRESHOLDS["sessions_surveyed"]
"""Sessions of a store that is surveyed with every look, for the same reason; of messages, twenty times as many."""

NOT_SHIPPED = "not known: only the ledger is shipped"

_LOST = ("total", "orphans", "adoptable", "zombies", "dormant", "set_aside")


def summary(place: Place, *, scored: bool = False, surveyed: bool = False) -> tuple[dict[str, Any], list[SourceError]]:
    """The shape of `status --json`, and what could not be read: a damaged session store does not hide the ledger.

    `scored` and `surveyed` ask for the posture and for lost sessions whatever the size; otherwise what would take
    long is None, which means not worked out.
    Raises CommandError for a missing file named by option, SourceError where the ledger itself cannot be read.
    """
    if place.shipped is not None:
        return _shipped(place, scored=scored), []
    place.state_exists()
    problems: list[SourceError] = []
    ledger, host = ledger_part(place)
    found = gateway.probe(place.home)
    shape = {
        "home": str(place.home),
        "active_profile": place.profile_used(),
        "ledger": ledger,
        "sessions": sessions_part(place, problems, surveyed=surveyed),
        "posture": posture_part(place, ledger["rows"], scored=scored),
        "policy": {"mode": read_mode(place.data / "policy_mode")},
        "prompt_policy": {
            "mode": read_mode(place.data / "prompt_policy_mode"),
            "enforced": hosts.honours_prompt_block(host),
        },
        "gateway": {"running": found.running, "evidence": found.evidence},
        "simulation": os.path.lexists(place.home / MARKER),
    }
    return shape, problems


def _shipped(place: Place, *, scored: bool) -> dict[str, Any]:
    """The same shape for a ledger that another machine shipped: what else there is of its home is None."""
    ledger, host = ledger_part(place)
    assert place.shipped is not None
    source = place.shipped.source
    return {
        "home": source.name,
        "active_profile": None,
        "ledger": {**ledger, "path": source.place, "spooled": None, "set_aside": None},
        "sessions": {"path": None, "exists": None, **dict.fromkeys(_LOST)},
        "posture": posture_part(place, ledger["rows"], scored=scored),
        "policy": {"mode": None},
        "prompt_policy": {"mode": None, "enforced": hosts.honours_prompt_block(host)},
        "gateway": {"running": None, "evidence": NOT_SHIPPED},
        "simulation": False,
        "shipped": source.shipped,
    }


def ledger_part(place: Place) -> tuple[dict[str, Any], str | None]:
    """Counts of the ledger, whose six states add up to `rows`; and the host's version as the ledger names it."""
    exists = place.ledger_exists()
    counts = dict.fromkeys(("rows", *STATES), 0)
    host: str | None = None
    merged: Mapping[str, int] = {}
    if exists:
        with snapshot.reading_ledger(place.ledger) as ledger:
            counts = reading.count_states(ledger, place)
            host = reading.newest_host_version(ledger)
            merged = snapshot.read_merged(ledger)
    around = place.ledger_paths
    spooled = spool.waiting(around, merged).records if around is not None else 0
    aside = set_aside(place.ledger_paths)
    return {"path": str(place.ledger), "exists": exists, **counts, "spooled": spooled, "set_aside": aside}, host


def _at_once(threshold: str, usual: int) -> int:
    """What a person's settings say instead of what is usual."""
    asked = load().config.thresholds[threshold]
    return usual if asked == THRESHOLDS[threshold] else asked


def posture_part(place: Place, rows: int, *, scored: bool) -> dict[str, int | None]:
    """Score and number of findings; None where not worked out, and a score of None where nothing was recorded."""
    if rows > _at_once("calls_scored", SCORED_AT_ONCE) and not scored:
        return {"score": None, "findings": None}
    found = posture.scored(place)
    return {"score": found.score, "findings": len(found.findings)}


def sessions_part(place: Place, problems: list[SourceError], *, surveyed: bool = False) -> dict[str, Any]:
    """How many sessions the host keeps, and how many lost their way: None where that was not worked out.

    `orphans` and `adoptable` count rows of messaging platforms as the host's own command finds them, `zombies` the
    rows that a chat would fall back into; `dormant` ones, which nobody took over from, are counted apart. `set_aside`
    counts orphans that a person set aside, which `orphans` still holds.
    """
    part: dict[str, Any] = {"path": str(place.state), "exists": place.state_exists(), **dict.fromkeys(_LOST, 0)}
    if not part["exists"]:
        return part
    try:
        sessions, messages = surveys.rows_to_read(place)
        most = _at_once("sessions_surveyed", SURVEYED_AT_ONCE)
        if not surveyed and (sessions > most or messages > 20 * most):
            return {**part, **dict.fromkeys(_LOST, None), "total": reading.count_sessions(place.state)}
        return {**part, **_lost(surveys.surveyed(place))}
    except SourceError as error:
        problems.append(error)
        return {**part, **dict.fromkeys(_LOST, None)}


def _lost(found: Survey) -> dict[str, int]:
    back = sum(one.grade != "dormant" for one in found.zombies)
    adoptable = sum(one.adoptable for one in found.lost)
    aside = len(found.lost) - len(found.troubling)
    counts = (len(found.store.sessions), len(found.lost), adoptable, back, len(found.zombies) - back, aside)
    return dict(zip(_LOST, counts, strict=True))


def read_mode(path: Path) -> str:
    """The one word of a policy mode file: `off` where there is none, `invalid` for a word that is no mode."""
    return mode_of(path).value


def show(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    tmux: Annotated[
        bool, typer.Option("--tmux", help=f"One line of at most {tmux_line.WIDTH} cells for a status bar.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="Exit 1 if there is a ghost (overdue calls count), a conversation that lost its way (orphan),"
            " or a finding of the posture.",
        ),
    ] = None,
) -> int:
    """One look at a home.

    The ledger, the sessions, the posture, the policies and the gateway.
    """
    if fail_on is not None and fail_on not in FAIL_ON:
        raise usage(f"--fail-on {fail_on!r} is unknown; it takes one of {', '.join(FAIL_ON)}.")
    if json and tmux:
        raise usage("--json and --tmux exclude each other; choose one.")
    if places_of(context)[0].shipped is not None and (tmux or fail_on == "orphan"):
        raise usage("With --source there is no --tmux and no --fail-on orphan: only ledgers are shipped.")
    if isinstance(context.obj, Fleet):
        plain = asked_for_plain(context)
        return _of_fleet(context.obj, fail_on, json=json, tmux=tmux, plain=plain)
    place: Place = context.obj
    if tmux:
        if not place.home_is_there():
            say("no Hermes home there")  # A status bar shows no errors.
        place.need_home()
        say(_line(place))
        if fail_on is None:
            return DONE
    found, problems = _asked(place, fail_on)
    if json:
        print_json(found)
    elif not tmux:
        for line in as_text(found):
            say(line)
    for problem in problems:
        warn(str(problem))
    return _verdict(fail_on, found, problems) or (UNREADABLE if problems else DONE)


def _of_fleet(fleet: Fleet, fail_on: str | None, *, json: bool, tmux: bool, plain: bool) -> int:
    """The same for several homes: what `--fail-on` names is looked for in all of them."""
    asked = Round(fleet)
    if tmux:
        say(_sums(fleet, asked))
    shapes: dict[Path, dict[str, Any]] = {}
    codes = []
    for place, (shape, problems) in asked.each(lambda place: _asked(place, fail_on)) if fail_on or not tmux else ():
        shapes[place.home] = {"name": place.name, **shape}
        codes.append(_verdict(fail_on, shape, problems))
        for problem in problems:
            asked.told(place, str(problem))
    found = [(place, shapes.get(place.home)) for place in fleet.places]
    if json:
        print_json(list(shapes.values()))
    elif not tmux:
        table = fleet_status.spoken(found) if plain else fleet_status.overview(found, width=terminal_width())
        for line in (*table, *fleet_status.blocks(found, as_text)):
            say(line)
    return FOUND if FOUND in codes else asked.code


def _sums(fleet: Fleet, asked: Round) -> str:
    """One line for a status bar; a home that is not there, or whose profiles nobody can list, counts as unread."""
    there = [str(place.ledger) for place, _ in asked.each(Place.need_home)]
    unicode = tmux_line.speaks_unicode(os.environ, sys.stdout.encoding)
    now, missing = fleet.places[0], len(asked.failed) + len(fleet.unlisted)
    return tmux_line.sums(there, now=now.clock(), mono_now=now.mono_clock(), unicode=unicode, missing=missing)


def _asked(place: Place, fail_on: str | None) -> tuple[dict[str, Any], list[SourceError]]:
    return summary(place, scored=fail_on == "finding", surveyed=fail_on == "orphan")


def _line(place: Place) -> str:
    unicode = tmux_line.speaks_unicode(os.environ, sys.stdout.encoding)
    return tmux_line.line(str(place.ledger), now=place.clock(), mono_now=place.mono_clock(), unicode=unicode)


def _verdict(fail_on: str | None, found: Mapping[str, Any], problems: Sequence[SourceError]) -> int:
    if fail_on == "orphan":
        lost = found["sessions"]
        return UNREADABLE if problems else FOUND if lost["orphans"] > lost["set_aside"] else DONE
    if fail_on == "finding":
        return FOUND if found["posture"]["findings"] else DONE
    return FOUND if fail_on == "ghost" and found["ledger"]["ghost"] + found["ledger"]["overdue"] else DONE


def as_text(found: Mapping[str, Any]) -> list[str]:
    """The summary for a person, a line for each part."""
    ledger, sessions, prompt = found["ledger"], found["sessions"], found["prompt_policy"]
    lines = [f"home      {inert(found['home'])}{_SIMULATED if found['simulation'] else ''}"]
    if found["active_profile"] is not None:
        lines.append(f"profile   Hermes itself uses {inert(found['active_profile'])}; see: ledger-tui doctor")
    if ledger["exists"]:
        counts = ", ".join(f"{ledger[name]} {name}" for name in STATES if ledger[name])
        lines.append(f"ledger    {amount(ledger['rows'], 'call')}" + (f": {counts}" if counts else ""))
    else:
        missing = f"({inert(ledger['path'])} is not there)"
        lines.append(f"ledger    nothing recorded yet {missing}; if that lasts, see: ledger-tui doctor")
    if "shipped" in found:
        at = found["shipped"].replace("T", " ")[:19]
        return [
            *lines,
            f"posture   {_posture(found['posture'])}",
            f"shipped   last at {at} UTC; nothing else of its home is",
        ]
    if ledger["spooled"]:
        waits = amount(ledger["spooled"], "record waits", "records wait")
        lines.append(f"spool     {waits} to be written; see: ledger-tui doctor")
    if ledger["set_aside"] is None:
        lines.append("aside     what was set aside cannot be read; see: ledger-tui doctor")
    elif ledger["set_aside"]:
        aside = amount(ledger["set_aside"], "record")
        lines.append(f"aside     {aside} set aside as not understood and in no ledger; see: ledger-tui doctor")
    if sessions["exists"]:
        lines.append(f"sessions  {_sessions(sessions)}")
    else:
        lines.append(f"sessions  none ({inert(sessions['path'])} is not there)")
    lines.append(f"posture   {_posture(found['posture'])}")
    lines.append(f"policy    {found['policy']['mode']}{_help(found['policy']['mode'])}")
    lines.append(f"prompts   {prompt['mode']}{_help(prompt['mode'])}; {_ENFORCED[prompt['enforced']]}")
    running = {True: "running", False: "not running", None: "unknown"}[found["gateway"]["running"]]
    lines.append(f"gateway   {running}: {inert(found['gateway']['evidence'])}")
    return lines


def _help(mode: str) -> str:
    return f" (it must be one of {', '.join(MODES)})" if mode == INVALID else ""


def _sessions(found: Mapping[str, Any]) -> str:
    if found["total"] is None:
        return "the host's store cannot be read"
    start = f"{found['total']} in the host's store"
    if found["orphans"] is None:
        return f"{start}; whether one lost its way is not worked out for so many; see: ledger-tui sessions"
    if not (found["orphans"] or found["zombies"]):
        return f"{start}; none lost its way"
    lost = f"{amount(found['orphans'], 'orphan')} ({found['adoptable']} can be taken back), "
    return f"{start}: {lost}{amount(found['zombies'], 'zombie')}; see: ledger-tui repair-routing"


def _posture(found: Mapping[str, int | None]) -> str:
    if found["findings"] is None:
        return "not worked out for so many calls; see: ledger-tui posture"
    if found["score"] is None:
        return "no score: nothing was recorded"
    limits = "of what was recorded, and no proof; see: ledger-tui posture"
    return f"{found['score']} with {amount(found['findings'], 'finding')}: {limits}"


_SIMULATED = "  (a simulation: made by the demo, no agent ran here)"

_ENFORCED = {
    True: "this host honours a prompt block",
    False: "advisory on this host, which ignores a prompt block",
    None: "whether this host honours a prompt block is known once it has recorded a call",
}


def register(app: typer.Typer) -> None:
    app.command("status")(show)
