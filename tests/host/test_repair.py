"""Stores that we repaired, opened by real hosts: their list shows the conversation, their search finds it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.routing.read import Store, read_store
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.plan import Plan
from ledger_tui.routing.repair.refused import RefusedError
from ledger_tui.routing.repair.undo import undo
from ledger_tui.routing.resolver import Peer
from tests.routing.corpus import DONOR, ORPHAN, case, cases
from tests.routing.stores import cells, change, clock, digest, gap, planned, repaired

from .environments import Host, build
from .home import DRIVER

pytestmark = pytest.mark.host


class Mended:
    """A case, repaired by us, and what the host is to be asked about it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.home, self.path = case(name).lay_out(folder / name)
        self.before: Store = read_store(self.path, self.home)
        self.plan: Plan = planned(self.home, self.path, max_gap_s=gap(case(name)))
        if self.plan.adoptions:
            repaired(self.home, self.path, max_gap_s=gap(case(name)))

    def question(self) -> dict[str, Any]:
        rows = read_store(self.path, self.home).sessions
        ours = [rows[one.orphan_id] for one in self.plan.adoptions]
        peers = [
            next(row for row in reversed(ours) if (row.session_key, row.source) == (one.session_key, one.source))
            for one in self.plan.answers
        ]
        ids = [key for one in self.plan.adoptions for key in (one.donor_id, one.orphan_id)]
        return {"path": str(self.path), "peers": [asdict(Peer.of(row)) for row in peers], "ids": ids}


def environment(folder: Path) -> dict[str, str]:
    """What a host process sees: a home that is not the store's, so that it starts with nothing of its own."""
    place = folder / "person"
    place.mkdir(exist_ok=True)
    return {"PATH": os.defpath, "HOME": str(place), "HERMES_HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"}


