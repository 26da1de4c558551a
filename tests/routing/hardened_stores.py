"""Stores in the layout of a real Hermes 0.22.2, emptied, with the hardened store on top and a clock to turn."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger_tui.routing.hardened import SOUND, Faults, HardenedStore, Identity, Routes

from .corpus import case

NOON = 1_900_000_000.0

KIM = Identity(
    "telegram",
    "agent:main:telegram:dm:70010123",
    user_id="70010123",
    chat_id="70010123",
    chat_type="dm",
    display_name="Kim",
    origin_json='{"platform": "telegram"}',
)


@dataclass
class Desk:
    """One store with its file, its clock and the ids it will give."""

    path: Path
    store: HardenedStore
    connection: sqlite3.Connection
    now: list[float] = field(default_factory=lambda: [NOON])
    given: list[str] = field(default_factory=list)

    def at(self, seconds: float) -> None:
        """Seconds after noon."""
        self.now[0] = NOON + seconds

    def routes(self) -> Routes:
        """A gateway that has just started."""
        return Routes(self.store, scope="here")

    def new_id(self) -> str:
        self.given.append(f"s{len(self.given) + 1}")
        return self.given[-1]

    def cells(self, session_id: str, *names: str) -> tuple[Any, ...]:
        row = self.connection.execute(f"SELECT {', '.join(names)} FROM sessions WHERE id = ?", (session_id,)).fetchone()
        assert row is not None, f"no row {session_id}"
        return tuple(row)

    def ids(self) -> list[str]:
        return [row[0] for row in self.connection.execute("SELECT id FROM sessions ORDER BY rowid")]

    def held(self) -> sqlite3.Connection:
        """Somebody else holds the file for writing until this is closed: our writes fail at once."""
        other = sqlite3.connect(self.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        return other


def desk(folder: Path, faults: Faults = SOUND) -> Desk:
    _, path = case("001").lay_out(folder)
    connection = sqlite3.connect(path, isolation_level=None, timeout=0.0)
    for table in ("messages", "sessions", "gateway_routing"):
        connection.execute(f"DELETE FROM {table}")
    now = [NOON]
    store = HardenedStore(connection, clock=lambda: now[0], faults=faults)
    return Desk(path, store, connection, now)


def says(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}
