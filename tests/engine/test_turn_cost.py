"""What the start of a turn costs: steps of SQLite's machine, however many calls were recorded within the hour."""

from __future__ import annotations

from .homes import Home


def _steps(home: Home, number: int) -> int:
    """Steps that SQLite takes for the start of one turn."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    home.merged()
    store = home.recorder.keeper._store
    assert store is not None
    store.connection.set_progress_handler(count, 1)
    try:
        assert home.turn(number, at_once=True) == ""
    finally:
        store.connection.set_progress_handler(None, 0)
    return taken


def _calls(home: Home, first: int, last: int) -> None:
    for number in range(first, last):
        args = {"path": f"/srv/{number}", "content": "x"}
        home.pre(args=args, call=f"c{number}")
        home.post(args=args, call=f"c{number}")


def test_a_turn_starts_at_the_same_cost_after_many_calls(home: Home) -> None:
    home.start()
    _calls(home, 0, 20)
    _steps(home, 2)  # The first turn of a session asks the most.
    few = _steps(home, 3)
    _calls(home, 20, 420)
    assert _steps(home, 4) <= few + 20
