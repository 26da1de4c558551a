"""Scheduled jobs: what `cron/jobs.json` and `cron/executions.db` say of a call to make, change, run or remove one.

Hermes 0.19 and 0.22 keep every job in one list, written whole at each change, with the time of that. A job carries
when it was made and paused; a run leaves a row in `executions.db`. A job that is there is not yet a job that runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .around import (
    HANDS,
    UNSEEN_S,
    LastWrite,
    chosen,
    explained,
    issued,
    last_write,
    may_be_of,
    may_explain,
    once,
    others,
    untouched,
)
from .cron_store import Job, Store, compared, fits, read
from .facts import Facts
from .recorded import Recorded
from .verdict import Verdict, absent, landed, quoted, unknown

TOOLS = ("cronjob", "cronjob_manage")

_LOOKS = re.compile(r"hermes (?:cron|cronjob) (?:list|status|history)\b[^;&|`$<>()\n]*")

_RUN = ("run", "run_now", "trigger")
_ACTIONS = ("create", "update", "pause", "resume", "remove", *_RUN)


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on one call. Raises CannotTellError where the list cannot be read whole."""
    action = chosen(call, facts, "action", _ACTIONS)
    if not action:
        return unknown(facts.now, "Which action was asked of the scheduler is not stored, or not known here.")
    issued(call)
    store = once(facts, read, lambda: read(facts))
    around = others(facts, call, TOOLS)
    by_hand = others(facts, call, HANDS, "cron", _LOOKS)
    if action == "create":
        return judge_create(_created(call, facts, store, around, by_hand), facts.now)
    return judge_change(_changed(call, facts, store, action, around, by_hand), facts.now)


@dataclass(frozen=True, slots=True)
class Created:
    """What is known of one call to make a job."""

    mine: tuple[Job, ...] = ()
    """Jobs as asked for, made when this call would have made them, that no other recorded call explains."""
    shared: tuple[Job, ...] = ()
    """The same, but another recorded call may have made them."""
    taken: int = 0
    """How many confirmed calls made such a job then: so many of the shared ones are theirs."""
    unlike: tuple[Job, ...] = ()
    """Jobs made at that time that are not as asked for: changed since, or somebody else's."""
    write: LastWrite = field(default_factory=untouched)
    gone: str = ""
    """Why a job may have been made and be gone again; empty where nothing suggests it."""
    quiet: str = ""
    """Why nothing will run it; empty where a scheduler shows itself."""


def judge_create(seen: Created, now: float) -> Verdict:
    """Landed: a job as asked for, made just then. Absent: none, and none can have been taken away since."""
    if seen.mine:
        job = seen.mine[0]
        also = f" {len(seen.mine)} such jobs are there." if len(seen.mine) > 1 else ""
        made = f"The job {quoted(job.name)} ({job.id}) is on the list, made right after the call.{also}"
        return landed(now, made, *filter(None, (job.standing(), seen.quiet)))
    if len(seen.shared) > seen.taken:
        return unknown(
            now, f"A job like it is on the list ({quoted(seen.shared[0].name)}), but another call may have made it."
        )
    if seen.unlike:
        return unknown(
            now, f"A job was made at that time ({quoted(seen.unlike[0].name)}), but it is not what the call asked for."
        )
    if seen.gone:
        return unknown(now, "No job like it is on the list.", seen.gone)
    return _nothing(seen.write, now, "No job like it is on the list of scheduled jobs.")


def _nothing(write: LastWrite, now: float, missing: str) -> Verdict:
    """Absent, where the list was not written since or only by known calls soon after; else unknown."""
    if write.before:
        return absent(now, missing, "The list was last written before the call.")
    if write.known:
        return absent(now, missing, "The list was written since by recorded calls only.")
    return unknown(now, missing, "But the list was written since by somebody unknown, who may have changed that.")


