"""Stores of sessions of any shape under every command that reads them, and under repair and undo."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from tests.app.sessions import COLUMNS
from tests.routing.corpus import case
from tests.routing.stores import digest, dump

from . import places
from . import strategies as some
from .profiles import fuzzed
from .speaking import proper, speak

START = 1_786_000_000.0

READING = (
    ("status",), ("status", "--json", "--fail-on", "orphan"), ("sessions",), ("sessions", "--json"),
    ("sessions", "--anomalies-only", "--source", "telegram"), ("export", "sessions", "--format", "csv"),
    ("export", "sessions", "--format", "md"), ("doctor",), ("repair-routing",), ("repair-routing", "--json"),
    ("repair-undo", "--list"),
)  # fmt: skip

IDS = ("a", "b", "lost", "A", "", " ", "a=b", "lost\x1b[2J", "it's", "\x00", "0", "%", "b\udce9")
KEYS = ("agent:main:telegram:dm:1", "agent:main:telegram:dm:2", "agent:main:telegram:group:3", "agent:x", "")

Cell = some.Stored | tuple[bytes]
"""As strategies draw it; bytes in a tuple are stored as text, whatever they hold."""


def moments() -> st.SearchStrategy[Cell]:
    near = st.integers(-20, 20).map(lambda step: START + step * 60.0)
    return some.mostly(near, some.cells)


def words(*known: str | None) -> st.SearchStrategy[Cell]:
    raw = st.sampled_from(some.INVALID_UTF8).map(lambda data: (data,))
    return some.mostly(st.sampled_from(known), st.one_of(some.cells, some.utf8_texts(), raw))


IDENTITY = {
    "session_key": words(None, None, *KEYS), "chat_id": words(None, "1", "2"), "chat_type": words(None, "dm"),
    "user_id": words(None, "1", "2"), "thread_id": words(None, "7"), "profile_name": words(None, "default", "work"),
}  # fmt: skip

ROW: dict[str, st.SearchStrategy[Any]] = {
    "source": words("telegram", "telegram", "telegram", "discord", "cli", "subagent", "cron", "tool"),
    **IDENTITY,
    "parent_session_id": words(None, None, *IDS),
    "started_at": moments(),
    "ended_at": st.one_of(st.none(), moments()),
    "end_reason": words(None, "compression", "session_reset", "agent_close", "superseded_by_repair", "new_chat"),
    "message_count": some.mostly(st.integers(0, 9), some.cells),
    "title": words(None, "Trip"), "display_name": words(None, "Ada"), "origin_json": words(None, "{}", '{"a": '),
    "last_activity_at": st.one_of(st.none(), moments()), "handoff_state": words(None, "pending"),
    "archived": some.mostly(st.sampled_from((0, 1)), some.cells),
    "model_config": words(None, "{}", '{"_delegate_from": "a"}', '{"_branched_from": 1}', '{"_reset_from": ["a"]}',
                          '{"_delegate_from": ' + "[" * 2000),
}  # fmt: skip

MESSAGES = st.lists(
    st.tuples(words(*IDS), words("user", "assistant", "tool"), words("hello", None, "\x00json:[1"), moments()),
    max_size=9,
)
ROUTES = st.lists(st.tuples(words(*KEYS), words("{}", '{"session_id": "a"}', '{"session_id": [', "[]"), moments()),
                  max_size=3)  # fmt: skip
LEASES = st.lists(st.tuples(words(*IDS), words("x", "1"), moments()), max_size=2)


@dataclass(frozen=True)
class Shape:
    """A store to be made."""

    sessions: Sequence[dict[str, Cell]]
    messages: Sequence[Sequence[Cell]] = ()
    routes: Sequence[Sequence[Cell]] = ()
    leases: Sequence[Sequence[Cell]] = ()
    lacking: frozenset[str] = frozenset()
    """Columns that the file has not; of `id` nothing is left."""
    untyped: bool = False
    wal: bool = True
    index: bool = True


def _chat(id: str, key: str, start: float, **more: Cell) -> dict[str, Cell]:
    who = {"session_key": key, "chat_id": key[-1:], "chat_type": "dm", "user_id": "1", "profile_name": "default"}
    return {"id": id, "source": "telegram", "started_at": start, "message_count": 2, **who, **more}


FAMILIES: tuple[list[dict[str, Cell]], ...] = (
    [],
    [_chat("a", KEYS[0], START - 600), {"id": "lost", "source": "telegram", "started_at": START}],
    [
        _chat("a", KEYS[0], START - 900),
        _chat("b", KEYS[1], START - 600),
        {"id": "lost", "source": "telegram", "started_at": START, "parent_session_id": "b", "user_id": "1"},
    ],
)
"""Nothing; a lost row that can be taken back by when it began, and one by whose continuation it says it is."""


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    lacking = draw(some.mostly(st.just(frozenset()), st.frozensets(st.sampled_from((*ROW, "id")), max_size=6)))
    rows = [dict(row) for row in draw(st.sampled_from(FAMILIES))]
    for row in rows:  # Mostly as it should be; a cell or two hold anything.
        names = draw(some.mostly(st.just([]), st.lists(st.sampled_from(tuple(ROW)), max_size=2)))
        row |= {name: draw(ROW[name]) for name in names}
    keys = draw(st.lists(words(*IDS), max_size=4 if rows else 7, unique_by=repr))
    rows += [{"id": key, **draw(st.fixed_dictionaries(ROW))} for key in keys]
    spoken = [
        (row["id"], "user", "hello", at + 60.0 * n)
        for row in rows
        for n in range(2)
        if isinstance(at := row.get("started_at"), float)
    ]
    return Shape(
        [{name: value for name, value in row.items() if name not in lacking} for row in rows],
        [*draw(MESSAGES), *spoken], draw(ROUTES), draw(LEASES), lacking, draw(st.booleans()), draw(st.booleans()),
        draw(st.booleans()),
    )  # fmt: skip


def _add(db: sqlite3.Connection, table: str, columns: list[str], values: list[Cell]) -> None:
    """Whatever SQLite refuses is no row that could be there."""
    marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, tuple) else "?" for value in values)
    plain = [value[0] if isinstance(value, tuple) else _text(value) for value in values]
    try:
        db.execute(f"INSERT INTO {table}({', '.join(columns)}) VALUES({marks})", plain)
    except sqlite3.IntegrityError:
        event("a row was refused")


def _text(value: some.Stored) -> some.Stored:
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value


def make(path: Path, shape: Shape) -> None:
    declared = [one for one in COLUMNS if one.split()[0] not in shape.lacking]
    if shape.untyped:
        declared = [one.split()[0] for one in declared]
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA journal_mode={'WAL' if shape.wal else 'DELETE'}")
        db.execute("BEGIN")
        db.execute(f"CREATE TABLE sessions({', '.join(declared) or 'x'})")
        db.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id, role, content, timestamp)")
        if shape.index:
            db.execute("CREATE INDEX by_session ON messages(session_id, timestamp)")
        db.execute("CREATE TABLE gateway_routing(session_key, entry_json, updated_at)")
        db.execute("CREATE TABLE compression_locks(session_id, holder, expires_at)")
        for row in shape.sessions:
            _add(db, "sessions", list(row) or ["x"], list(row.values()) or [None])
        for table, columns, rows in (
            ("messages", ["session_id", "role", "content", "timestamp"], shape.messages),
            ("gateway_routing", ["session_key", "entry_json", "updated_at"], shape.routes),
            ("compression_locks", ["session_id", "holder", "expires_at"], shape.leases),
        ):
            for values in rows:
                _add(db, table, columns, list(values))
        db.execute("COMMIT")


@contextmanager
def fresh() -> Iterator[Path]:
    """A home that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(dir=places.folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


lines = st.lists(st.sampled_from(READING), min_size=2, max_size=3, unique=True)


@given(shapes(), lines)
@fuzzed(0.7)
def test_reading_changes_nothing_and_never_fails(shape: Shape, asked: list[tuple[str, ...]]) -> None:
    with fresh() as home:
        make(home / "state.db", shape)
        before = digest(home / "state.db")
        for line in asked:
            said = proper(speak(line, home, home))
            assert said.code in ((0, 1, 3) if "id" in shape.lacking else (0, 1)), said
        assert digest(home / "state.db") == before


@given(shapes())
@fuzzed(0.7)
def test_what_is_repaired_can_be_undone_to_the_last_cell(shape: Shape) -> None:
    with fresh() as home:
        store = home / "state.db"
        make(store, shape)
        before = dump(store)
        repaired = proper(speak(("repair-routing", "--apply", "--yes", "--json"), home, home))
        with closing(sqlite3.connect(store)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if repaired.code in (2, 3, 4):
            assert dump(store) == before
        proper(speak(("repair-undo", "--list"), home, home))
        undone = proper(speak(("repair-undo", "--yes"), home, home))
        event(f"repaired {repaired.code}, {'undone' if 'as before' in undone.out else 'nothing to undo'}")
        assert undone.code == 0, undone
        assert dump(store) == before


_EDITS = st.lists(
    st.tuples(st.integers(0, 4095), st.sampled_from((0, 1, 0x0D, 0x7F, 0x80, 0xFF)) | st.integers(0, 255)), max_size=6
)
"""Places in a page and what stands there instead."""


@given(_EDITS, st.integers(0, 200), st.none() | st.integers(0, 200), st.booleans(), lines)
@fuzzed(0.7)
def test_a_damaged_store_is_an_answer(
    edits: list[tuple[int, int]], page: int, end: int | None, beside: bool, asked: list[tuple[str, ...]]
) -> None:
    """A sentence where it cannot be read, a plain answer where it can; what lies there stays as it is."""
    whole = bytearray(case("incident-82616").store)
    for at, byte in edits:
        whole[(page * 4096 + at) % len(whole)] = byte
    data = bytes(whole if end is None else whole[: end * 997])
    with fresh() as home:
        store = home / "state.db"
        store.write_bytes(data)
        if beside:
            (home / "state.db-wal").write_bytes(data[:4096])
        for line in asked:
            proper(speak(line, home, home))
        assert store.read_bytes() == data
