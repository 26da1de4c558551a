"""The same story told to Hermes' own session store and to the hardened one: prints where they differ, as JSON.

`python both_stores.py FOLDER STORIES`, run by the host's interpreter. Times, ids and stories are made from the seed.
"""

from __future__ import annotations

import importlib
import json
import random
import shutil
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

from ledger_tui.routing.hardened import CompressionError, HardenedStore, Identity, Origin, transcripts

STEPS = 14
COLUMNS = (
    "id", "source", "created_source", "user_id", "session_key", "chat_id", "chat_type", "thread_id", "display_name",
    "origin_json", "transport_profile", "parent_session_id", "model", "model_config", "cwd", "git_repo_root",
    "profile_name", "started_at", "ended_at", "end_reason", "message_count",
)  # fmt: skip
ENDS = ("compression", "agent_close", "session_reset", "idle", "tui_shutdown", "superseded_by_repair")
KEYS = ("agent:main:telegram:dm:1", "agent:main:telegram:dm:2")
SAID = {"role": "user", "content": "Good morning."}


class Story:
    """Two stores and what has happened in both."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random, self.now, self.folder = random.Random(seed), 1_900_000_000.0, folder
        time.time = lambda: self.now
        self.SessionDB: Any = importlib.import_module("hermes_state").SessionDB
        self.host = self.SessionDB(folder / "host.db")
        self.SessionDB(folder / "ours.db").close()
        self.connection = sqlite3.connect(folder / "ours.db", isolation_level=None)
        self.ours = HardenedStore(self.connection, clock=lambda: self.now, owner=None)
        self.ids = ["x", "y", "z"]

    def close(self) -> None:
        self.host.close()
        self.connection.close()

    def some(self, *values: Any) -> Any:
        return self.random.choice((None, *values))

    def step(self, number: int) -> list[Any]:
        """One random step in both; what differs after it."""
        self.now += self.random.choice((1.0, 60.0, 1000.0))
        what = self.random.choice((self.create, self.create, self.refresh, self.end, self.promote, self.reopen,
                                   self.say, self.compress))  # fmt: skip
        what(self.random.choice(self.ids))
        return [*self.rows(), *self.answers()]

    # -- what may happen -------------------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        return {
            "source": self.random.choice(("telegram", "discord", "unknown")), "user_id": self.some("1", "2"),
            "session_key": self.some(*KEYS), "chat_id": self.some("1", "2"), "chat_type": self.some("dm", "group"),
            "thread_id": self.some("t"), "display_name": self.some("Kim", "Ilse"), "origin_json": self.some('{"a":1}'),
            "transport_profile": self.some("bot-2"),
        }  # fmt: skip

    def create(self, session_id: str) -> None:
        there = {row[0] for row in self.connection.execute("SELECT id FROM sessions")}
        parent = self.some(*sorted(there - {session_id}))
        named = parent or "elsewhere"
        marks = ("_reset_from", "_delegate_from", "_branched_from")
        config = self.some({"effort": "high"}, {"effort": "low", "_delegate_from": "elsewhere"},
                           *({mark: named} for mark in marks))  # fmt: skip
        origin = {
            "model": self.some("m1", "m2"), "cwd": self.some("/srv", "/opt"), "git_repo_root": self.some("/srv"),
            "profile_name": self.some("work"), "model_config": config,
        }  # fmt: skip
        identity = self.identity()
        self.host.create_session(session_id, parent_session_id=parent, **identity, **origin)
        self.ours.create(session_id, Identity(**identity), Origin(parent=parent, **origin))

    def refresh(self, session_id: str) -> None:
        identity = self.identity()
        self.host.record_gateway_session_peer(session_id, **identity)
        self.ours.refresh(session_id, Identity(**identity))

    def end(self, session_id: str) -> None:
        reason = self.random.choice(ENDS)
        self.host.end_session(session_id, reason)
        self.ours.end(session_id, reason)

    def promote(self, session_id: str) -> None:
        assert self.host.promote_to_session_reset(session_id) == self.ours.promote(session_id)

    def reopen(self, session_id: str) -> None:
        self.host.reopen_session(session_id)
        self.ours.reopen(session_id)

    def say(self, session_id: str) -> None:
        row = self.ours.row(session_id)
        if row is not None and row.end_reason != "compression":
            self.host.append_message(session_id, "user", SAID["content"])
            with self.ours.transaction() as connection:
                transcripts.append(connection, session_id, [SAID], at=self.now)

    def compress(self, session_id: str) -> None:
        child, source = f"c{len(self.ids)}", self.random.choice(("telegram", "discord"))
        told = {"parent_session_id": session_id, "child_session_id": child, "source": source, "messages": [SAID]}
        try:
            self.host.publish_compression_child(**told, require_compression_lease=False)
        except RuntimeError:
            refused = True
        else:
            refused = False
            self.ids.append(child)
        try:
            self.ours.compress(session_id, child, Identity(source), [SAID])
        except CompressionError:
            assert refused, f"only we refuse to compress {session_id}"
        else:
            assert not refused, f"only Hermes refuses to compress {session_id}"

    # -- what differs ----------------------------------------------------------------------------------------------

    def rows(self) -> list[Any]:
        select = f"SELECT {', '.join(COLUMNS)} FROM sessions ORDER BY id"
        theirs = sqlite3.connect(f"{(self.folder / 'host.db').as_uri()}?mode=ro", uri=True)
        pairs = [list(map(_plain, connection.execute(select))) for connection in (theirs, self.connection)]
        theirs.close()
        assert len(pairs[0]) == len(pairs[1])
        return [
            (row["id"], name, row[name], ours[name])
            for row, ours in zip(*pairs, strict=True)
            for name in COLUMNS
            if row[name] != ours[name] and not _ours_knows_more(ours, name)
        ]

    def answers(self) -> list[Any]:
        """Hermes' search and ours after a restart, on the same file."""
        shutil.copy(self.folder / "ours.db", self.folder / "copy.db")
        host, found = self.SessionDB(self.folder / "copy.db"), []
        for key in KEYS:
            for source in ("telegram", "discord"):
                peer = {"source": source, "session_key": key, "user_id": "1", "chat_id": "1", "chat_type": "dm"}
                theirs = host.find_latest_gateway_session_for_peer(**peer)
                asked = Identity(**peer).peer
                assert asked is not None
                ours = self.ours.resolve(asked)
                if (theirs and theirs["id"]) != (ours and ours.id):
                    found.append((key, source, theirs and theirs["id"], ours and ours.id))
        host.close()
        return found


def _plain(row: tuple[Any, ...]) -> dict[str, Any]:
    cells = dict(zip(COLUMNS, row, strict=True))
    return {**cells, "model_config": json.loads(cells["model_config"] or "null")}


def _ours_knows_more(row: dict[str, Any], name: str) -> bool:
    """The child of a compression says from the start where it comes from and by which bot; Hermes' does not."""
    return bool(row["id"].startswith("c")) and name in ("created_source", "transport_profile")


def main() -> None:
    differ = []
    for seed in range(int(sys.argv[2])):
        folder = Path(sys.argv[1]) / str(seed)
        folder.mkdir()
        story = Story(folder, seed)
        for number in range(STEPS):
            differ += [(seed, number, *one) for one in story.step(number)]
        story.close()
    print(json.dumps(differ))


if __name__ == "__main__":
    main()
