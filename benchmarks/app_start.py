"""How long does a person wait for the first screen? `ledger-tui` on a filled home against a bare Textual app."""

from __future__ import annotations

from pathlib import Path

from benchmarks._homes import fill, home, token
from benchmarks._paired import Report, arguments, interleaved
from benchmarks._pane import panes

OURS = """
import sys
from ledger_tui.__main__ import main
sys.argv = ["ledger-tui", "--hermes-home", sys.argv[1]]
main()
"""
"""The program as its command starts it, with everything that stands before the app."""

BARE = f"""
from textual.app import App, ComposeResult
from textual.widgets import Static

class Bare(App):
    def compose(self) -> ComposeResult:
        yield Static("{token(0)}")

Bare().run()
"""


def first_screen(program: str, place: Path, text: str) -> float:
    """Seconds from the start of the interpreter to `text` on the screen."""
    with panes((program, place)) as ((app,), watcher):
        return watcher.until(app, text, patience_s=30) - app.started


def main() -> None:
    asked = arguments(
        __doc__ or "",
        runs=(20, "starts of each"),
        rows=(20_000, "settled calls in the ledger"),
        pending=(5, "open ones, all of which the first screen must show"),
    ).parse_args()
    with home() as place:
        fill(place, asked.rows, pending=asked.pending)
        newest = token(asked.rows + asked.pending - 1)
        ours, bare = interleaved(
            asked.runs,
            1,
            lambda _: first_screen(OURS, place, newest),
            lambda _: first_screen(BARE, place, token(0)),
        )
    report = Report(
        f"start to first screen, {asked.rows:,} calls and {asked.pending} open ones, {asked.runs} starts of each",
        "a Textual app that shows one line, the same interpreter and terminal",
    )
    report.times("ledger-tui, its newest call painted", ours, bare, unit="s", bars=("at most 3x, and 1.2 s", ""))
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