def ask(host: Host, folder: Path, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the host's own store says, one answer per file."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(questions), encoding="utf-8")
    done = subprocess.run(
        [str(build(host)), str(DRIVER / "session_store.py"), str(plan)],
        env=environment(folder), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    answers = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    assert len(answers) == len(questions), done.stderr[-2000:]
    assert not [one for one in answers if "error" in one], answers
    return answers


def fitting(host: Host, folder: Path) -> list[Mended]:
    """Cases with something to mend, in a layout that this host has files of."""
    there = [Mended(one.name, folder) for one in cases()]
    return [one for one in there if one.plan.adoptions and not (host.is_019 and one.before.recent_host)]


def test_every_repaired_conversation_is_listed_and_found(host: Host, tmp_path: Path) -> None:
    """Each by itself, or, within a compaction chain, by the chain's last row, which the host lists for all of it."""
    mended = fitting(host, tmp_path)
    assert len(mended) == (7 if host.is_019 else 37)
    answers = ask(host, tmp_path, [one.question() for one in mended])
    for one, said in zip(mended, answers, strict=True):
        listed = {key for row in said["listed"] for key in row if key}
        for adoption in one.plan.adoptions:
            assert said["tips"][adoption.orphan_id] in listed, (one.name, adoption)
        assert said["resolved"] == [answer.after_id for answer in one.plan.answers], one.name


def test_compaction_chains_stay_one(host: Host, tmp_path: Path) -> None:
    """D2: the donor leads to the row that was adopted, and to whatever continues that."""
    mended = [one for one in fitting(host, tmp_path) if one.name in ("000", "015", "020", "035", "037")]
    answers = ask(host, tmp_path, [one.question() for one in mended])
    chains = 0
    for one, said in zip(mended, answers, strict=True):
        for adoption in one.plan.adoptions:
            donor = one.before.sessions[adoption.donor_id]
            if donor.end_reason == "compression":
                assert said["tips"][donor.id] == said["tips"][adoption.orphan_id] != donor.id, one.name
                chains += 1
    assert chains == (3 if host.is_019 else 9)


def test_the_incident_in_the_hosts_own_command(host: Host, tmp_path: Path) -> None:
    mended = Mended("incident-82616", tmp_path)
    assert mended.plan.adoptions[0].orphan_id == ORPHAN
    (said,) = ask(host, tmp_path, [mended.question()])  # A 0.22 lists a file only once it has added its columns.
    assert said["resolved"] == [ORPHAN]
    done = subprocess.run(
        [str(build(host).with_name("hermes")), "sessions", "list"],
        env={**environment(tmp_path), "HERMES_HOME": str(mended.home)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ORPHAN in done.stdout


def test_unrepaired_it_is_not_found(host: Host, tmp_path: Path) -> None:
    """What the other tests would say if a repair did nothing."""
    home, path = case("incident-82616").lay_out(tmp_path)
    row = read_store(path, home).sessions[DONOR]
    (said,) = ask(host, tmp_path, [{"path": str(path), "peers": [asdict(Peer.of(row))], "ids": []}])
    assert said["resolved"] == [DONOR]


def test_done_as_the_hosts_own_command_does_it_the_list_would_not_show_it(host: Host, tmp_path: Path) -> None:
    """D1: with the donor as parent, and no mark, the row is filed as a passing child by both hosts."""
    home, path = case("incident-82616").lay_out(tmp_path)
    repaired(home, path)
    question = {"path": str(path), "peers": [], "ids": []}
    shown = {key for key, _ in ask(host, tmp_path, [question])[0]["listed"]}
    change(path, "UPDATE sessions SET parent_session_id = ?, model_config = NULL WHERE id = ?", DONOR, ORPHAN)
    hidden = {key for key, _ in ask(host, tmp_path, [question])[0]["listed"]}
    assert (shown, hidden) == ({ORPHAN, DONOR}, {DONOR})


def test_a_019_hides_a_marked_row_that_has_a_parent(host: Host, tmp_path: Path) -> None:
    """Why the parent of a lost row moves into its mark there; a 0.22 shows it in either way."""
    home, path = case("incident-82616").lay_out(tmp_path)
    change(path, "UPDATE sessions SET parent_session_id = ? WHERE id = ?", DONOR, ORPHAN)
    repaired(home, path)
    assert cells(path)[ORPHAN]["parent_session_id"] is None
    question = {"path": str(path), "peers": [], "ids": []}
    assert ORPHAN in {key for key, _ in ask(host, tmp_path, [question])[0]["listed"]}
    change(path, "UPDATE sessions SET parent_session_id = ? WHERE id = ?", DONOR, ORPHAN)
    listed = {key for key, _ in ask(host, tmp_path, [question])[0]["listed"]}
    assert (ORPHAN in listed) != host.is_019


def test_the_hosts_own_finder_has_nothing_left_to_do(host: Host, tmp_path: Path) -> None:
    home, path = case("001").lay_out(tmp_path)
    if host.is_019:
        pytest.skip("Hermes 0.19 has no such finder")
    question = {"path": str(path), "peers": [], "ids": []}
    assert len(ask(host, tmp_path, [question])[0]["lost"]) == 2
    repaired(home, path)
    assert ask(host, tmp_path, [question])[0]["lost"] == []


def test_a_reset_still_fences_off_what_was_before_it(host: Host, tmp_path: Path) -> None:
    """D2: once the repaired row ends too, nothing from before the `/new` comes back."""
    if host.is_019:
        pytest.skip("Hermes 0.19 knows no such fence")
    home, path = case("incident-82616").lay_out(tmp_path)
    columns = ", ".join(
        name for name in cells(path)[DONOR] if name not in ("id", "started_at", "ended_at", "end_reason")
    )
    change(
        path,
        f"INSERT INTO sessions(id, started_at, ended_at, end_reason, {columns})"
        f" SELECT 'long-ago', started_at - 9000, started_at - 8000, 'agent_close', {columns} FROM sessions"
        " WHERE id = ?",
        DONOR,
    )
    change(path, "UPDATE sessions SET ended_at = started_at + 5000, end_reason = 'session_reset' WHERE id = ?", DONOR)
    repaired(home, path)
    row = read_store(path, home).sessions[ORPHAN]
    question = {"path": str(path), "peers": [asdict(Peer.of(row))], "ids": []}
    assert ask(host, tmp_path, [question])[0]["resolved"] == [ORPHAN]
    change(path, "UPDATE sessions SET ended_at = started_at + 9000, end_reason = 'cli_close' WHERE id = ?", ORPHAN)
    assert ask(host, tmp_path, [question])[0]["resolved"] == [None]


def test_undone_after_the_host_has_opened_and_changed_the_file(host: Host, tmp_path: Path) -> None:
    """A 0.22 adds its columns to a file of a 0.19; what the repair wrote is put back all the same."""
    home, path = case("incident-82616").lay_out(tmp_path)
    before = cells(path)
    repaired(home, path)
    ask(host, tmp_path, [{"path": str(path), "peers": [], "ids": []}])
    assert ("last_activity_at" in cells(path)[ORPHAN]) != host.is_019
    undo(path, home, clock=clock, stopped_by="the test")
    after = cells(path)
    assert {key: {name: row[name] for name in before[key]} for key, row in after.items()} == before


HOLDS = """\
import sys
from pathlib import Path
from hermes_state import SessionDB
store = SessionDB(db_path=Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_host_that_holds_the_store(host: Host, tmp_path: Path) -> None:
    home, path = case("incident-82616").lay_out(tmp_path)
    holder = subprocess.Popen(
        [str(build(host)), "-c", HOLDS, str(path)],
        env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        while holder.stdout.readline() != b"ready\n":
            assert holder.poll() is None
        plan = planned(home, path)
        before = digest(path)
        with pytest.raises(RefusedError) as caught:
            apply(path, home, plan, clock=clock, stopped_by="the test")
        assert caught.value.check == "open-files"
        assert digest(path) == before
    finally:
        holder.kill()
        holder.communicate()
    assert apply(path, home, planned(home, path), clock=clock, stopped_by="the test").proven
