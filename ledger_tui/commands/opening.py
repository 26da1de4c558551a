"""Opens the app on the places that were asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from agent_ledger.engine.inert import inert
from ledger_tui.commands.errors import CommandError
from ledger_tui.commands.output import warn
from ledger_tui.commands.place import Place
from ledger_tui.loading import loading


def open_app(*places: Place, said: Sequence[str] = ()) -> int:
    """Run the app until it is left. Raises CommandError (3) where the only place is not there.

    Of several, each shows in its own line what is wrong with it; what cannot be brought from an engine is left out.
    `said`: sentences that stand on the terminal, where the app will hide them.
    """
    there, left_out = _at_hand(places)
    several = len(there) > 1
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
        for place in there
    ]
    app = screen.LedgerApp(homes)
    problem = personal.settle(app)
    app.first_word = " ".join(filter(None, [app.first_word, *map(inert, said), *left_out, *map(_elsewhere, there[:1])]))
    for one in (problem, *left_out):
        if one:
            warn(one)
    return int(screen.run_blocking(app))


def _elsewhere(place: Place) -> str:
    """What tells a person that Hermes itself is at work in another home than the usual one, which is shown."""
    usual = not (place.home_named or place.ledger_named or place.state_named or place.shipped or place.name)
    profile = place.profile_used() if usual else None
    if profile is None:
        return ""
    return f"Hermes was told to use the profile {inert(profile)}, this is the default one: ledger-tui --profile NAME."


def _at_hand(places: Sequence[Place]) -> tuple[list[Place], list[str]]:
    """Those that can be opened, and what is wrong with each other one. Raises CommandError where none can."""
    found: list[Place] = []
    problems: list[str] = []
    for place in places:
        try:
            if place.shipped is not None:
                place.shipped.bring()
            elif len(places) == 1:
                place.ledger_exists()
                place.state_exists()
            found.append(place)
        except CommandError as error:
            if len(problems) + 1 == len(places):
                raise
            problems.append(f"{place.name}: {error.text}")
    return found, problems
