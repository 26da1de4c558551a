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

import ledger_tui
from agent_ledger.engine.paths import Paths
from ledger_tui.demo import policies, release, world
from ledger_tui.demo.hooks import Door, Ids, Past, PastClock
from ledger_tui.demo.host import Host
from ledger_tui.demo.incident import hurried
from ledger_tui.demo.incident_gateway import Gateway
from ledger_tui.demo.scenarios import SCENARIOS
from ledger_tui.demo.story import Scenario

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
    return [*_PYTHON, json.dumps(asdict(plan))]


def environment() -> dict[str, str]:
    """With it the process finds our packages from wherever it is started."""
    root = str(Path(ledger_tui.__file__).resolve().parents[1])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path}


_PYTHON = (sys.executable, "-P", "-m", "ledger_tui.demo.process")
"""Without the folder in which it is started: an agent may have put a module there whose name we would import."""


def main(argument: str) -> None:
    plan = Plan(**json.loads(argument))
    os.umask(0o077)  # What it plays in its home is nobody else's, as with a real agent that is careful.
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
    world.announce(home)
    scenario = SCENARIOS[plan.scenario]
    if plan.live_s is None:
        scenario = hurried(scenario, plan.speed)
    told = told_at_once(plan, scenario)
    opened_at = plan.opened_at - told
    clock = PastClock(opened_at)
    past = Past(home, clock)
    moment = [clock.wall]
    gateway = Gateway(scenario, home, lambda: moment[0]())
    host = Host(
        scenario,
        gateway.store,
        past,
        home=home,
        seed=plan.seed,
        clock=lambda: moment[0](),
        kill=lambda tool, args, ids: lost_writer(home, moment[0](), tool, args, ids),
    )
    gateway.play(host)
    try:
        history(host, clock, opened_at, told)
        past.close()
        say(READY)
        if plan.live_s is None or plan.live_s > 0:
            moment[0] = time.time
            gateway.tell = say
            host.go_on(Door(), plan.speed)
            live(host, plan, opened_at, stop)
            host.hooks.close()
    finally:
        gateway.stop()


def told_at_once(plan: Plan, scenario: Scenario) -> float:
    """How many seconds after its opening a story is history already: an outage, where nobody watches it happen."""
    return scenario.outage.stops + 1.0 if scenario.outage and plan.live_s is not None else 0.0


def say(line: str) -> None:
    """A word to whoever started this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def history(host: Host, clock: PastClock, opened_at: float, until: float) -> None:
    """Everything that is due until then, each at its own moment."""
    while (at := host.next_at()) is not None and at <= until:
        clock.move_to(opened_at + at)
        host.step()


def live(host: Host, plan: Plan, opened_at: float, stop: threading.Event) -> None:
    """Everything after it, as time passes."""
    started = time.monotonic()
    opened = started - max(0.0, time.time() - opened_at)
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
        [*_PYTHON, _VICTIM],
        env=environment(),
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
    world.announce(Path(said["home"]))
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
