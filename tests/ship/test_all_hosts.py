"""`--source` with `--all-hosts`: every ledger that was shipped, answered about at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC
from pathlib import Path

import psycopg
import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui import cli
from ledger_tui.app import LedgerApp, opened
from ledger_tui.commands.source import every_shipped
from ledger_tui.home_feeds import Home
from ledger_tui.ship.following import Following
from tests.app.conftest import Run
from tests.app.ledgers import Clock
from tests.chain.ledgers import NOW, Made
from tests.engine.homes import until
from tests.security.programs import environment

from .test_rounds import asked, ship


@pytest.fixture
def fleet(url: str, made: Made, path: Path, left: Path) -> str:
    """What `ada` shipped of one call, and `bea` of two, one of them an error."""
    made.calls(1, 1)
    ship(url, path, host="ada")
    made.issue("c2")
    made.settle(2, "c2", "ERROR:timeout")
    ship(url, path, host="bea")
    return url


def run(url: str, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(["--source", url, "--all-hosts", *words])
    return code, *capsys.readouterr()


def test_status(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(fleet, capsys, "status", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [(one["name"], one["ledger"]["rows"], one["ledger"]["error"]) for one in found] == [
        ("ada", 1, 0),
        ("bea", 2, 1),
    ]
    assert [one["home"].split("/")[0] for one in found] == ["ada", "bea"]
    lines = run(fleet, capsys, "status")[1].splitlines()
    assert lines[1].split() == ["ada", "1", "0", "0", "0", "0", "?", "unknown"]
    assert lines[2].split() == ["bea", "2", "0", "0", "0", "1", "?", "unknown"]


def test_calls_and_posture(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(fleet, capsys, "calls", "--json")
    assert code == 0
    assert sorted((row["home"].split("/")[0], row["id"]) for row in json.loads(out)) == [
        ("ada", 1),
        ("bea", 1),
        ("bea", 2),
    ]
    assert "bea   2  " in run(fleet, capsys, "calls")[1]
    code, out, _ = run(fleet, capsys, "posture", "--json")
    assert {one["name"] for one in json.loads(out)} == {"ada", "bea"}


@pytest.mark.parametrize(
    "odd",
    [
        "[]", "5", "{", "[" * 100_000, '{"foo": 1}', '{"reason": {"no": 1}}', '{"reason": {"hex": "zz"}}',
        '{"reason": {"hex": 5}}', '{"reason": [1]}', '{"reason": true}', '{"reason": 9223372036854775808}',
        '{"reason": "\\ud800"}', '{"changed": -5}', '{"changed": "x"}', '{"id": -7}', '{"id": "x"}',
    ],
)  # fmt: skip
def test_a_cell_that_no_ledger_had_keeps_nothing_back(fleet: str, capsys: pytest.CaptureFixture[str], odd: str) -> None:
    with psycopg.connect(fleet) as connection:
        connection.execute("UPDATE agent_ledger_call SET odd = %s WHERE host = 'bea' AND id = 2", (odd,))
    code, out, err = run(fleet, capsys, "calls", "--json")
    assert (code, err) == (0, "")
    assert [(row["home"].split("/")[0], row["id"], row["status"]) for row in json.loads(out)] == [
        ("ada", 1, "CONFIRMED"),
        ("bea", 1, "CONFIRMED"),
        ("bea", 2, "ERROR:timeout"),
    ]


def test_no_ledger_hides_another_by_its_name(fleet: str) -> None:
    """Two of `ada`, and one that calls its machine as the second of these is called."""
    columns = "origin, begun, shipped, shipped_to, writings"
    with psycopg.connect(fleet) as connection:
        for host, ledger, place in (("ada", "older", "/srv/a.db"), ("ada/older", "one", "/srv/b.db")):
            connection.execute(
                f"INSERT INTO agent_ledger_source(host, ledger, place, {columns})"
                f" SELECT %s, %s, %s, {columns} FROM agent_ledger_source WHERE host = 'bea'".encode(),
                (host, ledger, place),
            )
    names = list(every_shipped(fleet))
    assert len(names) == 4
    assert {"ada/older (1)", "ada/older (2)", "bea"} < set(names)


def test_what_works_on_one_ledger_says_so(fleet: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(fleet, capsys, "export", "calls", "--format", "csv")
    assert (code, out) == (2, "")
    assert "leave out --all-hosts, and name a host with --host" in err


def test_a_ledger_that_took_the_place_of_another(fleet: str, made: Made, path: Path) -> None:
    """The one that is no longer there stays where it was shipped, and is asked for by its name."""
    change = "UPDATE agent_ledger_source SET {} WHERE host = 'ada' AND ledger {} 'older' RETURNING ledger"
    once = "shipped = '2025-01-01T00:00:00.000Z', ledger = 'older', origin = 'older'"
    assert asked(fleet, change.format(once, "<>")) == [("older",)]
    made.calls(3, 3)
    ship(fleet, path, host="ada")
    assert list(every_shipped(fleet)) == ["ada", "bea"]
    assert asked(fleet, change.format("place = '/srv/other/ledger.db'", "=")) == [("older",)]
    names = list(every_shipped(fleet))
    assert names[1:] == ["ada/older", "bea"]
    assert names[0].startswith("ada/")


@pytest.mark.parametrize(
    "words",
    [
        ("--all-hosts", "status"),
        ("--source", "postgresql://db.example/f", "--all-hosts", "--host", "ada", "status"),
        ("--source", "postgresql://db.example/f", "--all-profiles", "status"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], left: Path, words: tuple[str, ...]) -> None:
    assert cli.run([*words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_help_and_what_is_refused_ask_no_engine(capsys: pytest.CaptureFixture[str], left: Path) -> None:
    nowhere = "postgresql://db.example/f"
    assert run(nowhere, capsys, "calls", "--help")[0] == 0
    assert run(nowhere, capsys, "export", "calls", "--format", "csv")[0] == 2


def test_nothing_shipped(url: str, capsys: pytest.CaptureFixture[str], left: Path) -> None:
    assert run(url, capsys, "status") == (3, "", "No ledger was shipped there yet; ledger-tui ship does that.\n")


def test_no_copy_is_left_when_it_is_ended(fleet: str, home: Path, left: Path) -> None:
    """`left` finds nothing of either."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui", "--source", fleet, "--all-hosts", "watch", "--json"],
        env=environment(home, {"TMPDIR": str(left)}), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    )  # fmt: skip
    until(lambda: len(list(left.rglob("ledger.db"))) == 2, "both ledgers are brought")
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM


async def test_the_app_shows_them_side_by_side(
    fleet: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is followed: what is shipped of one shows in its line."""
    monkeypatch.setitem(Following.__init__.__kwdefaults__ or {}, "every_s", 0.02)
    ledgers, clock = every_shipped(fleet), Clock(NOW + 60)
    for one in ledgers.values():
        one.bring()
    homes = [Home(Paths(one.home), name=name, shipped=one) for name, one in ledgers.items()]
    app = LedgerApp(homes, clock=clock, mono=clock.mono, zone=UTC, environ={})
    try:
        async with opened(app), app.run_test(size=(100, 24), notifications=True) as pilot:
            run = Run(app, pilot)
            await run.until_shown("ada", "bea", "1 error")
            made.issue("c7", tool_name="terminal")
            made.report(3)
            ship(fleet, path, host="ada")
            await run.until_shown("1 ghost")
    finally:
        for one in ledgers.values():
            one.close()
