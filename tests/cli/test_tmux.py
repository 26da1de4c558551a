"""`tmux`: what it prints is understood by a real tmux, and opens what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.commands.tmux import lines, quoted

Tmux = Callable[..., str]

pytestmark = pytest.mark.tmux


@pytest.fixture
def tmux(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Tmux]:
    """Speaks to a server of its own, whose `hermes` and `ledger-tui` do nothing and stay."""
    found = shutil.which("tmux")
    if found is None:
        pytest.skip("no tmux here")
    for name in ("hermes", "ledger-tui"):
        (tmp_path / name).write_text("#!/bin/sh\nexec cat\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    sockets = tempfile.mkdtemp(prefix="t-", dir="/tmp")  # A socket's path has an end.
    environ = {
        "PATH": f"{tmp_path}:{os.environ.get('PATH', '')}", "HOME": str(tmp_path), "TMUX_TMPDIR": sockets,
        "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TERM": "screen",
    }  # fmt: skip

    def speak(*words: str) -> str:
        done = subprocess.run(
            [found, "-f", "/dev/null", *words], env=environ, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
        return done.stdout

    try:
        yield speak
        speak("kill-server")
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


def started(tmux: Tmux, width: int, folder: Path, printed: list[str]) -> None:
    """A session of that width with these lines in its configuration."""
    tmux("new-session", "-d", "-x", str(width), "-y", "50", "cat")
    (folder / "tmux.conf").write_text("\n".join(printed) + "\n", encoding="utf-8")
    tmux("source-file", str(folder / "tmux.conf"))


def typed(tmux: Tmux, key: str, folder: Path) -> None:
    """What is bound to `key` after the prefix, done as if it were typed."""
    (bound,) = [line for line in tmux("list-keys", "-T", "prefix").splitlines() if line.split()[3] == key]
    (folder / "bound.conf").write_text(bound.split(key, 1)[1].strip().replace("\\;", ";") + "\n", encoding="utf-8")
    tmux("source-file", str(folder / "bound.conf"))


def panes(tmux: Tmux) -> list[str]:
    """Window's name and command of every pane, an asterisk before the one in front."""
    shown = "#{?#{&&:#{window_active},#{pane_active}},*,}#{window_name} #{pane_start_command}"
    return [line.replace('"', "") for line in tmux("list-panes", "-s", "-F", shown).splitlines()][1:]


def test_the_lines_are_understood(tmux: Tmux, tmp_path: Path) -> None:
    started(tmux, 200, tmp_path, lines(["ledger-tui", "--hermes-home", "/srv/it's $HOME/hermes"]))
    assert tmux("show-options", "-gv", "status-right") == (
        "#(ledger-tui --hermes-home '/srv/it'\"'\"'s $HOME/hermes' status --tmux) | %H:%M \n"
    )
    bound = {line.split()[3]: line for line in tmux("list-keys", "-T", "prefix").splitlines()}
    assert "display-popup -E" in bound["G"]


def test_the_keys_are_free_in_tmux(tmux: Tmux) -> None:
    tmux("new-session", "-d", "cat")
    taken = {line.split()[3] for line in tmux("list-keys", "-T", "prefix").splitlines()}
    assert taken & {"G", "H"} == set()


def test_beside_the_chat_where_there_is_room(tmux: Tmux, tmp_path: Path) -> None:
    started(tmux, 200, tmp_path, lines(["ledger-tui"]))
    typed(tmux, "H", tmp_path)
    assert panes(tmux) == ["*hermes hermes", "hermes ledger-tui"]


def test_behind_it_where_there_is_none(tmux: Tmux, tmp_path: Path) -> None:
    started(tmux, 100, tmp_path, lines(["ledger-tui"]))
    typed(tmux, "H", tmp_path)
    assert panes(tmux) == ["*hermes hermes", "ledger ledger-tui"]


def test_the_home_before_the_command_is_meant(program: Any, home: Path) -> None:
    out = program("--hermes-home", str(home), "tmux").out
    assert f"--hermes-home {home} status --tmux) |" in out
    assert "--hermes-home" not in program("tmux").out


@pytest.mark.parametrize("name", ["a#b", "50%", "x(1)", "{x}"])
def test_what_tmux_would_misread_is_refused(program: Any, sentence: Any, tmp_path: Path, name: str) -> None:
    assert "misread" in sentence(program("--hermes-home", str(tmp_path / name), "tmux"), 2)


def test_quoted() -> None:
    assert quoted('a "b" $c \\d') == '"a \\"b\\" \\$c \\\\d"'
