"""Every hook, command, repair and the app, once, in one home, each with everything written down that it touches."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from tests.app.terminals import Pty
from tests.engine.homes import WORKER, until
from tests.serve.windows import Window

from .programs import ROOT, environment

WATCHING = Path(__file__).with_name("watching")
PLUGIN = ROOT / "agent_ledger"

TOKEN = "123456:abcdefghijklmnop"

CREDENTIALS = (".env", "auth.json", "credentials.json")
"""Files in which a host keeps credentials."""

_CALLS = """
import fcntl
start()
pre('c1', {'command': 'touch done.txt'}, 'terminal'); post('c1', {'command': 'touch done.txt'}, 'terminal')
pre('lost', {'path': '%(home)s/workspace/lost.md', 'content': 'x'}); merged()
with open('%(home)s/plugin-data/agent-ledger/ledger.lock', 'r+') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    pre('waits'); post('waits'); turn()
say(merged())
door.pre_tool_call(tool_name='terminal', args={'command': 'rm -rf /'}, **ids('refused'))
say(merged())
"""

_COMMANDS = """
import json, sys
from ledger_tui import cli
sys.exit(max([cli.run(words) for words in json.loads(sys.argv[1])]))
"""

_ONE_CALL = "start(); pre('c1'); post('c1')"


_WAITS = """
import fcntl
with open(door.recorder().keeper.paths.turnstile, 'r+') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    pre('c2')
    os._exit(0)
