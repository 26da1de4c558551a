"""The demonstration's incident as a released Hermes sees it: what it finds, and where the chat goes on."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.demo import command
from ledger_tui.demo.incident import FETE
from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.plan import look, propose

from .environments import Host, python_of

pytestmark = pytest.mark.host

ASK = """\
import json, sys
from pathlib import Path
from hermes_state import SessionDB
store = SessionDB(db_path=Path(sys.argv[1]))
found = store.find_latest_gateway_session_for_peer(**json.loads(sys.argv[2]))
lost = getattr(store, "find_orphaned_gateway_sessions", list)()
print(json.dumps({
    "answer": [found["id"], found["message_count"]],
    "lost": [(one["message_count"], one["adoptable"]) for one in lost if one["source"] == "telegram"],
    "listed": [one["id"] for one in store.list_sessions_rich(limit=100)],
}))
"""


def ask(host: Host, home: Path, folder: Path) -> dict[str, Any]:
    """Hermes opens a copy, since it writes to what it opens."""
    folder.mkdir()
    with closing(sqlite3.connect(home / "state.db")) as whole, closing(sqlite3.connect(folder / "state.db")) as copy:
        whole.backup(copy)
    peer = {"source": "telegram", "session_key": FETE.session_key, "chat_type": "dm"}
    peer |= {"user_id": FETE.user_id, "chat_id": FETE.chat_id}
    told = subprocess.run(
        [python_of(host), "-c", ASK, folder / "state.db", json.dumps(peer)],
        env={"HERMES_HOME": str(folder), "HOME": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr[-2000:]
    answer: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return answer


def test_hermes_falls_back_three_days_and_after_the_repair_goes_on(host: Host, tmp_path: Path) -> None:
    home = tmp_path / "home"
    command.run(scenario="incident", home=home, seed=1, speed=1.0, headless=True, duration=None)
    state = home / "state.db"
    before = ask(host, home, tmp_path / "before")
    assert before["answer"][1] == 12
    assert before["lost"] == ([] if host.is_019 else [[798, True]])  # 0.19 cannot look for them.

    plan = propose(state, look(read_store(state, home)), now=time.time())
    apply(state, home, plan, clock=time.time, stopped_by="the test")
    after = ask(host, home, tmp_path / "after")
    assert after["answer"][1] == 798
    assert after["lost"] == []
    if not host.is_019:  # A store in this layout is no longer one of 0.19, whose list hides such a child.
        assert after["answer"][0] in after["listed"]
