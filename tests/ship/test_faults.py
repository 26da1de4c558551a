"""Whoever goes away, engine or machine, and wherever: nothing is lost, nothing is there twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger_tui.ship import tables
from ledger_tui.ship.engine import EngineError, engine
from ledger_tui.ship.shipping import Shipped, Shipper
from ledger_tui.ship.streaming import Stream
from ledger_tui.sources.raw_rows import raw_ledger
from tests.chain.ledgers import NOW, Made
from tests.engine.homes import until
from tests.security.programs import ROOT, environment

from .engines import Engine
from .test_rounds import full, same, ship

_CALLS, _VERDICTS = 5, 6
"""The last two writings in a round of one page, counted from 0. The verdicts have a transaction of their own."""

_KILLED = """
import os, signal, sys
from ledger_tui import cli
from ledger_tui.ship import tables
left, keep = int(sys.argv[1]), tables.keep
def killed(*values):
    global left
    keep(*values)
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
tables.keep = killed
cli.run(["ship", "--once", "--host", "ada", "--to", sys.argv[2]])
"""


def killed(home: Path, url: str, after: int) -> None:
    """A machine that loses its current in the middle of a round."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(after), url],
        env=environment(home), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("after", [0, 3, _CALLS, _VERDICTS])
def test_the_machine_goes_away_in_the_middle(url: str, made: Made, home: Path, path: Path, after: int) -> None:
    full(made)
    killed(home, url, after)
    done = ship(url, path)
    assert done.rows == (0 if after == _VERDICTS else 4)
    same(url, made, done)


def test_it_goes_away_again_after_more_was_recorded(url: str, made: Made, home: Path, path: Path) -> None:
    full(made)
    first = ship(url, path)
    made.settle(4, "c4")
    made.calls(5, 9)
    killed(home, url, 3)
    second = ship(url, path)
    assert (second.ledger, second.rows) == (first.ledger, 6)
    same(url, made, second)


