"""Does this plugin work with the Hermes that is installed here? `python3 selftest.py` from the plugin's folder.

Everything happens in a throwaway home; no home of yours is read or written. Where this Python has Hermes, its own
plugin manager loads a copy of this folder and its own dispatcher calls the hooks; elsewhere the callbacks are called
directly. One line a check, a last line that names what was checked against; exit code 0, or 1 when something failed.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
HOOKS = ("pre_tool_call", "post_tool_call", "pre_llm_call", "on_session_start")
MIDDLEWARE = "tool_execution"
COMMAND = "ledger"
GRACE_S = 0.3
"""Two minutes would be long to wait here; `settings.json` of the throwaway home says this instead."""

WAIT_S = 5.0
"""For what the plugin does in the background."""

SCHEMA = "hermes.observer.v1"

Row = dict[str, Any]


class CheckError(Exception):
    """A check failed; the text says what was seen."""


def expect(condition: object, text: str) -> None:
    if not condition:
        raise CheckError(text)


class OwnDoors:
    """The plugin without a host: `register(ctx)` on a recording ctx, and then its callbacks."""

    about = "no Hermes in this Python: checked against the plugin's own doors only"

    def __init__(self, home: Path) -> None:
        self.hooks: dict[str, Callable[..., Any]] = {}
        self.middleware: dict[str, Callable[..., Any]] = {}
        self.commands: dict[str, Callable[..., Any]] = {}
        spec = importlib.util.spec_from_file_location(
            "agent_ledger_under_test", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        module.register(self)

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        self.hooks[name] = callback

    def register_middleware(self, kind: str, callback: Callable[..., Any]) -> None:
        self.middleware[kind] = callback

    def register_command(self, name: str, handler: Callable[..., Any], description: str, args_hint: str) -> None:
        self.commands[name] = handler

    def fire(self, name: str, **payload: Any) -> list[Any]:
        """What the callbacks of a hook returned, without the Nones."""
        returned = self.hooks[name](**payload, telemetry_schema_version=SCHEMA)
        return [] if returned is None else [returned]

    def loaded(self) -> None:
        expect(sorted(self.hooks) == sorted(HOOKS), f"registered the hooks {sorted(self.hooks)}")
        expect(list(self.middleware) == [MIDDLEWARE], f"registered the middleware {list(self.middleware)}")
        expect(list(self.commands) == [COMMAND], f"registered the commands {list(self.commands)}")
        _tells_nobody(self.commands[COMMAND])

    def write_file(self, path: Path, ids: dict[str, str]) -> None:
        """A whole tool call, in the order in which a host goes through it."""
        args = {"path": str(path), "content": "hello\n"}
        self.fire("pre_tool_call", tool_name="write_file", args=args, **ids)

        def tool(_: Any) -> str:
            path.write_text("hello\n", encoding="utf-8")
            return json.dumps({"bytes_written": 6})

        result = self.middleware[MIDDLEWARE](next_call=tool, args=args, tool_name="write_file", **ids)
        self.fire("post_tool_call", tool_name="write_file", args=args, result=result, status="ok", **ids)


class InstalledHost:
    """The plugin in the Hermes of this Python, loaded and called by the host's own code."""

    def __init__(self, home: Path) -> None:
        self.about = f"checked against Hermes {_host_version()}"
        shutil.copytree(FOLDER, home / "plugins" / "agent-ledger", ignore=shutil.ignore_patterns("__pycache__"))
        (home / "config.yaml").write_text("plugins:\n  enabled: [agent-ledger]\n", encoding="utf-8")
        self._plugins = importlib.import_module("hermes_cli.plugins")
        self._plugins.discover_plugins()

    def fire(self, name: str, **payload: Any) -> list[Any]:
        """What the host's dispatcher hands back for a hook."""
        return list(self._plugins.invoke_hook(name, **payload))

    def loaded(self) -> None:
        unknown = [name for name in HOOKS if name not in self._plugins.VALID_HOOKS]
        expect(not unknown, f"this Hermes does not know the hooks {unknown}")
        kinds = importlib.import_module("hermes_cli.middleware").VALID_MIDDLEWARE
        expect(MIDDLEWARE in kinds, f"this Hermes does not know the middleware {MIDDLEWARE}")
        listed = [p for p in self._plugins.get_plugin_manager().list_plugins() if p["name"] == "agent-ledger"]
        expect(len(listed) == 1, f"the plugin manager lists it {len(listed)} times")
        expect(listed[0]["enabled"] and not listed[0]["error"], f"not enabled: {listed[0]['error']}")
        expect(listed[0]["hooks"] == len(HOOKS), f"{listed[0]['hooks']} hooks were registered")
        command = self._plugins.get_plugin_commands().get(COMMAND)
        if command is not None:  # A host with a command of that name keeps its own.
            expect(command["plugin"] == "agent-ledger", f"/{COMMAND} is a command of {command['plugin']}")
            _tells_nobody(command["handler"])

    def write_file(self, path: Path, ids: dict[str, str]) -> None:
        """The host's own tool, called as its agent loop calls it."""
        tools = importlib.import_module("model_tools")
        result = tools.handle_function_call("write_file", {"path": str(path), "content": "hello\n"}, **ids)
        expect(path.exists(), f"the host's write_file wrote nothing: {str(result)[:200]}")


