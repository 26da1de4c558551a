"""The incident of hermes-agent #82616, played: fault, crash, wrong resumption, repair, right resumption."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger_tui import cli
from ledger_tui.commands.gateway import probe
from ledger_tui.demo.hooks import Ids, PastClock
from ledger_tui.demo.host import Host
from ledger_tui.demo.incident import FETE, ORPHAN_MESSAGES, OUTAGE, ZOMBIE_MESSAGES, hurried
from ledger_tui.demo.incident_gateway import GRACE_S, Gateway
from ledger_tui.demo.scenarios import SCENARIOS
from ledger_tui.demo.store import identity_of
from ledger_tui.demo.story import Scenario
from ledger_tui.routing.orphans import NOBODY
from ledger_tui.routing.read import Store, read_store
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.plan import look, propose
from ledger_tui.routing.repair.undo import undo
from ledger_tui.routing.resolver import Resolver
from ledger_tui.routing.rows import Session
from ledger_tui.routing.survey import Survey, survey

from .conftest import Row, make, select

DAY = 86_400.0
OPENED_AT = 1_900_000_000.0


def surveyed(home: Path) -> Survey:
    return survey(read_store(home / "state.db", home), now=time.time())


def answer(store: Store) -> Session:
    """The row in which the next message of the chat lands after a restart."""
    peer = identity_of(FETE).peer
    assert peer is not None
    found = Resolver(store.sessions.values(), store.owner).resolve(peer)
    assert found is not None
    return found


def repair(home: Path) -> None:
    state = home / "state.db"
    plan = propose(state, look(read_store(state, home)), now=time.time())
    assert len(plan.adoptions) == 1
    assert apply(state, home, plan, clock=time.time, stopped_by="the test").proven


# -- the home after the wrong resumption ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read only."""
    return make(tmp_path_factory.mktemp("incident") / "home", scenario="incident")


def test_the_numbers_are_those_of_the_report() -> None:
    assert (ZOMBIE_MESSAGES, ORPHAN_MESSAGES) == (12, 798)


def test_there_is_one_lost_conversation_and_one_row_that_came_back(incident: Path) -> None:
    found = surveyed(incident)
    (orphan,) = found.lost
    (zombie,) = found.zombies
    assert (orphan.message_count, orphan.evidence, orphan.adoptable) == (798, "contiguity", True)
    assert (orphan.donor_id, zombie.orphan_ids, zombie.grade) == (zombie.session_id, (orphan.orphan_id,), "proven")
    assert dict(found.counts()) == {"orphan": 1, "zombie": 1}


def test_the_lost_row_has_no_identity_and_the_other_was_never_ended(incident: Path) -> None:
    found = surveyed(incident)
    lost, zombie = found.store.sessions[found.lost[0].orphan_id], answer(found.store)
    assert lost[3:9] == (None,) * 6  # user, key, chat, chat type, thread, parent
    assert lost.profile_name is None
    assert (zombie.messages, zombie.ended_at, zombie.session_key) == (12, None, FETE.session_key)
    # The reset came a minute after its last word, and the lost row 40 s later; nothing was said in it since.
    assert zombie.spoken_at is not None
    assert lost.started_at is not None
    assert lost.started_at - zombie.spoken_at == pytest.approx(40.0 + 60.0 + 20.0 - 1.5)
    assert lost.spoken_at is not None
    assert lost.spoken_at - zombie.spoken_at > 3 * DAY


def test_everything_else_in_the_store_is_sound(incident: Path) -> None:
    found = surveyed(incident)
    strays = {one.session_key is None for one in found.store.sessions.values() if one.id != found.lost[0].orphan_id and
              one.source in ("telegram", "discord", "whatsapp")}  # fmt: skip
    assert strays == {False}


