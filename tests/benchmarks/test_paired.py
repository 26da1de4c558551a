"""The arithmetic of the benchmarks: ranks, turns, ratios. Nothing here is timed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from benchmarks._paired import Report, interleaved, percentile


def test_nearest_rank() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, share) for share in (0.0, 0.2, 0.5, 0.99, 1.0)] == [1.0, 1.0, 3.0, 5.0, 5.0]
    assert math.isnan(percentile([], 0.5))


def test_p99_of_two_hundred_is_the_198th() -> None:
    assert percentile([float(n) for n in range(1, 201)], 0.99) == 198.0


def test_sides_take_turns_at_being_first_and_the_warm_up_is_dropped() -> None:
    order: list[tuple[str, int]] = []

    def side(name: str) -> Callable[[int], float]:
        def call(number: int) -> float:
            order.append((name, number))
            return float(number)

        return call

    found = interleaved(2, 1, side("a"), side("b"))
    assert order == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert found == ([1.0, 2.0], [1.0, 2.0])


def test_a_report_says_figures_references_and_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("a thing", "a bare thing")
    report.times("one", [0.002] * 3, [0.001] * 3, unit="ms", bars=("at most 3x", ""))
    report.add("lost", 0, None, unit="calls", bar="0")
    report.show(as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert [(line["what"], line["value"], line["reference"], line["ratio"]) for line in said["lines"]] == [
        ("one, median", 2.0, 1.0, 2.0),
        ("one, p99", 2.0, 1.0, 2.0),
        ("lost", 0, None, None),
    ]
    report.show(as_json=False)
    assert "2.00x  at most 3x" in capsys.readouterr().out


def test_nothing_measured_is_no_number_and_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("a thing", "a bare thing")
    report.times("one", [], [0.001], unit="ms")
    report.show(as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert [(line["value"], line["ratio"]) for line in said["lines"]] == [(None, None), (None, None)]
