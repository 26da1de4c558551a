"""Answers in the model's place, without asking it: the nearest thing to a block on hosts that ignore one."""

from types import SimpleNamespace
from typing import Any


def register(ctx: Any) -> None:
    ctx.register_middleware("llm_execution", answer)


def answer(request: dict[str, Any], next_call: Any, **_: Any) -> Any:
    last = [message for message in request["messages"] if message.get("role") == "user"][-1]
    if "HELD-BY-TEST" not in str(last.get("content")):
        return next_call(request)
    message = SimpleNamespace(role="assistant", content="held back", tool_calls=None, reasoning_content=None)
    usage = SimpleNamespace(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    choice = SimpleNamespace(index=0, message=message, finish_reason="stop")
    return SimpleNamespace(id="held", model="scripted", choices=[choice], usage=usage)
