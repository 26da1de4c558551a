"""The folder in which the simulated tools work: what they did is really there, with the time at which they did it."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = "workspace"

_OLD_S = 30 * 86_400.0

_NOBODY = "0" * 40


class World:
    """Kept in the home. Paths of calls are relative to it; what would lie elsewhere is not done."""

    def __init__(self, home: Path, now: float) -> None:
        """`now`: the present of the story. The home's list of scheduled jobs has a place, as a host makes it."""
        self.root = home / FOLDER
        for folder in (self.root, home / "cron"):
            folder.mkdir(exist_ok=True)
            os.utime(folder, (now - _OLD_S, now - _OLD_S))

    def work(self, tool: str, args: Mapping[str, Any], at: float) -> None:
        """Do what a tool does, as far as it leaves something behind here. `at`: seconds since 1970."""
        if tool == "write_file":
            self._write(args["path"], args["content"], at)
        elif tool == "patch" and "path" in args:
            path = self._place(args["path"])
            text = path.read_text(encoding="utf-8") if path is not None and path.is_file() else ""
            old, new = args["old_string"], args["new_string"]
            self._write(args["path"], text.replace(old, new, 1) if old in text else f"{text}{new}\n", at)
        elif tool == "terminal":
            self._run(args["command"], at)

    def _run(self, command: str, at: float) -> None:
        """Of all commands only a plain push leaves its traces: the files by which git itself knows of it."""
        words = shlex.split(command) if command.startswith("git -C ") and not set("&|;$`") & set(command) else []
        if words[3:4] != ["push"] or len(words) != 6 or self._place(words[2]) is None:
            return
        remote, branch = words[4:]
        name, commit = f"refs/remotes/{remote}/{branch}", hashlib.sha1(f"{command} {at}".encode()).hexdigest()
        self._write(f"{words[2]}/.git/HEAD", f"ref: refs/heads/{branch}\n", at)
        self._write(f"{words[2]}/.git/{name}", f"{commit}\n", at)
        entry = f"{_NOBODY} {commit} Simulated Host <host@example.org> {int(at)} +0000\tupdate by push\n"
        self._write(f"{words[2]}/.git/logs/{name}", entry, at)

    def _place(self, named: str) -> Path | None:
        path = Path(os.path.normpath(self.root / named))
        return path if path.is_relative_to(self.root) else None

    def _write(self, named: str, text: str, at: float) -> None:
        path = self._place(named)
        if path is None:
            return
        new = [folder for folder in path.parents if folder.is_relative_to(self.root) and not folder.exists()]
        if not path.exists():
            new.append(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for one in {path, *(entry.parent for entry in new)} | set(new):
            os.utime(one, (at, at))


def announce(home: Path) -> None:
    """Tell the plugin where calls work, in the way in which it asks a host: by the host's own modules."""
    terminal: Any = ModuleType("tools.terminal_tool")
    terminal.get_session_cwd = lambda _: None
    terminal.resolve_task_overrides = lambda _: {}
    files: Any = ModuleType("tools.file_tools")
    files._terminal_env_type_for_task = lambda _: "local"
    files._configured_terminal_cwd = lambda: str(home / FOLDER)
    sys.modules.update({"tools.terminal_tool": terminal, "tools.file_tools": files})
