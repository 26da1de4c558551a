"""Short ways to write calls down, with the arguments and results that a real host's tools have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ledger_tui.demo.story import Call, Ending


def write(path: str, content: str, *, takes: float = 0.4) -> Call:
    return Call(
        "write_file",
        {"path": path, "content": content},
        {"bytes_written": len(content.encode("utf-8")), "dirs_created": False},
        takes,
    )


def patch(path: str, old: str, new: str) -> Call:
    return Call(
        "patch",
        {"mode": "replace", "path": path, "old_string": old, "new_string": new},
        {"success": True, "diff": f"-{old}\n+{new}"},
        0.6,
    )


def shell(command: str, output: str = "", *, takes: float = 2.0, **more: Any) -> Call:
    return Call("terminal", {"command": command, **more}, {"output": output, "exit_code": 0}, takes)


def read(path: str) -> Call:
    """Reads only: the plugin lets it pass unrecorded."""
    return Call("read_file", {"path": path, "limit": 200}, {"content": "…", "total_lines": 12}, 0.2)


def cron(name: str, schedule: str, prompt: str) -> Call:
    args = {"action": "create", "name": name, "schedule": schedule, "prompt": prompt}
    return Call("cronjob", args, {"success": True, "name": name, "schedule": schedule}, 0.8)


def mcp(tool: str, args: dict[str, Any], result: Any, *, takes: float = 1.5) -> Call:
    return Call(f"mcp__{tool}", args, result, takes)


def lost(call: Call) -> Call:
    """Announced, and then the turn is gone: the tool never ran."""
    return replace(call, ending=None, runs=False)


def unheard(call: Call) -> Call:
    """The tool ran, and nobody heard of it."""
    return replace(call, ending=None)


def failed(call: Call, error_type: str, result: Any) -> Call:
    return replace(call, ending=Ending("error", error_type), result=result)


def exits(call: Call, code: int, output: str) -> Call:
    """A command that ends with a code of its own."""
    result = {"output": output, "exit_code": code}
    return replace(call, ending=Ending("error", "tool_error"), result=result)


def refused(call: Call, why: str) -> Call:
    """Another plugin's rule kept it from running."""
    return replace(call, ending=Ending("blocked", "plugin_block"), runs=False, result={"error": why})


def cancelled(call: Call) -> Call:
    return replace(call, ending=Ending("cancelled", "keyboard_interrupt"), result={"error": "stopped by the user"})


def timed_out(call: Call, *, landed_after: float | None = None) -> Call:
    """The host gave up waiting; the work may have been done all the same, and be reported later."""
    later = None if landed_after is None else Ending("ok", after=landed_after)
    why = {"error": "the tool did not answer in time"}
    return replace(call, ending=Ending("timeout", "tool_timeout", result=why), later=later)


def heard_late(call: Call, after: float) -> Call:
    """No report until long after everybody stopped waiting."""
    return replace(call, ending=None, later=Ending("ok", after=after))
