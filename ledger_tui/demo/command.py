"""`demo`: a home, a simulated host in a process beside us, and the app open on both."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths
from ledger_tui.demo.errors import AskedError, HostError
from ledger_tui.demo.home import made
from ledger_tui.demo.process import READY, Plan, command, environment
from ledger_tui.demo.scenarios import DEFAULT, SCENARIOS

LABEL = "simulation"
"""Stands beside every screen's name."""

SHOWN_S, WIDTH = 8.0, 48
"""How long a word of the simulated host stays on the screen, and in lines of how many characters."""

ENDS_S = 5.0
"""How long the simulated host may take to end before it is killed."""


def run(
    *,
    scenario: str | None,
    home: Path | None,
    seed: int,
    speed: float,
    headless: bool,
    duration: float | None,
) -> Path | None:
    """Play a scenario; returns the home that stays, None for a throwaway one.

    `duration` is in seconds, `speed` a factor; both above zero. Raises DemoError, OSError.
    """
    name = DEFAULT if scenario is None else scenario
    if name not in SCENARIOS:
        raise AskedError(f"There is no scenario {name!r}; there are: {', '.join(sorted(SCENARIOS))}.")
    if not headless and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise AskedError("The app needs a terminal, and this is none; to make the home only, add --headless.")
    throwaway = home is None and not headless
    folder = Path(os.path.abspath(home)) if home else Path(tempfile.mkdtemp(prefix="ledger-tui-demo-"))
    plan = Plan(
        home=str(folder),
        scenario=name,
        seed=seed,
        speed=speed,
        opened_at=time.time(),
        live_s=(duration or 0.0) if headless else None,
        throwaway=throwaway,
    )
    try:
        with made(folder, scenario=name, seed=seed), _host(plan) as host:
            if headless:
                host.wait()
            else:
                _app(folder, duration, host)
    except BaseException:
        if home is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if throwaway:
        shutil.rmtree(folder, ignore_errors=True)
    return None if throwaway else folder


@contextlib.contextmanager
def _host(plan: Plan) -> Iterator[subprocess.Popen[str]]:
    """The simulated host with its history written. It is gone when this is left, however it is left.

    Raises HostError with its own last words where it does not come that far, or ends in an error.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as words:
        host = subprocess.Popen(
            command(plan),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
            encoding="utf-8",
            env=_environment(plan.home),
            # Ctrl-C in the terminal is for the app; the host ends when its standard input does.
            start_new_session=True,
        )
        try:
            assert host.stdout is not None
            if host.stdout.readline().strip() != READY:
                host.wait()
                raise _failure(words)
            yield host
        finally:
            code = _end(host)
        if code:
            raise _failure(words)


def _environment(home: str) -> dict[str, str]:
    return {**environment(), "HERMES_HOME": home, "PYTHONDONTWRITEBYTECODE": "1"}


def _end(host: subprocess.Popen[str]) -> int:
    assert host.stdin is not None
    assert host.stdout is not None
    with contextlib.suppress(OSError):
        host.stdin.close()
    try:
        return host.wait(ENDS_S)
    except subprocess.TimeoutExpired:
        host.kill()
        host.wait()
        return 0
    finally:
        host.stdout.close()


def _failure(words: IO[str]) -> HostError:
    words.seek(0)
    last = next((line for line in reversed(words.read().splitlines()) if line.strip()), "it said nothing")
    return HostError(f"The simulated host ended early ({inert(last.strip())}).")


def _app(folder: Path, duration: float | None, host: subprocess.Popen[str]) -> None:
    from ledger_tui.app import make_app, opened
    from ledger_tui.personal import settle

    async def shown() -> None:
        app = make_app(Paths(folder), label=LABEL)
        settle(app)
        loop = asyncio.get_running_loop()

        def show(line: str) -> None:
            if app.is_running:
                app.notify(textwrap.fill(line, WIDTH), title=LABEL, timeout=SHOWN_S, markup=False)

        threading.Thread(target=_listen, args=(host, lambda line: loop.call_soon_threadsafe(show, line))).start()
        if duration is not None:
            loop.call_later(duration, app.exit)
        async with opened(app):
            await app.run_async()

    asyncio.run(shown())


def _listen(host: subprocess.Popen[str], heard: Callable[[str], object]) -> None:
    """What the simulated host says of itself, until it or the app is gone."""
    assert host.stdout is not None
    with contextlib.suppress(RuntimeError, ValueError):  # The app's loop is closed, or the pipe.
        for line in host.stdout:
            heard(inert(line.strip()))