class Line:
    """The command line on one home; answers are JSON."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._capsys = home, capsys

    def __call__(self, *arguments: str) -> Any:
        self._capsys.readouterr()
        assert cli.run(["--hermes-home", str(self.home), *arguments, "--json"]) == 0
        return json.loads(self._capsys.readouterr().out)

    def silent(self, *arguments: str) -> int:
        return cli.run(["--hermes-home", str(self.home), *arguments])

    def messages(self) -> int:
        """In the row where the chat goes on."""
        return answer(read_store(self.home / "state.db", self.home)).messages


def test_the_whole_story_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    assert cli.run(["demo", "--scenario", "incident", "--headless", "--home", str(home)]) == 0
    line = Line(home, capsys)
    assert line("sessions")["anomalies"] == {"orphan": 1, "zombie": 1}
    planned = line("repair-routing")
    (record,) = [one for one in planned["records"] if one["gateway"]]
    assert (record["message_count"], record["adoptable"], record["evidence"]) == (798, True, "contiguity")
    assert (planned["applied"], planned["repair_id"], line.messages()) == ([], None, 12)

    done = line("repair-routing", "--apply", "--yes")
    assert (len(done["applied"]), line.messages()) == (1, 798)
    assert set(line("sessions")["anomalies"]) == {"stale-route"}  # The gateway has not started again yet.
    assert line.silent("repair-undo", "--yes") == 0
    assert line.messages() == 12


def test_where_somebody_spoke_on_in_the_wrong_row_a_person_has_to_choose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = make(tmp_path / "home", scenario="incident-spoken")
    found, line = surveyed(home), Line(home, capsys)
    (orphan,) = found.lost
    (zombie,) = found.zombies
    assert (orphan.message_count, orphan.adoptable, orphan.reason) == (798, False, NOBODY.format(gap=900.0))
    assert (zombie.grade, line.messages()) == ("spoken-again", 14)
    assert line("repair-routing", "--apply", "--yes")["applied"] == []
    choice = f"{orphan.orphan_id}={zombie.session_id}"
    assert len(line("repair-routing", "--apply", "--yes", "--choose", choice)["applied"]) == 1
    assert line.messages() == 798


def test_the_same_seed_tells_the_same_story(incident: Path, tmp_path: Path) -> None:
    def told(home: Path) -> list[Row]:
        sql = (
            "SELECT m.session_id, m.role, m.content, m.tool_calls, round(m.timestamp - s.started_at, 3) AS after"
            " FROM messages m JOIN sessions s ON s.id = m.session_id ORDER BY m.id"
        )
        return select(home / "state.db", sql)

    assert told(make(tmp_path / "home", scenario="incident")) == told(incident)
    assert told(make(tmp_path / "other", scenario="incident", seed=2)) != told(incident)


def test_everyday_chats_are_written_by_the_hardened_store(home: Path) -> None:
    found = surveyed(home)
    assert (found.lost, found.zombies) == ((), ())
    chats = [row for row in found.store.sessions.values() if row.source in ("telegram", "discord", "whatsapp")]
    assert len(chats) == 5
    assert all(row.session_key and row.chat_id and row.user_id and row.profile_name == "default" for row in chats)
    assert set(found.store.routes) == {row.session_key for row in chats}


def test_a_compression_keeps_its_chain(home: Path, state: Callable[..., list[Row]]) -> None:
    first, second = state("SELECT id, parent_session_id, end_reason FROM sessions WHERE id LIKE 'sim_thesis%'")
    assert (first["end_reason"], second["parent_session_id"]) == ("compression", first["id"])
    (summary,) = state("SELECT * FROM messages WHERE session_id = ? AND _compressed_summary", second["id"])
    assert summary["content"].startswith("[CONTEXT COMPACTION")


# -- the outage, beat by beat -----------------------------------------------------------------------------------------


class Deaf:
    """Hooks of a host without a plugin."""

    def session_start(self, session_id: str, platform: str) -> None:
        pass

    def pre_llm_call(self, **payload: Any) -> Any:
        pass

    def issue(self, tool: str, args: dict[str, Any], ids: Ids) -> None:
        pass

    def returned(self, tool: str, args: dict[str, Any], result: str, ids: Ids) -> None:
        pass

    def report(
        self, tool: str, args: dict[str, Any], result: str, ids: Ids, status: str, error_type: str, duration_ms: int
    ) -> None:
        pass

    def close(self) -> None:
        pass


def never(*_: Any) -> None:
    raise AssertionError("nobody is to be killed here")


SHORT = replace(FETE, turns=(*FETE.turns[:12], *FETE.turns[-4:]))
"""12 messages before the reset; one round of 24 and the last 12 after it."""


class Played:
    """The incident's chat alone and shortened, beat by beat, at the clock of the story."""

    def __init__(self, home: Path) -> None:
        scenario = Scenario("test", "", (SHORT,), frozenset(), outage=OUTAGE)
        self.home, self.clock = home, PastClock(OPENED_AT)
        self.told: list[str] = []
        self.gateway = Gateway(scenario, home, self.clock.wall)
        self.gateway.tell = self.told.append
        self.host = Host(scenario, self.gateway.store, Deaf(), home=home, seed=1, clock=self.clock.wall, kill=never)
        self.gateway.play(self.host)

    def until(self, at: float) -> None:
        while (due := self.host.next_at()) is not None and due <= at:
            self.clock.move_to(OPENED_AT + due)
            self.host.step()

    def row(self) -> Session:
        return answer(read_store(self.home / "state.db", self.home))


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


