"""Is every recorded call as it was written? The check of the hash chain, over the screen that asked."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from agent_ledger.engine.chain.report import Checked
from agent_ledger.engine.chain.words import as_text
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.record import StoppedError, Watch
from widgets.look import count_text

from .feeds import RecordFeed

BEAT_S = 0.1


class RecordCheckScreen(ModalScreen[None]):
    """Checks when it is shown; leaving it stops the check."""

    CSS_PATH = "record_check.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,backspace,enter", "dismiss", "Close", key_display="q", id="record.close"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="record.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="record.up"),
    ]

    def __init__(self, record: RecordFeed) -> None:
        super().__init__()
        self._record = record
        self._watch = Watch()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="record"):
            yield Static("", markup=False)

    def on_mount(self) -> None:
        frame = self.query_one("#record")
        frame.border_title = "Is the record whole?"
        frame.border_subtitle = "q stops and closes"
        self._check()

    def on_unmount(self) -> None:
        self._watch.stop()

    @work(exit_on_error=False)
    async def _check(self) -> None:
        beat = self.set_interval(BEAT_S, lambda: self._say(progress(self._watch)))
        try:
            report = await self._record.check(self._watch)
        except StoppedError:
            return
        except SourceError as error:
            self._end(str(error), "-bad")
            return
        finally:
            beat.stop()
        self._end("\n\n".join(told(report)), "" if report.whole else "-bad")

    def _end(self, text: str, kind: str) -> None:
        self._say(text)
        frame = self.query_one("#record")
        frame.border_subtitle = "q closes"
        frame.set_class(bool(kind), "-bad")

    def _say(self, text: str) -> None:
        self.query_one(Static).update(text)

    def action_scroll(self, lines: int) -> None:
        self.query_one("#record").scroll_relative(y=lines, animate=False)


def progress(watch: Watch) -> str:
    """How far it is, in one line."""
    return f"Checking: {count_text(watch.rows)} of {count_text(watch.total)} calls" if watch.total else "Checking…"


def told(report: Checked) -> list[str]:
    """The answer, paragraph by paragraph."""
    if report.state == "empty":
        return ["Nothing recorded yet."]
    return as_text(report)
