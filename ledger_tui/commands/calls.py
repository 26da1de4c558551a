"""`calls`: the ledger as a list, newest last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.cells import cell_len

from agent_ledger.engine.inert import inert
from agent_ledger.engine.posture import spans
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import STATES, known_status
from ledger_tui.commands import fleet_calls
from ledger_tui.commands.errors import DONE, usage
from ledger_tui.commands.fleet import Fleet, Round, places_of
from ledger_tui.commands.output import duration, fit, print_json_list, say, table, terminal_width, warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.plain import asked_for_plain, sentence
from ledger_tui.commands.reading import oldest_first
from ledger_tui.config import THRESHOLDS, load
from widgets.call_text import readable_head
from widgets.look import fit_tail

DEFAULT_LIMIT = THRESHOLDS["calls_listed"]
MOST_ROWS = 2**53
"""No ledger has more rows; a larger number means all of them, and would be too large for SQLite."""


def since_seconds(text: str | None, now: float) -> float | None:
    """What stands after `--since` as seconds since 1970; see `spans`. Raises CommandError (2) for what is no time."""
    if text is None:
        return None
    try:
        return spans.since_seconds(text, now)
    except ValueError as error:
        raise usage(str(error)) from error


def state_set(names: list[str] | None) -> frozenset[str] | None:
    """States from the command line, also separated by commas. Raises CommandError (2) for an unknown one."""
    wanted = [part.strip().lower() for name in names or [] for part in name.split(",")]
    for name in wanted:
        if name not in STATES:
            raise usage(f"--state {name!r} is no state; the states are {', '.join(STATES)}.")
    return frozenset(wanted) or None


def limit_of(value: int | None) -> int | None:
    """A positive number of rows. Raises CommandError (2)."""
    if value is not None and value < 1:
        raise usage(f"--limit {value} is too small: it must be at least 1.")
    return None if value is None else min(value, MOST_ROWS)


def listed(
    context: typer.Context,
    state: Annotated[
        list[str] | None, typer.Option("--state", metavar="STATE", help=f"Only this state: {', '.join(STATES)}.")
    ] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Only this tool.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Only calls that contain this text.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="90m, 24h, 2d ago, or a day such as 2026-01-02 (UTC).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help=f"The newest N (people see {DEFAULT_LIMIT} unless told).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> int:
    """The recorded calls, newest last."""
    wanted = Filter(
        session_id=session,
        tool_name=tool,
        states=state_set(state),
        since=since_seconds(since, places_of(context)[0].clock()),
        text=text or None,
    )
    most = limit_of(limit)
    shown = load().config.thresholds["calls_listed"]
    limit = most if json or most else shown + 1
    asked = Round(context.obj) if isinstance(context.obj, Fleet) else None
    found = (
        oldest_first(context.obj, wanted, limit=limit) if asked is None else fleet_calls.merged(asked, wanted, limit)
    )
    if json:
        print_json_list(found)
        return DONE if asked is None else asked.code
    rows = list(found)
    more = most is None and len(rows) > shown
    rows = rows[-shown:] if more else rows
    homes = fleet_calls.column(asked, rows) if asked is not None else None
    for line in _spoken(rows, homes) if asked_for_plain(context) else in_columns(rows, homes):
        say(line)
    if not rows:
        say(_none(context.obj))
    if more:
        warn(f"Only the newest {shown} are shown; --limit N shows more, --json everything.")
    return DONE if asked is None else asked.code


def _none(where: Place | Fleet) -> str:
    if isinstance(where, Fleet) or where.ledger_exists():
        return "No such calls."
    return f"Nothing recorded yet: {inert(str(where.ledger))} is not there."


def _spoken(rows: Sequence[Mapping[str, Any]], homes: Sequence[str] | None) -> list[str]:
    said = [sentence(row, args_line(row["args"])) for row in rows]
    return said if homes is None else [f"{home}: {line}" for home, line in zip(homes, said, strict=True)]


def in_columns(rows: Sequence[Mapping[str, Any]], homes: Sequence[str] | None) -> list[str]:
    """The table in the width of the terminal, of several homes with the name of each row's."""
    if homes is None or not rows:
        return as_table(rows, width=terminal_width())
    names = fleet_calls.name_width(homes, terminal_width())
    return fleet_calls.beside(homes, as_table(rows, width=terminal_width() - names - 2), names)