"""
"""A host that is killed while it waits for the ledger."""


@dataclass
class Seen:
    """What one program did, in order."""

    actor: str
    home: Path
    code: int
    out: str
    err: str
    events: list[dict[str, Any]]


@dataclass
class Journey:
    """A home, and a folder for temporary files, that a whole series of programs went through with a umask of 000."""

    root: Path
    seen: dict[str, Seen] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    """By path, a folder's with a slash at its end: every bit that was ever set."""
    asked: list[str] = field(default_factory=list)
    """Addresses at which the Bot API was asked."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    def environ(self, name: str, home: Path | None = None) -> dict[str, str]:
        more = {
            "TMPDIR": str(self.temporary),
            "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
            "LEDGER_TUI_WATCHED": str(self._log(name)),
            "PYTHONPATH": f"{WATCHING}{os.pathsep}{ROOT}",
        }
        return environment(home or self.home, more)

    def _log(self, name: str) -> Path:
        return self.root / "logs" / f"{name.replace('/', '_')}.log"

    def go(
        self, actor: str, *words: str, name: str, home: Path | None = None, stdin: str = "",
        env: dict[str, str] | None = None,
    ) -> Seen:  # fmt: skip
        """Runs Python with these words; keeps under `name` what it did."""
        done = subprocess.run(
            [sys.executable, *words],
            env={**self.environ(name, home), **(env or {})},
            cwd=self.root,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            umask=0,
        )
        return self.keep(actor, name, done.returncode, done.stdout, done.stderr, home)

    def keep(
        self, actor: str, name: str, code: int, out: str = "", err: str = "", home: Path | None = None
    ) -> Seen:  # fmt: skip
        """What a program did that has ended, and the modes of all there is now."""
        self.seen[name] = found = Seen(actor, home or self.home, code, out, err, self.events(name))
        for path in self.root.rglob("*"):
            if not path.is_symlink():
                key = f"{path}/" if path.is_dir() else str(path)
                self.modes[key] = self.modes.get(key, 0) | path.stat().st_mode & 0o777
        return found

    def tui(self, actor: str, *commands: Sequence[str], name: str = "") -> Seen:
        """These commands of `ledger-tui`, one after the other in one process; the code is the highest of theirs."""
        return self.go(actor, "-c", _COMMANDS, json.dumps(commands), name=name or actor)

    def events(self, name: str) -> list[dict[str, Any]]:
        """What it has done so far; a line that is just being written is not there yet."""
        log = self._log(name)
        whole = log.read_text().rpartition("\n")[0] if log.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]


LOOKING = (
    ("status",), ("status", "--json"), ("calls", "--json"), ("sessions",), ("posture", "--json"),
    ("repair-routing",), ("policy", "report"), ("policy", "test", "rm -rf /"), ("policy", "replay"),
    ("policy", "lint"), ("prompt-policy", "test", "hello"), ("prompt-policy", "lint"), ("plugin", "status"),
    ("doctor",), ("prune", "--keep", "5"), ("export", "calls", "--format", "csv"), ("ledger-check",),
)  # fmt: skip


def travelled(root: Path, engine: str) -> Journey:
    """The whole journey; `engine` is the URL of a PostgreSQL. Takes some seconds."""
    journey = Journey(root)
    for folder in ("tmp", "logs", "bin"):
        (root / folder).mkdir()
    hermes = root / "bin" / "hermes"
    hermes.write_text("#!/bin/sh\necho 'Hermes Agent v0.22.2'\n")
    hermes.chmod(0o755)
    journey.tui("demo", ["demo", "--headless", "--home", str(journey.home), "--scenario", "incident"])
    for name in CREDENTIALS:
        (journey.home / name).write_text("OPENAI_API_KEY=not-ours\n")
    _hooks(journey)
    journey.tui("commands", *LOOKING)
    journey.go("commands", "-m", "ledger_tui", "status", "--tmux", name="status --tmux")
    _watch(journey)
    _serve(journey)
    _scripts(journey)
    _app(journey)
    journey.tui("verify", ["verify"])
    journey.tui(
        "export",
        ["export", "calls", "--format", "csv", "-o", str(root / "calls.csv")],
        ["export", "sessions", "--format", "json", "-o", str(root / "sessions.json")],
        ["export", "posture", "--format", "md", "-o", str(root / "posture.md")],
    )
    journey.tui("ship", *[["ship", "--to", engine, "--once"]] * 2)
    asked = (["status"], ["calls"], ["posture"], ["export", "calls", "--format", "csv"])
    journey.tui("source", *[["--source", engine, *words] for words in asked])
    journey.tui("prune", ["prune", "--keep", "5", "--apply"])
    journey.tui("repair", ["repair-undo", "--yes"], ["repair-routing", "--apply", "--yes"], ["repair-undo", "--yes"])
    orphan = _orphan(journey)
    journey.tui("ignore", ["sessions", "--ignore", orphan, "orphan"], ["sessions", "--unignore", orphan, "orphan"])
    journey.tui("install", ["plugin", "install"])
    journey.tui("commands", ["doctor"], ["status", "--json"], name="commands, later")
    journey.tui("install", ["plugin", "uninstall"], name="uninstall")
    return journey


def _orphan(journey: Journey) -> str:
    with closing(sqlite3.connect(f"{(journey.home / 'state.db').as_uri()}?mode=ro", uri=True)) as connection:
        ((found,),) = connection.execute("SELECT id FROM sessions WHERE session_key IS NULL AND source = 'telegram'")
    return str(found)


def _hooks(journey: Journey) -> None:
    for name in ("policy_mode", "prompt_policy_mode"):
        (journey.home / "plugin-data" / "agent-ledger" / name).write_text("enforce\n")
    script = _CALLS % {"home": journey.home}
    journey.go("hooks", str(WORKER), "script", name="hooks", stdin=script)
    event = {"hook_event_name": "pre_llm_call", "session_id": "s1", "extra": {"user_message": "AKIAIOSFODNN7EXAMPLE"}}
    journey.go("hooks", str(PLUGIN / "prompt_hook.py"), name="prompt hook", stdin=json.dumps(event))
    fresh, blocked = journey.root / "fresh" / "home", journey.root / "blocked" / "home"
    fresh.mkdir(parents=True)
    (blocked / "plugin-data").mkdir(parents=True)
    (blocked / "plugin-data" / "agent-ledger").write_text("a file where the folder should be")
    journey.go("hooks", str(WORKER), "script", name="hooks, fresh", home=fresh, stdin=f"{_ONE_CALL}; say(merged())")
    journey.go("hooks", str(WORKER), "script", name="hooks, waiting", home=fresh, stdin=_WAITS)
    journey.go("hooks", str(WORKER), "script", name="hooks, blocked", home=blocked, stdin=_ONE_CALL)


def _watch(journey: Journey) -> None:
    """`watch` until it reads both databases, then ended by Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui", "watch"],
        env=journey.environ("watch"), cwd=journey.root, stdout=subprocess.DEVNULL, umask=0,
    )  # fmt: skip
    try:
        until(lambda: _databases(journey.events("watch")) >= {"ledger.db", "state.db"}, "watch reads")
        process.send_signal(signal.SIGINT)
        journey.keep("commands", "watch", process.wait(30))
    finally:
        process.kill()
        process.wait()


