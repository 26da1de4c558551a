"""ASI03: a secret written out in a command, where process lists and histories show it."""

from __future__ import annotations

from ..severity import LOW
from .finding import Finding, finding
from .rows import Row


def secret_in_command(row: Row) -> Finding | None:
    """The recorder took a secret out of a command. A secret in a file's content is no finding here."""
    if not row.redacted or row.tool_name not in ("terminal", "execute_code"):
        return None
    what = "a secret value" if row.redacted == 1 else f"{row.redacted} secret values"
    return finding("secret-in-command", "ASI03", LOW, row, f"{what} written out in a command (taken out when recorded)")
