"""Two quiet themes of our own, dark and light. Screens use only theme variables, so any other theme works too."""

from __future__ import annotations

from textual.theme import Theme

DEFAULT_THEME = "ledger-dark"

THEMES = (
    Theme(
        name="ledger-dark",
        primary="#7aa2f7",
        secondary="#7dcfc0",
        accent="#c0b6e8",
        foreground="#c8ccd4",
        background="#14171c",
        surface="#191d23",
        panel="#20252d",
        success="#8fbf7f",
        warning="#e0af68",
        error="#ec7279",
        dark=True,
        variables={"input-cursor-background": "#c8ccd4", "input-selection-background": "#7aa2f7 35%"},
    ),
    Theme(
        name="ledger-light",
        primary="#2f5fb3",
        secondary="#0f766e",
        accent="#6b4fa0",
        foreground="#2b2f36",
        background="#f6f5f1",
        surface="#eeece6",
        panel="#e4e1d9",
        success="#3d7a2e",
        warning="#9a6700",
        error="#b3261e",
        dark=False,
    ),
)
