"""Who a session is for, what else its row says from the start, and the two ways in which the store says no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..resolver import Peer

Message = dict[str, Any]
"""A message in the shape in which a host hands it to the model: `role`, `content`, and what else belongs to it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """By what a gateway finds the session of a chat. A session at the machine itself has a source and nothing else."""

    source: str
    session_key: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    thread_id: str | None = None
    display_name: str | None = None
    origin_json: str | None = None
    transport_profile: str | None = None

    @property
    def peer(self) -> Peer | None:
        """Whom to ask the resolver for; None without a key."""
        if not self.session_key:
            return None
        return Peer(self.source, self.session_key, self.user_id, self.chat_id, self.chat_type, self.thread_id)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a row says beside its identity."""

    parent: str | None = None
    model: str | None = None
    model_config: Mapping[str, Any] | None = None
    """Holds the marks of descent: `_reset_from`, `_branched_from`, `_delegate_from`."""
    system_prompt: str | None = None
    cwd: str | None = None
    git_repo_root: str | None = None
    profile_name: str | None = None
    """None: the owner of the store."""
    title: str | None = None


PLAIN = Origin()


class TranscriptReadError(Exception):
    """What was said could not be read. Whoever takes it for empty makes the chat forget (hermes-agent #82633)."""


class CompressionError(Exception):
    """The session cannot be continued in a child; nothing was written."""
