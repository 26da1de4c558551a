"""Runs in the host's own interpreter: real turns, each in a forked process that is killed at a chosen point.

`python cuts.py PLAN`. The parent loads the host once and never opens a database of the home; every turn is a child of
its own. Actions, each an object with `do`:

turn     {chat, text, toolsets, cut?}: one turn of `chat`. `cut`: {tool, at, nth}: at the nth call of that tool (from
         1) the process is killed `before` the tool runs or `after` it returned and before anybody hears of it;
         `unheard`: its confirmation is dropped and the turn goes on.
person   {command}: somebody else's shell command, in the folder of the work.
forget   {chat}: the results of that chat's calls leave the host's transcript, as a lost write would leave it.
home     {template, root}: a fresh home at the place that this host knows. `away` {root, to}: it is put aside.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = "scripted"
LINGER_S = 20.0


def _agent(plan: dict[str, Any], chat: str, toolsets: list[str], store: Any, *, memory: bool) -> Any:
    from run_agent import AIAgent

    return AIAgent(
        base_url=plan["model_url"],
        api_key="none",
        provider="custom",
        model=MODEL,
        enabled_toolsets=toolsets,
        quiet_mode=True,
        skip_context_files=True,
        skip_memory=not memory,
        save_trajectories=False,
        platform="cli",
        session_db=store,
        session_id=chat,
        max_iterations=20,
    )


def _warm(plan: dict[str, Any]) -> None:
    """Let the host import what a turn needs, with no plugin awake and no database open."""
    from hermes_cli.plugins import get_plugin_manager

    manager = get_plugin_manager()
    hooks, middleware = dict(manager._hooks), dict(manager._middleware)
    manager._hooks.clear()
    manager._middleware.clear()
    with contextlib.suppress(Exception):
        _agent(plan, "warm", plan["toolsets"], None, memory=False).run_conversation("[warm]", task_id="warm")
    manager._hooks.update(hooks)
    manager._middleware.update(middleware)
    held = [link for link in map(_link, Path("/proc/self/fd").glob("*")) if link.endswith(".db")]
    if held:
        raise SystemExit(f"the parent holds databases open: {held}")


def _awake() -> None:
    """In the child: what the parent's threads served is served by new ones."""
    with contextlib.suppress(ImportError, AttributeError):
        from agent import relay_runtime

        relay_runtime._SCOPE_OP_EXECUTOR.reset()


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Knife:
    """Kills this process at the chosen call of a tool, or drops the confirmation of that call."""

    def __init__(self, tool: str, at: str, nth: int, told: Callable[[Any], None]) -> None:
        self.tool, self.at, self.left, self.told = tool, at, nth, told

    def around(self, name: str, run: Callable[[], Any]) -> Any:
        if name != self.tool:
            return run()
        self.left -= 1
        if self.left:
            return run()
        if self.at == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.at == "unheard":
            _deafen()
        result = run()
        self.told(result)
        if self.at == "after":
            time.sleep(0.3 if self.tool == "delegate_task" else 0.0)
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    def hold(self) -> None:
        """Put the knife at the three doors through which the host reaches its tools."""
        import tools.memory_tool as memory
        from run_agent import AIAgent
        from tools.registry import registry

        dispatch, remember, delegate = registry.dispatch, memory.memory_tool, AIAgent._dispatch_delegate_task
        registry.dispatch = lambda name, args, *rest, **more: self.around(
            name, lambda: dispatch(name, args, *rest, **more)
        )
        memory.memory_tool = lambda *rest, **more: self.around("memory", lambda: remember(*rest, **more))
        AIAgent._dispatch_delegate_task = lambda *rest, **more: self.around(
            "delegate_task", lambda: delegate(*rest, **more)
        )


def _deafen() -> None:
    """From now on our plugin hears no post and no return: the confirmation is lost."""
    from hermes_cli.plugins import get_plugin_manager

    manager = get_plugin_manager()
    for kept, name in ((manager._hooks, "post_tool_call"), (manager._middleware, "tool_execution")):
        kept[name] = [hook for hook in kept.get(name, ()) if "agent_ledger" not in getattr(hook, "__module__", "")]
    # What is on its way already (the middleware around this very call) finds nobody at the door.
    for name, module in list(sys.modules.items()):
        if name.endswith("agent_ledger") and hasattr(module, "_returned"):
            vars(module).update(_returned=lambda *rest: None, post_tool_call=lambda **rest: None)


def _turn(plan: dict[str, Any], action: dict[str, Any]) -> None:
    from hermes_state import SessionDB

    if "cut" in action:

        def told(result: Any) -> None:
            with open(plan["results"], "a", encoding="utf-8") as results:
                results.write(json.dumps({"text": action["text"], "result": str(result)}) + "\n")

        Knife(**action["cut"], told=told).hold()
    store = SessionDB(db_path=Path(os.environ["HERMES_HOME"]) / "state.db")
    chat = action["chat"]
    history = store.get_messages_as_conversation(chat)
    agent = _agent(plan, chat, action["toolsets"], store, memory="memory" in action["toolsets"])
    result = agent.run_conversation(action["text"], conversation_history=history, task_id=agent.session_id)
    until = time.monotonic() + LINGER_S
    while "delegation" in action["toolsets"] and _at_work() and time.monotonic() < until:
        time.sleep(0.1)
    print(chat, str(result.get("final_response"))[:200], flush=True)


def _at_work() -> bool:
    """Does a delegate of this process still work?"""
    with contextlib.suppress(Exception):
        from tools.async_delegation import active_count

        return bool(active_count())
    return False


def _forked(work: Callable[[], None]) -> int:
    """Run `work` in a child; returns the status that the system gives."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            _awake()
            work()
            code = 0
        except BaseException as error:
            print(f"failed: {error!r}", flush=True)
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def _person(action: dict[str, Any]) -> None:
    subprocess.run(["bash", "-c", action["command"]], check=True, stdin=subprocess.DEVNULL)


def _home(action: dict[str, Any]) -> None:
    os.chdir("/")
    shutil.rmtree(action["root"], ignore_errors=True)
    shutil.copytree(action["template"], action["root"])
    os.chdir(os.environ["TERMINAL_CWD"])


def _away(action: dict[str, Any]) -> None:
    os.chdir("/")
    os.rename(action["root"], action["to"])


def _forget(action: dict[str, Any]) -> None:
    connection = sqlite3.connect(Path(os.environ["HERMES_HOME"]) / "state.db", timeout=5)
    with connection:
        connection.execute("DELETE FROM messages WHERE session_id = ? AND role = 'tool'", (action["chat"],))
    connection.close()


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    import model_tools  # noqa: F401 - importing it makes the host discover plugins
    from hermes_cli.plugins import discover_plugins

    discover_plugins()
    _warm(plan)
    with open(plan["report"], "a", encoding="utf-8") as report:
        for action in plan["actions"]:
            status = 0
            if action["do"] == "turn":
                status = _forked(lambda: _turn(plan, action))  # noqa: B023 - the child is awaited at once
            elif action["do"] == "forget":
                _forked(lambda: _forget(action))  # noqa: B023 - the same
            else:
                {"person": _person, "home": _home, "away": _away}[action["do"]](action)
            report.write(json.dumps({"do": action["do"], "chat": action.get("chat"), "status": status}) + "\n")
            report.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
