"""A host that ends a turn when a `pre_llm_call` hook says block: one conversation with a scripted model, in memory.

What it keeps, asks and logs can be read from its fields, so a policy can be tried on the documented semantics before a
release is at hand that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ledger_tui.demo.turn_start import (
    EXIT_REASON,
    HOOK_TIMEOUT_S,
    Callback,
    Message,
    Opened,
    ShellHook,
    TurnStart,
    Typed,
    text_of,
)

COMPACT_AT = 12
"""Messages in a history from which a turn's start summarises the older ones."""

Model = Callable[[Sequence[Message]], str]


@dataclass
class Turn:
    """The result of one turn."""

    final_response: str
    api_calls: int
    turn_exit_reason: str = "completed"
    failed: bool = False


@dataclass
class ReferenceHost:
    """One conversation."""

    callbacks: Sequence[Callback] = ()
    shell_hooks: Sequence[ShellHook] = ()
    model: Model = lambda messages: "done"
    hook_timeout_s: float = HOOK_TIMEOUT_S
    session_id: str = "reference"
    messages: list[Message] = field(default_factory=list)
    """The transcript as it is stored; a new host that gets it resumes the conversation."""
    requests: list[list[Message]] = field(default_factory=list)
    """Every request to the model of the conversation, as it went over the wire."""
    auxiliary: list[tuple[str, str]] = field(default_factory=list)
    """Every other request: (title or summary, the text it was about)."""
    memory: list[str] = field(default_factory=list)
    """What memory providers were given: to look something up, and to keep."""

    def __post_init__(self) -> None:
        self._start = TurnStart(self.callbacks, self.shell_hooks, self.hook_timeout_s)

    @property
    def warnings(self) -> list[str]:
        """What it would log about hooks."""
        return self._start.warnings

    def turn(self, user_message: Typed) -> Turn:
        """One message of the person, up to the reply."""
        turn_id = f"{self.session_id}:{self.session_id}:{len(self.messages):08x}"
        opened = self._start.open(user_message, self.messages, session_id=self.session_id, turn_id=turn_id)
        if opened.block is not None:
            # No compaction, no title, no memory, no request: a pair of rows and nothing else.
            self.messages += opened.rows()
            return Turn(opened.block, 0, EXIT_REASON)
        return self._answered(opened)

    def _answered(self, opened: Opened) -> Turn:
        (user,) = opened.rows()
        if len(self.messages) >= COMPACT_AT:
            self._compact()
        self.memory.append(text_of(user))
        if not any(kind == "title" for kind, _ in self.auxiliary):
            self.auxiliary.append(("title", text_of(user)))
        self.messages.append(user)
        self.requests.append(
            [{"role": one["role"], "content": one.get("api_content", one["content"])} for one in self.messages]
        )
        reply = self.model(self.requests[-1])
        self.messages.append({"role": "assistant", "content": reply})
        self.memory.append(f"{text_of(user)}\n{reply}")
        return Turn(reply, 1)

    def _compact(self) -> None:
        folded, self.messages = self.messages[:-4], self.messages[-4:]
        text = "\n".join(map(text_of, folded))
        self.auxiliary.append(("summary", text))
        self.messages.insert(
            0, {"role": "user", "content": f"[CONTEXT COMPACTION] {text}", "_compressed_summary": True}
        )

    def search(self, text: str) -> list[Message]:
        """Rows of the transcript whose content holds `text`."""
        return [message for message in self.messages if text in text_of(message)]
