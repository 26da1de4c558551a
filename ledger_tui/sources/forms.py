"""Values in the forms in which they leave the program: JSON in ASCII, CSV for a spreadsheet, tables in Markdown."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from agent_ledger.engine.inert import inert

_FORMULA = re.compile(r"(^|;)(?=[\s\"']*[=+\-@＝＋－＠])")
"""Where a spreadsheet would begin a formula, also by full-width forms: some take a semicolon for the end of a cell."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>@]|:(?=//))")
"""Markup, and what some readers make a link of by itself."""


def document(value: Any, indent: int | None = None) -> str:
    """A value as JSON text in ASCII: whatever an agent wrote, a terminal sees only letters and backslashes."""
    try:
        return json.dumps(value, ensure_ascii=True, indent=indent, allow_nan=False)
    except ValueError:  # Python reads NaN in arguments, but JSON has no such number.
        return json.dumps(_finite(value), ensure_ascii=True, indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """A head line and one line for each row; no cell can start a formula."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row[name]) for name in columns])


def write_markdown(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """A table. Nothing in a cell is taken for markup or HTML."""
    stream.write("| " + " | ".join(name.replace("_", " ") for name in columns) + " |\n")
    stream.write("|" + " --- |" * len(columns) + "\n")
    for row in rows:
        stream.write("| " + " | ".join(markdown_cell(row[name]) for name in columns) + " |\n")


def csv_cell(value: Any) -> str:
    """A cell that no spreadsheet takes for a formula."""
    text = _cell(value)
    return _FORMULA.sub(r"\1'", text) if isinstance(value, str | dict | list) else text


def markdown_cell(value: Any) -> str:
    """A cell in which nothing is taken for markup or HTML."""
    text = _cell(value).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\1", text)


def _cell(value: Any) -> str:
    """A value as one inert line: lists of sentences joined, objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return inert(" ".join(value))
    if isinstance(value, (dict, list)):
        return inert(json.dumps(value, ensure_ascii=False))
    return inert(str(value))
