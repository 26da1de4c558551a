"""One line to type into, with a label before it and a sentence beside it: filters, and names of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static


class _Completer(Suggester):
    """Asks a plain function for the completed line."""

    def __init__(self, complete: Callable[[str], str | None]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        return self._complete(value)


class _Line(Input):
    """The input itself. Tab takes the completion, so that it does what it does in a shell."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Apply", key_display="enter", id="prompt.apply", tooltip="Apply the line"),
        Binding("tab", "take", "Complete", id="prompt.complete", tooltip="Take the completion"),
        Binding("escape", "close", "Close", id="prompt.close", tooltip="Close and keep what was"),
    ]

    class Closed(Message):
        """Escape, or enter on an unchanged line."""

    def action_take(self) -> None:
        self.action_cursor_right() if self.cursor_at_end else self.action_end()

    def action_close(self) -> None:
        self.post_message(self.Closed())


class PromptBar(Vertical):
    """A line to type into, and under it what may stand there or what is wrong. Hidden until `ask`.

    Posts `Answered`; the screen answers with `complain` or `close`.
    """

    DEFAULT_CSS = """
    PromptBar {
        height: auto;
        display: none;
        background: $surface;
        & Horizontal { height: 1; }
        & .prompt--label { width: auto; padding: 0 1; color: $primary; text-style: bold; }
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $surface; }
        & Input:focus { border: none; }
        & .prompt--hint { height: auto; padding: 0 1; color: $text-muted; }
        &.-wrong .prompt--hint { color: $text-error; }
        &.-open { display: block; }
    }
    """

    class Answered(Message):
        """Enter was pressed on a line."""

        def __init__(self, bar: PromptBar, purpose: str, value: str) -> None:
            super().__init__()
            self.bar, self.purpose, self.value = bar, purpose, value

    class Dismissed(Message):
        """Closed without an answer."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._purpose = ""
        self._hint = ""
        self._complete: Callable[[str], str | None] = lambda _line: None

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("", classes="prompt--label", markup=False)
            yield _Line(suggester=_Completer(lambda line: self._complete(line)), select_on_focus=False)
        yield Static("", classes="prompt--hint", markup=False)

    def on_mount(self) -> None:
        # A blinking cursor repaints twice a second in an otherwise idle app, and over a slow link.
        self.query_one(_Line).cursor_blink = False

    def ask(
        self, purpose: str, label: str, value: str, hint: str, complete: Callable[[str], str | None] | None = None
    ) -> None:
        """Open with `value` typed already. `complete` gives the completed line for what is typed so far."""
        self._purpose, self._hint = purpose, hint
        self._complete = complete or (lambda _line: None)
        self.query_one(".prompt--label", Static).update(label)
        self._say(hint, wrong=False)
        line = self.query_one(_Line)
        line.value = value
        line.cursor_position = len(value)
        self.add_class("-open")
        line.focus()

    def complain(self, sentence: str) -> None:
        """What is wrong with the line; it stays open."""
        self._say(sentence, wrong=True)

    def close(self) -> None:
        self.remove_class("-open")

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def _say(self, text: str, *, wrong: bool) -> None:
        self.set_class(wrong, "-wrong")
        self.query_one(".prompt--hint", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.has_class("-wrong"):
            self._say(self._hint, wrong=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self, self._purpose, event.value))

    def on__line_closed(self, event: _Line.Closed) -> None:
        event.stop()
        self.close()
        self.post_message(self.Dismissed())
