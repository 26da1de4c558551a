"""Scheduled jobs: the judging by hand-made facts, and the reading by lists and calls put there by hand."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from agent_ledger.engine.evidence.around import LastWrite
from agent_ledger.engine.evidence.cron import Changed, Created, judge_change, judge_create
from agent_ledger.engine.evidence.cron_store import Job, seconds

from .makers import World

BEFORE, OURS, KNOWN, STRANGE = (
    LastWrite(True, False, False),
    LastWrite(False, True, False),
    LastWrite(False, False, True),
    LastWrite(False, False, False),
)
JOB = Job("3f0c9a1b2c4d", "look", created=50.0)


def changed(action: str, *, at: float = 100.0, write: LastWrite = STRANGE, job: Job | None = JOB, **more: Any) -> str:
    seen = Changed(action, "3f0c9a1b2c4d", True, (job,) if job else (), at, write, more.pop("rivals", False), **more)
    return judge_change(seen, 900.0).verdict


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Created(mine=(JOB,)), "landed"),
        (Created(mine=(JOB,), write=STRANGE, gone="A job was removed."), "landed"),
        (Created(shared=(JOB,), taken=0), "unknown"),
        (Created(shared=(JOB,), taken=1, write=KNOWN), "absent"),
        (Created(shared=(JOB, JOB), taken=1, write=KNOWN), "unknown"),
        (Created(unlike=(JOB,)), "unknown"),
        (Created(write=BEFORE), "absent"),
        (Created(write=KNOWN), "absent"),
        (Created(write=STRANGE), "unknown"),
        (Created(write=KNOWN, gone="A job was removed."), "unknown"),
    ],
)
def test_a_call_to_make_a_job(seen: Created, verdict: str) -> None:
    assert judge_create(seen, 900.0).verdict == verdict


def test_a_job_that_nothing_will_run_has_landed_and_says_so() -> None:
    told = judge_create(Created(mine=(JOB,), quiet="Nothing will run it: no scheduler."), 900.0)
    assert told.verdict == "landed"
    assert told.evidence[-1] == "Nothing will run it: no scheduler."


def test_a_removal() -> None:
    assert changed("remove", write=KNOWN) == "absent"  # Still there, by its id.
    assert changed("remove", job=None, write=OURS) == "landed"
    assert changed("remove", job=None, write=BEFORE) == "absent"
    assert changed("remove", job=None, write=KNOWN) == "unknown"
    assert changed("remove", job=None, write=STRANGE) == "unknown"


def test_a_pause() -> None:
    early, late = Job("3f0c9a1b2c4d", "look", 50.0, paused_at=60.0), Job("3f0c9a1b2c4d", "look", 50.0, paused_at=101.0)
    assert changed("pause", job=late, paused_by_it=True) == "landed"
    assert changed("pause", job=late, paused_by_it=True, rivals=True) == "unknown"
    assert changed("pause", job=early) == "absent"
    assert changed("pause", job=late) == "unknown"
    assert changed("pause", write=BEFORE) == "absent"
    assert changed("pause", write=STRANGE) == "unknown"
    assert changed("pause", write=KNOWN) == "absent"
    assert changed("pause", write=KNOWN, undone=True) == "unknown"


def test_a_resumption() -> None:
    paused = Job("3f0c9a1b2c4d", "look", 50.0, paused_at=60.0, state="paused", enabled=False)
    again = Job("3f0c9a1b2c4d", "look", 50.0, paused_at=130.0, state="paused", enabled=False)
    assert changed("resume", job=paused) == "absent"
    assert changed("resume", job=again) == "unknown"
    assert changed("resume", job=again, write=KNOWN) == "absent"
    assert changed("resume", job=again, write=KNOWN, undone=True) == "unknown"
    assert changed("resume", write=OURS) == "landed"
    assert changed("resume", write=BEFORE) == "absent"
    assert changed("resume", write=KNOWN) == "unknown"
    assert changed("resume", write=KNOWN, other_before=True) == "landed"
    assert changed("resume", write=KNOWN, other_before=True, rivals=True) == "unknown"


def test_an_update() -> None:
    assert changed("update", as_asked=True, write=OURS) == "landed"
    assert changed("update", as_asked=True, write=BEFORE) == "absent"
    assert changed("update", as_asked=True, write=STRANGE) == "unknown"
    assert changed("update", as_asked=False, write=KNOWN) == "absent"
    assert changed("update", as_asked=False, write=KNOWN, rivals=True) == "unknown"
    assert changed("update", as_asked=None, write=OURS) == "unknown"


def test_a_run() -> None:
    assert changed("run", ran="an execution was claimed") == "landed"
    assert changed("run", ran="an execution was claimed", rivals=True) == "unknown"
    assert changed("run", ran_else=True, write=BEFORE) == "unknown"
    assert changed("run", write=BEFORE) == "absent"
    assert changed("run", write=STRANGE) == "unknown"


def test_a_name_is_not_always_the_same_job() -> None:
    def by_name(*jobs: Job, **more: Any) -> str:
        return judge_change(Changed("pause", "look", False, jobs, 100.0, BEFORE, False, **more), 900.0).verdict

    assert by_name(JOB) == "absent"
    assert by_name(JOB, JOB) == "unknown"
    assert by_name(Job("aaaaaaaaaaaa", "look", created=150.0)) == "unknown"
    assert by_name(JOB, renamed=True) == "unknown"


def test_times_with_and_without_a_zone() -> None:
    assert seconds("2026-03-01T12:00:00+00:00") == seconds("2026-03-01T14:00:00+02:00") == 1772366400.0
    assert seconds("2026-03-01T12:00:00") == datetime(2026, 3, 1, 12, 0, 0).astimezone().timestamp()
    assert seconds("soon") is None
    assert seconds(None) is None


# -- read from a home --------------------------------------------------------------------------------------------------

CREATE = {"action": "create", "name": "look", "schedule": "every 30m", "prompt": "Look at the queue."}


def iso(moment: float, hours: int = 0) -> str:
    return datetime.fromtimestamp(moment, tz=timezone(timedelta(hours=hours))).isoformat()


def put(world: World, *jobs: dict[str, Any], written: float) -> None:
    """A list, written when the test runs, which its own word puts at `written`."""
    folder = world.paths.home / "cron"
    folder.mkdir(exist_ok=True)
    (folder / "jobs.json").write_text(json.dumps({"jobs": jobs, "updated_at": iso(written, 5)}))


def job(made: float, **more: Any) -> dict[str, Any]:
    return {"id": "3f0c9a1b2c4d", "name": "look", "prompt": "Look at the queue.", "created_at": iso(made, -7), **more}


def test_the_job_was_made_right_after_the_call(world: World) -> None:
    call = world.call("cronjob", CREATE, at=world.before)
    put(world, job(world.before + 0.4), written=world.before + 0.5)
    assert world.verdict(call).verdict == "landed"


def test_a_job_of_that_name_from_before_is_no_proof(world: World) -> None:
    put(world, job(world.before - 3.0), written=world.before - 3.0)
    assert world.verdict(world.call("cronjob", CREATE, at=world.before)).verdict == "unknown"
    assert world.verdict(world.call("cronjob", CREATE, at=world.after)).verdict == "absent"


def test_a_job_that_came_later_is_no_proof(world: World) -> None:
    call = world.call("cronjob_manage", CREATE, at=world.before)
    put(world, job(world.before + 9.0), written=world.before + 9.0)
    assert world.verdict(call).verdict == "unknown"


def test_an_identical_call_that_was_confirmed_made_the_one_job(world: World) -> None:
    at = world.after - 60.5  # The list is written when the test runs, at about `after` - 60.
    lost = world.call("cronjob", CREATE, at=at - 1.0)
    world.done("cronjob", CREATE, at=at, took=1.5)
    put(world, job(at + 0.2), written=at + 0.3)
    assert world.verdict(lost).verdict == "absent"


def test_a_pause_that_a_later_call_took_back(world: World) -> None:
    at = world.after - 60.5
    lost = world.call("cronjob", {"action": "pause", "job_id": "3f0c9a1b2c4d"}, at=at - 1.0)
    world.done("cronjob", {"action": "resume", "job_id": "look"}, at=at, took=1.5)
    put(world, job(at - 90.0), written=at + 0.3)
    assert world.verdict(lost).verdict == "unknown"


def test_two_lost_calls_and_one_job(world: World) -> None:
    first = world.call("cronjob", CREATE, at=world.before)
    second = world.call("cronjob", CREATE, at=world.before + 0.5)
    put(world, job(world.before + 0.7), written=world.before + 0.8)
    assert world.verdict(first).verdict == "unknown"
    assert world.verdict(second).verdict == "unknown"


def test_another_prompt_is_another_job(world: World) -> None:
    call = world.call("cronjob", {**CREATE, "prompt": "Something else."}, at=world.before)
    put(world, job(world.before + 0.4), written=world.before + 0.5)
    assert world.verdict(call).verdict == "unknown"  # It may be this call's, changed since.


def test_a_job_that_ran_once_and_is_gone(world: World) -> None:
    call = world.call("cronjob", {**CREATE, "schedule": "5m"}, at=world.before)
    put(world, written=world.before + 30.0)
    runs = sqlite3.connect(world.paths.home / "cron" / "executions.db")
    runs.execute("CREATE TABLE executions(job_id, source, status, claimed_at, finished_at)")
    runs.execute("INSERT INTO executions VALUES('x', 'builtin', 'completed', ?, NULL)", (iso(world.before + 20),))
    runs.commit()
    runs.close()
    told = world.verdict(call)
    assert told.verdict == "unknown"
    assert "A job that is no longer on the list was run since." in told.evidence


@pytest.mark.parametrize("text", ["", "{", '{"jobs": 4}', '{"jobs": [1]}', "null"])
def test_a_list_that_cannot_be_read_tells_nothing(world: World, text: str) -> None:
    (world.paths.home / "cron").mkdir()
    (world.paths.home / "cron" / "jobs.json").write_text(text)
    assert world.verdict(world.call("cronjob", CREATE, at=world.after)).verdict == "unknown"


def test_a_list_behind_a_link_is_not_followed(world: World) -> None:
    (world.paths.home / "cron").mkdir()
    (world.work / "jobs.json").write_text('{"jobs": []}')
    (world.paths.home / "cron" / "jobs.json").symlink_to(world.work / "jobs.json")
    told = world.verdict(world.call("cronjob", CREATE, at=world.after))
    assert told.verdict == "unknown"
    assert "is a link, which is not followed" in told.evidence[0]


def test_a_scheduler_that_shows_itself(world: World) -> None:
    call = world.call("cronjob", CREATE, at=world.before)
    put(world, job(world.before + 0.4), written=world.before + 0.5)
    beat = world.paths.home / "cron" / "ticker_heartbeat"
    beat.write_text(f"{world.now - 30.0}")
    assert len(world.verdict(call).evidence) == 1
    beat.write_text(f"{world.now - 7200.0} 4711")
    assert (
        world.verdict(call).evidence[-1] == "Nothing runs it at present: the scheduler last showed itself 2 hours ago."
    )


def test_a_prompt_of_which_only_the_hash_is_kept(world: World) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    key = load_key(world.paths.key)
    hashes = value_hashes(key, CREATE, lambda name: name)
    call = world.call(
        "cronjob", {**CREATE, "prompt": "Look at ***"}, at=world.before, args_redacted=1, value_hashes=hashes
    )
    put(world, job(world.before + 0.4), written=world.before + 0.5)
    assert world.verdict(call).verdict == "landed"
    other = value_hashes(key, {**CREATE, "prompt": "Look away."}, lambda name: name)
    call = world.call(
        "cronjob", {**CREATE, "prompt": "Look ***"}, at=world.before + 0.1, args_redacted=1, value_hashes=other
    )
    assert world.verdict(call).verdict == "unknown"
