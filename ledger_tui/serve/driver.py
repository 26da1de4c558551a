"""How the app draws and listens in a browser's window: as Textual does there, but never outliving the server."""

from __future__ import annotations

from contextlib import suppress

from textual import events, messages
from textual.drivers.web_driver import WebDriver


class ServedDriver(WebDriver):
    """The app ends when its input does: then the server is gone, however that ended."""

    def start_application_mode(self) -> None:
        super().start_application_mode()
        # It begins as if another window had the keys, and would take the cursor out of every list.
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            with suppress(RuntimeError):  # The loop has just ended by itself.
                self.send_message(messages.ExitApp())

    def write(self, data: str) -> None:
        with suppress(BrokenPipeError):
            super().write(data)

    def write_meta(self, data: dict[str, object]) -> None:
        with suppress(BrokenPipeError):
            super().write_meta(data)
