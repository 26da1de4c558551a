"""The plot of the score over time, glyph by glyph."""

from __future__ import annotations

from widgets.score_plot import plot_lines, samples


def test_each_column_is_the_score_at_its_end() -> None:
    assert samples([2.0, 5.0], [75, 60], (0.0, 10.0), 5) == [75, 75, 60, 60, 60]


def test_before_the_first_finding_it_is_100() -> None:
    assert samples([9.0], [97], (0.0, 10.0), 5) == [100, 100, 100, 100, 97]
    assert samples([], [], (0.0, 10.0), 2) == [100, 100]


def test_full_height_is_100_and_the_ground_is_0() -> None:
    assert plot_lines([100, 50, 25, 0], 1) == ["█▄▂ "]
    assert plot_lines([100, 50, 25, 0], 2) == ["█   ", "██▄ "]


def test_below_zero_the_lowest_score_is_the_ground() -> None:
    assert plot_lines([100, 0, -100], 1) == ["█▄ "]
    assert plot_lines([100, 0, -100], 2) == ["█  ", "██ "]


def test_no_room_no_plot() -> None:
    assert plot_lines([], 3) == []
    assert plot_lines([1], 0) == []