def _tells_nobody(command: Callable[..., Any]) -> None:
    """No chat asks here: the command must say so, and show nothing."""
    said = str(command("ghosts"))
    expect("does not tell a plugin which chat is asking" in said, f"/{COMMAND} told nobody {said[:200]!r}")


def _host_version() -> str:
    """Of whatever distribution brings the host's package, under whatever name."""
    for name in sorted(set(metadata.packages_distributions().get("hermes_cli", ()))):
        return f"{metadata.version(name)} ({name})"
    return "of unknown version"


class Bench:
    """The plugin under test and its ledger."""

    def __init__(self, home: Path, doors: OwnDoors | InstalledHost) -> None:
        self.home, self.doors = home, doors
        self.fire = doors.fire
        self.data = home / "plugin-data" / "agent-ledger"

    def ids(self, session: str, call: str = "", turn: str = "1") -> dict[str, str]:
        return {"session_id": session, "turn_id": f"{session}:{session}:{turn}", "task_id": session,
                "tool_call_id": call}  # fmt: skip

    def pre(self, tool: str, args: Any, **ids: str) -> None:
        returned = self.fire("pre_tool_call", tool_name=tool, args=args, **ids)
        expect(not returned, f"pre_tool_call returned {returned!r}, and it must not interfere")

    def post(self, tool: str, args: Any, status: str = "ok", error_type: str | None = None, **ids: str) -> None:
        result = json.dumps({"success": status == "ok"})
        self.fire(
            "post_tool_call",
            tool_name=tool, args=args, result=result, status=status, error_type=error_type, duration_ms=3, **ids,
        )  # fmt: skip

    def turn(self, session: str, number: str) -> str:
        """Begin a turn; the context that the plugin hands in."""
        ids = self.ids(session, turn=number)
        returned = self.fire(
            "pre_llm_call",
            session_id=session, turn_id=ids["turn_id"], task_id=session, user_message="hello",
            conversation_history=[{"role": "user", "content": "hello"}], is_first_turn=False,
        )  # fmt: skip
        expect(all(set(r) == {"context"} for r in returned), f"pre_llm_call returned {returned!r}")
        return "\n\n".join(r["context"] for r in returned)

    def rows(self, session: str) -> list[Row]:
        """The ledger's rows of a session, as another process sees them: only what is committed."""
        path = self.data / "ledger.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as connection:
            connection.row_factory = sqlite3.Row
            try:
                found = connection.execute("SELECT * FROM ledger WHERE session_id=? ORDER BY id", (session,))
            except sqlite3.OperationalError:  # The tables are being made.
                return []
            return [dict(row) for row in found.fetchall()]

    def statuses(self, session: str, expected: list[str]) -> None:
        until = time.monotonic() + WAIT_S
        while (seen := [row["status"] for row in self.rows(session)]) != expected and time.monotonic() < until:
            time.sleep(0.01)
        expect(seen == expected, f"the rows are {seen}, and should be {expected}")


# -- the checks; the first line of each is what is printed ------------------------------------------------------------


def loads(bench: Bench) -> None:
    """the host loads the plugin, and knows its four hooks and its middleware"""
    bench.doors.loaded()


