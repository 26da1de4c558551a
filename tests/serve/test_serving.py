"""The whole program: `ledger-tui serve` with the real app in its windows, and what is left of it afterwards."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.app.ledgers import Clock, Ledger, a_day
from tests.engine.homes import until

from .windows import Window

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not list its processes")


@dataclass
class Serving:
    """The program, as it says where its page is."""

    process: subprocess.Popen[str]
    said: list[str]

    @property
    def url(self) -> str:
        return self.said[1]

    @property
    def secret(self) -> str:
        return urlsplit(self.url).path.strip("/")

    @property
    def apps(self) -> list[int]:
        """The processes that it started."""
        return [pid for pid, (_, parent) in processes().items() if parent == self.process.pid]


def processes() -> dict[int, tuple[str, int]]:
    """Number, command line with environment, and parent of every process that lives and may be looked at."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                seen = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                found[int(folder.name)] = (seen.decode("utf-8", "replace"), int(parent))
        except OSError:
            continue
    return found


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    ledger = Ledger(folder, Clock())
    a_day(ledger)
    yield folder
    ledger.db.close()


@contextmanager
def serving(home: Path, *options: str, **environ: str) -> Iterator[Serving]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui", "--hermes-home", str(home), "serve", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "LC_ALL": "C.UTF-8", **environ},
        cwd=home.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield Serving(process, [process.stdout.readline().rstrip("\n") for _ in range(3)])
    finally:
        process.kill()
        process.communicate()


def leading_to(url: str, address: str) -> Path:
    """The file that a browser was named, which nobody else may read."""
    page = Path(unquote(urlsplit(address).path))
    assert url in page.read_text()
    assert [stat.S_IMODE(one.stat().st_mode) for one in (page.parent, page)] == [0o700, 0o600]
    return page


async def test_two_windows_and_an_end_that_leaves_nothing(home: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/part" && mv "{tmp_path}/part" "{tmp_path}/shown"\n')
    browser.chmod(0o755)
    with serving(home, "--open", BROWSER=f"{browser} %s") as program:
        assert program.said[2] == "Ctrl-C ends it."
        until(lambda: (tmp_path / "shown").exists(), "the browser was started")
        page = leading_to(program.url, (tmp_path / "shown").read_text().strip())

        async with Window.opened(program.url) as first, Window.opened(program.url, 80, 24) as second:
            await first.until("Calls", "ghost", "cronjob")
            await second.until("Calls", "ghost")
            await first.press("2")
            await first.until("Posture", "score")
            assert "Calls" in second.screen
            assert len(program.apps) == 2
            assert [text for text, _ in processes().values() if program.secret in text] == []
            await second.press("q")
            await second.ended()
            until(lambda: len(program.apps) == 1, "the app of the window that was left is gone")
            apps = program.apps
            program.process.send_signal(signal.SIGINT)
            await first.ended()
        out, err = program.process.communicate(timeout=60)
        assert (program.process.returncode, out, err) == (0, "", "")
        assert not processes().keys() & set(apps)
        assert not page.parent.exists()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_apps_do_not_outlive_their_server(home: Path, ending: signal.Signals) -> None:
    with serving(home) as program:
        async with Window.opened(program.url) as window:
            await window.until("Calls", "ghost")
            apps = program.apps
            assert len(apps) == 1
            program.process.send_signal(ending)
            await window.ended()
        assert program.process.wait(60) == (-ending if ending == signal.SIGKILL else 0)
        until(lambda: not processes().keys() & set(apps), "its app ends, too")


async def test_not_even_one_that_is_only_starting(home: Path) -> None:
    with serving(home) as program:
        async with Window.opened(program.url):
            until(lambda: bool(program.apps), "an app is started")
            apps = program.apps
            program.process.kill()
        until(lambda: not processes().keys() & set(apps), "it ends, too")
