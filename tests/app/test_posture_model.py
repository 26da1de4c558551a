"""The arithmetic of the Posture screen, with values added up by hand."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ledger.engine.posture.rows import RawRow
from agent_ledger.engine.records import Inert, utc_text
from screens.finding_terms import FindingFilter
from screens.posture_model import PostureModel

from .ledgers import NOW, a_call

DELETE = " ".join(("rm", "-rf", "~"))
KEY = "cat ~/" + ".ssh/id_rsa"


def row(id: int, command: str, *, status: str = "CONFIRMED", session: str = "s1", at: float | None = None) -> RawRow:
    moment = utc_text(NOW + id if at is None else at)
    return id, moment, session, None, "terminal", f'{{"command": "{command}"}}', None, None, status, None, None


def lines(model: PostureModel) -> list[tuple[int, int, int]]:
    """(call, what it takes, what is left) for each line in view."""
    steps = [model.at(index) for index in range(len(model))]
    return [(step.finding.ledger_id, step.finding.weight, step.left) for step in steps]


def test_the_arithmetic_runs_from_100_to_the_score() -> None:
    model = PostureModel()
    model.feed([row(1, DELETE), row(2, "make"), row(3, KEY), row(4, DELETE, session="s2")])
    model.finish()
    assert lines(model) == [(1, 25, 75), (3, 15, 60), (4, 25, 35)]
    assert model.score == 35
    assert {name: (found.findings, found.points) for name, found in model.severities.items()} == {
        "CRITICAL": (2, 50), "HIGH": (1, 15), "MEDIUM": (0, 0), "LOW": (0, 0),
    }  # fmt: skip
    assert (model.ids["ASI02"].points, model.ids["ASI03"].points, model.all.points) == (50, 15, 65)


def test_a_ledger_without_rows_has_no_score() -> None:
    model = PostureModel()
    model.finish()
    assert model.score is None
    assert len(model) == 0


def test_rows_without_a_finding_leave_a_hundred() -> None:
    model = PostureModel()
    model.feed([row(1, "make")])
    model.finish()
    assert model.score == 100


def test_the_score_goes_below_zero() -> None:
    model = PostureModel()
    model.feed(
        [
            row(n, f"rm -rf {folder}", session=f"s{n}")
            for n, folder in enumerate(("/etc", "/usr", "/var", "/home", "~"), 1)
        ]
    )
    model.finish()
    assert lines(model)[-1] == (5, 25, -25)
    assert model.score == -25


def test_a_filter_keeps_the_numbers_of_the_whole_arithmetic() -> None:
    model = PostureModel()
    model.feed([row(1, DELETE), row(2, KEY), row(3, DELETE, session="s2")])
    model.finish()
    model.show(FindingFilter(asi="ASI02"))
    assert lines(model) == [(1, 25, 75), (3, 25, 35)]
    assert (model.shown.findings, model.shown.points, model.all.points) == (2, 50, 65)
    model.show(FindingFilter(session_id="s2"))
    assert lines(model) == [(3, 25, 35)]
    model.changed(
        [a_call(4, args_json=Inert(f'{{"command": "{DELETE}"}}'), session_id=Inert("s2"), status=Inert("CONFIRMED"))]
    )
    assert lines(model) == [(3, 25, 35), (4, 25, 10)]
    assert model.shown.points == 50


def test_what_changes_during_the_reading_follows_it() -> None:
    model = PostureModel()
    model.feed([row(1, "make")])
    late: Any = a_call(2, args_json=Inert(f'{{"command": "{DELETE}"}}'), status=Inert("CONFIRMED"))
    model.changed([late])
    assert model.score == 100
    model.finish()
    assert lines(model) == [(2, 25, 75)]


def test_a_finding_that_is_taken_back_leaves_the_arithmetic_right() -> None:
    """Three lost calls of a session are a finding of 15 points; it goes when one of them turns out to have landed."""
    model = PostureModel()
    lost = [row(n, f"make part{n}", status="GHOST_REPORTED") for n in (1, 2, 3)]
    model.feed([*lost, row(4, DELETE)])
    model.finish()
    assert lines(model) == [(3, 15, 85), (4, 25, 60)]
    landed = Inert('{"command": "make part2"}')
    model.changed([a_call(2, ts=Inert(utc_text(NOW + 2)), args_json=landed, status=Inert("CONFIRMED"))])
    assert lines(model) == [(4, 25, 75)]
    assert (model.score, model.ids["ASI08"].findings, model.severities["HIGH"].points) == (75, 0, 0)


def test_lines_are_carried_on_from_where_they_differ() -> None:
    model = PostureModel()
    model.feed([row(1, DELETE), row(9, KEY)])
    model.finish()
    key = model.key(1)
    # A late call with a lower id belongs in between.
    model.changed([a_call(5, args_json=Inert(f'{{"command": "{DELETE}"}}'), status=Inert("CONFIRMED"))])
    assert lines(model) == [(1, 25, 75), (5, 25, 50), (9, 15, 35)]
    assert model.index(key) == 2
    model.show(FindingFilter(asi="ASI02"))
    assert model.index(key) is None


def test_restarting_forgets_everything() -> None:
    model = PostureModel()
    model.feed([row(1, DELETE)])
    model.finish()
    model.restart()
    assert (model.score, len(model), model.last_id, model.scanned) == (None, 0, 0, False)


def test_times_for_the_plot_never_fall() -> None:
    model = PostureModel()
    model.feed([row(1, DELETE, at=NOW), row(2, KEY, at=NOW - 50), row(3, DELETE, session="s2", at=NOW + 9)])
    model.finish()
    assert model.times == pytest.approx([NOW, NOW, NOW + 9], abs=0.002)
    assert list(model.scores) == [75, 60, 35]


def test_the_first_call_of_a_session_waits_for_what_is_known_of_its_id() -> None:
    model = PostureModel()
    model.finish()
    first = a_call(1, session_id=Inert("s1"), args_json=Inert(f'{{"command": "{DELETE}"}}'), status=Inert("CONFIRMED"))
    assert not model.changed([first])
    assert not model.changed([a_call(2, session_id=Inert("s1"))])
    assert model.score is None
    model.finish()
    assert model.score == 75
    assert model.changed([a_call(3, session_id=Inert("s1"))])
