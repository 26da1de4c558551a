"""A hundred thousand sessions on the Lineage screen: its first frame, keys while it reads, keys after, and memory.

The same app on a store of a thousand sessions runs beside it, and the same keys are pressed there. Sessions come with
three messages each; one in fifty lost its identity to the row before it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks._homes import fill, home, token
from benchmarks._paired import Report, arguments, note
from benchmarks._pane import APP, Pane, Watcher, panes

_CALLS = 3
TYPED = 8_000_000
"""Numbers of the tokens that are typed; those of sessions are lower."""

TABLES = """
CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, chat_id TEXT,
 chat_type TEXT, thread_id TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
 message_count INTEGER, title TEXT, display_name TEXT, profile_name TEXT, last_activity_at REAL, handoff_state TEXT,
 archived INTEGER DEFAULT 0, model_config TEXT);
CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, role TEXT, content TEXT, timestamp REAL);
"""


def sessions(path: Path, number: int) -> None:
    """A store of so many sessions, the newest a minute old."""
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("PRAGMA journal_mode=WAL")
        store.executescript(TABLES)
        store.execute("PRAGMA synchronous=OFF")
        store.execute("BEGIN")
        store.executemany(
            "INSERT INTO sessions(id, source, user_id, session_key, chat_id, chat_type, started_at, ended_at,"
            " end_reason, message_count, title, profile_name, model_config) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
            _rows(number),
        )
        store.executemany("INSERT INTO messages(session_id, role, content, timestamp) VALUES(?,?,?,?)", _said(number))
        store.execute("CREATE INDEX idx_messages_session ON messages(session_id, timestamp)")
        store.execute("COMMIT")
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _start(number: int, at: int) -> float:
    return time.time() - 60 - (number - at) * 3600.0


def _rows(number: int) -> Iterator[tuple[Any, ...]]:
    config = json.dumps({"model": "m", "temperature": 0.3})
    for at in range(number):
        lost = at % 50 == 49
        user = str(at - 1 if lost else at)
        key = None if lost else f"agent:main:telegram:dm:{user}"
        began = _start(number, at)
        yield (
            f"20260101_{at:08d}", "telegram", user, key, None if lost else user, None if lost else "dm",
            began - (2000 if lost else 0), None, None, 3, token(at), "default", config,
        )  # fmt: skip


def _said(number: int) -> Iterator[tuple[Any, ...]]:
    for at in range(number):
        began = _start(number, at) - (2000 if at % 50 == 49 else 0)
        for count in range(3):
            yield f"20260101_{at:08d}", ("user", "assistant")[count % 2], "a line of talk", began + count * 500


def typed(pane: Pane, watcher: Watcher, number: int) -> float:
    """Seconds from the last letter of a word to its picture in the filter line; not a number without one."""
    word = token(TYPED + number)
    pane.press("\x15")
    watcher.run(0.1)
    pane.press(word[:-1])
    watcher.run(0.1)
    at = pane.press(word[-1])
    return watcher.until(pane, word, after=at, patience_s=2.0) - at


def opened(place: Path, total: int, keys: int) -> tuple[float, float, list[float], list[float], float]:
    """(first frame, whole tree, keys while it reads, keys after that, memory in MB); times in seconds."""
    with panes((APP, place)) as ((app,), watcher):
        watcher.until(app, token(_CALLS - 1), patience_s=60)
        watcher.run(3.0)
        at = app.press("3")
        while app.wrote_at < at and time.monotonic() < at + 10:
            watcher.once(0.5)
        first = app.wrote_at - at
        app.press("/")
        watcher.run(0.2)
        newest = token(total - 1)
        during: list[float] = []
        while app.latest.get(newest, 0.0) < at and len(during) < 200:
            during.append(typed(app, watcher, len(during)))
        whole = watcher.until(app, newest, after=at, patience_s=120) - at
        watcher.run(2.0)
        after = [typed(app, watcher, 1000 + number) for number in range(keys)]
        return first, whole, _seen(during[:-1]), _seen(after), app.memory_mb()


def _seen(taken: list[float]) -> list[float]:
    return [seconds for seconds in taken if seconds == seconds]


def main() -> None:
    asked = arguments(
        __doc__ or "",
        sessions=(100_000, "sessions of the large store"),
        small=(1_000, "sessions of the small one"),
        starts=(3, "starts of the app on each"),
        keys=(20, "words typed after all is read"),
    ).parse_args()
    report = Report(f"{asked.sessions:,} sessions, Lineage", f"the same app on {asked.small:,} sessions")
    with home() as large, home() as small:
        note(f"making {asked.sessions:,} sessions")
        for place, number in ((large, asked.sessions), (small, asked.small)):
            fill(place, _CALLS)
            sessions(place / "state.db", number)
        found: list[list[tuple[float, float, list[float], list[float], float]]] = [[], []]
        for turn in range(asked.starts):
            note(f"start {turn + 1} of {asked.starts}")
            found[0].append(opened(large, asked.sessions, asked.keys))
            found[1].append(opened(small, asked.small, asked.keys))
    many, few = found
    report.times("first frame", [one[0] for one in many], [one[0] for one in few], unit="s", bars=("at most 1.5 s", ""))
    report.times("whole tree", [one[1] for one in many], [one[1] for one in few], unit="s")
    during = [taken for one in many for taken in one[2]]
    still = [taken for one in few for taken in one[3]]
    bars = ("at most 100 ms", "at most 100 ms")
    report.times("a key while it reads (reference: all read)", during, still, unit="ms", bars=bars)
    after = [taken for one in many for taken in one[3]]
    report.times("a key after all is read", after, still, unit="ms", bars=("at most 100 ms", ""))
    report.add("memory", many[-1][4], few[-1][4], unit="MB")
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
