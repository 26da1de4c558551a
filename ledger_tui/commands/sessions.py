"""`sessions` and `export sessions`: the host's sessions as they belong together, and what does not fit about them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TextIO

import typer

from ledger_tui.commands import export, session_tree
from ledger_tui.commands.errors import DONE, refused, usage
from ledger_tui.commands.fleet import Fleet, Round, one_home, say_in_turn
from ledger_tui.commands.output import print_json, say
from ledger_tui.commands.place import Place
from ledger_tui.commands.surveys import anomaly_shape, session_shapes, stored, surveyed
from ledger_tui.commands.target import target
from ledger_tui.routing.anomalies.kinds import KINDS
from ledger_tui.routing.ignored import IgnoredError, IgnoredFile
from ledger_tui.routing.survey import Survey
from ledger_tui.sources.forms import document, write_csv, write_markdown
from ledger_tui.sources.outgoing import COUNT, Hider
from ledger_tui.tmux_line import speaks_unicode

COLUMNS = (
    "id", "source", "session_key", "parent_session_id", "relation", "started_at", "ended_at", "end_reason",
    "message_count", "counted", "last_active", "anomalies",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions are asked for."""

    anomalies_only: bool = False
    sources: frozenset[str] = frozenset()

    def ids(self, found: Survey) -> Iterator[str]:
        """In the order of the tree: a row comes after its parent."""
        for line in found.forest.lines():
            if self.takes(found, line.session_id):
                yield line.session_id

    def takes(self, found: Survey, session_id: str) -> bool:
        if self.anomalies_only and session_id not in found.anomalies:
            return False
        return not self.sources or found.store.sessions[session_id].source in self.sources


def show(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    anomalies_only: Annotated[
        bool, typer.Option("--anomalies-only", help="Only sessions about which something does not fit.")
    ] = False,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME", help="Only this source; may be repeated."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=0, help="At most N rows of the tree, for people only.")
    ] = None,
    ignore: Annotated[
        tuple[str, str] | None,
        typer.Option("--ignore", metavar="SESSION KIND", help="Set one anomaly aside from now on."),
    ] = None,
    unignore: Annotated[
        tuple[str, str] | None, typer.Option("--unignore", metavar="SESSION KIND", help="Take that back.")
    ] = None,
) -> int:
    """The host's sessions by descent, and what does not fit about them."""
    if ignore or unignore:
        set_aside(one_home(context, "sessions --ignore"), ignore, unignore, json=json)
        return DONE
    wanted = Wanted(anomalies_only, frozenset(source or ()))
    if isinstance(context.obj, Fleet):
        asked = Round(context.obj)
        each = asked.each(lambda place: surveyed(place, quiet=json))
        if json:
            write_documents(each, wanted, sys.stdout)
        else:
            say_in_turn((place, _tree(found, place, wanted, limit)) for place, found in each)
        return asked.code
    place: Place = context.obj
    found = surveyed(place, quiet=json)
    if json:
        write_document(found, wanted, sys.stdout)
    else:
        for line in _tree(found, place, wanted, limit):
            say(line)
    return DONE


def _tree(found: Survey, place: Place, wanted: Wanted, limit: int | None) -> Iterable[str]:
    unicode = speaks_unicode(os.environ, sys.stdout.encoding)
    shown = frozenset(wanted.ids(found)) if wanted.anomalies_only or wanted.sources else None
    return session_tree.as_text(found, place, only=shown, limit=limit, unicode=unicode)


def set_aside(
    place: Place, ignore: tuple[str, str] | None, unignore: tuple[str, str] | None, *, json: bool = False
) -> None:
    """Raises CommandError: 2 for a kind or session that does not exist, 4 where the file may not be written."""
    if ignore and unignore:
        raise usage("--ignore and --unignore exclude each other; choose one.")
    session_id, kind = ignore or unignore or ("", "")
    if kind not in KINDS:
        raise usage(f"There is no kind of anomaly named {kind!r}; they are {', '.join(KINDS)}.")
    if ignore and session_id and session_id not in stored(place, quiet=json).sessions:
        raise usage(f"There is no session {session_id!r} in {place.state}; see: ledger-tui sessions")
    file = IgnoredFile(place.data)
    nothing = bool(unignore) and (session_id, kind) not in file.read() and not file.problem
    try:
        if not nothing:
            (file.add if ignore else file.remove)(session_id, kind)
    except IgnoredError as error:
        raise refused(str(error)) from error
    if json:
        print_json({"session_id": session_id, "kind": kind, "ignored": bool(ignore)})
        return
    what = "is set aside" if ignore else "was not set aside" if nothing else "is shown again"
    say(f"{kind} {what} for {session_tree.name(session_id)}.")


