"""A conversation whose id compaction changed is scored as one, whenever that comes to be known."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.posture import Posture
from agent_ledger.engine.posture.joined import rotations_of
from agent_ledger.engine.posture.reading import scored_file
from agent_ledger.engine.posture.rows import RawRow

from .ledgers import command, ledger, row, scored, short

AFTER = [("s2", "s1")]


def joined(rows: list[RawRow], rotations: list[tuple[str, str]]) -> Posture:
    posture = Posture()
    assert posture.join(rotations)
    posture.feed_rows(rows)
    return posture


def burst() -> list[RawRow]:
    """Twelve calls of one tool in `s1`, eight in `s2`, a second apart."""
    return [row(n, "image_generate", at=1.0 * n, session="s1" if n <= 12 else "s2") for n in range(1, 21)]


def test_a_burst_goes_on() -> None:
    assert short(scored(burst())) == []
    assert short(joined(burst(), AFTER)) == [("call-burst", "ASI02", 8, tuple(range(1, 21)))]


def test_a_cascade_repeats_and_a_script_go_on() -> None:
    failed = [
        row(n, f"t{n % 2}", at=1.0 * n, session="s1" if n < 3 else "s2", status="ERROR:tool_error") for n in range(1, 6)
    ]
    assert [one.rule for one in joined(failed, AFTER).findings] == ["error-burst"]
    same = [command(n, "snapshot take", session="s1" if n < 3 else "s2") for n in (1, 2, 3)]
    assert [one.rule for one in joined(same, AFTER).findings] == ["blind-repeats"]
    script = [
        row(1, "write_file", {"path": "run.sh", "content": "ls"}, session="s1"),
        command(2, "sh run.sh", session="s2"),
    ]
    assert [(one.rule, one.rows, one.session_id) for one in joined(script, AFTER).findings] == [
        ("write-then-run", (1, 2), "s2")
    ]
    assert [one.rule for posture in map(scored, (failed, same, script)) for one in posture.findings] == []


def test_other_sessions_stay_apart() -> None:
    assert short(joined(burst(), [("s3", "s1"), ("s2", "s4")])) == []


def test_several_changes_one_after_the_other_and_in_any_order() -> None:
    rows = [row(n, "image_generate", at=1.0 * n, session=f"s{1 + n // 7}") for n in range(1, 21)]
    for rotations in ([("s2", "s1"), ("s3", "s2")], [("s3", "s2"), ("s2", "s1")]):
        assert [one.rule for one in joined(rows, rotations).findings] == ["call-burst"]


def test_ids_that_run_in_a_circle_end_somewhere() -> None:
    posture = joined(burst(), [("s1", "s2"), ("s2", "s1"), ("s3", "s3")])
    assert posture.rows == 20


def test_a_turn_that_began_under_the_older_id_needs_no_note() -> None:
    rows = [
        row(n, "image_generate", at=1.0 * n, session="s1" if n <= 12 else "s2", turn="s1:task:7") for n in range(1, 21)
    ]
    assert [one.rule for one in scored(rows).findings] == ["call-burst"]
    posture = scored(rows)
    assert posture.join(AFTER)  # The note that comes later says the same.


def test_a_turn_of_a_session_that_was_never_met_says_nothing() -> None:
    rows = [row(n, "image_generate", at=1.0 * n, session=f"s{n}", turn="s99:task:7") for n in range(1, 21)]
    assert short(scored(rows)) == []


# Watched live: a note comes before the first row of the new id, or too late.


def test_a_note_in_time_gives_what_a_fresh_reading_gives() -> None:
    posture = scored(burst()[:12])
    assert posture.begins("s2")
    assert posture.join(AFTER)
    posture.feed_rows(burst()[12:])
    assert not posture.begins("s2")
    assert posture.findings == joined(burst(), AFTER).findings


def test_a_note_that_comes_too_late_asks_for_a_fresh_reading() -> None:
    posture = scored(burst()[:15])
    assert not posture.join(AFTER)
    assert not scored(burst()).join([("s2", "s0"), ("s1", "s0")])


def test_a_note_about_an_id_without_rows_joins_what_comes() -> None:
    posture = scored([row(n, "image_generate", at=1.0 * n, session="s2") for n in range(1, 13)])
    assert posture.join(AFTER)
    posture.feed_rows([row(n, "image_generate", at=1.0 * n, session="s1") for n in range(13, 21)])
    assert [one.rule for one in posture.findings] == ["call-burst"]


@given(
    st.lists(st.sampled_from(("s1", "s2", "s3", "s4")), max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from((("s2", "s1"), ("s3", "s2"), ("s4", "s3")))), max_size=4),
)
def test_the_score_is_that_of_a_fresh_reading(sessions: list[str], notes: list[tuple[int, tuple[str, str]]]) -> None:
    rows = [row(n, "image_generate", at=0.5 * n, session=session) for n, session in enumerate(sessions, 1)]
    posture, told = Posture(), []
    for number, one in enumerate(rows):
        for pair in [pair for at, pair in notes if at == number]:
            told.append(pair)
            if not posture.join([pair]):
                posture = joined(rows[:number], told)
        posture.feed_rows([one])
    assert posture.findings == joined(rows, told).findings


# In a file.


def test_a_ledger_tells_of_its_rotations(tmp_path: Path) -> None:
    path = ledger(tmp_path / "ledger.db", burst())
    assert scored_file(path).score == 100
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO rotation VALUES('s2', 's1')")
        connection.commit()
    assert scored_file(path).score == 92


def test_an_older_ledger_has_no_table_of_them(tmp_path: Path) -> None:
    path = ledger(tmp_path / "ledger.db", burst())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE rotation")
        connection.commit()
        assert rotations_of(connection) == []
    assert scored_file(path).score == 100
