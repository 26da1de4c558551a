"""The hash chain through the ledger: every record carries a hash over its content and over the record before it."""
