"""The terminal side: command line, live app, and what reads and mends the two databases."""