@dataclass(frozen=True, slots=True)
class Changed:
    """What is known of one call on a job that existed. `by_id`: it was named by its id, which is never given twice."""

    action: str
    ref: str
    by_id: bool
    jobs: tuple[Job, ...]
    """The jobs that the name stands for now."""
    at: float
    write: LastWrite
    rivals: bool
    """Did another recorded call do the same to this job, as far as its time tells?"""
    paused_by_it: bool = False
    """Was the job paused when this call would have done it?"""
    as_asked: bool | None = None
    """For an update: does the job have what was asked for? None where that cannot be compared."""
    undone: bool = False
    """May another recorded call have set it back since?"""
    other_before: bool = False
    """Did a recorded call shortly before leave it otherwise than this one asked for?"""
    renamed: bool = False
    """May another job have got this name since?"""
    ran: str = ""
    """For a run: the execution that fits, in words."""
    ran_else: bool = False
    """For a run: an execution that something else may have started."""
    quiet: str = ""


def judge_change(seen: Changed, now: float) -> Verdict:
    """The same for a call on a job that was there before."""
    if len(seen.jobs) > 1:
        return unknown(
            now, f"{len(seen.jobs)} jobs have the name {quoted(seen.ref)}: it cannot be told which is meant."
        )
    job = seen.jobs[0] if seen.jobs else None
    if job is not None and not seen.by_id and (job.created is None or job.created > seen.at or seen.renamed):
        return unknown(now, f"The job {quoted(seen.ref)} on the list need not be the one that the call meant.")
    if seen.action == "remove":
        return _removed(seen, job, now)
    if job is None:
        if seen.write.before:
            return absent(now, f"No job {quoted(seen.ref)} was on the list when the call came, nor is it now.")
        return unknown(now, f"No job {quoted(seen.ref)} is on the list, so nothing tells what became of it.")
    if seen.action == "pause":
        return _paused(seen, job, now)
    if seen.action == "resume":
        return _resumed(seen, job, now)
    if seen.action == "update":
        return _updated(seen, job, now)
    return _ran(seen, job, now)


def _removed(seen: Changed, job: Job | None, now: float) -> Verdict:
    if job is not None:
        return absent(now, f"The job {quoted(job.name)} ({job.id}) is still on the list.")
    missing = f"No job {quoted(seen.ref)} is on the list."
    if seen.write.before:
        return absent(now, missing, "It was gone before the call came, which changed nothing.")
    if seen.write.ours:
        return landed(now, missing, "The list was last written right after the call, and by no other recorded call.")
    return unknown(now, missing, "Whether this call removed it cannot be told: the list was written again since.")


def _paused(seen: Changed, job: Job, now: float) -> Verdict:
    name = f"The job {quoted(job.name)} ({job.id})"
    if seen.paused_by_it:
        if seen.rivals:
            return unknown(now, f"{name} was paused at that time, but another call may have done it.")
        return landed(now, f"{name} was paused right after the call.")
    if job.paused_at is not None and job.paused_at < seen.at:
        return absent(now, f"{name} has been paused since before the call, and not anew.")
    if job.paused_at is not None:
        return unknown(now, f"{name} was paused later than this call would have done it.")
    if seen.undone and not seen.write.before:
        return unknown(now, f"{name} is not paused, but another call may have resumed it since.")
    return _nothing(seen.write, now, f"{name} is not paused.")


def _resumed(seen: Changed, job: Job, now: float) -> Verdict:
    name = f"The job {quoted(job.name)} ({job.id})"
    if job.state == "paused" or not job.enabled:
        if job.paused_at is not None and job.paused_at < seen.at:
            return absent(now, f"{name} is paused, and has been since before the call.")
        if seen.undone and not seen.write.before:
            return unknown(now, f"{name} is paused, but another call may have paused it since.")
        return _nothing(seen.write, now, f"{name} is paused.")
    if seen.write.before:
        return absent(now, f"{name} was not paused when the call came, and the list was not written since.")
    if seen.write.ours:
        return landed(
            now, *filter(None, (f"{name} is not paused; the list was last written by this call.", seen.quiet))
        )
    if seen.write.known and seen.other_before and not seen.rivals:
        return landed(
            now, f"{name} is not paused; a call shortly before had paused it, and no other recorded one resumed it."
        )
    return unknown(now, f"{name} is not paused, but whether this call did that cannot be told.")


