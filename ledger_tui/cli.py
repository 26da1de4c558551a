"""The command line: options before the command, the commands, and how everything ends in one code."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from ledger_tui.commands import (
    calls,
    completion,
    config,
    demo,
    doctor,
    examples,
    export,
    fleet,
    ledger_check,
    misuse,
    opening,
    plain_start,
    plugin,
    plugin_folder,
    policy,
    posture,
    prompt_policy,
    prune,
    repair,
    serve,
    sessions,
    ship,
    status,
    tmux,
    verify,
    watch,
)
from ledger_tui.commands.ending import INTERRUPTED, guarded, leave_pipe
from ledger_tui.commands.errors import UNREADABLE, USAGE, CommandError, usage
from ledger_tui.commands.output import say, warn
from ledger_tui.commands.place import Place, place_of_shipped
from ledger_tui.commands.plain import asked_for_plain
from ledger_tui.commands.source import COMMANDS, ONLY, Shipped, every_shipped
from ledger_tui.config import load
from ledger_tui.serve import DRIVER

_APP = (None, "serve")
"""The app: it answers about several homes, and about what was shipped."""


class Commands(TyperGroup):
    """The top group: whatever goes wrong below becomes one sentence and one exit code, never a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        code = self._guarded(list(sys.argv[1:] if args is None else args), prog_name or "ledger-tui", extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            leave_pipe()
            return 0
        return code

    def _guarded(self, args: list[str], name: str, extra: dict[str, Any]) -> int:
        run_ = super().main

        def act() -> object:
            try:
                return run_(args, name, standalone_mode=False, **extra)
            except TyperException as error:
                warn(misuse.sentence(error))
                return USAGE
            except typer.Abort:
                return INTERRUPTED

        return guarded(act)


app = typer.Typer(
    cls=Commands,
    name="ledger-tui",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    context: typer.Context,
    hermes_home: Annotated[
        list[str] | None,
        typer.Option(
            "--hermes-home", metavar="DIR", help="Hermes home; else $HERMES_HOME, else ~/.hermes. May be repeated."
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option("--profile", metavar="NAME", help="A profile of that home: DIR/profiles/NAME. May be repeated."),
    ] = None,
    all_profiles: Annotated[
        bool,
        typer.Option("--all-profiles", help="That home and all its profiles; or all homes in DIR."),
    ] = False,
    ledger: Annotated[str | None, typer.Option("--ledger", metavar="PATH", help="Another ledger.db.")] = None,
    state: Annotated[str | None, typer.Option("--state", metavar="PATH", help="Another state.db.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="URL", help="Ledgers that were shipped to postgresql://USER@HOST/DATABASE."),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="Whose, with --source: HOST, or HOST/LEDGER.")
    ] = None,
    all_hosts: Annotated[bool, typer.Option("--all-hosts", help="All that were shipped there, with --source.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain text for screen readers; draw nothing.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Name the version and leave.")] = False,
) -> int | None:
    """What a Hermes agent changed, and what of it never reported back. Without a command the app opens."""
    if version:
        say(f"ledger-tui {plugin_folder.own_manifest().version}")
        raise typer.Exit
    if context.invoked_subcommand not in (None, "config", "demo"):
        _tell_of_settings()
    if source is None and (host is not None or all_hosts):
        raise usage(f"{'--host' if host is not None else '--all-hosts'} belongs to --source.")
    if source is not None:
        if hermes_home or profile or all_profiles or ledger is not None or state is not None:
            raise usage("--source names a ledger elsewhere; leave out what names a home or file here.")
        if context.invoked_subcommand not in (*_APP, *COMMANDS):
            raise usage(ONLY)
        context.obj = _shipped(context, source, host, all_hosts=all_hosts)
    else:
        context.obj = fleet.asked(
            hermes_home or (), profile or (), ledger, state, os.environ, all_profiles=all_profiles
        )
    if context.invoked_subcommand not in (*_APP, *fleet.COMMANDS):
        fleet.one_home(context)
    if context.invoked_subcommand is None and (asked_for_plain(context) or os.environ.get("TERM") == "dumb"):
        return plain_start.told(context.obj)
    return _open_app(context) if context.invoked_subcommand is None else None


def _shipped(context: typer.Context, source: str, host: str | None, *, all_hosts: bool) -> Place | fleet.Fleet:
    """What was shipped elsewhere; what is brought of it goes with the command. Raises CommandError."""
    if all_hosts and host is not None:
        raise usage("--host and --all-hosts exclude each other; choose one.")

    def place(shipped: Shipped, name: str = "") -> Place:
        context.call_on_close(shipped.close)
        return replace(place_of_shipped(shipped, os.environ), name=name)

    if all_hosts:
        return fleet.Fleet(lambda: [place(one, name) for name, one in every_shipped(source).items()])
    return place(Shipped(source, host))


def _tell_of_settings() -> None:
    """Settings that cannot be used are one sentence beside whatever was asked for."""
    problem = load().sentence()
    if problem:
        warn(problem)


def _open_app(context: typer.Context) -> int:
    if importlib.util.find_spec("ledger_tui.app") is None:
        raise CommandError("The app is not part of this build; the commands are: see ledger-tui --help.", UNREADABLE)
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and os.environ.get("TEXTUAL_DRIVER") != DRIVER:
        raise CommandError(
            "The app needs a terminal, and this is none; in pipes and scripts use a command, such as: ledger-tui calls",
            USAGE,
        )
    said = context.obj.unlisted if isinstance(context.obj, fleet.Fleet) else ()
    return opening.open_app(*fleet.places_of(context), said=said)


for group in (
    status, calls, watch, verify, sessions, posture, policy, ledger_check, prune, export, prompt_policy, repair,
    doctor, plugin, ship, serve,
):  # fmt: skip
    group.register(app)

if demo.available():
    demo.register(app)

completion.register(app)
config.register(app)
tmux.register(app)

examples.attach(app)


def run(argv: list[str]) -> int:
    """Run one command line; returns its exit code."""
    code = typer.main.get_command(app).main(args=argv, prog_name="ledger-tui", standalone_mode=False)
    return code if isinstance(code, int) else 0
