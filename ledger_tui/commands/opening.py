"""Opens the app on a place that was asked for."""

from __future__ import annotations

import importlib

from ledger_tui.commands.output import warn
from ledger_tui.commands.place import Place
from ledger_tui.loading import loading


def open_app(place: Place) -> int:
    """Run the app until it is left. Raises CommandError (3) for a file named by option that is not there."""
    place.ledger_exists()
    place.state_exists()
    with loading():
        screen = importlib.import_module("ledger_tui.app")
        personal = importlib.import_module("ledger_tui.personal")
    app = screen.make_app(
        place.paths,
        ledger=place.ledger if place.ledger_named else None,
        state=place.state if place.state_named else None,
    )
    problem = personal.settle(app)
    if problem:
        warn(problem)
    return int(screen.run_blocking(app))
