"""Tools of MCP servers: what they did is kept by the server, and nothing is asked of it."""

from __future__ import annotations

from .facts import Facts
from .recorded import Recorded
from .verdict import Verdict, quoted, unknown


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """Always unknown: a result that the host stored is the transcript's to tell."""
    _, _, rest = call.tool_name.partition("__")
    server = rest.partition("__")[0]
    return unknown(
        facts.now, f"What the server {quoted(server, 40)} did is known there alone; only a stored result could tell."
    )
