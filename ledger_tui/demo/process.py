"""The simulated host's process: history first, then life, until nobody holds its standard input any more.

`python -m ledger_tui.demo.process PLAN` with a plan in JSON (see `Plan`). It prints `ready` when the history stands.
The process that started it holds the other end of its standard input, so it cannot outlive that one by more than a
moment, however that one ended.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import Paths
from ledger_tui.demo import policies, release
from ledger_tui.demo.hooks import Door, Ids, Past, PastClock
from ledger_tui.demo.host import Host
from ledger_tui.demo.scenarios import SCENARIOS
from ledger_tui.demo.store import SessionStore

READY = "ready"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a simulated host is to do."""

    home: str
    scenario: str
    seed: int
    speed: float
    opened_at: float
    """Seconds since 1970: the moment that the scenario's times count from."""
    live_s: float | None
    """Seconds of life after the history; None: until it is told to stop."""
    throwaway: bool
    """Remove the home at the end."""


def command(plan: Plan) -> list[str]:
    """The command line that runs `plan`."""
    return [sys.executable, "-m", "ledger_tui.demo.process", json.dumps(asdict(plan))]


def main(argument: str) -> None:
    plan = Plan(**json.loads(argument))
    stop = threading.Event()
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()
    try:
        run(plan, stop)
    finally:
        if plan.throwaway:
            shutil.rmtree(plan.home, ignore_errors=True)


def _watch(stop: threading.Event) -> None:
    """Whoever started this process is gone, or wants it to end, when its standard input ends."""
    while os.read(0, 1024):
        pass
    stop.set()


def run(plan: Plan, stop: threading.Event) -> None:
    """Play the plan in its home, which has no `state.db` yet."""
    home = Path(plan.home)
    policies.put(Paths(home))
    clock = PastClock(plan.opened_at)
    past = Past(home, clock)
    moment = [clock.wall]
    store = SessionStore(home / "state.db")
    host = Host(
        SCENARIOS[plan.scenario],
        store,
        past,
        home=home,
        seed=plan.seed,
        clock=lambda: moment[0](),
        kill=lambda tool, args, ids: lost_writer(home, clock.wall(), tool, args, ids),
    )
    try:
        history(host, clock, plan.opened_at)
        past.close()
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        if plan.live_s is None or plan.live_s > 0:
            moment[0] = time.time
            host.go_on(Door(), plan.speed)
            live(host, plan, stop)
            host.hooks.close()
    finally:
        store.close()


def history(host: Host, clock: PastClock, opened_at: float) -> None:
    """Everything that is due before the opening, each at its own moment."""
    while (at := host.next_at()) is not None and at <= 0:
        clock.move_to(opened_at + at)
        host.step()


def live(host: Host, plan: Plan, stop: threading.Event) -> None:
    """Everything after it, as time passes."""
    started = time.monotonic()
    opened = started - max(0.0, time.time() - plan.opened_at)
    end = float("inf") if plan.live_s is None else started + plan.live_s
    while True:
        at = host.next_at()
        due = min(end, float("inf") if at is None else opened + at)
        # A wait of bounded length: some systems take no endless one.
        if stop.wait(max(0.0, min(due - time.monotonic(), 3600.0))) or time.monotonic() >= end:
            return
        if at is not None and time.monotonic() >= opened + at:
            host.step()


# -- a process that is killed in the middle of a call ---------------------------------------------------------------

_VICTIM = "--victim"


def lost_writer(home: Path, at: float, tool: str, args: dict[str, Any], ids: Ids) -> None:
    """Another process of the host announces a call, and is killed while the tool runs. A real one, really killed."""
    said = json.dumps({"home": str(home), "at": at, "tool": tool, "args": args, "ids": ids})
    victim = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui.demo.process", _VICTIM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert victim.stdin is not None
        assert victim.stdout is not None
        victim.stdin.write(said + "\n")
        victim.stdin.flush()
        victim.stdout.readline()
    finally:
        victim.kill()
        victim.communicate()


def _victim() -> None:
    said = json.loads(sys.stdin.readline())
    past = Past(Path(said["home"]), PastClock(said["at"]), elsewhere=False)
    past.issue(said["tool"], said["args"], said["ids"])
    sys.stdout.write("issued\n")
    sys.stdout.flush()
    sys.stdin.read()  # The end comes from outside.


if __name__ == "__main__":
    if sys.argv[1] == _VICTIM:
        _victim()
    else:
        release.announce()
        main(sys.argv[1])
