"""Runs in the host's own interpreter: real agent turns and hook dispatches, as a plan (JSON file) says.

`python turns.py PLAN`. One line of JSON per finished action goes to the plan's `report`, so that a killed host
leaves a report of what it had done. Environment and home are set by the caller, before anything of Hermes is
imported. Actions, each an object with `do`:

turn     {chat, text, toolsets?, interrupt_when?, steer_when?, steer?}: one turn of the conversation `chat`, resumed
         from the store where this process does not know it. `interrupt_when`: a file; when it appears the user speaks
         up. `steer_when`: the same, and `steer` is said into the turn that runs.
hook     {name, payload, then_ms?}: a hook through the host's dispatcher, and a pause after it.
wait     {seconds, file?}: time passes, or a file appears before.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = "scripted"


class Host:
    """The running agents of one process, by conversation."""

    def __init__(self, plan: dict[str, Any]) -> None:
        from hermes_state import SessionDB

        self.plan = plan
        self.store = SessionDB(db_path=Path(os.environ["HERMES_HOME"]) / "state.db")
        self.agents: dict[str, Any] = {}
        self.histories: dict[str, list[Any]] = {}

    def turn(self, action: dict[str, Any]) -> dict[str, Any]:
        chat = action["chat"]
        agent = self.agents.get(chat) or self._agent(chat, action)
        if "interrupt_when" in action:
            _when(Path(action["interrupt_when"]), lambda: agent.interrupt("something else, please"))
        if "steer_when" in action:
            _when(Path(action["steer_when"]), lambda: agent.steer(action["steer"]))
        result = agent.run_conversation(
            action["text"],
            conversation_history=self.histories[chat],
            # The command line and the messaging gateway give the session's own id.
            task_id=agent.session_id,
        )
        self.histories[chat] = result["messages"]
        said = {name: result.get(name) for name in ("final_response", "api_calls", "interrupted", "turn_exit_reason")}
        compressions = getattr(agent.context_compressor, "compression_count", None)
        return {**said, "chat": chat, "session_id": agent.session_id, "compressions": compressions}

    def _agent(self, chat: str, action: dict[str, Any]) -> Any:
        from run_agent import AIAgent

        self.histories[chat] = self.store.get_messages_as_conversation(chat)
        self.agents[chat] = AIAgent(
            base_url=self.plan["model_url"],
            api_key="none",
            provider="custom",
            model=MODEL,
            enabled_toolsets=action.get("toolsets", ["file", "terminal"]),
            quiet_mode=True,
            skip_context_files=True,
            skip_memory=True,
            save_trajectories=False,
            platform="cli",
            session_db=self.store,
            session_id=chat,
            max_iterations=20,
        )
        return self.agents[chat]


def _when(file: Path, speak_up: Callable[[], Any]) -> None:
    def wait() -> None:
        while not file.exists():
            time.sleep(0.02)
        speak_up()

    threading.Thread(target=wait, daemon=True).start()


def _hook(action: dict[str, Any]) -> dict[str, Any]:
    """Through the very function that the agent loop calls; it moved between the versions."""
    try:
        from hermes_cli.lifecycle import invoke_hook
    except ImportError:
        from hermes_cli.plugins import invoke_hook
    returned = invoke_hook(action["name"], **action["payload"])
    time.sleep(action.get("then_ms", 0) / 1000)
    return {"returned": returned}


def _wait(action: dict[str, Any]) -> dict[str, Any]:
    until = time.monotonic() + action["seconds"]
    file = Path(action["file"]) if "file" in action else None
    while time.monotonic() < until and not (file and file.exists()):
        time.sleep(0.02)
    return {"appeared": bool(file and file.exists())}


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path("host.pid").write_text(str(os.getpid()), encoding="utf-8")
    import model_tools  # noqa: F401 - importing it makes the host discover plugins
    from agent.shell_hooks import register_from_config
    from hermes_cli.config import load_config
    from hermes_cli.plugins import discover_plugins

    discover_plugins()
    register_from_config(load_config())  # As the command line and the gateway do when they start.
    host = Host(plan)
    actions = {"turn": host.turn, "hook": _hook, "wait": _wait}
    with open(plan["report"], "a", encoding="utf-8") as report:
        for action in plan["actions"]:
            done = {"do": action["do"], **actions[action["do"]](action)}
            report.write(json.dumps(done, default=str) + "\n")
            report.flush()
    sys.stdout.flush()
    # Some threads of the host never end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
