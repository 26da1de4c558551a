"""The shapes in which a scenario is written down: chats, their turns, and the tool calls in them. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ending:
    """What the host reports with `post_tool_call`; the words are the host's."""

    status: str = "ok"
    error_type: str = ""
    after: float = 0.0
    """Second reports only: seconds after the call was issued."""
    result: Any = None
    """None stands for the call's own result."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. Texts may hold `{n}`, which becomes a new number each time the turn is played."""

    tool: str
    args: Mapping[str, Any]
    result: Any = field(default_factory=lambda: {"success": True})
    takes: float = 2.0
    """Seconds from the announcement to the tool's return."""
    ending: Ending | None = Ending()
    """None: the turn ends before the host hears of the result, or before the tool ran at all."""
    runs: bool = True
    """Did the tool do its work? False for a call that was lost, or refused, before it ran."""
    later: Ending | None = None
    """One more report, which may contradict the first one or come when nobody expects it any more."""
    inside: tuple[Call, ...] = ()
    """Calls made by the script of an `execute_code`; the host reports no end for them."""
    announced: int = 1
    """How often the host announces it; 0 for a call that it refuses before any hook."""
    killed: bool = False
    """It is made by another process of the host, which is killed while the tool runs."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The conversation is folded into a summary after the turn's calls, and what was under way goes with it."""

    summary: str
    rotates: bool = False
    """The conversation goes on under a new session id."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Somebody says something, the agent works and answers."""

    at: float
    """Seconds from the moment the demonstration opens; negative before it."""
    text: str
    calls: tuple[Call, ...] = ()
    reply: str = ""
    compaction: Compaction | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation of the host."""

    name: str
    """Short; a part of its session id."""
    source: str
    title: str | None
    turns: tuple[Turn, ...]
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    """Identity of a messaging chat; a session at the machine itself has none."""
    child_of: str | None = None
    """Name of the chat whose delegate this is."""
    ends: str | None = None
    """Reason with which it ended after its last turn."""
    small_talk: tuple[Turn, ...] = ()
    """What goes on while somebody watches, one turn after the other and again from the start. `at` means nothing."""

    @property
    def session_key(self) -> str | None:
        """The key by which the host's gateway finds the session of a messaging chat."""
        if self.chat_id is None:
            return None
        return f"agent:main:{self.source}:{self.chat_type}:{self.chat_id}"


@dataclass(frozen=True, slots=True)
class Switch:
    """Somebody changes the mode of a policy."""

    at: float
    """Seconds from the opening, as for a turn."""
    word: str
    prompts: bool = False
    """The prompt policy's mode, not the tool policy's."""


@dataclass(frozen=True, slots=True)
class Outage:
    """How the simulated gateway loses a chat. Moments in seconds from the opening."""

    chat: str
    resets: float
    """The chat begins anew while somebody else holds the session store, so that nothing of it is written."""
    crashes: float
    restarts: float
    asks: float
    """The person has the gateway recall what was said last. It answers by itself; nothing is stored of that."""
    stops: float
    """Somebody stops the gateway, so that the chat can be repaired."""
    after: Turn
    """What is said first when it runs again."""
    speaks: Turn | None = None
    """What the person says after the recall, into the wrong session."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a demonstration plays."""

    name: str
    about: str
    chats: tuple[Chat, ...]
    talkative: frozenset[str]
    """Chats whose small talk goes on."""
    switches: tuple[Switch, ...] = ()
    """Before the first one both policies are in dry run."""
    outage: Outage | None = None
    """The gateway has the faults of hermes-agent #82616 until this is over."""
