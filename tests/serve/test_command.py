"""The command line of `serve`: one sentence for whatever cannot be done, and what the app is told."""

from __future__ import annotations

import errno
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ledger_tui.serve
from ledger_tui import cli
from ledger_tui.serve import opening, server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = cli.run(list(words))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return code, err


def test_without_the_extra(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("server", "session"):
        monkeypatch.delattr(ledger_tui.serve, name)
        monkeypatch.delitem(sys.modules, f"ledger_tui.serve.{name}")
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    code, said = refused(capsys, "--hermes-home", str(home), "serve")
    assert code == 2
    assert "-m pip install 'textual-serve>=" in said


def test_on_a_port_that_is_taken(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused(capsys, "--hermes-home", str(home), "serve", "--port", str(port))
    assert code == 3
    assert said.startswith(f"Port {port} of 127.0.0.1 cannot be listened on (")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["serve", "--port", "65536"], 2, "--port"),
        (["serve", "--port", "-1"], 2, "--port"),
        (["serve", "--port", "http"], 2, "--port"),
        (["--plain", "serve"], 2, "leave out serve"),
        (["--ledger", "/nowhere/ledger.db", "serve"], 3, "/nowhere/ledger.db"),
        (["--source", "postgresql://ada:geheim@db.example/fleet", "serve"], 2, "password"),
    ],
)
def test_what_cannot_be_meant(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    before = [] if "--source" in words else ["--hermes-home", str(home)]
    found, sentence = refused(capsys, *before, *words)
    assert found == code
    assert said in sentence


@pytest.mark.parametrize(
    "before",
    [
        [],
        ["--hermes-home=.", "--state=-odd.db"],
        ["--hermes-home=.", "--profile=work", "--profile=play"],
        ["--hermes-home=.", "--hermes-home=other", "--all-profiles"],
        ["--source=postgresql://db.example/fleet", "--host=ada"],
    ],
)
def test_the_app_is_told_what_stood_before(home: Path, monkeypatch: pytest.MonkeyPatch, before: list[str]) -> None:
    told: list[list[str]] = []

    async def at_once(served: server.Server, *_: Any) -> None:
        told.append(list(served._command))

    monkeypatch.setattr(server, "until_ended", at_once)
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.chdir(home)
    (home / "-odd.db").touch()
    assert cli.run([*before, "serve"]) == 0
    assert [(words[:4], sorted(words[4:])) for words in told] == [
        ([sys.executable, "-P", "-m", "ledger_tui"], sorted(before))
    ]


def test_it_listens_on_this_machine_only() -> None:
    with server.listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_without_room_for_the_page_that_leads_there_the_address_is_still_good(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def at_once(_: server.Server, listening: socket.socket, ready: Callable[[], None]) -> None:
        ready()

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    monkeypatch.setattr(server, "until_ended", at_once)
    assert cli.run(["--hermes-home", str(home), "serve", "--open"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("http://127.0.0.1:")
    assert err == (
        "The page that leads there cannot be written (No space left on device); open the address yourself.\n"
    )


def test_a_browser_comes_from_no_folder_that_the_path_does_not_name_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, str]] = []

    def show(address: str) -> bool:
        shown.append((address, os.environ["PATH"]))
        return False

    monkeypatch.setenv("PATH", os.pathsep.join((".", "/usr/bin", "bin", "", "/bin")))
    monkeypatch.setattr(webbrowser, "open", show)
    assert not opening.show("file:///x")
    assert shown == [("file:///x", os.pathsep.join(("/usr/bin", "/bin")))]
