"""What the page about prevention says of the faults and of the library is so."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger_tui.demo.incident import OUTAGE
from ledger_tui.demo.incident_gateway import GRACE_S
from ledger_tui.demo.store import SessionStore
from ledger_tui.routing.hardened import INCIDENT, Fault

from .pages import code, page, sections, table

SECTIONS = sections(page("prevention.md"))


def test_every_fault_is_named_and_the_incident_has_the_first_four() -> None:
    named = [code(row[0])[0] for row in table(SECTIONS["The old faults"])]
    assert named == [fault.value for fault in Fault]
    assert {Fault(name) for name in named[:4]} == INCIDENT


def test_the_moments_of_the_demonstration() -> None:
    shown = [row[0] for row in table(SECTIONS["See it happen"])]
    assert shown == [f"{at:.0f} s" for at in (OUTAGE.crashes, OUTAGE.restarts, OUTAGE.asks, OUTAGE.stops)]
    assert "Half a minute after the repair" in SECTIONS["See it happen"]
    assert GRACE_S == 30.0


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SessionStore(tmp_path / "state.db", lambda: 0.0).close()
    (example,) = re.findall(r"```python\n(.*?)```", SECTIONS["Using it"], re.S)
    names: dict[str, object] = {}
    exec(example, names)
    assert names["history"] == [{"role": "user", "content": "Good morning."}]
    connection = names["connection"]
    assert isinstance(connection, sqlite3.Connection)
    with closing(connection):
        row = connection.execute(
            "SELECT source, session_key, chat_id, chat_type, profile_name FROM sessions"
        ).fetchone()
    assert row == ("telegram", "agent:main:telegram:dm:70010123", "70010123", "dm", "default")
