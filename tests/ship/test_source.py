"""`--source`: the commands say of a shipped ledger what they say of it where it lies."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ledger_tui import cli
from ledger_tui.commands.source import ONLY, Shipped
from ledger_tui.ship.brought import Brought, chosen, sources
from ledger_tui.ship.engine import engine
from ledger_tui.ship.following import SLOW_S, Following
from ledger_tui.sources.copied import CopiedLedger
from tests.chain.ledgers import Made
from tests.engine.homes import until
from tests.security.programs import environment

from .engines import Engine
from .test_brought import rows
from .test_rounds import full, here, ship

Said = tuple[int, str, str]


@pytest.fixture
def both(url: str, made: Made, path: Path, home: Path, capsys: pytest.CaptureFixture[str], left: Path) -> Any:
    """Runs a command on the home and on what it shipped."""
    full(made)
    made.settle(4, "c4", "ERROR:timeout")
    ship(url, path)

    def run(*words: str) -> tuple[Said, Said]:
        said = []
        for where in (("--hermes-home", str(home)), ("--source", url)):
            code = cli.run([*where, *words])
            said.append((code, *capsys.readouterr()))
        return said[0], said[1]

    return run


def without_age(text: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "age_s"} for row in json.loads(text)]


def test_calls(both: Any) -> None:
    there, shipped = both("calls", "--json")
    assert shipped[0] == 0
    assert without_age(shipped[1]) == without_age(there[1])
    assert len(without_age(shipped[1])) == 4


def test_calls_with_a_filter(both: Any) -> None:
    there, shipped = both("calls", "--state", "ghost", "--json")
    assert without_age(shipped[1]) == without_age(there[1])
    assert [row["id"] for row in json.loads(shipped[1])] == [3]


def test_posture(both: Any) -> None:
    there, shipped = both("posture", "--json")
    assert shipped == there
    there, shipped = both("posture")
    assert there[1].splitlines()[1:] == shipped[1].splitlines()[1:]
    assert shipped[1].startswith("Ledger  ada/")


@pytest.mark.parametrize("what", ["calls", "posture"])
def test_export(both: Any, what: str) -> None:
    there, shipped = both("export", what, "--format", "md")
    assert shipped == there


def test_status(both: Any) -> None:
    there, shipped = both("status", "--json")
    assert shipped[0] == 0
    mine, its = json.loads(there[1]), json.loads(shipped[1])
    assert its["home"].startswith("ada/")
    own = {"path", "spooled", "set_aside"}
    assert its["ledger"]["path"] == mine["ledger"]["path"]
    assert {**its["ledger"], **dict.fromkeys(own)} == {**mine["ledger"], **dict.fromkeys(own)}
    assert its["posture"] == mine["posture"]
    assert set(its) == {*mine, "shipped"}
    assert its["sessions"]["total"] is None
    assert its["gateway"]["running"] is None
    assert its["shipped"] == "2026-01-02T12:00:00.000Z"


def test_status_for_a_person(both: Any) -> None:
    _, shipped = both("status")
    lines = shipped[1].splitlines()
    assert [line.split()[0] for line in lines] == ["home", "ledger", "posture", "shipped"]
    assert lines[1] == "ledger    4 calls: 1 ghost, 2 confirmed, 1 error"
    assert lines[3] == "shipped   last at 2026-01-02 12:00:00 UTC; nothing else of its home is"


def test_fail_on(both: Any) -> None:
    assert both("status", "--fail-on", "ghost")[1][0] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("sessions",), ("doctor",), ("verify",), ("prune", "--keep", "1", "--apply"), ("repair-routing",),
        ("policy", "report"), ("ship", "--to", "postgresql://db.example/f"),
        ("export", "sessions", "--format", "json"),
    ],
)  # fmt: skip
def test_what_is_not_shipped_is_refused(
    url: str, made: Made, path: Path, capsys: pytest.CaptureFixture[str], left: Path, words: tuple[str, ...]
) -> None:
    full(made)
    ship(url, path)
    assert cli.run(["--source", url, *words]) == 2
    assert capsys.readouterr() == ("", f"{ONLY}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--host", "ada", "status"),
        ("--source", "postgresql://db.example/f", "--ledger", "ledger.db", "calls"),
        ("--source", "postgresql://db.example/f", "--profile", "work", "calls"),
        ("--source", "postgresql://kim:geheim@db.example/f", "calls"),
        ("--source", "db.example", "calls"),
        ("--source", "postgresql://db.example/f", "status", "--tmux"),
        ("--source", "postgresql://db.example/f", "status", "--fail-on", "orphan"),
        ("--source", "postgresql://db.example/f", "posture", "ledger.db"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], left: Path, words: tuple[str, ...]) -> None:
    assert cli.run([*words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "geheim" not in said


def test_help_asks_no_engine(capsys: pytest.CaptureFixture[str], left: Path) -> None:
    assert cli.run(["--source", "postgresql://db.example/f", "calls", "--help"]) == 0


def test_several_hosts(url: str, made: Made, path: Path, capsys: pytest.CaptureFixture[str], left: Path) -> None:
    made.calls(1, 1)
    ship(url, path, host="ada")
    made.calls(2, 2)
    ship(url, path, host="bea")
    assert cli.run(["--source", url, "status"]) == 3
    assert "name one by --host: ada, bea." in capsys.readouterr().err
    assert cli.run(["--source", url, "--host", "bea", "calls", "--json"]) == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == [1, 2]


def test_an_engine_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str], left: Path) -> None:
    assert cli.run(["--source", f"postgresql:///fleet?host={tmp_path}", "calls"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("postgresql:///fleet cannot be reached (")


def one_call_brought(made: Made, url: str, path: Path, tmp_path: Path) -> tuple[Brought, CopiedLedger]:
    """A ledger with one call, shipped, and what brings it; to be closed."""
    made.calls(1, 1)
    ship(url, path)
    copy = CopiedLedger(tmp_path / "copy")
    with engine(url) as connection:
        return Brought(chosen(sources(connection), None), copy), copy


def test_it_follows_over_an_engine_that_goes_away(
    server: Engine, url: str, made: Made, path: Path, tmp_path: Path
) -> None:
    brought, copy = one_call_brought(made, url, path, tmp_path)
    with engine(url) as connection:
        brought.refresh(connection)
    said: list[str] = []
    with Following(url, brought, said.append, every_s=0.01):
        made.calls(2, 2)
        ship(url, path)
        until(lambda: len(rows(copy, "ledger")) == 2, "the second call is brought")
        server.kill()
        until(lambda: bool(said), "it is told")
        server.start()
        made.calls(3, 3)
        ship(url, path)
        until(lambda: len(rows(copy, "ledger")) == 3, "the third call is brought")
        until(lambda: said[-1] == "", "it is told that it is over")
    copy.close()
    assert "went away (" in said[0]
    assert here(made, "ledger") == rows(copy, "ledger")


def test_it_follows_over_what_nobody_thought_of(
    url: str, made: Made, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought, copy = one_call_brought(made, url, path, tmp_path)
    errors, refresh = [ValueError("odd"), KeyError()], brought.refresh

    def failing(connection: Any) -> bool:
        if errors:
            raise errors.pop(0)
        return refresh(connection)

    monkeypatch.setattr(brought, "refresh", failing)
    said: list[str] = []
    with Following(url, brought, said.append, every_s=0.01):
        until(lambda: said[-1:] == [""], "it is told that it is over")
    copy.close()
    assert said == ["odd", "KeyError", ""]


def test_an_answer_that_does_not_come_is_told_of(
    url: str, made: Made, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the network was cut, or the machine of the engine went to sleep."""
    brought, copy = one_call_brought(made, url, path, tmp_path)
    asked, answered, now = threading.Event(), threading.Event(), [100.0]
    refresh = brought.refresh

    def slow(connection: Any) -> bool:
        asked.set()
        answered.wait()
        return refresh(connection)

    monkeypatch.setattr(brought, "refresh", slow)
    said: list[str] = []
    with Following(url, brought, said.append, every_s=0.01, mono=lambda: now[0]):
        until(asked.is_set, "the engine is asked")
        now[0] += SLOW_S
        until(lambda: said == ["postgresql:///postgres has not answered yet."], "it is told")
        answered.set()
        until(lambda: said[-1] == "", "it is told that it is over")
    copy.close()
    assert len(said) == 2


