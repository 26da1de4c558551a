"""Where the host lets a call work: on which machine, and in which folder relative paths begin.

The host alone knows, at that moment: a `cd` in an earlier command moves it, and it forgets with its process. It is
asked in the modules that it has loaded anyway; a host that answers otherwise leaves the place unknown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

ASKED = frozenset({"terminal", "write_file", "patch", "execute_code"})
"""Tools whose effect depends on it."""

LOCAL = "local"

FRESH_S = 20.0
"""How long the kind of machine that a task works on is remembered."""

REMEMBERED = 500


class Workplaces:
    """Asked by one home's recorder. Never raises."""

    def __init__(self, mono: Callable[[], float]) -> None:
        self._mono = mono
        self._backends: dict[str, tuple[str, float]] = {}

    def of(self, tool_name: str, task_id: str, args: Mapping[str, Any]) -> str:
        """`backend:folder`, such as `local:/srv/app` or `docker:`; empty where it cannot be told.

        The folder is where the call's relative paths begin; for a path that begins with `~/`, that home.
        """
        if tool_name not in ASKED:
            return ""
        terminal = sys.modules.get("tools.terminal_tool")
        if terminal is None:
            return ""
        try:
            files: Any = sys.modules.get("tools.file_tools_paths") or sys.modules["tools.file_tools"]
            backend = self._backend(files, task_id)
            if backend != LOCAL:
                return f"{backend}:"
            path = args.get("path")
            if isinstance(path, str) and path.startswith("~/"):
                return f"{backend}:{files._expand_tilde('~')}"
            return f"{backend}:{_folder(terminal, files, tool_name, task_id)}"
        except Exception:
            return ""

    def _backend(self, files: Any, task_id: str) -> str:
        """Remembered for a while: the host works it out anew each time, from its whole configuration."""
        now = self._mono()
        known = self._backends.get(task_id)
        if known is not None and known[1] > now:
            return known[0]
        backend = str(files._terminal_env_type_for_task(task_id or "default"))
        if len(self._backends) >= REMEMBERED:
            self._backends.clear()
        self._backends[task_id] = (backend, now + FRESH_S)
        return backend


def _folder(terminal: Any, files: Any, tool_name: str, task_id: str) -> str:
    """In the order of the host's own tools: what the last command left, what was set for the session, the start."""
    approval: Any = sys.modules.get("tools.approval") if tool_name == "terminal" else None
    session_key = approval.get_current_session_key(default="") if approval is not None else ""
    found = (
        terminal.get_session_cwd(session_key or task_id)
        or terminal.resolve_task_overrides(task_id).get("cwd")
        or (session_key and terminal.get_session_cwd(task_id))
        or files._configured_terminal_cwd()
        or os.getcwd()
    )
    return found if isinstance(found, str) and os.path.isabs(found) else ""


def parted(text: str) -> tuple[str, str]:
    """(backend, folder) of a stored workplace; both empty where none is stored."""
    backend, _, folder = text.partition(":")
    return backend, folder
