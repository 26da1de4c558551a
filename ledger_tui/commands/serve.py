"""`serve`: the app in a browser of this machine."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from typing import Annotated

import typer

from ledger_tui.commands.errors import DONE, unreadable, usage
from ledger_tui.commands.fleet import places_of
from ledger_tui.commands.output import say, say_now, warn
from ledger_tui.commands.plain import asked_for_plain
from ledger_tui.extras import missing


def serve(
    context: typer.Context,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65_535, help="The port on 127.0.0.1; 0 takes a free one.")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open it in your browser at once.")] = False,
) -> int:
    """The app in a browser of this machine, until Ctrl-C.

    Only whoever has the address that is printed gets in. It is another one each time.
    """
    if asked_for_plain(context):
        raise usage("In a browser the app draws; for plain text leave out serve.")
    places = places_of(context)
    if len(places) == 1 and places[0].shipped is None:  # Others are told of by the app, each in its place.
        places[0].ledger_exists()
        places[0].state_exists()
    try:
        from ledger_tui.serve import guard, server, session
    except ModuleNotFoundError as error:
        raise usage(missing("The browser view", "browser")) from error
    try:
        listening = server.listen(port)
    except OSError as error:
        raise unreadable(
            f"Port {port} of 127.0.0.1 cannot be listened on ({error.strerror}); choose another --port."
        ) from error
    with listening, ExitStack() as until_the_end:
        guarded = guard.Guard(listening.getsockname()[1])
        served = server.Server(session.app_command(_before(context)), guarded)
        asyncio.run(server.until_ended(served, listening, lambda: _told(guarded.url, until_the_end, show=open_)))
    return DONE


def _told(url: str, until_the_end: ExitStack, *, show: bool) -> None:
    """Say where the page is, and show it if that was asked for."""
    say("Open this in a browser on this machine. Whoever has the address can do there what you can do in the app:")
    say(url)
    say_now("Ctrl-C ends it.")
    if show:
        from ledger_tui.serve import opening

        try:
            address = until_the_end.enter_context(opening.leading_to(url))
        except OSError as error:
            warn(f"The page that leads there cannot be written ({error.strerror}); open the address yourself.")
            return
        threading.Thread(target=_show, args=(address,), daemon=True).start()  # A browser in the terminal holds it.


def _show(address: str) -> None:
    from ledger_tui.serve import opening

    if not opening.show(address):
        warn("No browser was found to open it in; open the address yourself.")


def _before(context: typer.Context) -> list[str]:
    """What stood before the command, for the app to be told as well."""
    top = context.find_root()
    found = []
    for option in top.command.params:
        value = top.params.get(option.name or "")
        if value is True:
            found.append(option.opts[0])
        elif value not in (None, False):
            found += [f"{option.opts[0]}={one}" for one in (value if isinstance(value, list | tuple) else (value,))]
    return found


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)