def _updated(seen: Changed, job: Job, now: float) -> Verdict:
    name = f"The job {quoted(job.name)} ({job.id})"
    if seen.write.before:
        return absent(now, f"The list with {name} was last written before the call.")
    if seen.as_asked is None:
        return unknown(now, f"{name} is there; what was to be changed about it cannot be compared.")
    if seen.as_asked:
        if seen.write.ours:
            return landed(now, f"{name} is as the call asked for, and the list was last written by it.")
        if seen.write.known and seen.other_before and not seen.rivals:
            return landed(
                now, f"{name} is as the call asked for; a call shortly before had left it otherwise, and no other"
                " recorded one changed it."
            )  # fmt: skip
        return unknown(now, f"{name} is as the call asked for, but it may have been so before, or by another call.")
    if seen.rivals:
        return unknown(now, f"{name} is not as the call asked for, but another call may have changed it since.")
    return _nothing(seen.write, now, f"{name} is not as the call asked for.")


def _ran(seen: Changed, job: Job, now: float) -> Verdict:
    name = f"The job {quoted(job.name)} ({job.id})"
    if seen.ran and not seen.rivals:
        return landed(now, f"{name} was run: {seen.ran}.")
    if seen.ran or seen.ran_else:
        return unknown(now, f"{name} was run at that time, but not necessarily by this call.")
    if seen.write.before:
        return absent(now, f"{name} was not run: neither a run nor a change of the list since the call.")
    return unknown(now, f"No run of {name} by this call is recorded, but the list was written since.")


# -- gathering ---------------------------------------------------------------------------------------------------------


def _action(call: Recorded) -> str:
    return str(call.args.get("action") or "").strip().lower()


def _created(
    call: Recorded, facts: Facts, store: Store, around: Sequence[Recorded], by_hand: Sequence[Recorded]
) -> Created:
    makers = [other for other in around if _action(other) in ("create", "")] + list(by_hand)
    born = [job for job in store.jobs if job.created is not None and may_be_of(call, job.created)]
    fitting = [job for job in born if fits(call, facts, job)]
    rivals = {
        job.id: [o for o in makers if may_explain(o, job.created or 0.0, alike=True) and _alike(o, facts, job)]
        for job in fitting
    }
    shared = [job for job in fitting if rivals[job.id]]
    sure = {other.id for job in shared for other in rivals[job.id] if other.confirmed and other.tool_name in TOOLS}
    strange = [job for job in born if job not in fitting and not explained(around, job.created or 0.0)]
    return Created(
        mine=tuple(job for job in fitting if not rivals[job.id]),
        shared=tuple(shared),
        taken=len(sure),
        unlike=tuple(strange),
        write=_write(call, store, around, by_hand),
        gone=_gone(call, store, around, by_hand),
        quiet=store.quiet,
    )


def _alike(other: Recorded, facts: Facts, job: Job) -> bool:
    return other.tool_name not in TOOLS or fits(other, facts, job)


def _write(call: Recorded, store: Store, around: Sequence[Recorded], by_hand: Sequence[Recorded]) -> LastWrite:
    told = last_write(call, store.written, [*around, *by_hand])
    return LastWrite(told.before, told.ours and not store.scheduled_at(store.written), told.known)


def _gone(call: Recorded, store: Store, around: Sequence[Recorded], by_hand: Sequence[Recorded]) -> str:
    """Could a job that this call made have been removed, or have finished and been taken off the list?"""
    at = issued(call)
    if store.written < at:
        return ""
    if any(other.id > call.id and _action(other) in ("remove", "") and other.effect != "none" for other in around):
        return "A job was removed since by another call; which one cannot be told."
    if any(other.id > call.id and other.effect != "none" for other in by_hand):
        return "A later command may have changed the list."
    known = {job.id for job in store.jobs}
    if any(run.job_id not in known and run.claimed >= at for run in store.runs):
        return "A job that is no longer on the list was run since."
    return ""