def issue_comes_first(bench: Bench) -> None:
    """a call is on disk, PENDING, before its tool runs"""
    bench.fire("on_session_start", session_id="first", model="none", platform="cli")
    bench.pre("terminal", {"command": "true"}, **bench.ids("first", "c1"))
    bench.statuses("first", ["PENDING"])
    for path in [bench.data, *bench.data.glob("ledger.db*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        expect(os.name == "nt" or not mode & 0o077, f"{path.name} is open to others (mode {mode:o})")


def pairs_by_id(bench: Bench) -> None:
    """a confirmation settles the row of its call id, and no other"""
    for call in ("c1", "c2", "c3"):
        bench.pre("write_file", {"path": "same"}, **bench.ids("pairs", call))
    bench.post("write_file", {"path": "same"}, **bench.ids("pairs", "c2"))
    bench.post("write_file", {"path": "same"}, "error", "ValueError", **bench.ids("pairs", "c3"))
    bench.statuses("pairs", ["PENDING", "CONFIRMED", "ERROR:ValueError"])


def pairs_by_name(bench: Bench) -> None:
    """without a call id it is paired by tool name: the same arguments, else the oldest"""
    for path in ("a", "b", "c"):
        bench.pre("patch", {"path": path}, **bench.ids("names"))
    bench.post("patch", {"path": "b"}, **bench.ids("names"))
    bench.statuses("names", ["PENDING", "CONFIRMED", "PENDING"])
    bench.post("patch", {"path": "elsewhere"}, **bench.ids("names"))
    bench.statuses("names", ["CONFIRMED", "CONFIRMED", "PENDING"])


def real_tool(bench: Bench) -> None:
    """a whole tool call goes from PENDING to CONFIRMED by itself"""
    bench.doors.write_file(bench.home / "hello.txt", bench.ids("real", "c1"))
    bench.statuses("real", ["CONFIRMED"])
    expect(bench.rows("real")[0]["tool_name"] == "write_file", "recorded under another name")


def finds_ghosts(bench: Bench) -> None:
    """a call that was never confirmed becomes a ghost once its grace period is over, and the next turn is told, once"""
    bench.pre("cronjob", {"action": "create", "name": "lost"}, **bench.ids("ghost", "c1"))
    bench.statuses("ghost", ["PENDING"])
    time.sleep(GRACE_S + 0.1)
    expect(bench.turn("another", "2") == "", "another conversation was told")
    told = bench.turn("ghost", "2")
    expect("cronjob" in told and "lost" in told, f"the turn was told {told!r}")
    bench.statuses("ghost", ["GHOST_REPORTED"])
    expect(bench.turn("ghost", "3") == "", "it was told twice")


def revives(bench: Bench) -> None:
    """a ghost that is confirmed late is settled in its own row, and the agent hears of it"""
    bench.post("cronjob", {"action": "create", "name": "lost"}, **bench.ids("ghost", "c1"))
    bench.statuses("ghost", ["CONFIRMED"])
    expect("it did land" in bench.turn("ghost", "4"), "nothing was said of it")


def records_changes_only(bench: Bench) -> None:
    """only tools that change something are recorded"""
    for tool, args in (
        ("read_file", {"path": "a"}),
        ("web_search", {"query": "a"}),
        ("cronjob", {"action": "list"}),
        ("process", {"action": "poll"}),
    ):
        bench.pre(tool, args, **bench.ids("kinds", f"read-{tool}"))
        bench.post(tool, args, **bench.ids("kinds", f"read-{tool}"))
    changing = ["terminal", "delegate_task", "mcp__shop__order", "a_tool_nobody_knows"]
    for tool in changing:
        bench.pre(tool, {"x": 1}, **bench.ids("kinds", tool))
    bench.statuses("kinds", ["PENDING"] * len(changing))
    seen = [row["tool_name"] for row in bench.rows("kinds")]
    expect(seen == changing, f"recorded were {seen}")


def never_interferes(bench: Bench) -> None:
    """odd payloads pass without an error and without a word to the host"""
    for args in (None, "no object", [1], {"circular": object()}):
        bench.pre("terminal", args, session_id="odd", turn_id="", task_id="", tool_call_id="")
    bench.fire("post_tool_call", tool_name="terminal", args=None, result=None)
    expect(bench.turn("odd", "1") == "", "an empty conversation was told something")


CHECKS = (
    loads,
    issue_comes_first,
    pairs_by_id,
    pairs_by_name,
    real_tool,
    finds_ghosts,
    revives,
    records_changes_only,
    never_interferes,
)


def check(bench: Bench, one: Callable[[Bench], None]) -> bool:
    """Run one check and print its line."""
    name = (one.__doc__ or one.__name__).strip()
    try:
        one(bench)
    except CheckError as error:
        print(f"FAIL  {name}: {error}")
    except Exception as error:
        print(f"FAIL  {name}: {type(error).__name__}: {error}")
    else:
        print(f"ok    {name}")
        return True
    return False


def main() -> int:
    # Run as a script, Python looks for modules in this folder first; the host's own must not be mistaken for ours.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != FOLDER]
    sys.dont_write_bytecode = True
    os.environ.pop("HERMES_SAFE_MODE", None)  # With it a host loads no plugin at all.
    home = Path(tempfile.mkdtemp(prefix="agent-ledger-selftest-"))
    os.environ["HERMES_HOME"] = str(home)
    settings = home / "plugin-data" / "agent-ledger" / "settings.json"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text(json.dumps({"grace_seconds": {"cronjob": GRACE_S}}), encoding="utf-8")
    logging.lastResort = None  # The host's chatter belongs into its log.
    try:
        try:
            doors = InstalledHost(home) if importlib.util.find_spec("hermes_cli") else OwnDoors(home)
        except Exception as error:
            print(f"FAIL  {loads.__doc__}: {type(error).__name__}: {error}")
            return 1
        bench = Bench(home, doors)
        # No generator: a check that failed must not keep the others from running.
        passed = [check(bench, one) for one in CHECKS]
        print(doors.about)
        return 0 if all(passed) else 1
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Some threads of the host never end by themselves.
    os._exit(code)