@pytest.mark.parametrize("at", [0, _CALLS, _VERDICTS])
def test_the_engine_goes_away_in_the_middle(
    server: Engine, url: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    full(made)
    left, keep = [at], tables.keep

    def failing(*values: Any) -> None:
        keep(*values)
        if not left[0]:
            server.kill()
        left[0] -= 1

    monkeypatch.setattr(tables, "keep", failing)
    with pytest.raises(EngineError) as caught:
        ship(url, path)
    assert caught.value.passes
    monkeypatch.undo()
    server.start()
    done = ship(url, path)
    assert done.rows == (0 if at == _VERDICTS else 4)
    same(url, made, done)


class Acts:
    """Stands for the rests of a stream: in each, something happens; after the last one, Ctrl-C."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        self._acts = list(acts)
        self.rests: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.rests.append(seconds)
        if not self._acts:
            raise KeyboardInterrupt
        self._acts.pop(0)()


def streamed(url: str, path: Path, acts: Acts) -> tuple[list[Shipped], list[str]]:
    done: list[Shipped] = []
    said: list[str] = []
    stream = Stream(url, Shipper("ada", path, lambda: NOW), acts, done.append, said.append)
    with pytest.raises(KeyboardInterrupt):
        stream.run()
    return done, said


def test_a_stream_outlives_its_engine(server: Engine, url: str, made: Made, path: Path) -> None:
    made.calls(1, 2)
    acts = Acts(server.kill, lambda: made.calls(3, 3), lambda: made.calls(4, 4), server.start)
    done, said = streamed(url, path, acts)
    assert [found.rows for found in done] == [2, 2]
    assert "went away (" in said[0]
    assert "cannot be reached (" in said[1]
    assert said[2:] == [""]
    # Two seconds after the round; nothing to look at once the engine is gone, so it is not noticed yet; then rests.
    assert acts.rests == [2.0, 2.0, 1.0, 2.0, 2.0]
    same(url, made, done[-1])


def test_a_stream_waits_for_the_ledger_and_follows_another_in_its_place(
    url: str, home: Path, path: Path, tmp_path: Path
) -> None:
    ledgers: list[Made] = []

    def begin(name: str, machine: str, last: int) -> None:
        ledger = Made(tmp_path / name)
        ledger.do(
            f"INSERT INTO writer(pid,started,boot_id,pid_namespace,machine,opened_ts) VALUES(1,'','','','{machine}','')"
        )
        ledger.calls(1, last)
        ledgers.append(ledger)
        (tmp_path / name).replace(path)

    done, said = streamed(
        url, path, Acts(lambda: begin("a.db", "one", 2), lambda: None, lambda: begin("b.db", "other", 3))
    )
    assert [(found.rows, found.begun) for found in done] == [(2, True), (3, True)]
    assert said == []
    for ledger, found in zip(ledgers, done, strict=True):
        same(url, ledger, found)
        ledger.db.close()


def test_a_writing_in_the_same_tick_of_the_clock_is_seen(
    url: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files' time and size stay as they are; only what is written while that time is fresh is looked for."""
    now = [1000.02]
    monkeypatch.setattr("ledger_tui.ship.streaming._stat", lambda _: (1, 1, 1000 * 10**9, 4096))
    made.calls(1, 1)

    def later() -> None:
        now[0] = 1002.02
        made.calls(2, 3)

    done: list[int] = []
    acts = Acts(later, lambda: made.calls(4, 4), lambda: None)
    shipper = Shipper("ada", path, lambda: now[0])
    stream = Stream(url, shipper, acts, lambda found: done.append(found.rows), lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        stream.run()
    assert done == [1, 2]


def test_a_stream_says_once_that_the_ledger_cannot_be_read(url: str, made: Made, path: Path, tmp_path: Path) -> None:
    made.calls(1, 1)
    good = tmp_path / "good.db"
    made.do("PRAGMA wal_checkpoint(TRUNCATE)")
    path.rename(good)
    path.write_bytes(b"no database at all" * 100)
    done, said = streamed(url, path, Acts(lambda: None, lambda: None, lambda: good.replace(path)))
    assert len(said) == 2
    assert "is no SQLite database" in said[0]
    assert said[1] == ""
    assert [found.rows for found in done] == [1]


def test_what_time_does_not_mend_ends_a_stream(url: str, made: Made, path: Path) -> None:
    made.calls(1, 1)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE agent_ledger_source (host TEXT)")
        connection.execute("CREATE VIEW agent_ledger_writer AS SELECT 1 AS id")
    stream = Stream(url, Shipper("ada", path, lambda: NOW), Acts(), lambda _: None, lambda _: None)
    with pytest.raises(EngineError, match="does not take this"):
        stream.run()


def test_a_ledger_that_is_taken_out_in_the_middle(
    url: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.calls(1, 2)
    note = Shipper._note

    def robbed(shipper: Shipper, connection: Any, *values: Any) -> None:
        note(shipper, connection, *values)
        connection.execute("DELETE FROM agent_ledger_source")

    monkeypatch.setattr(Shipper, "_note", robbed)
    with pytest.raises(EngineError, match=r"^ada/\w{16} was taken out of agent_ledger_source") as caught:
        ship(url, path)
    assert caught.value.passes
    monkeypatch.undo()
    done = ship(url, path)
    assert done.begun
    same(url, made, done)


def test_a_defect_of_ours_is_not_blamed_on_the_ledger(made: Made, path: Path) -> None:
    made.calls(1, 1)
    with pytest.raises(ValueError, match="ours"), raw_ledger(path):
        raise ValueError("ours")


def test_the_encoding_of_the_terminal_is_not_that_of_the_rows(
    url: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    made.issue("c1", workplace="/srv/日本")
    same(url, made, ship(url, path))


def test_only_what_gives_no_connection_cannot_be_reached(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger_tui.ship.engine.STATEMENT_MS", 1)
    with pytest.raises(EngineError, match=r"does not take this \(canceling statement") as caught, engine(url) as slow:
        slow.execute("SELECT pg_sleep(60)")
    assert caught.value.passes
    with pytest.raises(EngineError, match="cannot be reached") as caught, engine(url.replace("/postgres?", "/none?")):
        pass
    assert caught.value.passes


@pytest.mark.parametrize(("more", "wait"), [("", "30000"), ("&tcp_user_timeout=5000", "5000")])
def test_a_link_that_is_cut_is_given_up(url: str, more: str, wait: str) -> None:
    with engine(url + more) as connection:
        found = connection.info.get_parameters()
    assert (found["tcp_user_timeout"], found["keepalives_idle"]) == (wait, "15")


def test_a_wrong_password_is_no_engine_that_is_away(server: Engine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = server.root / "data" / "pg_hba.conf"
    before = rules.read_text()
    guarded = url.replace("tester@", "guarded@")
    said = ""

    def asks() -> bool:
        nonlocal said
        try:
            with engine(guarded):
                return False
        except EngineError as error:
            said = str(error)
            return True

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        try:
            rules.write_text(f"local all guarded scram-sha-256\n{before}")
            connection.execute("SELECT pg_reload_conf()")
            monkeypatch.setenv("PGPASSWORD", "wrong")
            until(asks, "the engine asks for a password")
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")
    assert "does not let us in (" in said
    assert "wrong" not in said


def test_two_that_ship_at_once_take_turns(url: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full(made)
    first = ship(url, path)
    made.calls(5, 8)
    others: list[threading.Thread] = []
    keep = tables.keep

    def meanwhile(*values: Any) -> None:
        if not others:
            others.append(threading.Thread(target=ship, args=(url, path)))
            others[0].start()
        keep(*values)

    monkeypatch.setattr(tables, "keep", meanwhile)
    second = ship(url, path)
    others[0].join()
    assert second.rows == 4
    assert second.ledger == first.ledger
    same(url, made, second)


def test_two_that_make_the_tables_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, tries = tables._make, []

    def overtaken(*values: Any) -> None:
        tries.append(values[1])
        if len(tries) == 1:
            raise psycopg.errors.UniqueViolation
        make(*values)

    monkeypatch.setattr(tables, "_make", overtaken)
    with psycopg.connect(url, autocommit=True) as connection:
        tables.prepare(connection)
        assert tries[:2] == [tables.SOURCE] * 2
        assert tables.columns_of(connection, tables.SOURCE)


def test_columns_that_an_older_version_did_not_make_are_added(url: str, made: Made, path: Path) -> None:
    full(made)
    ship(url, path)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE agent_ledger_call DROP COLUMN workplace")
    made.settle(4, "c4")
    same(url, made, ship(url, path))
