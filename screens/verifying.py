"""What screens that verify calls share: one search at a time, its progress, a way to stop it, and what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual import work
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Static

from agent_ledger.engine.evidence.verdict import VERDICTS
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.verdicts import Outcome, Search
from widgets.look import VERDICT_GLYPHS, count_text

from .feeds import Desk

BEAT_S = 0.1
"""How often the progress is drawn. A search that ends before the first beat shows none."""

VERIFY = Binding("v", "verify", "Verify", id="verify.one", tooltip="Verify: look for evidence whether it landed")
VERIFY_ALL = Binding("V", "verify_all", "All", id="verify.all", tooltip="Verify all unconfirmed calls in view")
STOP = Binding("V", "stop_search", "Stop", id="verify.stop", tooltip="Stop looking for evidence; what was found stays")


class VerifyingScreen(Screen[None]):
    """Has a `Static` named `search`. Its keys are `VERIFY`, `STOP` and, with a list of its own, `VERIFY_ALL`."""

    DEFAULT_CSS = """
    VerifyingScreen #search { display: none; height: 1; padding: 0 1; color: $primary; }
    VerifyingScreen #search.-open { display: block; }
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._search: Search | None = None

    @property
    def searching(self) -> bool:
        return self._search is not None

    def calls_at_hand(self) -> Sequence[int]:
        """The calls that `v` means."""
        raise NotImplementedError

    def calls_in_view(self) -> Sequence[int]:
        """The unconfirmed calls that `V` means."""
        return ()

    def verified(self, outcome: Outcome) -> None:
        """Show what was found; an outcome that is not kept is known to the desk by now."""
        raise NotImplementedError

    def verify(self, ids: Sequence[int]) -> None:
        """Look for evidence on these calls, unless a search is on already."""
        if self._search is not None:
            self.notify("Still looking for evidence: V stops that.", markup=False)
            return
        if not ids:
            self.notify("There is no unconfirmed call here.", markup=False)
            return
        self._search = Search(len(ids))
        self.refresh_bindings()
        self._look(ids, self._search)

    @work(group="verify", exit_on_error=False)
    async def _look(self, ids: Sequence[int], search: Search) -> None:
        beat = self.set_interval(BEAT_S, lambda: self._paint_search(progress(search, self.size.width)))
        try:
            outcome = await self._desk.verdicts.verify(ids, search)
        except SourceError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        finally:
            beat.stop()
            self._search = None
            if self.is_attached:
                self._paint_search("")
                self.refresh_bindings()
        self.verified(outcome)
        if outcome.not_kept:
            self.notify(outcome.not_kept, severity="warning", markup=False)

    def _paint_search(self, text: str) -> None:
        line = self.query_one("#search", Static)
        line.update(text)
        line.set_class(bool(text), "-open")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`V` stops a search that is on, and begins one otherwise. What is to be looked at lies with the ledger."""
        if self._desk.shipped and action in ("verify", "verify_all", "stop_search"):
            return False
        if action in ("verify_all", "stop_search"):
            return self.searching == (action == "stop_search")
        return True

    def action_verify(self) -> None:
        self.verify(self.calls_at_hand())

    def action_verify_all(self) -> None:
        self.verify(self.calls_in_view())

    def action_stop_search(self) -> None:
        if self._search is not None:
            self._search.stop()


def progress(search: Search, width: int) -> str:
    """How far it is, in one line of `width` cells; words go before numbers do."""
    head = f"Looking for evidence: {count_text(search.done)} of {count_text(search.total)}"
    counts = [(VERDICT_GLYPHS[name], count_text(search.counts[name]), name) for name in VERDICTS]
    stop = "stopping…" if search.stopped else "V stops"
    long = "  ".join([head, *(f"{glyph} {count} {name}" for glyph, count, name in counts), f" {stop}"])
    if len(long) <= width - 2:
        return long
    return "  ".join([head.partition(": ")[2], *(f"{glyph} {count}" for glyph, count, _ in counts), f" {stop}"])


def found_text(outcome: Outcome) -> str:
    """What came of a search, in one sentence for a passing message."""
    done, asked = len(outcome.found), outcome.asked
    if asked == 1 and done:
        ((call, verdict),) = outcome.found
        return f"#{call.id} {verdict.verdict}: {verdict.evidence[0]}"
    counts = Counter(verdict.verdict for _, verdict in outcome.found)
    told = ", ".join(f"{count_text(counts[name])} {name}" for name in VERDICTS)
    number = count_text(done) if done == asked else f"{count_text(done)} of {count_text(asked)}"
    return f"{number} calls checked: {told}."
