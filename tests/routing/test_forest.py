"""Trees of sessions: every row once, whatever the links say."""

from __future__ import annotations

from typing import Any

from ledger_tui.routing.forest import DRAWN_DEPTH, Forest, grow
from ledger_tui.routing.rows import Session
from tests.routing.test_relations import row


def forest(*links: tuple[str, str | None]) -> Forest:
    """Rows that began one after the other, each with its parent."""
    rows: dict[str, Session] = {
        key: row(rowid=place, id=key, parent_session_id=parent, started_at=float(place))
        for place, (key, parent) in enumerate(links)
    }
    return grow(rows)


def drawn(grown: Forest, **more: Any) -> list[str]:
    return [line.guides + line.session_id for line in grown.lines(**more)]


def test_children_stand_below_their_parents_in_order_of_their_start() -> None:
    grown = forest(("a", None), ("b", None), ("a2", "a"), ("a1", "a"), ("deep", "a2"), ("b1", "b"))
    assert drawn(grown) == ["a", "├─ a2", "│  └─ deep", "└─ a1", "b", "└─ b1"]
    assert grown.roots == ("a", "b")
    assert grown.children["a"] == ("a2", "a1")
    assert grown.relations == {"a": "", "b": "", "a2": "other", "a1": "other", "deep": "other", "b1": "other"}
    assert list(grown.ancestors("deep")) == ["a2", "a"]


def test_a_folded_row_hides_what_is_below_it() -> None:
    grown = forest(("a", None), ("a1", "a"), ("a2", "a1"), ("b", None))
    assert drawn(grown, closed={"a1"}) == ["a", "└─ a1", "b"]


def test_only_some_rows_with_those_above_them() -> None:
    grown = forest(("a", None), ("a1", "a"), ("a2", "a1"), ("a3", "a"), ("b", None))
    assert drawn(grown, only=grown.with_ancestors(["a2", "gone"])) == ["a", "└─ a1", "   └─ a2"]


def test_a_parent_that_is_not_there_makes_a_root() -> None:
    grown = forest(("a", "gone"), ("b", ""), ("c", None))
    assert grown.roots == ("a", "b", "c")
    assert grown.dangling == {"a"}


def test_circles_are_cut_at_their_oldest_row() -> None:
    grown = forest(("self", "self"), ("x", "z"), ("y", "x"), ("z", "y"), ("below", "y"))
    assert drawn(grown) == ["self", "x", "└─ y", "   ├─ z", "   └─ below"]
    assert grown.cut == {"self", "x"}


def test_a_chain_of_thousands_needs_no_recursion_and_stays_narrow() -> None:
    chain = forest(("0", None), *((str(n), str(n - 1)) for n in range(1, 5000)))
    lines = list(chain.lines())
    assert [line.session_id for line in lines] == [str(n) for n in range(5000)]
    assert lines[-1].depth == 4999
    assert max(len(line.guides) for line in lines) <= 3 * (DRAWN_DEPTH + 2)
    assert "4999" in lines[-1].guides
    assert sum(1 for _ in chain.ancestors("4999")) == 4999


def test_lines_below_the_drawn_depth_still_branch() -> None:
    deep = [(str(n), str(n - 1) if n else None) for n in range(DRAWN_DEPTH + 2)]
    grown = forest(*deep, ("side", str(DRAWN_DEPTH)))
    assert [line.session_id for line in grown.lines()][-2:] == [str(DRAWN_DEPTH + 1), "side"]
