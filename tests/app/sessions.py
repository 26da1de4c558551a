"""Stores of sessions for the app's tests: the host's own incident, and hand-made ones in the layout of 0.22."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.routing import corpus
from tests.routing.corpus import case

from .ledgers import NOW

COLUMNS = (
    "id TEXT PRIMARY KEY", "source TEXT NOT NULL", "user_id TEXT", "session_key TEXT", "chat_id TEXT",
    "chat_type TEXT", "thread_id TEXT", "parent_session_id TEXT REFERENCES sessions(id)", "started_at REAL NOT NULL",
    "ended_at REAL", "end_reason TEXT", "message_count INTEGER DEFAULT 0", "title TEXT", "display_name TEXT",
    "origin_json TEXT", "profile_name TEXT", "last_activity_at REAL", "handoff_state TEXT",
    "archived INTEGER DEFAULT 0", "model_config TEXT",
)  # fmt: skip

INCIDENT_NOW = 1_786_272_000.0
"""An hour after the last message of the incident's orphan."""

ZOMBIE, ORPHAN = corpus.DONOR, corpus.ORPHAN
"""Rows of the incident: 12 messages, and the 798 that went on from it."""


class Sessions:
    """A `state.db` in a home, open for writing."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.path = home / "state.db"
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute(f"CREATE TABLE sessions({', '.join(COLUMNS)})")
        self.db.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,"
            " content TEXT, timestamp REAL NOT NULL)"
        )
        self.db.execute("CREATE INDEX idx_messages_session ON messages(session_id, timestamp)")

    def add(self, id: str, *, ago: float, messages: int = 0, every: float = 60.0, **columns: Any) -> str:
        """A session that began `ago` seconds before NOW, with messages `every` so many seconds from then on."""
        start = NOW - ago
        values = {"id": id, "source": "telegram", "started_at": start, "message_count": messages, **columns}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO sessions({names}) VALUES({marks})", tuple(values.values()))
        for number in range(messages):
            role = ("user", "assistant")[number % 2]
            self.say(id, f"message {number + 1} of {id}", at=start + every * number, role=role)
        return id

    def chat(self, id: str, *, ago: float, **columns: Any) -> str:
        """The same with the identity of one chat."""
        identity = {
            "session_key": "agent:main:telegram:dm:42", "chat_id": "42", "chat_type": "dm", "user_id": "42",
            "profile_name": "default",
        }  # fmt: skip
        return self.add(id, ago=ago, **{**identity, **columns})

    def say(self, id: str, text: str, *, at: float, role: str = "user") -> None:
        self.db.execute(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES(?, ?, ?, ?)", (id, role, text, at)
        )


def the_incident(home: Path) -> Path:
    """The incident's own store in the home, as a file that nobody holds. Returns its path."""
    home.mkdir(parents=True, exist_ok=True)
    store = home / "state.db"
    store.write_bytes(case("incident-82616").store)
    return store


def a_family(home: Path) -> Sessions:
    """One chat through a compression with a delegate and a branch, a lost row that goes on from it, and a CLI row."""
    made = Sessions(home)
    made.chat(
        "root", ago=90_000, messages=6, title="Trip to the coast", ended_at=NOW - 80_000, end_reason="compression"
    )
    made.chat("tip", ago=80_000, messages=8, every=600, title="Trip to the coast #2", parent_session_id="root")
    made.add("helper", ago=79_000, messages=3, source="subagent", parent_session_id="root",
             model_config='{"_delegate_from": "root"}', ended_at=NOW - 78_000, end_reason="agent_close")  # fmt: skip
    made.add("fork", ago=78_000, messages=2, source="telegram", parent_session_id="tip", title="What if by train",
             model_config='{"_branched_from": "tip"}', ended_at=NOW - 70_000, end_reason="agent_close")  # fmt: skip
    made.add("lost", ago=75_000, messages=40, every=1200, user_id="42")
    made.add("shell", ago=5000, messages=4, source="cli", title="Rename the photos", ended_at=NOW - 4000,
             end_reason="cli_close")  # fmt: skip
    return made


def a_forest(home: Path) -> Sessions:
    """The family, and around it what a home of some weeks holds: other chats, delegates, schedules, unsure rows."""
    made = a_family(home)
    for name, key in (("anna", "7"), ("bert", "8")):
        made.chat(f"20260529_10{key}000_{name}", ago=50_000, messages=6, title=f"Chat of {name}", user_id=key,
                  chat_id=key, session_key=f"agent:main:telegram:dm:{key}")  # fmt: skip
    made.add("20260529_224500_5c11e0aa", ago=49_500, messages=30, every=600)
    made.chat("20260501_080000_0d0e0f00", ago=2_500_000, messages=9, source="discord", title="Garden plan",
              session_key="agent:main:discord:channel:900", chat_id="900", chat_type="channel")  # fmt: skip
    made.add("20260530_060000_cron01", ago=21_600, messages=5, source="cron", title="Morning digest",
             ended_at=NOW - 21_500, end_reason="cron_complete")  # fmt: skip
    made.chat("20260530_101500_aa10bb20", ago=6300, messages=14, source="slack", title="Invoice numbers next year",
              session_key="agent:main:slack:dm:U04", chat_id="U04", user_id="U04")  # fmt: skip
    for n in range(3):
        made.add(f"20260530_10{n + 2}000_sub{n}", ago=6000 - n * 600, messages=4, source="subagent",
                 parent_session_id="20260530_101500_aa10bb20", title=f"Look up invoice {n + 1}",
                 model_config='{"_delegate_from": "20260530_101500_aa10bb20"}',
                 ended_at=NOW - 5900 + n * 600, end_reason="agent_close")  # fmt: skip
    return made


def two_donors(home: Path) -> Sessions:
    """Two chats fell quiet just before a row without any identity began: a person must say which one goes on in it."""
    made = Sessions(home)
    for name, key in (("anna", "7"), ("bert", "8")):
        made.chat(name, ago=50_000, messages=6, title=f"Chat of {name}", user_id=key, chat_id=key,
                  session_key=f"agent:main:telegram:dm:{key}")  # fmt: skip
    made.add("lost", ago=49_500, messages=30, every=600)
    return made


def hostile(home: Path) -> Sessions:
    """Titles and ids that would like to be markup, escapes or wider than they look."""
    made = Sessions(home)
    made.chat("a", ago=5000, messages=2, title="[@click=app.quit]quit[/] [bold red]x[/nope]")
    made.chat(
        "b", ago=4000, messages=2, title="\x1b]0;owned\x07\u202eevil\x1b[2J", session_key="agent:main:telegram:dm:7"
    )
    made.chat(
        "c",
        ago=3000,
        messages=2,
        title="五月の予算を全部まとめた表と旅行の計画とその他のこと",
        session_key="agent:main:telegram:dm:8",
    )
    made.chat(
        "d", ago=2000, messages=2, title="👩‍👩‍👧 ❤️ " + "e" + "\u0301" * 40, session_key="agent:main:telegram:dm:9"
    )
    made.chat("\x1b[H[/x]", ago=1000, messages=2, title=None, session_key="agent:main:telegram:dm:[/y]\x1b[3J")
    return made