def _changed(
    call: Recorded,
    facts: Facts,
    store: Store,
    action: str,
    around: Sequence[Recorded],
    by_hand: Sequence[Recorded],
) -> Changed:
    at = issued(call)
    ref = str(facts.argument(call, "job_id") or "")
    by_id = [job for job in store.jobs if job.id == ref]
    jobs = by_id or [job for job in store.jobs if job.name.lower() == ref.lower()]
    job = jobs[0] if len(jobs) == 1 else None
    kinds = _RUN if action in _RUN else (action,)
    same = [o for o in around if _action(o) in kinds and _names(o, facts, ref, jobs)]
    seen_run, else_run = ("", False)
    if job is not None and action in _RUN:
        seen_run, else_run = _runs_of(call, store, job)
    paused_at = job.paused_at if job is not None else None
    return Changed(
        action=action,
        ref=ref,
        by_id=bool(by_id) or _looks_like_id(ref),
        jobs=tuple(jobs) if ref else (),
        at=at,
        write=_write(call, store, around, by_hand),
        rivals=any(_may_rival(call, other, paused_at if action == "pause" else None) for other in [*same, *by_hand]),
        undone=any(
            o.id > call.id and o.effect != "none" for o in [*_undoers(action, around, facts, ref, jobs), *by_hand]
        ),
        paused_by_it=paused_at is not None and may_be_of(call, paused_at),
        as_asked=_as_asked(call, facts, job) if job is not None and action == "update" else None,
        other_before=job is not None and _other_before(call, facts, store, action, job, around),
        renamed=any(o.id > call.id and _action(o) in ("update", "create") for o in around),
        ran=seen_run,
        ran_else=else_run,
        quiet=store.quiet,
    )


_UNDO = {"pause": ("resume", "update", *_RUN, ""), "resume": ("pause", "update", "")}


def _undoers(action: str, around: Sequence[Recorded], facts: Facts, ref: str, jobs: Sequence[Job]) -> list[Recorded]:
    """Other calls that may set back what this one did; an action that is not stored may be any."""
    return [o for o in around if _action(o) in _UNDO.get(action, ()) and _names(o, facts, ref, jobs)]


def _looks_like_id(ref: str) -> bool:
    return len(ref) == 12 and all(c in "0123456789abcdef" for c in ref)


def _names(other: Recorded, facts: Facts, ref: str, jobs: Sequence[Job]) -> bool:
    """Does another call mean the same job? In doubt yes."""
    named = other.args.get("job_id")
    if not isinstance(named, str) or not other.whole("job_id"):
        return True
    known = {ref.lower()} | {job.id for job in jobs} | {job.name.lower() for job in jobs}
    return named.lower() in known


def _may_rival(call: Recorded, other: Recorded, moment: float | None) -> bool:
    if moment is not None:
        return may_explain(other, moment, alike=True)
    return other.effect != "none" and (other.id > call.id or may_explain(other, call.at or 0.0))


def _runs_of(call: Recorded, store: Store, job: Job) -> tuple[str, bool]:
    """(the run that only a call by hand starts, in words; whether the scheduler ran it too)."""
    found = [run for run in store.runs if run.job_id == job.id and may_be_of(call, run.claimed)]
    direct = [run for run in found if run.source == "direct"]
    if len(found) == 1 and direct:
        return f"an execution was claimed right after the call, and is {direct[0].status}", False
    return "", bool(found) or (job.last_run is not None and job.last_run >= (call.at or 0.0))


def _as_asked(call: Recorded, facts: Facts, job: Job) -> bool | None:
    """Has the job what an update asked for? None where not everything of it can be compared."""
    told = compared(call, facts, job, change=True)
    more = [name for name in call.args if name not in ("action", "job_id", "prompt", "name", "script", "schedule")]
    return None if told and any(call.args[name] is not None for name in more) else told


def _other_before(
    call: Recorded, facts: Facts, store: Store, action: str, job: Job, around: Sequence[Recorded]
) -> bool:
    """Did the last confirmed call on this job before this one, and no longer ago than that, leave it otherwise?"""
    before = [o for o in around if o.id < call.id and o.confirmed and (o.at or 0.0) >= store.written - UNSEEN_S]
    if action == "resume":
        mine = [o for o in before if _action(o) in ("pause", "resume") and _names(o, facts, job.id, [job])]
        return bool(mine) and _action(mine[-1]) == "pause"
    if action != "update":
        return False
    made = [o for o in before if _action(o) == "create" and job.created is not None and may_explain(o, job.created)]
    return len(made) == 1 and compared(made[0], facts, job) is False and not _updated_between(around, made[0], call)


def _updated_between(around: Sequence[Recorded], first: Recorded, call: Recorded) -> bool:
    return any(first.id < o.id < call.id and _action(o) == "update" and o.effect != "none" for o in around)
