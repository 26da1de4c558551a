"""A turn's start in a host that honours `pre_llm_call`: asks every hook, and says what becomes of the turn.

Where public code speaks, it is the test of hermes-agent pull request 81434: the first block with a message wins, one
without is ignored, and a hook that fails or takes too long is logged and counts for nothing. What a turn that ends
here leaves behind is an ordinary pair of messages, in which a marker stands for what was typed.
"""

from __future__ import annotations

import functools
import json
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EXIT_REASON = "blocked_by_plugin_pre_llm_call"
MARKER = "[Message withheld: a pre_llm_call policy hook blocked it.]"
HOOK_TIMEOUT_S = 30.0

Message = dict[str, Any]
Typed = str | list[Any]
"""What a person wrote: text, or a list of parts."""
Callback = Callable[..., Any]


@dataclass(frozen=True)
class ShellHook:
    """An entry below `hooks: pre_llm_call:` in `config.yaml`; the command is split like a shell would, and run without
    one. `fail_closed` means nothing for this event; a warning says so when the entry is read."""

    command: str
    timeout: float = 60.0
    fail_closed: bool = False


@dataclass(frozen=True)
class Opened:
    """A turn after its hooks: it goes on with `context` beside the message, or ends with `block` as the reply."""

    typed: Typed
    context: str = ""
    block: str | None = None

    def rows(self) -> list[Message]:
        """What the transcript keeps of it so far. Nobody but the person's own recap may read `display_metadata`."""
        if self.block is not None:
            return [
                {"role": "user", "content": MARKER, "display_metadata": {"typed": self.typed}},
                {"role": "assistant", "content": self.block},
            ]
        user: Message = {"role": "user", "content": self.typed}
        if self.context:
            user["api_content"] = f"{text_of(user)}\n\n{self.context}"
        return [user]


class TurnStart:
    """The `pre_llm_call` hooks of a host, Python first. `warnings` is what it would log."""

    def __init__(
        self,
        callbacks: Sequence[Callback] = (),
        shell_hooks: Sequence[ShellHook] = (),
        timeout_s: float = HOOK_TIMEOUT_S,
    ) -> None:
        """`timeout_s` bounds each callback; 0 lets it take as long as it likes."""
        self._callbacks, self._shell_hooks, self._timeout_s = callbacks, shell_hooks, timeout_s
        self.warnings = [
            "fail_closed is honoured for pre_tool_call only; ignored for pre_llm_call"
            for hook in shell_hooks
            if hook.fail_closed
        ]

    def open(
        self, typed: Typed, history: Sequence[Message], *, session_id: str, turn_id: str, platform: str = "cli"
    ) -> Opened:
        """Ask every hook about one message; `history` is the transcript before it."""
        read = [{name: part for name, part in one.items() if name != "display_metadata"} for one in history]
        payload: dict[str, Any] = {
            "session_id": session_id, "task_id": session_id, "turn_id": turn_id, "user_message": typed,
            "conversation_history": [*read, {"role": "user", "content": typed}], "is_first_turn": not history,
            "model": "scripted", "platform": platform, "parent_session_id": "", "sender_id": "",
            "telemetry_schema_version": "hermes.observer.v1",
        }  # fmt: skip
        said = [self._bounded(functools.partial(one, **payload)) for one in self._callbacks]
        said += [self._shell(hook, payload) for hook in self._shell_hooks]
        block = next((message for message in map(block_message, said) if message is not None), None)
        if block is not None:
            return Opened(typed, block=block)
        return Opened(typed, context="\n\n".join(filter(None, map(_context, said))))

    def _bounded(self, call: Callable[[], Any]) -> Any:
        kept: list[Any] = []

        def run() -> None:
            try:
                kept.append(call())
            except Exception as error:
                self.warnings.append(f"pre_llm_call hook failed: {type(error).__name__}")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self._timeout_s or None)
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


def block_message(answer: Any) -> str | None:
    """The message of a hook's block, of `pre_tool_call` too; None where it blocks nothing."""
    if not isinstance(answer, dict) or answer.get("action") != "block":
        return None
    message = answer.get("message")
    return message if isinstance(message, str) and message.strip() else None


def _context(answer: Any) -> str:
    if isinstance(answer, str):
        return answer.strip()
    return str(answer.get("context") or "") if isinstance(answer, dict) else ""


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, of its text parts where it has parts."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
