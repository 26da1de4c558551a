"""Python runs this first when its folder is on the path: writes down what the process opens, changes, asks and starts.

One JSON line an event into the file that LEDGER_TUI_WATCHED names: what, then its path or words, and more.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = {
    "os.mkdir": 1, "os.rmdir": 1, "os.remove": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.chmod": 1,
    "os.chown": 1, "os.truncate": 1, "os.utime": 1, "os.mkfifo": 1, "os.mknod": 1, "os.setxattr": 1,
}  # fmt: skip
"""Events that change something, and how many of their first arguments are paths."""
_NETWORK = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"})
_PROGRAMS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.spawn"})


def _path(value: Any, folder: Any = -1) -> str:
    if isinstance(value, int):
        return os.readlink(f"/proc/self/fd/{value}")
    path = os.fsdecode(value)
    if isinstance(folder, int) and folder >= 0:
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    return os.path.abspath(path)


def _seen(event: str, args: tuple[Any, ...]) -> dict[str, Any] | None:
    if event == "open":
        path, _, flags = args
        if isinstance(path, int):
            return None
        return {"what": "write" if flags & _WRITES else "read", "path": _path(path), "new": bool(flags & os.O_CREAT)}
    if event == "sqlite3.connect":
        return {"what": "database", "path": os.fsdecode(args[0])}
    if event in _PATHS:
        # The folder that a relative path is meant in comes last, one for each path.
        count = _PATHS[event]
        folders = [value for value in args[count:] if isinstance(value, int)][-count:] or [-1] * count
        if event == "os.symlink":
            return {"what": event, "path": _path(args[1], folders[-1])}
        paths = [_path(value, folder) for value, folder in zip(args[:count], folders * count, strict=False)]
        return {"what": event, "path": paths[0], "to": paths[-1], "mode": args[1] if event in _MODED else None}
    if event in _NETWORK:
        return {"what": "network", "path": repr(args[1:] if event.startswith("socket.c") else args)}
    if event in _PROGRAMS:
        return {"what": "program", "path": os.fsdecode(args[0]), "words": [str(word) for word in args[1] or ()]}
    return None


_MODED = frozenset({"os.mkdir", "os.chmod"})


def _watch(log: int) -> None:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        try:
            seen = _seen(event, args)
        except (OSError, ValueError, TypeError) as error:
            seen = {"what": "unknown", "path": f"{event} {args!r}: {error}"}
        if seen is not None:
            os.write(log, json.dumps(seen).encode() + b"\n")

    sys.addaudithook(hook)


if "LEDGER_TUI_WATCHED" in os.environ:
    _watch(os.open(os.environ["LEDGER_TUI_WATCHED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
