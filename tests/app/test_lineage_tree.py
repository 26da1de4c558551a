"""The forest as lines: order, guides, folds, marks, and where a repair would put an orphan. Worked out by hand."""

from __future__ import annotations

from pathlib import Path

from ledger_tui.routing.read import Store, read_store
from ledger_tui.routing.rows import Session, session
from ledger_tui.routing.survey import Survey, survey
from screens.lineage_model import LineageModel, prepare
from screens.lineage_terms import LineageFilter
from screens.lineage_tree import Key

from .ledgers import NOW
from .sessions import a_family

ALL = LineageFilter()


def surveyed(home: Path) -> Survey:
    a_family(home).db.close()
    return survey(read_store(home / "state.db", home), now=NOW)


def plain(id: str, parent: str | None, at: float) -> Session:
    """A row of the command line."""
    values = (0, id, "cli", None, None, None, None, None, parent, at, None, None, 0, *(None,) * 7)
    return session(values)


def grown(parents: dict[str, str | None]) -> Survey:
    """Rows that start one after the other."""
    rows = {id: plain(id, parent, NOW - 1000 + at) for at, (id, parent) in enumerate(parents.items())}
    return survey(Store(rows), now=NOW)


def drawn(model: LineageModel) -> list[str]:
    """Lines as they are drawn at their left."""
    rows = [(model.row(index), model.line(index)) for index in range(len(model))]
    return [f"{row.guides}{row.fold}{line.key.id if line else ''}{'*' if row.ghost else ''}" for row, line in rows]


def shown(found: Survey, wanted: LineageFilter = ALL, folds: dict[str, bool] | None = None) -> LineageModel:
    model = LineageModel(lambda at: "" if at is None else f"{at - NOW:.0f}")
    model.folds = folds or {}
    model.take(prepare(found, wanted, model.folds))
    return model


def test_newest_tree_first_and_the_orphan_below_its_donor(tmp_path: Path) -> None:
    """`lost` began 200 s after `tip` fell quiet at 80000 - 7 * 600 = 75800 s ago; nobody else is near."""
    model = shown(surveyed(tmp_path))
    assert drawn(model) == [
        "shell",
        "▾root",
        "├──▾tip",
        "│  ├╌╌lost*",
        "│  ╰──fork",
        "╰──helper",
        "lost",
    ]


def test_marks_words_and_times(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path))
    rows = {f"{line.key.id}{'*' if line.key.ghost else ''}": model.row(index)
            for index in range(len(model)) if (line := model.line(index))}  # fmt: skip
    assert {id: (row.glyph, row.kind) for id, row in rows.items()} == {
        "shell": ("", ""), "root": ("", ""), "tip": ("◉", "zombie"), "lost*": ("◇", "after repair"),
        "fork": ("", "branch"), "helper": ("", "delegate"), "lost": ("◇", "orphan"),
    }  # fmt: skip
    assert (rows["lost"].messages, rows["lost"].active) == (40, str(-75_000 + 39 * 1200))
    assert rows["tip"].end == "open"
    assert rows["root"].end == "compression"


def test_a_fold_hides_rows_and_says_that_something_below_does_not_fit(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path))
    root = model.index(Key("root"))
    assert root == 1
    assert model.fold(root, True)
    assert drawn(model) == ["shell", "▸root", "lost"]
    assert model.row(root).below == 1
    assert not model.fold(root, True)
    assert model.fold(root, None)
    assert len(drawn(model)) == 7
    assert model.row(root).below == 0


def test_a_fold_made_while_lines_were_prepared_is_kept(tmp_path: Path) -> None:
    found = surveyed(tmp_path)
    model = shown(found)
    late = prepare(found, ALL, {})
    model.fold(1, True)
    model.take(late)
    assert drawn(model) == ["shell", "▸root", "lost"]


def test_what_is_looked_for_comes_with_what_lies_above(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path), LineageFilter(text="train"))
    assert drawn(model) == ["▾root", "╰──▾tip", "   ╰──fork"]
    assert [model.row(index).quiet for index in range(3)] == [True, True, False]
    assert model.view is not None
    assert model.view.matches == 1


def test_only_orphans_shows_their_donors_too(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path), LineageFilter(kind="orphan"))
    assert drawn(model) == ["▾root", "╰──▾tip", "   ╰╌╌lost*", "lost"]


def test_large_trees_start_folded() -> None:
    few = grown({"a": None, **{f"a{n}": "a" for n in range(12)}})
    many = grown({"a": None, **{f"a{n}": "a" for n in range(13)}})
    assert len(shown(few)) == 13
    assert drawn(shown(many)) == ["▸a"]
    assert len(shown(many, folds={"a": False})) == 14


def test_a_deep_chain_is_indented_no_further_than_six_levels() -> None:
    chain = {f"s{n}": f"s{n - 1}" if n else None for n in range(180)}
    model = shown(grown(chain), folds={"s0": False} | {f"s{n}": False for n in range(180)})
    lines = drawn(model)
    assert len(lines) == 180
    assert lines[6] == " " * 15 + "╰──▾s6"
    assert lines[7] == " " * 15 + "╰7▾s7"
    assert lines[179] == " " * 15 + "╰179s179"


def test_a_hundred_thousand_levels_are_no_recursion() -> None:
    chain = {f"s{n}": f"s{n - 1}" if n else None for n in range(100_000)}
    assert drawn(shown(grown(chain))) == ["▸s0"]


def test_next_goes_round_and_stops_at_folded_trees(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path))
    tip, lost = model.index(Key("tip")), model.index(Key("lost"))
    assert tip is not None
    assert (model.next_marked(0, 1), model.next_marked(tip, 1), model.next_marked(lost or 0, 1)) == (tip, lost, tip)
    assert model.next_marked(0, -1) == lost
    model.fold(1, True)
    assert model.next_marked(0, 1) == 1


def test_what_is_put_aside_is_gone_at_once(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path))
    model.put_aside("lost", ["orphan"])
    assert (list(model.marks("lost")), list(model.set_aside("lost"))) == ([], ["orphan"])
    assert model.row(model.index(Key("lost")) or 0).glyph == ""


def test_shapes_are_the_sessions_in_view_with_raw_values(tmp_path: Path) -> None:
    model = shown(surveyed(tmp_path), LineageFilter(text="train"))
    (shape,) = model.shapes()
    assert (shape["id"], shape["relation"], shape["anomalies"]) == ("fork", "branch", [])
    orphans = shown(surveyed(tmp_path / "b"), LineageFilter(kind="orphan")).shapes()
    assert [shape["id"] for shape in orphans] == ["lost"]
