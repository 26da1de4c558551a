"""A host that ends a turn when a `pre_llm_call` hook says block: the documented semantics, small enough to read.

Expected values where public code speaks are those of the test of hermes-agent pull request 81434: the block's message
is the final response, `turn_exit_reason` is `blocked_by_plugin_pre_llm_call`, no request is made, nothing has failed,
and user and assistant rows keep alternating. Standard library only.
"""

from __future__ import annotations

import functools
import json
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

EXIT_REASON = "blocked_by_plugin_pre_llm_call"
MARKER = "[Message withheld: a pre_llm_call policy hook blocked it.]"
HOOK_TIMEOUT_S = 30.0
COMPACT_AT = 12
"""Messages in a history from which a turn's start summarises the older ones."""

Message = dict[str, Any]
Callback = Callable[..., Any]
Model = Callable[[Sequence[Message]], str]


@dataclass(frozen=True)
class ShellHook:
    """An entry below `hooks: pre_llm_call:` in `config.yaml`; the command is split like a shell would, and run without
    one. `fail_closed` means nothing for this event; a warning says so when the entry is read."""

    command: str
    timeout: float = 60.0
    fail_closed: bool = False


@dataclass
class Turn:
    """The result of one turn."""

    final_response: str
    api_calls: int
    turn_exit_reason: str = "completed"
    failed: bool = False


@dataclass
class ReferenceHost:
    """One conversation. What it kept, asked and logged can be read from its fields."""

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
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for hook in self.shell_hooks:
            if hook.fail_closed:
                self.warnings.append("fail_closed is honoured for pre_tool_call only; ignored for pre_llm_call")

    def turn(self, user_message: str | list[Any]) -> Turn:
        """One message of the person, up to the reply."""
        turn_id = f"{self.session_id}:{self.session_id}:{len(self.messages):08x}"
        user: Message = {"role": "user", "content": user_message}
        results = self._hooks(turn_id, user_message, [*self.messages, user])
        block = next((one["message"] for one in results if _is_block(one)), None)
        if block is not None:
            return self._blocked(user, user_message, block)
        return self._answered(user, user_message, "\n\n".join(filter(None, map(_context, results))))

    def _blocked(self, user: Message, typed: str | list[Any], message: str) -> Turn:
        """No compaction, no title, no memory, no request: a pair of rows, and what was typed for the recap only."""
        self.messages += [
            {**user, "content": MARKER, "display_metadata": {"typed": typed}},
            {"role": "assistant", "content": message},
        ]
        return Turn(message, 0, EXIT_REASON)

    def _answered(self, user: Message, typed: str | list[Any], context: str) -> Turn:
        if len(self.messages) >= COMPACT_AT:
            folded, self.messages = self.messages[:-4], self.messages[-4:]
            text = "\n".join(text_of(message) for message in folded)
            self.auxiliary.append(("summary", text))
            self.messages.insert(
                0, {"role": "user", "content": "[CONTEXT COMPACTION] " + text, "_compressed_summary": True}
            )
        self.memory.append(text_of(user))
        if not any(kind == "title" for kind, _ in self.auxiliary):
            self.auxiliary.append(("title", text_of(user)))
        if context:
            user["api_content"] = f"{text_of(user)}\n\n{context}"
        self.messages.append(user)
        self.requests.append(
            [{"role": one["role"], "content": one.get("api_content", one["content"])} for one in self.messages]
        )
        reply = self.model(self.requests[-1])
        self.messages.append({"role": "assistant", "content": reply})
        self.memory.append(f"{text_of(user)}\n{reply}")
        return Turn(reply, 1)

    def search(self, text: str) -> list[Message]:
        """Rows of the transcript whose content holds `text`."""
        return [message for message in self.messages if text in text_of(message)]

    # -- hooks -----------------------------------------------------------------------------------------------------

    def _hooks(self, turn_id: str, user_message: str | list[Any], history: list[Message]) -> list[Any]:
        """Results of all hooks, Python first: one that raises or takes too long is logged and counts for nothing."""
        payload: dict[str, Any] = {
            "session_id": self.session_id, "task_id": self.session_id, "turn_id": turn_id, "user_message": user_message,
            "conversation_history": history, "is_first_turn": len(history) == 1, "model": "scripted", "platform": "cli",
            "parent_session_id": "", "sender_id": "", "telemetry_schema_version": "hermes.observer.v1",
        }  # fmt: skip
        results = [self._bounded(functools.partial(one, **payload)) for one in self.callbacks]
        return results + [self._shell(hook, payload) for hook in self.shell_hooks]

    def _bounded(self, call: Callable[[], Any]) -> Any:
        kept: list[Any] = []

        def run() -> None:
            try:
                kept.append(call())
            except Exception as error:
                self.warnings.append(f"pre_llm_call hook failed: {type(error).__name__}")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self.hook_timeout_s or None)
        if thread.is_alive():
            self.warnings.append("pre_llm_call hook timed out")
            return None
        return kept[0] if kept else None

    def _shell(self, hook: ShellHook, payload: Mapping[str, Any]) -> Any:
        extra = {name: value for name, value in payload.items() if name != "session_id"}
        event = {
            "hook_event_name": "pre_llm_call", "tool_name": None, "tool_input": None,
            "session_id": payload["session_id"], "cwd": ".", "profile": "default", "extra": extra,
        }  # fmt: skip
        try:
            done = subprocess.run(
                shlex.split(hook.command), input=json.dumps(event), capture_output=True, text=True, timeout=hook.timeout
            )
        except (OSError, subprocess.SubprocessError) as error:
            self.warnings.append(f"shell hook failed: {type(error).__name__}")
            return None
        if done.returncode:
            self.warnings.append(f"shell hook ended with {done.returncode}")
        return parsed(done.stdout)


def parsed(stdout: str) -> Any:
    """What a shell hook said: both forms of a block become the first one; what is no JSON object says nothing."""
    try:
        said = json.loads(stdout)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    if said.get("decision") == "block" and "action" not in said:
        return {"action": "block", "message": said.get("reason")}
    return said


def _is_block(result: Any) -> bool:
    if not isinstance(result, dict) or result.get("action") != "block":
        return False
    message = result.get("message")
    return isinstance(message, str) and bool(message.strip())


def _context(result: Any) -> str:
    if isinstance(result, str):
        return result.strip()
    return str(result.get("context") or "") if isinstance(result, dict) else ""


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, of its text parts where it has parts."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
