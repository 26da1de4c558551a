"""Every kind of anomaly: a store in which it shows, and one that looks alike and stays quiet."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.severity import HIGH, LOW, MEDIUM, SEVERITIES
from ledger_tui.routing.anomalies import find_anomalies
from ledger_tui.routing.anomalies.kinds import KINDS
from ledger_tui.routing.read import read_store
from tests.routing.handmade import DAY, NOW, Sessions


@pytest.fixture
def store(tmp_path: Path) -> Sessions:
    (tmp_path / "home").mkdir()
    return Sessions(tmp_path / "home" / "state.db")


def kinds(store: Sessions, key: str) -> set[str]:
    return set(store.anomalies(key))


RECENT = (NOW - 600, NOW - 60)


def test_what_is_whole_has_none(store: Sessions) -> None:
    store.chat("old", said=(NOW - 9000, NOW - 8000), ended_at=NOW - 7000, end_reason="session_reset")
    store.chat("new", said=RECENT, parent_session_id="old", config={"_reset_from": "old"})
    store.route("agent:main:telegram:dm:7001", "new")
    assert store.survey().anomalies == {}


@pytest.mark.parametrize(
    "source", ["cli", "tui", "desktop", "cron", "acp", "kanban", "subagent", "oneshot", "tool", "batch"]
)
def test_rows_that_are_keyless_by_nature_are_no_damage(store: Sessions, source: str) -> None:
    store.row("plain", source=source, said=RECENT)
    store.row("ended", source=source, said=(NOW - 90 * DAY,), ended_at=NOW - 90 * DAY, end_reason="cli_close")
    assert store.survey().anomalies == {}


def test_delegates_branches_and_tools_of_a_chat_are_no_damage(store: Sessions) -> None:
    store.chat("chat", said=RECENT)
    store.row("delegate", said=RECENT, parent_session_id="chat", config={"_delegate_from": "chat"})
    store.row("branch", said=RECENT, parent_session_id="chat", config={"_branched_from": "chat"})
    store.row("tool", source="tool", said=RECENT, parent_session_id="chat")
    assert store.survey().anomalies == {}


def test_orphan(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 5000, NOW - 4000), started_at=NOW - 6000)
    store.row("lost", said=(NOW - 3500, NOW - 100), started_at=NOW - 3600)
    store.row("unclear", said=(NOW - 90,), source="discord")
    store.row("empty", source="discord")
    assert store.anomalies("lost")["orphan"].severity == HIGH
    unclear = store.anomalies("unclear")["orphan"]
    assert unclear.severity == MEDIUM
    assert "no keyed predecessor" in unclear.text
    assert kinds(store, "empty") == set()


def test_zombie(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 5000, NOW - 4000), started_at=NOW - 6000)
    store.row("lost", said=(NOW - 3500, NOW - 100), started_at=NOW - 3600)
    store.chat("quiet", chat="7002", said=(NOW - 3 * DAY,), started_at=NOW - 4 * DAY)
    store.chat("dormant", chat="7003", said=(NOW - 8 * DAY,), started_at=NOW - 9 * DAY)
    assert store.anomalies("donor")["zombie"].severity == HIGH
    assert store.anomalies("dormant")["zombie"].severity == LOW
    assert "8 days" in store.anomalies("dormant")["zombie"].text
    assert kinds(store, "quiet") == set()


def test_phantom(store: Sessions) -> None:
    store.row("phantom", source="unknown", said=RECENT)
    store.row("recovered", source="recovered", said=RECENT)
    assert kinds(store, "phantom") == {"phantom"}
    assert kinds(store, "recovered") == set()


def test_no_chat(store: Sessions) -> None:
    store.chat("chatless", chat_id=None, said=RECENT)
    store.row("hook", source="webhook", session_key="agent:main:webhook:x", said=RECENT)
    store.row("terminal", source="cli", said=RECENT)
    assert kinds(store, "chatless") == {"no-chat"}
    assert kinds(store, "hook") == kinds(store, "terminal") == set()


def test_bare_continuation(store: Sessions) -> None:
    ended: dict[str, Any] = {"ended_at": NOW - 3000, "end_reason": "compression"}
    store.chat("long", said=(NOW - 4000,), started_at=NOW - 5000, **ended)
    store.row("bare", said=RECENT, started_at=NOW - 3000, parent_session_id="long")
    store.chat("fine", chat="7002", said=(NOW - 4000,), started_at=NOW - 5000, **ended)
    store.chat("whole", chat="7002", said=RECENT, started_at=NOW - 3000, parent_session_id="fine")
    store.row("run", source="cli", said=(NOW - 4000,), **ended)
    store.row("more", source="cli", said=RECENT, parent_session_id="run")
    assert kinds(store, "bare") == {"bare-continuation", "orphan"}
    assert kinds(store, "whole") == kinds(store, "more") == set()


def test_no_continuation(store: Sessions) -> None:
    ended: dict[str, Any] = {"ended_at": NOW - 3000, "end_reason": "compression"}
    store.chat("stuck", said=(NOW - 4000,), **ended)
    store.chat("branched", chat="7002", said=(NOW - 4000,), **ended)
    store.row("branch", parent_session_id="branched", said=RECENT, config={"_branched_from": "branched"})
    store.chat("went-on", chat="7003", said=(NOW - 4000,), **ended)
    store.chat("next", chat="7003", said=RECENT, parent_session_id="went-on")
    assert kinds(store, "stuck") == kinds(store, "branched") == {"no-continuation"}
    assert kinds(store, "went-on") == set()


def test_two_open(store: Sessions) -> None:
    store.chat("one", said=RECENT)
    store.chat("two", said=RECENT)
    store.chat("three", said=RECENT, ended_at=NOW - 50, end_reason="cli_close")
    store.chat("alone", chat="7002", said=RECENT)
    store.chat("elsewhere", chat="7002", source="discord", said=RECENT)
    assert kinds(store, "one") == kinds(store, "two") == {"two-open"}
    assert kinds(store, "three") == kinds(store, "alone") == kinds(store, "elsewhere") == set()


def test_keyed_delegate(store: Sessions) -> None:
    store.chat("chat", said=RECENT)
    store.chat("keyed", chat="7002", said=RECENT, parent_session_id="chat", config={"_delegate_from": "chat"})
    store.row("plain", said=RECENT, parent_session_id="chat", config={"_delegate_from": "chat"})
    assert kinds(store, "keyed") == {"keyed-delegate"}
    assert kinds(store, "plain") == set()


def test_hidden_continuation(store: Sessions) -> None:
    many = tuple(NOW - 600 + n for n in range(20))
    store.row("above", source="cli", said=RECENT)
    store.row("hidden", source="cli", said=many, parent_session_id="above")
    store.row("short", source="cli", said=many[:19], parent_session_id="above")
    store.row("helper", source="subagent", said=many, parent_session_id="above")
    store.row("delegate", source="cli", said=many, parent_session_id="above", config={"_delegate_from": "above"})
    assert kinds(store, "hidden") == {"hidden-continuation"}
    assert kinds(store, "short") == kinds(store, "helper") == kinds(store, "delegate") == set()


def test_links_that_lead_nowhere(store: Sessions) -> None:
    store.row("dangling", source="cli", said=RECENT, parent_session_id="gone")
    store.row("itself", source="cli", said=RECENT, parent_session_id="itself")
    store.row("a", source="cli", said=RECENT, parent_session_id="b")
    store.row("b", source="cli", said=RECENT, parent_session_id="a", started_at=NOW - 3000)
    store.row("blank", source="cli", said=RECENT, parent_session_id="")
    assert kinds(store, "dangling") == {"missing-parent"}
    assert kinds(store, "itself") == {"own-parent"}
    assert kinds(store, "a") == {"parent-cycle"}
    assert kinds(store, "b") == kinds(store, "blank") == set()


def test_outlived_parent(store: Sessions) -> None:
    store.chat("chat", said=(NOW - 2000,), started_at=NOW - 3000, ended_at=NOW - 1000, end_reason="session_switch")
    config = {"_delegate_from": "chat"}
    store.row("late", source="subagent", said=RECENT, parent_session_id="chat", config=config)
    store.row("before", source="subagent", said=(NOW - 1500,), parent_session_id="chat", config=config)
    store.row("done", source="subagent", said=RECENT, parent_session_id="chat", config=config, ended_at=NOW)
    assert kinds(store, "late") == {"outlived-parent"}
    assert "session_switch" in store.anomalies("late")["outlived-parent"].text
    assert kinds(store, "before") == kinds(store, "done") == set()


def test_ended_owner(store: Sessions) -> None:
    store.chat("accident", said=RECENT, ended_at=NOW - 50, end_reason="agent_close")
    store.chat("meant", chat="7002", said=RECENT, ended_at=NOW - 50, end_reason="session_reset")
    store.chat(
        "followed", chat="7003", said=(NOW - 9000,), started_at=NOW - 9500, ended_at=NOW, end_reason="agent_close"
    )
    store.chat("newer", chat="7003", said=RECENT)
    assert kinds(store, "accident") == {"ended-owner"}
    assert kinds(store, "meant") == kinds(store, "followed") == set()


def test_stale_route(store: Sessions) -> None:
    store.chat("ended", said=RECENT, ended_at=NOW - 50, end_reason="session_reset")
    store.chat("open", chat="7002", said=RECENT)
    store.route("agent:main:telegram:dm:7001", "ended", resume_pending=True)
    store.route("agent:main:telegram:dm:7002", "open")
    assert "waits to be resumed" in store.anomalies("ended")["stale-route"].text
    assert kinds(store, "open") == set()
    store.route("agent:main:telegram:dm:7003", "gone")
    assert kinds(store, "") == {"stale-route"}


def test_stale_route_in_the_older_file(store: Sessions) -> None:
    store.chat("ended", said=RECENT, ended_at=NOW - 50, end_reason="session_reset")
    (store.path.parent / "sessions").mkdir()
    older = store.path.parent / "sessions" / "sessions.json"
    older.write_text('\ufeff{"_README": "x", "agent:main:telegram:dm:7001": {"session_id": "ended"}}', encoding="utf-8")
    assert kinds(store, "ended") == {"stale-route"}
    store.route("agent:main:telegram:dm:7001", "newer")
    store.chat("newer", said=RECENT)
    assert kinds(store, "ended") == set()
    older.write_text("{", encoding="utf-8")
    assert kinds(store, "ended") == set()


def test_no_route(store: Sessions) -> None:
    store.chat("unlisted", said=RECENT)
    assert kinds(store, "unlisted") == set()  # A table without any entry says nothing.
    store.chat("listed", chat="7002", said=RECENT)
    store.route("agent:main:telegram:dm:7002", "listed")
    assert kinds(store, "unlisted") == {"no-route"}
    assert kinds(store, "listed") == set()


def test_profile_crossing(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "profiles" / "work"
    folder.mkdir(parents=True)
    store = Sessions(folder / "state.db")
    store.chat("own", said=RECENT, profile_name="work")
    store.chat("unnamed", chat="7002", said=RECENT)
    store.chat("own-key", chat="7003", said=RECENT, session_key="agent:work:telegram:dm:7003")
    store.chat("other-key", chat="7004", said=RECENT, session_key="agent:home:telegram:dm:7004")
    store.chat("other-row", chat="7005", said=RECENT, profile_name="default")
    store.row("odd-key", said=RECENT, session_key="hand made", chat_id="7006")
    assert [kinds(store, key) for key in ("own", "unnamed", "own-key", "odd-key")] == [set()] * 4
    assert kinds(store, "other-key") == kinds(store, "other-row") == {"profile-crossing"}
    assert store.anomalies("other-row")["profile-crossing"].text == "A row of profile default in the store of work."


def test_a_store_elsewhere_has_no_owner_to_cross(tmp_path: Path) -> None:
    store = Sessions(tmp_path / "copy.db")
    store.chat("one", said=RECENT, session_key="agent:home:telegram:dm:7004")
    found = find_anomalies(read_store(store.path, tmp_path / "home"), (), (), now=NOW)
    assert found == {}


def test_count_mismatch(store: Sessions) -> None:
    store.row("short", source="cli", said=RECENT, message_count=1)
    store.row("long", source="cli", said=RECENT, message_count=3)
    store.row("null", source="cli", said=RECENT, message_count=None)
    store.row("rewound", source="cli", said=(NOW - 60,), message_count=1)
    store.say("rewound", NOW - 50, active=0)
    store.row("every", source="cli", said=(NOW - 60,), message_count=2)
    store.say("every", NOW - 50, active=0)
    assert kinds(store, "short") == kinds(store, "long") == {"count-mismatch"}
    assert [kinds(store, key) for key in ("null", "rewound", "every")] == [set()] * 3


def test_lost_messages(store: Sessions) -> None:
    store.row("here", source="cli", said=RECENT)
    assert kinds(store, "") == set()
    store.say("gone", NOW - 10)
    store.say("gone", NOW - 9)
    store.say("away", NOW - 8)
    assert store.anomalies("")["lost-messages"].text.startswith("3 messages belong to 2 sessions")


def test_bad_time(store: Sessions) -> None:
    store.row("huge", source="cli", said=RECENT, started_at=5e246)
    store.row("text", source="cli", said=RECENT, last_activity_at="yesterday")
    store.row("negative", source="cli", said=RECENT, started_at=-1.0)
    store.row("backwards", source="cli", said=RECENT, started_at=NOW - 10, ended_at=NOW - 20)
    store.row("edge", source="cli", said=RECENT, started_at=0.0, ended_at=4_200_000_000.0)
    assert [kinds(store, key) for key in ("huge", "text", "negative", "backwards")] == [{"bad-time"}] * 4
    assert kinds(store, "edge") == set()


def test_stuck_lease(store: Sessions) -> None:
    gone = 2**22 + 7  # Above the kernel's highest process number.
    for key, holder, left in (
        ("stuck", f"pid={gone}:tid=1:agent=a:nonce=n", 200.0),
        ("ran-out", f"pid={gone}:tid=1:agent=a:nonce=n", -1.0),
        ("at-work", f"pid={os.getpid()}:tid=1:agent=a:nonce=n", 200.0),
        ("elsewhere", f"pid={gone}:pidns=1:tid=1:agent=a:nonce=n", 200.0),
        ("odd", "somebody", 200.0),
    ):
        store.row(key, source="cli", said=RECENT)
        store.run("INSERT INTO compression_locks VALUES(?, ?, ?, ?)", key, holder, NOW - 100, NOW + left)
    assert kinds(store, "stuck") == {"stuck-lease"}
    assert "200 more seconds" in store.anomalies("stuck")["stuck-lease"].text
    assert [kinds(store, key) for key in ("ran-out", "at-work", "elsewhere", "odd")] == [set()] * 4


def test_left_open(store: Sessions) -> None:
    long_ago: dict[str, Any] = {"said": (NOW - 3 * DAY,), "started_at": NOW - 4 * DAY}
    for source in ("cron", "kanban", "cli", "acp", "subagent"):
        store.row(source, source=source, **long_ago)
        assert store.anomalies(source)["left-open"].severity == LOW
    store.row("terminal", source="tui", **long_ago)
    store.row("lately", source="cron", said=(NOW - 2 * DAY,))
    store.row("ended", source="cron", ended_at=NOW, **long_ago)
    assert kinds(store, "terminal") == kinds(store, "lately") == kinds(store, "ended") == set()


def test_marked_orphan(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 5000, NOW - 4000), started_at=NOW - 6000)
    said: dict[str, Any] = {"said": (NOW - 3500, NOW - 100), "started_at": NOW - 3600}
    store.row("marked", config={"_delegate_from": "__orphaned__"}, **said)
    store.row("by-design", config={"_delegate_from": "donor"}, **said)
    assert kinds(store, "marked") == {"marked-orphan"}
    assert kinds(store, "by-design") == set()


def test_what_was_set_aside_is_left_out_and_counted(store: Sessions) -> None:
    store.row("phantom", source="unknown", said=RECENT, message_count=9)
    found = store.survey(ignored=frozenset({("phantom", "phantom"), ("other", "orphan")}))
    assert [one.kind for one in found.anomalies["phantom"]] == ["count-mismatch"]
    assert found.hidden == 1


def test_hostile_text_is_inert_in_every_sentence(store: Sessions) -> None:
    evil = "\x1b]0;x\x07\u202e[red]"
    store.row("parent", source="cli", said=(NOW - 900,), ended_at=NOW - 800, end_reason=evil)
    store.row(
        f"child{evil}", source="cli", said=RECENT, parent_session_id="parent", config={"_delegate_from": "parent"}
    )
    store.chat("key", said=RECENT, session_key=f"agent:{evil}:x")
    texts = [one.text for several in store.survey().anomalies.values() for one in several]
    assert len(texts) == 2
    assert all(text.isprintable() for text in texts)


def test_ids_that_are_no_text_at_all_are_read(store: Sessions) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute(
            "INSERT INTO sessions(id, source, started_at) VALUES(CAST(x'ff41' AS TEXT), 'cli', ?)", (NOW,)
        )
        connection.execute(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES(CAST(x'ff41' AS TEXT), 'user', 'x', ?)",
            (NOW,),
        )
    assert kinds(store, "\udcffA") == {"count-mismatch"}


def test_kinds_stand_from_worst_to_mildest() -> None:
    order = [SEVERITIES.index(severity) for severity in KINDS.values()]
    assert order == sorted(order)
