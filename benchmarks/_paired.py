"""Two ways of doing a thing, measured alternately in one run, and said as a ratio.

Times on a shared machine swing by a factor of two within minutes; a ratio of pairs taken together does not. So no
script here passes or fails: each prints the bar, the figures of both sides and their ratio, and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6}


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of them lie, by nearest rank; not a number when there are none."""
    if not values:
        return math.nan
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, math.ceil(share * len(ranked)) - 1))]


def interleaved(rounds: int, warm_up: int, *sides: Callable[[int], float]) -> tuple[list[float], ...]:
    """Run all sides in each round, in turning order, and keep what each returned (seconds) after the warm-up.

    A side is called with the number of the round.
    """
    found: tuple[list[float], ...] = tuple([] for _ in sides)
    for number in range(warm_up + rounds):
        first = number % len(sides)
        for at in (*range(first, len(sides)), *range(first)):
            taken = sides[at](number)
            if number >= warm_up:
                found[at].append(taken)
    return found


@dataclass(frozen=True, slots=True)
class Line:
    """One figure, its reference, and their ratio."""

    what: str
    value: float
    reference: float | None
    unit: str
    bar: str

    @property
    def ratio(self) -> float | None:
        if self.reference is None or not self.reference or math.isnan(self.value):
            return None
        return self.value / self.reference


@dataclass(slots=True)
class Report:
    """What a script prints. `reference` says in words what the second column is."""

    title: str
    reference: str
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, what: str, value: float, reference: float | None, *, unit: str, bar: str = "") -> None:
        """A figure as it is; `bar` is the promise in words."""
        self.lines.append(Line(what, value, reference, unit, bar))

    def times(
        self, what: str, mine: Sequence[float], other: Sequence[float], *, unit: str, bars: tuple[str, str] = ("", "")
    ) -> None:
        """Median and 99th percentile of both sides, given in seconds."""
        for name, share, bar in (("median", 0.5, bars[0]), ("p99", 0.99, bars[1])):
            reference = percentile(other, share) * UNITS[unit] if other else None
            self.add(f"{what}, {name}", percentile(mine, share) * UNITS[unit], reference, unit=unit, bar=bar)

    def show(self, *, as_json: bool) -> None:
        """Print it, as a table or as one JSON document."""
        if as_json:
            print(json.dumps(self._json(), ensure_ascii=False))
            return
        print(f"{self.title}\nreference: {self.reference}\n{machine_text()}\n")
        width = max((len(line.what) for line in self.lines), default=4)
        print(f"{'':{width}}  {'measured':>12}  {'reference':>12}  {'ratio':>7}  bar")
        for line in self.lines:
            reference = "" if line.reference is None else f"{_number(line.reference)} {line.unit}"
            ratio = "" if line.ratio is None else f"{line.ratio:.2f}x"
            print(
                f"{line.what:{width}}  {f'{_number(line.value)} {line.unit}':>12}  {reference:>12}  {ratio:>7}"
                f"  {line.bar}".rstrip()
            )
        for note in self.notes:
            print(f"\n{note}")

    def _json(self) -> dict[str, Any]:
        lines = [{**asdict(line), "ratio": line.ratio} for line in self.lines]
        for line in lines:
            for name, value in line.items():
                if isinstance(value, float):
                    line[name] = round(value, 4) if math.isfinite(value) else None
        return {
            "title": self.title,
            "reference": self.reference,
            "machine": machine(),
            "lines": lines,
            "notes": self.notes,
        }


def _number(value: float) -> str:
    if math.isnan(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def machine() -> dict[str, Any]:
    """What the figures depend on: versions, cores, and how busy the machine was."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in load],
    }


def machine_text() -> str:
    about = machine()
    return (
        f"Python {about['python']}, SQLite {about['sqlite']}, {about['system']}, {about['cores']} cores,"
        f" load {' '.join(map(str, about['load'])) or 'unknown'}"
    )


def arguments(about: str, **numbers: tuple[int, str]) -> argparse.ArgumentParser:
    """A parser with `--json` and one option for each number: its default and what it means."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    for name, (default, help_text) in numbers.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=int, default=default, help=f"{help_text} (default {default})"
        )
    return parser


def note(text: str) -> None:
    """How far a long run is, on standard error."""
    print(text, file=sys.stderr, flush=True)
