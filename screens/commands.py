"""The command palette: what the screen in front offers, then themes, help and quit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.text import Text
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

from agent_ledger.engine.inert import inert

DISCOVERED = 24
"""Commands listed before anything is typed."""


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of the palette."""

    title: str
    help: str
    run: Callable[[], Any]


class Palette(CommandPalette):
    """Textual's palette, for keys that come faster than it follows: over a slow line several arrive at once."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Once: what comes after that would close the screen below, and end the app where that is the last one."""
        if self.is_current:
            return super().dismiss(result)
        closed: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]  # Textual's
        return closed

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # Its list knows its lines only once it was drawn.
            super()._action_command_list(action)


class LedgerCommands(Provider):
    """Commands of the screen (its `commands()`), those of the app (the same), then what every app of ours has.

    One of them is run, and once, however often it is chosen before the palette is closed.
    """

    def __init__(self, screen: Screen[Any], match_style: Style | None = None) -> None:
        super().__init__(screen, match_style)
        self._ran = False

    def _once(self, command: Command) -> Callable[[], Any]:
        def run() -> Any:
            if self._ran:
                return None
            self._ran = True
            return command.run()

        return run

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
                Text(inert(command.title)), self._once(command), text=command.title, help=_literally(command.help)
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._commands():
            score = matcher.match(command.title)
            if score > 0:
                shown, help = Text(inert(command.title)), _literally(command.help)
                yield Hit(score, shown, self._once(command), text=command.title, help=help)


def _literally(text: str) -> Any:
    """A second line of the palette as it is: Textual reads plain text there as markup, and a session may be named so
    that it breaks, or does something."""
    return Content(inert(text))
