"""`ship` as a person runs it: what it says, what it refuses, and that no password can be given to it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ledger_tui import cli
from ledger_tui.ship import address
from tests.chain.ledgers import Made
from tests.security.programs import Result, run

from .test_rounds import asked


def ship(home: Path, *words: str) -> Result:
    return run(home, "ship", *words)


def test_once(url: str, made: Made, home: Path) -> None:
    made.calls(1, 2)
    first = ship(home, "--to", url, "--once", "--host", "ada")
    assert (first.code, first.err) == (0, "")
    (name,) = asked(url, "SELECT ledger FROM agent_ledger_source")[0]
    where = url.partition("?")[0].rpartition("/")[2]
    assert first.out == (f"2 calls shipped to postgresql:///{where} as ada/{name}, a ledger that was not there yet.\n")
    second = ship(home, "--to", url, "--once", "--host", "ada", "--json")
    assert json.loads(second.out) == {"host": "ada", "ledger": name, "calls": 0, "new_ledger": False}


def test_a_home_without_a_ledger(url: str, home: Path) -> None:
    found = ship(home, "--to", url, "--once")
    assert found.code == 0
    assert found.out.startswith("Nothing recorded yet: ")


def test_an_engine_that_is_not_there(made: Made, home: Path, tmp_path: Path) -> None:
    made.calls(1, 1)
    found = ship(home, "--to", f"postgresql://kim@/fleet?host={tmp_path}", "--once")
    assert (found.code, found.out) == (3, "")
    assert found.err.startswith("postgresql:///fleet cannot be reached (")
    assert found.err.count("\n") == 1


def test_what_the_engine_refuses_is_no_defect_of_ours(url: str, made: Made, home: Path) -> None:
    made.calls(1, 1)
    found = ship(home, "--to", f"{url}&options=-c%20default_transaction_read_only%3Don", "--once")
    assert (found.code, found.out) == (3, "")
    assert "read-only" in found.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://kim:geheim@db.example/fleet",
        "postgresql://kim:@db.example/fleet",
        "postgresql://kim%3Ageheim@db.example/fleet",
        "postgres://db.example/fleet?password=geheim",
        "postgresql://db.example/fleet?sslmode=require&PASSWORD=geheim",
        "postgresql://db.example/fleet?sslpassword=geheim",
        "postgresql://kim:ge#heim@db.example/fleet",
        "postgresql://kim:ge?heim@db.example/fleet",
        "postgresql://kim:ge@heim@db.example/fleet",
    ],
)
def test_a_password_in_the_url_is_refused(home: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert cli.run(["--hermes-home", str(home), "ship", "--to", url, "--once"]) == 2
    said = capsys.readouterr().err
    assert said == f"--to: {address.NO_PASSWORD}\n"


def test_nothing_hides_behind_a_hash(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://db.example/fleet?sslmode=require#&password=geheim"
    assert cli.run(["--hermes-home", str(home), "ship", "--to", url, "--once"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("--to: A # has no meaning")
    assert "geheim" not in said


@pytest.mark.parametrize(
    "url", ["", "fleet", "http://db.example/fleet", "postgresql:/fleet", "postgresql://[::1/fleet"]
)
def test_what_is_no_address(home: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert cli.run(["--hermes-home", str(home), "ship", "--to", url]) == 2
    assert "postgresql://USER@HOST/DATABASE" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "a/b", "a\nb", "x" * 201])
def test_what_is_no_name_of_a_host(home: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert cli.run(["--hermes-home", str(home), "ship", "--to", "postgresql://db.example/f", "--host", name]) == 2
    assert capsys.readouterr().err.startswith("--host needs a name")


def test_without_the_package_it_says_what_to_install(made: Made, home: Path, tmp_path: Path) -> None:
    made.calls(1, 1)
    folder = tmp_path / "hidden"
    folder.mkdir()
    (folder / "psycopg.py").write_text("raise ImportError('not here')\n")
    env = {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    found = run(home, "ship", "--to", "postgresql://db.example/fleet", "--once", env=env)
    assert found.code == 3
    assert "-m pip install 'psycopg[binary]>=" in found.err


def test_what_stands_before_the_host_is_not_shown() -> None:
    assert address.shown("postgresql://kim@db.example:5433/fleet?sslmode=require") == (
        "postgresql://db.example:5433/fleet"
    )
