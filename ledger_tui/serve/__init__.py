"""The app in a browser of this machine: a page behind a secret address, and one process of the app for each window."""

DRIVER = "ledger_tui.serve.driver:ServedDriver"
"""What TEXTUAL_DRIVER says to an app that has a browser's window in place of a terminal."""