def as_table(rows: Sequence[Mapping[str, Any]], *, width: int) -> list[str]:
    """Aligned lines with a head, or none where there are no rows. Everything from the ledger is inert already."""
    if not rows:
        return []
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = _widths(lines, width)
    kept = sorted(widths)
    shown = [[_shortened(column, line[column], widths[column]) for column in kept] for line in lines]
    return table(shown[0], shown[1:], width=width, flexible=len(kept) - 1)


HEAD = ("ID", "TIME (UTC)", "STATE", "AGE", "SESSION", "TOOL", "ARGUMENTS")
_ID, _TIME, _STATE, _AGE, _SESSION, _TOOL, _ARGUMENTS = range(len(HEAD))

_GIVING_WAY = (
    (_ARGUMENTS, 40), (_SESSION, 20), (_TOOL, 28), (_STATE, 28),
    (_ARGUMENTS, 24), (_SESSION, 12), (_TOOL, 16), (_TIME, 14), (_STATE, 16),
    (_ARGUMENTS, 12), (_SESSION, 8), (_TOOL, 8), (_STATE, 11),
)  # fmt: skip
"""Which column gives way first where not everything fits, and down to how many cells."""

_LEFT_OUT: tuple[tuple[int, ...], ...] = ((), (_SESSION,), (_SESSION, _AGE), (_SESSION, _AGE, _TIME))
"""What is not shown at all where even that is too wide."""


def _widths(lines: Sequence[Sequence[str]], width: int) -> dict[int, int]:
    """Cells for each column that is shown: as wide as its longest text, less where that is more than `width`."""
    longest = {column: max(cell_len(line[column]) for line in lines) for column in range(len(HEAD))}
    found: dict[int, int] = {}
    for left_out in _LEFT_OUT:
        found = {column: size for column, size in longest.items() if column not in left_out}
        over = sum(found.values()) + 2 * (len(found) - 1) - width
        for column, least in _GIVING_WAY:
            if over > 0 and found.get(column, 0) > least:
                given = min(over, found[column] - least)
                found[column] -= given
                over -= given
        if over <= 0:
            break
    return found


def _shortened(column: int, text: str, width: int) -> str:
    """`text` in at most `width` cells: ids keep their ends, a time loses its year."""
    if cell_len(text) <= width or column == _ARGUMENTS:
        return text
    if column == _SESSION:
        return fit_tail(text, width)
    if column == _TIME:
        return text[len("2026-") :]
    return fit(text, width)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    args = row["args"]
    kind = f" {_kind(row['status'])}" if row["state"] == "error" else ""
    return (
        str(row["id"]),
        str(row["ts"] or "?")[:19].replace("T", " "),
        row["state"] + kind,
        duration(row["age_s"]),
        row["session_id"] or "-",
        row["tool_name"] or "?",
        args_line(args),
    )


def _kind(status: str) -> str:
    """`timeout` of `ERROR:timeout`; what is none of the four statuses is unknown."""
    if not known_status(status):
        return f"unknown ({status})" if status else "unknown"
    return status.removeprefix("ERROR:")


def args_line(args: Any) -> str:
    """Arguments on one line: `name=value` pairs where they are an object or can be read as the start of one, inert."""
    if not args:
        return "-"
    lost = ""
    if isinstance(args, str):
        head, lost = readable_head(args)
        args = head or args
    if isinstance(args, Mapping):
        return inert(
            " ".join(f"{name}={value if isinstance(value, str) else _plain(value)}" for name, value in args.items())
            + (f" {lost}" if lost else "")
        )
    return inert(str(args))


def _plain(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def register(app: typer.Typer) -> None:
    app.command("calls")(listed)