def _serve(journey: Journey) -> None:
    """`serve` and the app in one of its windows, both written down together; ended by Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui", "serve"],
        env=journey.environ("serve"), cwd=journey.root, stdout=subprocess.PIPE, text=True, umask=0,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = [process.stdout.readline().strip() for _ in range(3)]
        asyncio.run(_looked_at(said[1]))
        process.send_signal(signal.SIGINT)
        journey.keep("commands", "serve", process.wait(60))
    finally:
        process.kill()
        process.communicate()


async def _looked_at(url: str) -> None:
    async with Window.opened(url) as window:
        await window.until("Sessions", "ghost")


def _databases(events: Sequence[dict[str, Any]]) -> set[str]:
    return {event["path"].partition("?")[0].rpartition("/")[2] for event in events if event["what"] == "database"}


def _scripts(journey: Journey) -> None:
    journey.go("commands", str(PLUGIN / "posture.py"), name="posture.py")
    journey.go("commands", str(PLUGIN / "posture_daily.py"), "--dry-run", name="posture_daily.py --dry-run")
    with _bot_api(journey.asked) as address:
        names = {"POSTURE_TELEGRAM_BOT_TOKEN": TOKEN, "POSTURE_TELEGRAM_CHAT_ID": "1"}
        journey.go("daily", str(PLUGIN / "posture_daily.py"), "--api", address, name="daily", env=names)
    journey.go("selftest", str(PLUGIN / "selftest.py"), name="selftest")


@contextmanager
def _bot_api(asked: list[str]) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"ok": true}')

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Watched(Pty):
    """The app in a terminal, written down like the programs."""

    journey: Journey

    def _open(self, size: tuple[int, int]) -> None:
        self._env |= self.journey.environ("app")
        super()._open(size)


def _app(journey: Journey) -> None:
    """Looks at every screen, verifies, exports, sets aside and takes back, repairs."""
    terminal = type("Watched", (_Watched,), {"journey": journey})(journey.home, (110, 36))
    here: Callable[..., str] = terminal.until
    former = os.umask(0)
    try:
        here("Sessions", "ghost")
        terminal.send("V")
        here("landed")
        terminal.send("e")
        here("Export to calls-")
        terminal.send("\x15")
        terminal.wait(lambda: "Export to calls-" not in terminal.screen(), "an empty line")
        terminal.send(*str(journey.root / "seen.csv"))
        here("seen.csv")
        terminal.send("Enter")
        here("were written")
        for key, word in (("2", "findings"), ("4", "refused"), ("5", "epair"), ("3", "after repair")):
            terminal.send(key)
            here(word)
        terminal.send("i")
        here("Set aside: ")
        terminal.send("i")
        here("No longer set aside")
        terminal.send("r")
        here("leases:")
        terminal.send("n")
        here("goes on from")
        terminal.send("n")
        here("would be taken back")
        terminal.send("n")
        here("An empty line closes")
        if "Type stopped" in terminal.screen():  # Where processes cannot be looked into, a person says so.
            terminal.send(*"stopped", "Enter")
            here("Type repair")
        terminal.send(*"repair", "Enter")
        here("The repair is done, and proven.")
        journey.keep("app", "app", 0)
    finally:
        os.umask(former)
        terminal.close()