def write_documents(each: Iterable[tuple[Place, Survey]], wanted: Wanted, stream: TextIO) -> None:
    """The documents of several homes as one list, each beginning with the home's name and path."""
    separator = "[\n"
    for place, found in each:
        stream.write(separator)
        write_document(found, wanted, stream, head={"name": place.name, "home": place.home_text})
        separator = ",\n"
    stream.write("[]\n" if separator == "[\n" else "]\n")


def write_document(
    found: Survey, wanted: Wanted, stream: TextIO, hide: Hider | None = None, *, head: Mapping[str, str] | None = None
) -> None:
    """The document of `sessions --json`, written row by row: stores may be large. As an export with `hide`."""
    clean: Callable[[Mapping[str, Any]], Mapping[str, Any]] = hide.counting if hide else dict
    first = "".join(f"{document(name)}: {document(value)},\n" for name, value in (head or {}).items())
    stream.write(f'{{\n{first}"sessions": [')
    separator = "\n"
    for shape in session_shapes(found, wanted.ids(found)):
        stream.write(separator + document(clean(shape)))
        separator = ",\n"
    rest: dict[str, Any] = {
        "anomalies": dict(session_tree.counts(found)),
        "of_no_session": [anomaly_shape(one) for one in found.anomalies.get("", ())],
        "zombies": [
            {"session_id": one.session_id, "grade": one.grade, "orphan_ids": list(one.orphan_ids), "text": one.text}
            for one in found.zombies
        ],
        "ignored": found.hidden,
        "changed_while_read": found.store.moved,
    }
    if hide:
        rest = hide(rest)
        rest |= {COUNT: hide.hidden} if hide.hidden else {}
    parts = ",\n".join(f"{document(name)}: {document(value)}" for name, value in rest.items())
    stream.write(("\n" if separator != "\n" else "") + f"],\n{parts}\n}}\n")


def exported(
    context: typer.Context,
    format: export.Format,
    output: export.Output = None,
    force: export.Force = False,
    anomalies_only: Annotated[
        bool, typer.Option("--anomalies-only", help="Only sessions about which something does not fit.")
    ] = False,
    source: Annotated[list[str] | None, typer.Option("--source", metavar="NAME", help="As for sessions.")] = None,
) -> None:
    """The sessions with what does not fit about them; no title, no name and no message is in it."""
    place: Place = context.obj
    write, path = export.chosen(_WRITERS, format), export.file_of(output)
    found = surveyed(place, quiet=False)
    wanted = Wanted(anomalies_only, frozenset(source or ()))
    hide = Hider()
    with target(path, force=force, keep=export.databases(place)) as stream:
        write(found, wanted, stream, hide)
    export.tell_hidden(hide)


def _rows(found: Survey, wanted: Wanted, hide: Hider) -> Iterator[dict[str, Any]]:
    """As cells: the anomalies are a list of sentences."""
    for shape in session_shapes(found, wanted.ids(found)):
        anomalies = [f"{one['severity']} {one['kind']}: {one['text']}" for one in shape["anomalies"]]
        yield hide({**shape, "anomalies": anomalies})


def as_csv(found: Survey, wanted: Wanted, stream: TextIO, hide: Hider) -> None:
    """A line for each session; no cell can start a formula."""
    write_csv(COLUMNS, _rows(found, wanted, hide), stream)


def as_markdown(found: Survey, wanted: Wanted, stream: TextIO, hide: Hider) -> None:
    """A table. Nothing in a cell is taken for markup or HTML."""
    write_markdown(COLUMNS, _rows(found, wanted, hide), stream)


_WRITERS: Mapping[str, Callable[[Survey, Wanted, TextIO, Hider], None]] = {
    "csv": as_csv,
    "json": write_document,
    "md": as_markdown,
}


def register(app: typer.Typer) -> None:
    app.command("sessions")(show)
    export.group.command("sessions")(exported)
