"""`export calls`: the ledger as CSV, JSON or Markdown, for somebody else to read; secrets are taken out once more."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import typer

from agent_ledger.engine.queries import Filter
from ledger_tui.commands.calls import limit_of, since_seconds, state_set
from ledger_tui.commands.errors import usage
from ledger_tui.commands.output import warn, write_json_list
from ledger_tui.commands.place import Place, path_of
from ledger_tui.commands.progress import counting, progress, stdout_is_terminal
from ledger_tui.commands.reading import oldest_first
from ledger_tui.commands.target import target
from ledger_tui.sources.forms import write_csv, write_markdown
from ledger_tui.sources.outgoing import Hider

Row = Mapping[str, Any]

FORMATS = ("csv", "json", "md")
_COLUMNS = (
    "id", "ts", "session_id", "turn_id", "tool_call_id", "tool_name", "status", "state", "effect", "age_s", "grace_s",
    "args", "args_truncated", "result_digest", "repeat_of", "verdict", "remarks", "checked_at", "evidence",
)  # fmt: skip
_MARKDOWN_COLUMNS = (
    "id",
    "ts",
    "state",
    "status",
    "session_id",
    "tool_name",
    "args",
    "result_digest",
    "verdict",
    "remarks",
)


Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="A new file, mode 0600; else standard output.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace FILE if it is an earlier export.")]

_Writer = TypeVar("_Writer")


def chosen(writers: Mapping[str, _Writer], format: str) -> _Writer:
    """What writes the form that was asked for. Raises CommandError for one that is none of `FORMATS`."""
    if format not in writers:
        raise usage(f"--format {format!r} is unknown; it is one of {', '.join(writers)}.")
    return writers[format]


def file_of(output: str | None) -> Path | None:
    """The file that was asked for; None for standard output. Raises CommandError for what can be no path."""
    if output == "":  # As from a script whose variable is not set: it meant a file.
        raise usage("--output needs a path, but what it was given is empty.")
    return path_of(output, "--output") if output is not None and output != "-" else None


_WRITERS: Mapping[str, Callable[[Iterable[Mapping[str, Any]], TextIO], None]] = {
    "csv": partial(write_csv, _COLUMNS),
    "json": write_json_list,
    "md": partial(write_markdown, _MARKDOWN_COLUMNS),
}


def exported(
    context: typer.Context,
    format: Format,
    output: Output = None,
    force: Force = False,
    state: Annotated[list[str] | None, typer.Option("--state", metavar="STATE", help="As for calls.")] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Only this tool.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="WHEN", help="As for calls.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="The newest N.")] = None,
) -> None:
    """The recorded calls, oldest first, with secrets taken out again."""
    place: Place = context.obj
    write, path = chosen(_WRITERS, format), file_of(output)
    wanted = Filter(
        session_id=session, tool_name=tool, states=state_set(state), since=since_seconds(since, place.clock())
    )
    hide = Hider()
    rows = oldest_first(place, wanted, limit=limit_of(limit))
    clean = hide.counting if format == "json" else hide
    with (
        contextlib.closing(rows),
        target(path, force=force, keep=databases(place)) as stream,
        progress("writing the calls", quiet=path is None and stdout_is_terminal()) as tell,
    ):
        write(_begun(map(clean, counting(rows, tell))), stream)
    tell_hidden(hide)


def _begun(rows: Iterator[Row]) -> Iterator[Row]:
    """The same rows once the first is there: what cannot be read is an error before anything is written."""
    return chain(list(islice(rows, 1)), rows)


def tell_hidden(hide: Hider) -> None:
    """How many secrets were taken out, on standard error; nothing where there were none."""
    if hide.hidden:
        warn(hide.sentence())


def databases(place: Place) -> list[Path]:
    """Files of the home that no export may replace."""
    return [Path(f"{path}{end}") for path in (place.ledger, place.state) for end in ("", "-wal", "-shm")]


group = typer.Typer(rich_markup_mode=None)


@group.callback()
def exports() -> None:
    """Take recorded data out, to read elsewhere."""


group.command("calls")(exported)


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="export")


def to_text(rows: Iterable[Mapping[str, Any]], format_name: str) -> str:
    """Rows in one of `FORMATS`, as one text."""
    stream = io.StringIO()
    _WRITERS[format_name](rows, stream)
    return stream.getvalue()
