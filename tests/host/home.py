"""A throw-away Hermes home with our plugin in it, and what the ledger in it says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_ledger.engine import process, queries
from agent_ledger.engine.paths import Paths

from .environments import ROOT, Host, build
from .model import Model

DRIVER = Path(__file__).with_name("driver")
LONGEST_S = 240
"""A host that says nothing for so long is stuck."""

Action = dict[str, Any]
Row = Mapping[str, Any]


class HostFailedError(AssertionError):
    """The host process did not end as it should; the text holds what it said last."""


class HermesHome:
    """One home of one host: its folders, its model, and processes that run in it."""

    def __init__(self, host: Host, folder: Path, model: Model) -> None:
        self.host = host
        self.python = build(host)
        self.folder = folder
        # Not `~/.hermes`: below a test run Hermes 0.22 refuses to open a store that looks like a person's own.
        self.home = folder / "hermes-home"
        self.work = folder / "work"
        self.model = model
        self.paths = Paths(self.home)
        self.reports: list[dict[str, Any]] = []
        """One per action that finished, over all processes of this home."""
        self.work.mkdir(parents=True)
        install_plugin(self.home)
        self.configure()

    def configure(self, extra: str = "", *, compression: str = "", plugins: Sequence[str] = ()) -> None:
        """Write config.yaml; `extra` is more YAML at top level, `plugins` more plugins to enable."""
        enabled = ", ".join(["agent-ledger", *plugins])
        self.home.joinpath("config.yaml").write_text(
            f"model:\n  default: scripted\n  provider: custom\n  base_url: {self.model.url}\n  api_key: none\n"
            "  context_length: 64000\n"
            f"plugins:\n  enabled: [{enabled}]\n"
            f"compression:\n  enabled: true\n  threshold: 0.5\n  protect_last_n: 2\n  protect_first_n: 1\n{compression}"
            f"approvals:\n  mode: 'off'\n{extra}",
            encoding="utf-8",
        )

    def add_plugin(self, name: str) -> None:
        """Put one of the driver's own plugins beside ours."""
        shutil.copytree(DRIVER / name, self.home / "plugins" / name, ignore=shutil.ignore_patterns("__pycache__"))

    def settings(self, **entries: Any) -> None:
        self.paths.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.paths.settings.write_text(json.dumps(entries), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """What a host process sees: nothing of the person who runs the tests."""
        keep = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"HOME": str(self.folder), "HERMES_HOME": str(self.home), "TERMINAL_CWD": str(self.work)}
        return {"PATH": os.defpath, **keep, **own, "HERMES_YOLO_MODE": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(
        self,
        *actions: Action,
        killed: bool = False,
        script: str = "turns.py",
        environment: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Run actions in one host process; returns its report. `killed`: it must end by `kill -9`.

        Raises HostFailedError.
        """
        number = len(list(self.folder.glob("plan-*.json")))
        plan, report = self.folder / f"plan-{number}.json", self.folder / f"report-{number}.jsonl"
        plan.write_text(
            json.dumps({"model_url": self.model.url, "report": str(report), "actions": actions}), encoding="utf-8"
        )
        output = self.folder / f"output-{number}.txt"
        with open(output, "w", encoding="utf-8") as sink:
            host = subprocess.Popen(
                [str(self.python), str(DRIVER / script), str(plan)],
                cwd=self.work,
                env={**self.environment(), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = host.wait(LONGEST_S)
            except subprocess.TimeoutExpired:
                os.killpg(host.pid, signal.SIGKILL)
                code = host.wait()
                raise HostFailedError(f"the host was stuck:\n{_tail(output)}") from None
        if code != (-signal.SIGKILL if killed else 0):
            raise HostFailedError(f"the host ended with {code}:\n{_tail(output)}")
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        done = [json.loads(line) for line in lines]
        self.reports += done
        return done

    def rows(self, session: str | None = None, *, tool: str | None = None) -> list[Row]:
        """Rows of the ledger as `calls --json` gives them, oldest first."""
        wanted = queries.Filter(session_id=session, tool_name=tool)
        connection = sqlite3.connect(f"file:{self.paths.ledger}?mode=ro", uri=True, timeout=5)
        try:
            columns = [name for (name,) in connection.execute(*queries.COLUMNS_QUERY)]
            found = connection.execute(*queries.calls(columns, wanted, newest_first=False)).fetchall()
            writers = {w.id: w for w in map(queries.writer_from_row, connection.execute(*queries.WRITERS_QUERY))}
        finally:
            connection.close()
        rows: list[Row] = []
        for made in map(queries.call_from_row, found):
            writer = writers.get(made.writer_id or 0)
            dead = process.is_dead(writer) if writer else None
            mono = time.monotonic() if writer and process.same_boot(writer) else None
            rows.append(queries.call_json(made, now=time.time(), mono_now=mono, writer_dead=dead))
        return rows

    def row(self, session: str | None = None, *, tool: str | None = None) -> Row:
        """The only row that fits."""
        rows = self.rows(session, tool=tool)
        assert len(rows) == 1, [(r["tool_name"], r["status"], r["session_id"]) for r in rows]
        return rows[0]

    def sessions(self) -> dict[str, str | None]:
        """Session ids of the host's store with their parents."""
        connection = sqlite3.connect(f"file:{self.paths.state}?mode=ro", uri=True, timeout=5)
        try:
            return dict(connection.execute("SELECT id, parent_session_id FROM sessions ORDER BY started_at"))
        finally:
            connection.close()


def install_plugin(home: Path) -> Path:
    """Copy our plugin into a home, as a person does who follows the README."""
    place = home / "plugins" / "agent-ledger"
    shutil.copytree(ROOT / "agent_ledger", place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def _tail(output: Path) -> str:
    return output.read_text(encoding="utf-8", errors="replace")[-4000:]
