"""Writes what is in view to a file: JSON in the shape of the command's `--json`, or CSV with the same columns.

Secrets are taken out once more on the way, as in the command.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import in_data_folder
from agent_ledger.engine.queries import call_json
from agent_ledger.engine.records import Call
from ledger_tui.sources.forms import csv_cell, document

from .calls_model import CallsModel
from .feeds import LedgerFeed

PAGE = 1000


class ExportError(Exception):
    """The file cannot be written; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Exported:
    """How many records were written to which file, and what of them was hidden, as a sentence."""

    records: int
    name: str
    hidden: str

    def told(self, what: str) -> str:
        """`3 calls were written to calls.csv`, and how many secrets were hidden."""
        return f"{self.records} {what} were written to {self.name}" + (f"\n{self.hidden}" if self.hidden else "")


def default_name(now: float, zone: tzinfo | None, what: str = "calls") -> str:
    """A name that sorts by time and is new every second."""
    return f"{what}-{datetime.fromtimestamp(now, zone):%Y%m%d-%H%M%S}.csv"


async def export_calls(name: str, ledger: LedgerFeed, model: CallsModel) -> Exported:
    """Write every call of the model's view to `name`, newest first.

    The file is new and only its owner's; an existing one is never overwritten. Raises ExportError, SourceError.
    """
    _target(name)
    return export_shapes(name, [_shape(call, model) for call in await _calls(ledger, model)])


def export_shapes(name: str, shapes: Sequence[Mapping[str, Any]]) -> Exported:
    """Write these objects, which all have the same fields, to a new file. Raises ExportError."""
    from ledger_tui.sources.outgoing import Hider  # The search for secrets takes long to load.

    path, kind = _target(name)
    hide = Hider()
    if kind == ".json":
        text = document([hide.counting(shape) for shape in shapes], indent=1) + "\n"
    else:
        text = _csv([hide(shape) for shape in shapes])
    _write(path, text)
    return Exported(len(shapes), name, hide.sentence())


def _target(name: str) -> tuple[Path, str]:
    """The file to write, and which of the two formats its ending asks for."""
    try:
        path = Path(name.strip()).expanduser()
    except RuntimeError:
        raise ExportError("Nobody's home is known by that name: write the path out in full.") from None
    kind = path.suffix.lower()
    if kind not in {".csv", ".json"}:
        raise ExportError("The name must end in .csv or .json.")
    if in_data_folder(path):
        raise ExportError("The plugin keeps its own files there: choose another folder.")
    return path, kind


async def _calls(ledger: LedgerFeed, model: CallsModel) -> list[Call]:
    """All rows of the view, from the ledger: the panes hold only a part of a long history."""
    wanted = replace(model.view.wanted)
    found: list[Call] = []
    before: int | None = None
    while True:
        page = await ledger.page(wanted, before_id=before, limit=PAGE)
        # The file cannot tell pending from overdue, so the clock has the last word.
        found += [call for call in page if wanted.states is None or model.state(call) in wanted.states]
        if len(page) < PAGE:
            return found
        before = page[-1].id


def _shape(call: Call, model: CallsModel) -> Mapping[str, Any]:
    return call_json(call, now=model.now(), mono_now=model.mono_for(call), writer_dead=model.writer_dead(call))


def _csv(shapes: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    if shapes:
        writer = csv.DictWriter(out, list(shapes[0]), lineterminator="\n")
        writer.writeheader()
        for shape in shapes:
            writer.writerow({name: csv_cell(value) for name, value in shape.items()})
    return out.getvalue()


def _write(path: Path, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        raise ExportError("That file exists already: choose another name.") from None
    except OSError as error:
        raise ExportError(f"It cannot be written there: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise ExportError(f"It could not be written whole: {error.strerror}.") from None