def test_the_chat_looks_normal_until_the_crash(played: Played) -> None:
    played.until(OUTAGE.crashes - 0.1)
    _, transcript = played.host.recall("fete")
    assert len(transcript) == 36
    assert probe(played.home).running is True


def test_after_the_crash_the_gateway_reads_from_three_days_ago(played: Played) -> None:
    played.until(OUTAGE.asks)
    assert played.told == [
        "The gateway crashed. Which session each chat was in stood in its memory.",
        "The gateway runs again.",
        "Asked in Boat and fete for the last words, it answers: Good: three tins of reed green.",
    ]
    assert played.row().messages == 12


def test_a_stopped_gateway_holds_nothing(played: Played) -> None:
    played.until(OUTAGE.stops - 0.1)
    assert probe(played.home).running is True
    played.until(OUTAGE.stops)
    assert probe(played.home).running is False
    with closing(sqlite3.connect(played.home / "state.db", timeout=0.0, isolation_level=None)) as other:
        # Only granted while nobody else has the file open.
        assert other.execute("PRAGMA locking_mode=EXCLUSIVE").fetchone() == ("exclusive",)
        assert other.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
        other.execute("PRAGMA journal_mode=WAL")


def test_it_stays_stopped_until_it_is_repaired(played: Played) -> None:
    played.until(OUTAGE.stops + 3600.0)
    assert played.told[-1] == "The gateway is stopped. Look at screen 3; r repairs."
    assert probe(played.home).running is False


def test_repaired_it_starts_again_and_the_chat_goes_on_where_it_was(played: Played) -> None:
    played.until(OUTAGE.stops + 10.0)
    repair(played.home)
    played.until(OUTAGE.stops + 12.0)
    assert played.told[-1] == "The chat is repaired. The gateway starts in 30 s; until then it can be undone."
    assert played.row().messages == 36
    played.until(OUTAGE.stops + 10.0 + GRACE_S + 2.0)
    assert played.told[-1].startswith("The gateway runs again. Asked for the last words, it answers: ")
    assert "reed green" not in played.told[-1]
    assert probe(played.home).running is True
    # The first message and its answer.
    played.until(OUTAGE.stops + 10.0 + GRACE_S + 5.0)
    assert played.row().messages == 38
    (last,) = select(played.home / "state.db", "SELECT content FROM messages ORDER BY id DESC LIMIT 1")
    assert last["content"] == OUTAGE.after.reply


def test_undone_in_time_it_stays_stopped(played: Played) -> None:
    played.until(OUTAGE.stops + 10.0)
    repair(played.home)
    played.until(OUTAGE.stops + 20.0)
    undo(played.home / "state.db", played.home, clock=time.time, stopped_by="the test")
    played.until(OUTAGE.stops + 3600.0)
    assert probe(played.home).running is False
    assert played.row().messages == 12


def test_haste_is_for_what_somebody_watches() -> None:
    whole, fast = SCENARIOS["incident"], hurried(SCENARIOS["incident"], 2.0)
    assert fast.outage is not None
    assert (fast.outage.resets, fast.outage.crashes, fast.outage.stops) == (OUTAGE.resets, 22.5, 33.0)
    before, after = (next(chat for chat in one.chats if chat.name == "fete").turns for one in (whole, fast))
    assert [turn.at for turn in after] == [turn.at / 2 if turn.at > 0 else turn.at for turn in before]
    assert hurried(SCENARIOS["everyday"], 2.0) is SCENARIOS["everyday"]
