"""What docs/lineage.md says of marks, keys and filters is so."""

from __future__ import annotations

from screens.donors import CHOOSE
from screens.lineage import LineageScreen
from screens.lineage_model import BAD, MINOR, ORPHAN, ZOMBIE
from screens.lineage_terms import TERMS
from screens.lineage_tree import DEEPEST, FOLDED_FROM
from screens.repair_model import END
from screens.repair_walk import REPAIR, STEPS, STOPPED, UNDO
from widgets.session_tree import SessionTree

from .pages import code, page, sections, table

PAGE = sections(page("lineage.md"))


def test_every_key_of_the_screen_is_on_the_page() -> None:
    tables = PAGE["The tree"].split("| key | does |")
    named = {word for row in table("\n| key | does |" + tables[1].split("\n\n")[0]) for word in code(row[0])}
    keys = {
        key
        for binding in (*LineageScreen.BINDINGS, *SessionTree.BINDINGS)
        for key in binding.key.split(",")  # type: ignore[union-attr]  # all are Bindings
    }
    assert named == {{"slash": "/"}.get(key, key) for key in keys} | {"enter"}


def test_the_marks_are_those_of_the_screen() -> None:
    rows = table(PAGE["The tree"].split("| key |")[0])
    assert [code(row[0])[0] for row in rows][:4] == [ORPHAN, ZOMBIE, BAD, MINOR]


def test_the_terms_of_the_filter() -> None:
    terms = PAGE["The tree"].split("| term | example |")[1]
    named = [word.rstrip(":") for row in table("\n| term | example |" + terms) for word in code(row[0])]
    assert named == list(TERMS)


def test_levels_folds_steps_and_words() -> None:
    assert (DEEPEST, FOLDED_FROM) == (6, 12)
    steps = PAGE["The repair, step by step"]
    assert [f"**{step}.**" in steps for step in STEPS] == [True] * 5
    assert [f"`{word}`" in steps for word in (CHOOSE, END, REPAIR, STOPPED, UNDO)] == [True] * 5
