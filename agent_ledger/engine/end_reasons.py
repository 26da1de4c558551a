"""Why a session ended, as Hermes writes it, and what each reason means to the routing of a chat.

Sources: Hermes 0.19.0 and 0.22.2; hermes-agent #60609, #61993, #68539, #88197.
"""

from __future__ import annotations

RECOVERABLE_OLD = frozenset({"agent_close", "ws_orphan_reap"})
"""Accidents that Hermes 0.19 takes back after a restart."""

RECOVERABLE = RECOVERABLE_OLD | {"superseded_by_resume", "startup_orphan_reap"}
"""The same in Hermes 0.22."""

RESETS = frozenset({"session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired"})
"""Boundaries that a person or the host drew on purpose: nothing before one may come back (0.22).

The CLI's own `new_session` is none of them: it fences nothing in the gateway's search."""

COMPRESSION = "compression"
BRANCHED = "branched"
SUPERSEDED = "superseded_by_repair"
"""The reason a repair writes: neither a reset, nor one that a restart takes back."""

ENDED_BY_A_PERSON = "session_reset"
"""What Hermes writes when a chat's user resets it: nothing from before comes back."""
