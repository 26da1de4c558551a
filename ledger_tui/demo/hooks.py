"""How the simulated host speaks to the real plugin: through its door, or back in time through the same recorder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import agent_ledger
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.recorder import Recorder
from ledger_tui.demo.release import VERSION

SCHEMA = {"telemetry_schema_version": "hermes.observer.v1"}
"""Every payload of a real host carries this."""

Ids = dict[str, str]
"""session_id, turn_id, tool_call_id, task_id; empty where the host has none."""

OPEN_S = 20.0


class Hooks(Protocol):
    """The moments of a host at which the plugin is asked."""

    def session_start(self, session_id: str, platform: str) -> None: ...

    def pre_llm_call(self, **payload: Any) -> Any:
        """The plugin's answer at a turn's start, as a host gets it: nothing, a context, or a block."""

    def issue(self, tool: str, args: dict[str, Any], ids: Ids) -> Any:
        """The plugin's answer to a call that is about to run: nothing, or a block."""

    def returned(self, tool: str, args: dict[str, Any], result: str, ids: Ids) -> None:
        """The tool gave its result back to the host's executor."""

    def report(
        self, tool: str, args: dict[str, Any], result: str, ids: Ids, status: str, error_type: str, duration_ms: int
    ) -> None: ...

    def close(self) -> None: ...


class Door:
    """The plugin as a host loads it: `register(ctx)`, and then its callbacks. The home is the environment's."""

    def __init__(self) -> None:
        self._hooks: dict[str, Callable[..., Any]] = {}
        self._middleware: dict[str, Callable[..., Any]] = {}
        agent_ledger.register(self)

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        self._hooks[name] = callback

    def register_middleware(self, kind: str, callback: Callable[..., Any]) -> None:
        self._middleware[kind] = callback

    def session_start(self, session_id: str, platform: str) -> None:
        self._hooks["on_session_start"](session_id=session_id, model="simulated", platform=platform, **SCHEMA)

    def pre_llm_call(self, **payload: Any) -> Any:
        return self._hooks["pre_llm_call"](**payload)

    def issue(self, tool: str, args: dict[str, Any], ids: Ids) -> Any:
        return self._hooks["pre_tool_call"](tool_name=tool, args=args, **ids, **SCHEMA)

    def returned(self, tool: str, args: dict[str, Any], result: str, ids: Ids) -> None:
        self._middleware["tool_execution"](next_call=lambda _: result, args=args, tool_name=tool, **ids)

    def report(
        self, tool: str, args: dict[str, Any], result: str, ids: Ids, status: str, error_type: str, duration_ms: int
    ) -> None:
        self._hooks["post_tool_call"](
            tool_name=tool,
            args=args,
            result=result,
            status=status,
            error_type=error_type or None,
            duration_ms=duration_ms,
            **ids,
            **SCHEMA,
        )

    def close(self) -> None:
        agent_ledger.recorder().keeper.close()


class PastClock:
    """Both clocks of a moment that has passed."""

    def __init__(self, at: float) -> None:
        self._at = at

    def move_to(self, at: float) -> None:
        self._at = at

    def wall(self) -> float:
        return self._at

    def mono(self) -> float:
        """Runs on by itself, as far behind the real one as the wall clock is."""
        return time.monotonic() - (time.time() - self._at)


class Past:
    """The recorder of the plugin under a clock that shows an earlier time, for what happened before somebody looked."""

    def __init__(self, home: Path, clock: PastClock, *, elsewhere: bool = True) -> None:
        """`elsewhere`: the process that wrote it is on a machine of its own, so that its end proves nothing here.

        Raises TimeoutError where the ledger cannot be opened.
        """
        about = {"plugin": agent_ledger.__version__, "host": VERSION}
        self._recorder = Recorder(Paths(home), clock=clock.wall, mono=clock.mono, about=lambda: about)
        keeper = self._recorder.keeper
        if elsewhere:
            keeper.who = replace(keeper.who, machine="simulation", boot_id="simulation")
        # The ledger is opened in the background; a record that came before that would be written by way of the spool.
        until = time.monotonic() + OPEN_S
        keeper.square(0.0)
        while not keeper.writer_id():
            if time.monotonic() > until:
                raise TimeoutError(keeper.trouble or "the ledger does not open")
            time.sleep(0.002)

    def session_start(self, session_id: str, platform: str) -> None:
        self._recorder.on_session_start(session_id=session_id)

    def pre_llm_call(self, **payload: Any) -> Any:
        session_id, turn_id = payload["session_id"], payload["turn_id"]
        refusal = self._recorder.judge_prompt(payload["user_message"], session_id=session_id, turn_id=turn_id)
        if refusal is not None and refusal.final:
            return {"action": "block", "message": refusal.message}
        history = payload["conversation_history"]
        notice = self._recorder.pre_llm_call(
            session_id=session_id, turn_id=turn_id, task_id=payload["task_id"], history=history
        )
        return {"context": notice}

    def issue(self, tool: str, args: dict[str, Any], ids: Ids) -> Any:
        verdict = self._recorder.judge_call(tool, args, **ids)
        self._recorder.pre_tool_call(tool, args, **ids, request_id="", verdict=verdict)
        return {"action": "block", "message": verdict.message} if verdict is not None and verdict.refuses else None

    def returned(self, tool: str, args: dict[str, Any], result: str, ids: Ids) -> None:
        self._recorder.tool_returned(tool, args, result, error=None, **ids)

    def report(
        self, tool: str, args: dict[str, Any], result: str, ids: Ids, status: str, error_type: str, duration_ms: int
    ) -> None:
        self._recorder.post_tool_call(
            tool,
            args,
            result,
            request_id="",
            status=status,
            error_type=error_type or None,
            duration_ms=duration_ms,
            **ids,
        )

    def close(self) -> None:
        self._recorder.keeper.close()


def result_text(result: Any) -> str:
    """A tool's result as a host hands it on: text."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
