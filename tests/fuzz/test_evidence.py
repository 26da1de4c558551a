"""Homes whose files and databases hold anything: a verifier answers or cannot tell, and changes nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine import evidence
from agent_ledger.engine.evidence.recorded import Recorded
from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths

from . import places
from . import strategies as some
from .profiles import fuzzed

Table = tuple[dict[str, str], list[dict[str, some.Stored]]]
"""Columns with their types, and rows."""

IDS = st.sampled_from(("s1", "s2", "k1", "3f0c9a1b2c4d", "t_1", "look", "todo-lists", "work/notes"))
TIMES = st.sampled_from(
    (0, 1, 10**10, -5, 4e9, "2026-03-04T05:06:07+00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59")
)
TEXT = some.utf8_texts(60)

jobs = some.object_of(
    ("id", "name", "prompt", "script", "schedule", "schedule_display", "created_at", "updated_at", "paused_at",
     "last_run_at", "state", "enabled"), some.json_values,
    id=IDS, name=TEXT, prompt=TEXT, created_at=TIMES, last_run_at=TIMES,
)  # fmt: skip
job_lists = some.object_of(("updated_at",), some.json_values, jobs=st.lists(jobs, max_size=3), updated_at=TIMES)
records = some.object_of(
    ("payload",), some.json_values,
    payload=some.object_of(("target", "action", "content", "operations", "old_text"), some.json_values, content=TEXT),
)  # fmt: skip
log_lines = some.object_of(("ts", "action", "skill", "evidence"), some.json_values, ts=TIMES, action=TEXT, skill=IDS)
SHA = "".join(f"{digit:x}" for digit in range(16)) * 2 + "01234567"
git_logs = st.lists(st.one_of(
    TEXT, st.builds("{} {} Ada <ada@example.com> {} +0000\t{}".format, st.just("0" * 40), st.just(SHA), TIMES, TEXT)
), max_size=3).map("\n".join)  # fmt: skip

FILES: dict[str, st.SearchStrategy[bytes]] = {
    "cron/jobs.json": some.files(job_lists),
    "cron/ticker_heartbeat": st.sampled_from((b"", b"nan", b"inf", b"-inf", b"1e999", b"12", b"x", b"\xff")),
    "memories/MEMORY.md": some.damaged(TEXT.map(str.encode)),
    "memories/USER.md": some.damaged(TEXT.map(str.encode)),
    "pending/memory/one.json": some.files(records),
    "pending/skills/one.json": some.files(records),
    "skills/look/SKILL.md": some.damaged(TEXT.map(str.encode)),
    "skills/.curator_ledger.jsonl": st.lists(some.files(log_lines), max_size=3).map(b"\n".join),
    "config.yaml": some.damaged(st.sampled_from((b"external_dirs: [x]", b"skills:\n  create_dir: y", b"model: m"))),
    "work/.git/HEAD": st.one_of(st.just(b"ref: refs/heads/main\n"), some.damaged(TEXT.map(str.encode))),
    "work/.git/refs/heads/main": st.one_of(st.just(SHA.encode()), some.damaged(TEXT.map(str.encode))),
    "work/.git/logs/HEAD": git_logs.map(str.encode),
    "work/.git/packed-refs": some.damaged(st.just(f"{SHA} refs/heads/main\n".encode())),
    "work/.git/config": some.damaged(st.just(b'[remote "origin"]\n\turl = ../other\n')),
    "work/.git/commondir": some.damaged(st.just(b"..")),
    "work/a.txt": some.damaged(TEXT.map(str.encode)),
    "work/a.tar": some.damaged(st.just(b"a.txt" + b"\0" * 95 + b"0000644\0" + b"\0" * 404)),
    "work/a.tgz": some.damaged(st.just(bytes.fromhex("1f8b08000000000000ff4b4c4a06008ca3dd7404000000"))),
    "work/a.txz": some.damaged(st.just(bytes.fromhex("fd377a585a0000ff12d941") + b"\0" * 30)),
    "work/a.tbz": some.damaged(st.just(b"BZh91AY&SY" + b"\0" * 20)),
}  # fmt: skip
"""Files that some verifier reads, and what may stand in them."""


def tables(names: Mapping[str, str], **likely: st.SearchStrategy[Any]) -> st.SearchStrategy[Table]:
    """A table of these columns, perhaps without one of them and of no declared types, with rows of any cells."""
    row = st.fixed_dictionaries(
        {}, optional={name: some.mostly(likely.get(name, some.cells), some.cells) for name in names}
    )
    typed = st.booleans().map(lambda plain: {name: "" if plain else kind for name, kind in names.items()})
    columns = st.tuples(typed, st.sampled_from((*names, "", "", ""))).map(
        lambda pair: {name: kind for name, kind in pair[0].items() if name != pair[1]}
    )
    return st.tuples(columns, st.lists(row, max_size=3))


STATE = {
    "sessions": tables(
        {"id": "TEXT PRIMARY KEY", "parent_session_id": "TEXT", "end_reason": "TEXT", "model_config": "TEXT",
         "started_at": "REAL", "source": "TEXT"},
        id=IDS, parent_session_id=IDS, end_reason=st.just("compression"), started_at=TIMES,
        model_config=st.just('{"_delegate_from": "s1"}'),
    ),
    "messages": tables(
        {"id": "INTEGER PRIMARY KEY AUTOINCREMENT", "session_id": "TEXT", "role": "TEXT", "content": "TEXT",
         "tool_call_id": "TEXT", "tool_calls": "TEXT", "tool_name": "TEXT", "effect_disposition": "TEXT",
         "timestamp": "REAL", "active": "INTEGER"},
        session_id=st.just("s1"), role=st.sampled_from(("tool", "assistant", "user")), tool_call_id=st.just("k1"),
        content=some.results.filter(lambda one: isinstance(one, str)).map(lambda one: one.encode("utf-8",
        "ignore").decode()),
        tool_calls=some.json_values.map(some.written), timestamp=TIMES,
    ),
    "async_delegations": tables(
        {"delegation_id": "TEXT", "parent_session_id": "TEXT", "state": "TEXT", "dispatched_at": "REAL",
         "task_json": "TEXT"},
        parent_session_id=st.just("s1"), dispatched_at=TIMES, task_json=st.just('{"goals": ["look"]}'),
    ),
}  # fmt: skip
BOARD = {
    "tasks": tables(
        {"id": "TEXT", "title": "TEXT", "body": "TEXT", "idempotency_key": "TEXT", "created_at": "INTEGER"}, id=IDS
    ),
    "task_comments": tables({"id": "INTEGER", "task_id": "TEXT", "author": "TEXT", "body": "TEXT",
    "created_at": "INTEGER"}),
    "task_events": tables(
        {"id": "INTEGER PRIMARY KEY AUTOINCREMENT", "task_id": "TEXT", "run_id": "INTEGER", "kind": "TEXT",
         "payload": "TEXT", "created_at": "INTEGER"},
        task_id=IDS, kind=st.sampled_from(("created", "completed", "blocked", "commented")), created_at=TIMES,
    ),
}  # fmt: skip
RUNS = {
    "executions": tables(
        {"job_id": "TEXT", "source": "TEXT", "status": "TEXT", "claimed_at": "TEXT", "finished_at": "TEXT"},
        job_id=IDS, claimed_at=TIMES,
    )
}  # fmt: skip
DATABASES = {"state.db": STATE, "kanban.db": BOARD, "cron/executions.db": RUNS}

databases = st.fixed_dictionaries(
    {}, optional={name: st.fixed_dictionaries({}, optional=made) for name, made in DATABASES.items()}
)  # fmt: skip
files = st.fixed_dictionaries({}, optional=FILES)

ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "write_file": some.object_of((), some.json_values, path=st.just("a.txt"), content=TEXT),
    "patch": some.object_of(
        ("mode", "patch", "replace_all"), some.json_values, path=st.just("a.txt"), old_string=TEXT, new_string=TEXT
    ),
    "terminal": some.object_of(("background", "workdir"), some.json_values, command=st.one_of(
        some.commands,
        st.sampled_from(("tar xf a.tar", "tar xzf a.tgz", "tar xf a.txz", "tar xf a.tbz", "tar cf a.tar b",
        "git commit -m x",
                         "git push origin main", "git tag v1", "git checkout -b main", "cp a.txt b", "mv b a.txt",
                         "rm a.txt",
                         "mkdir -p a/b", "touch a.txt", "pip install look", "rm -r .", "sed -i s/a/b/ a.txt")),
    )),
    "cronjob": some.object_of(
        ("script", "job_id"), some.json_values, action=st.sampled_from(("create", "remove", "pause", "update",
        "run")),
        name=IDS, prompt=TEXT, schedule=st.sampled_from(("* * * * *", "every 5m")), job_id=IDS,
    ),
    "delegate_task": some.object_of(("tasks", "context"), some.json_values, goal=st.just("look")),
    "memory": some.object_of(
        ("operations", "old_text"), some.json_values, action=st.sampled_from(("add", "replace", "remove")),
        target=st.sampled_from(("memory", "user")), content=TEXT,
    ),
    "skill_manage": some.object_of(
        ("category", "old_string", "new_string", "file_path", "operations"), some.json_values,
        action=st.sampled_from(("create", "edit", "patch", "delete", "write_file", "remove_file")), name=IDS,
        content=TEXT,
    ),
    "kanban_create": some.object_of(("board", "body", "idempotency_key"), some.json_values, title=TEXT),
    "kanban_complete": some.object_of(("board",), some.json_values, task_id=IDS, summary=TEXT),
    "kanban_comment": some.object_of(("board",), some.json_values, task_id=IDS, body=TEXT),
    "mcp__files__write": some.arguments,
    "unheard_of": some.arguments,
}  # fmt: skip
MOMENTS = st.sampled_from((-60.0, 60.0, -1e9, 1e9))


@st.composite
def calls(draw: st.DrawFn, number: int = 1) -> Recorded:
    """A call of any tool around now, as the ledger gives it."""
    tool = draw(st.sampled_from(sorted(ARGUMENTS)))
    args = draw(ARGUMENTS[tool])
    at = time.time() + draw(MOMENTS)
    return Recorded(
        id=number, at=draw(st.sampled_from((at, at, at, None))), tool_name=tool, args=args if isinstance(args,
        dict) else {},
        args_cut=draw(st.booleans()), args_redacted=draw(st.sampled_from((0, 0, 1))),
        value_hashes=draw(st.dictionaries(st.sampled_from(("content", "prompt", "goal")), TEXT, max_size=1)),
        session_id="s1", tool_call_id=draw(st.sampled_from(("k1", ""))), status=draw(st.sampled_from(("PENDING",
        "GHOST_REPORTED"))),
        folder=draw(st.sampled_from((str(home() / "work"), "", "/nowhere", "\x00"))),
        backend=draw(st.sampled_from(("local", "", "docker"))),
        grace_s=draw(st.sampled_from((0.0, float("inf")))), args_text=some.written(args),
    )  # fmt: skip


def home() -> Path:
    return places.folder() / "facts"


def furnish(contents: Mapping[str, bytes], made: Mapping[str, Mapping[str, Table]]) -> None:
    """The home anew, with these files and databases."""
    shutil.rmtree(home(), ignore_errors=True)
    (home() / "plugin-data" / "agent-ledger").mkdir(parents=True)
    (home() / "work").mkdir()
    for name, data in contents.items():
        path = home() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, content in made.items():
        path = home() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for table, (columns, rows) in content.items():
                connection.execute(f"CREATE TABLE {table}({', '.join(' '.join(one) for one in columns.items())})")
                for row in rows:
                    kept = {name: value for name, value in row.items() if name in columns}
                    marks = ", ".join("?" * len(kept))
                    values = f"({', '.join(kept)}) VALUES({marks})" if kept else " DEFAULT VALUES"
                    try:
                        connection.execute(f"INSERT INTO {table}{values}", tuple(kept.values()))
                    except sqlite3.Error:
                        continue  # A declared type or key says no: such a row cannot be there.


def listing() -> dict[str, tuple[int, float]]:
    found = {}
    for folder, _, names in os.walk(home()):
        for name in names:
            if not name.endswith("-shm"):
                info = os.stat(os.path.join(folder, name))
                found[os.path.join(folder, name)] = (info.st_size, info.st_mtime)
    return found


@fuzzed(2)
@given(files, databases, st.lists(calls(), min_size=1, max_size=3), st.booleans())
def test_whatever_a_home_holds_a_verdict_is_given_and_nothing_is_changed(
    contents: dict[str, bytes], made: dict[str, dict[str, Table]], asked: list[Recorded], quick: bool
) -> None:
    furnish(contents, made)
    before = listing()
    deadline: dict[str, Any] = {"deadline": 1.0, "mono": lambda: 0.0} if quick else {}
    with evidence.opened(Paths(home()), now=time.time() + 3600, **deadline) as facts:
        for call, verdict in evidence.verify_many(asked, facts):
            assert verdict.verdict in ("landed", "absent", "unknown")
            assert verdict.evidence
            assert not any("verifier failed" in text for text in verdict.evidence), (call, verdict.evidence)
            assert all(inert(text) == text and len(text) <= 1_000 for text in verdict.evidence)
    assert listing() == before


def says(call: Recorded) -> str:
    with evidence.opened(Paths(home()), now=time.time() + 3600) as facts:
        return " ".join(evidence.verify(call, facts).evidence)


@pytest.mark.parametrize("beat", [b"inf", b"-inf", b"nan", b"-1e300", b"1e999"])
def test_a_heartbeat_that_is_no_time_counts_as_none(beat: bytes) -> None:
    job = b'[{"id": "3f0c9a1b2c4d", "name": "look", "created_at": "2026-03-04T05:06:07+00:00"}]'
    furnish({"cron/jobs.json": job, "cron/ticker_heartbeat": beat}, {})
    asked = Recorded(1, time.time(), "cronjob", {"action": "run", "job_id": "3f0c9a1b2c4d"}, session_id="s1")
    assert "verifier failed" not in says(asked)


def test_a_delegate_whose_time_is_a_text_cannot_be_judged() -> None:
    session: dict[str, some.Stored] = {
        "id": "s2", "parent_session_id": "s1", "started_at": "soon", "model_config": '{"_delegate_from": "s1"}',
    }  # fmt: skip
    columns = dict.fromkeys(session, "TEXT")
    messages = dict.fromkeys(("id", "session_id", "role", "content", "timestamp"), "TEXT")
    furnish({}, {"state.db": {"sessions": (columns, [session]), "messages": (messages, [])}})
    told = says(Recorded(1, time.time(), "delegate_task", {"goal": "look"}, session_id="s1"))
    assert "a delegate whose time is none" in told


@pytest.mark.parametrize("cells", [{"id": "x"}, {"created_at": float("inf")}, {"created_at": b"1"}])
def test_an_event_of_a_board_that_is_none_counts_as_a_gap(cells: dict[str, some.Stored]) -> None:
    event: dict[str, some.Stored] = {
        "id": 1,
        "task_id": "t_1",
        "kind": "created",
        "payload": "{}",
        "created_at": 10,
        **cells,
    }
    tasks = dict.fromkeys(("id", "title", "body", "idempotency_key", "created_at"), "")
    furnish({}, {"kanban.db": {"tasks": (tasks, []), "task_events": (dict.fromkeys(event, ""), [event])}})
    told = says(Recorded(1, time.time(), "kanban_create", {"title": "x"}, session_id="s1"))
    assert "verifier failed" not in told
