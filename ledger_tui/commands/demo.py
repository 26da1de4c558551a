"""`demo`: the options of the demonstration, whose own package is imported only when it runs."""

from __future__ import annotations

import importlib.util
import shlex
from typing import Annotated

import typer

from agent_ledger.engine.inert import inert
from ledger_tui.commands.errors import DONE, REFUSED, UNREADABLE, USAGE, CommandError, usage
from ledger_tui.commands.output import say
from ledger_tui.commands.place import path_of
from ledger_tui.commands.plain import asked_for_plain


def available() -> bool:
    """Is the demonstration part of this build?"""
    return (
        importlib.util.find_spec("ledger_tui.demo") is not None
        and importlib.util.find_spec("ledger_tui.demo.command") is not None
    )


def played(
    context: typer.Context,
    scenario: Annotated[str | None, typer.Option("--scenario", metavar="NAME", help="Which story is played.")] = None,
    home: Annotated[
        str | None,
        typer.Option("--home", metavar="DIR", help="A home that a demo made, or a new one; else a throwaway."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same number plays the same story.")] = 1,
    speed: Annotated[float, typer.Option("--speed", metavar="X", help="How much faster than life.")] = 1.0,
    headless: Annotated[bool, typer.Option("--headless", help="Only make the home; open no app.")] = False,
    duration: Annotated[
        float | None, typer.Option("--duration", metavar="S", help="End after S seconds by the clock on the wall.")
    ] = None,
) -> int:
    """A simulated host plays in a throwaway home.

    It drives the real plugin, and the app opens on it.
    """
    if not speed > 0:
        raise usage(f"--speed {speed} must be above zero.")
    if duration is not None and not duration > 0:
        raise usage(f"--duration {duration} must be above zero; leave it out to go on until you quit.")
    if home == "":
        raise usage("--home needs a folder, but what it was given is empty.")
    if not headless and asked_for_plain(context):
        raise usage("The demonstration opens the app, which draws; for plain text add --headless.")
    from ledger_tui.demo import command, errors

    try:
        made = command.run(
            scenario=scenario,
            home=path_of(home, "--home") if home else None,
            seed=seed,
            speed=speed,
            headless=headless,
            duration=duration,
        )
    except errors.DemoError as error:
        codes: dict[type, int] = {errors.AskedError: USAGE, errors.RefusedError: REFUSED, errors.HostError: UNREADABLE}
        raise CommandError(str(error), codes[type(error)]) from error
    if made:
        say(f"The simulated home is {inert(str(made))} (see SIMULATION.md in it).")
        say(f"Next: ledger-tui --hermes-home {inert(shlex.quote(str(made)))}")
    return DONE


def register(app: typer.Typer) -> None:
    app.command("demo")(played)
