"""The commands, one file per group; `ledger_tui.cli` puts them together."""
