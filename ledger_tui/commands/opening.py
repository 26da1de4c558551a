"""Opens the app on the places that were asked for."""

from __future__ import annotations

import importlib

from ledger_tui.commands.output import warn
from ledger_tui.commands.place import Place
from ledger_tui.loading import loading


def open_app(*places: Place) -> int:
    """Run the app until it is left. Raises CommandError (3) where the only place is not there.

    Of several, each shows in its own line what is wrong with it.
    """
    several = len(places) > 1
    for place in places:
        if place.shipped is not None:
            place.shipped.bring()
        elif not several:
            place.ledger_exists()
            place.state_exists()
    with loading():
        screen = importlib.import_module("ledger_tui.app")
        feeds = importlib.import_module("ledger_tui.home_feeds")
        personal = importlib.import_module("ledger_tui.personal")
    homes = [
        feeds.Home(
            place.paths,
            place.ledger if place.ledger_named else None,
            place.state if place.state_named else None,
            name=place.name if several else "",
            shipped=place.shipped,
        )
        for place in places
    ]
    app = screen.LedgerApp(homes)
    problem = personal.settle(app)
    if problem:
        warn(problem)
    return int(screen.run_blocking(app))