def test_of_many_that_hang_none_is_waited_for(
    url: str, made: Made, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought, copy = one_call_brought(made, url, path, tmp_path)
    asked, answered, now = threading.Event(), threading.Event(), [100.0]

    def hanging(connection: Any) -> bool:
        asked.set()
        answered.wait()
        return False

    monkeypatch.setattr(brought, "refresh", hanging)
    said: list[str] = []
    waited: list[float] = []
    followed = Following(url, brought, said.append, mono=lambda: now[0])
    join = followed._thread.join
    monkeypatch.setattr(followed._thread, "join", waited.append)
    followed.__enter__()
    until(asked.is_set, "the engine is asked")
    for busy_s in (0.0, 0.25, 5.0):
        now[0] = 100.0 + busy_s
        followed.__exit__(None, None, None)
    answered.set()
    join()
    copy.close()
    assert waited == [1.0, 0.75, 0.0]


def test_an_engine_that_takes_long_keeps_nobody(
    url: str, made: Made, path: Path, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder goes; the copy is closed under nobody's hands."""
    made.calls(1, 1)
    ship(url, path)
    shipped = Shipped(url, None)
    shipped.bring()
    entered, answered, written = threading.Event(), threading.Event(), threading.Event()

    def slow(brought: Brought, connection: Any) -> bool:
        entered.set()
        answered.wait()
        with brought._copy:
            written.set()
        return True

    monkeypatch.setattr(Brought, "refresh", slow)
    with shipped.following() as following:
        until(entered.is_set, "the engine is asked")
    shipped.close()
    assert isinstance(following, Following)
    assert following.running
    answered.set()
    until(lambda: not following.running, "it ends")
    assert written.is_set()


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, -15), (signal.SIGHUP, -1)])
def test_watch(url: str, made: Made, path: Path, home: Path, left: Path, how: signal.Signals, code: int) -> None:
    """However it is ended, `left` finds nothing of it."""
    ship_one = iter(range(1, 10_000))

    def more() -> None:
        made.calls(number := next(ship_one), number)
        ship(url, path)

    more()
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui", "--source", url, "watch", "--json"],
        env=environment(home, {"TMPDIR": str(left)}), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(how, signal.SIG_DFL),  # Also where the tests themselves run under nohup.
    )  # fmt: skip
    assert process.stdout is not None
    try:
        # What stands there at its first look is no news: calls come until one is.
        while not select.select([process.stdout], [], [], 0.5)[0]:
            assert process.poll() is None
            more()
        event = json.loads(os.read(process.stdout.fileno(), 100_000).splitlines()[0])
        assert (event["kind"], event["tool_name"]) == ("issued", "write_file")
        process.send_signal(how)
        assert process.wait(60) == code
        assert process.stderr is not None
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
