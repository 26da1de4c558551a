"""`ship`: the ledger of a home into a PostgreSQL where those of many machines stand."""

from __future__ import annotations

import contextlib
import platform
import time
from typing import Annotated, Any

import typer

from agent_ledger.engine.inert import inert
from ledger_tui.commands.errors import DONE, unreadable, usage
from ledger_tui.commands.output import amount, print_json, print_json_line, say, say_now, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import progress
from ledger_tui.ship.address import AddressError, checked, shown
from ledger_tui.ship.engine import EngineError, engine
from ledger_tui.ship.shipping import Shipped, Shipper

_LONGEST_NAME = 200


def ship(
    context: typer.Context,
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="postgresql://USER@HOST/DATABASE, without a password.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Ship what there is, then end.")] = False,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="What this machine is called there; else its own name.")
    ] = None,
    mirror: Annotated[
        bool, typer.Option("--mirror", help="Take out there what prune took out here; else it stays there.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document for each round.")] = False,
) -> int:
    """Stream the ledger into a PostgreSQL, until Ctrl-C.

    It goes on where it stopped, whoever went away meanwhile, and ships nothing twice. Secrets are taken out on the way.
    """
    place: Place = context.obj
    url = address(to, "--to")
    shipper = Shipper(_host(host), place.ledger, place.clock, mirror)
    if not place.ledger_exists() and once:
        if json:
            print_json({"host": shipper.host, "ledger": None, "calls": 0, "new_ledger": False})
        else:
            say(f"Nothing recorded yet: {inert(str(place.ledger))} is not there.")
        return DONE
    try:
        if once:
            _once(url, shipper, json=json)
        else:
            _stream(url, shipper, json=json)
    except EngineError as error:
        raise unreadable(str(error)) from error
    return DONE


def _once(url: str, shipper: Shipper, *, json: bool) -> None:
    from ledger_tui.ship import tables

    with engine(url) as connection:
        tables.prepare(connection)
        with progress("shipping the calls", quiet=json) as tell:
            found = shipper.round(connection, lambda done: tell(done, 0))
    if json:
        print_json(shape(found))
    else:
        say(as_line(found, url))


def _stream(url: str, shipper: Shipper, *, json: bool) -> None:
    from ledger_tui.ship.streaming import Stream

    def done(found: Shipped) -> None:
        if json:
            print_json_line(shape(found))
        else:
            say_now(as_line(found, url))

    stream = Stream(url, shipper, time.sleep, done, lambda text: warn(text or "Shipping goes on."))
    with contextlib.suppress(KeyboardInterrupt):  # That is how it ends.
        stream.run()


def shape(found: Shipped) -> dict[str, Any]:
    """A round for programs."""
    return {"host": found.host, "ledger": found.ledger, "calls": found.rows, "new_ledger": found.begun}


def as_line(found: Shipped, url: str) -> str:
    """A round for a person."""
    new = ", a ledger that was not there yet" if found.begun else ""
    return f"{amount(found.rows, 'call')} shipped to {shown(url)} as {inert(found.host)}/{found.ledger}{new}."


def address(url: str, option: str) -> str:
    """The URL of an engine. Raises CommandError (2) for what is none, or has a password in it."""
    try:
        return checked(url)
    except AddressError as error:
        raise usage(f"{option}: {error}") from error


def _host(name: str | None) -> str:
    found = platform.node() if name is None else name
    if not found or len(found) > _LONGEST_NAME or "/" in found or inert(found) != found:
        raise usage(f"--host needs a name of at most {_LONGEST_NAME} plain characters and without a slash.")
    return found


def register(app: typer.Typer) -> None:
    app.command("ship")(ship)
