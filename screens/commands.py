"""The command palette: what the screen in front offers, then themes, help and quit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from agent_ledger.engine.inert import inert

DISCOVERED = 24
"""Commands listed before anything is typed."""


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of the palette."""

    title: str
    help: str
    run: Callable[[], Any]


class LedgerCommands(Provider):
    """Commands of the screen (its `commands()`), those of the app (the same), then what every app of ours has."""

    def _commands(self) -> Iterable[Command]:
        offered = getattr(self.screen, "commands", None)
        if offered is not None:
            yield from offered()
        everywhere = getattr(self.app, "commands", None)
        if everywhere is not None:
            yield from everywhere()
        yield Command(
            "Check the record",
            "Was a recorded call edited, deleted or moved since?",
            partial(self.app.run_action, "check_record"),
        )
        yield Command("Help", "The keys that work here", partial(self.app.run_action, "help"))
        for name in sorted(self.app.available_themes):
            yield Command(f"Theme: {name}", "Change the colours", partial(setattr, self.app, "theme", name))
        yield Command("Quit", "Leave the app", self.app.exit)

    async def discover(self) -> Hits:
        for command in list(self._commands())[:DISCOVERED]:
            yield DiscoveryHit(
                Text(inert(command.title)), command.run, text=command.title, help=_literally(command.help)
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._commands():
            score = matcher.match(command.title)
            if score > 0:
                yield Hit(
                    score, Text(inert(command.title)), command.run, text=command.title, help=_literally(command.help)
                )


def _literally(text: str) -> Any:
    """A second line of the palette as it is: Textual reads plain text there as markup, and a session may be named so
    that it breaks, or does something."""
    return Content(inert(text))
