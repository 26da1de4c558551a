"""The list of scheduled jobs, its executions, and whether a scheduler shows itself: read whole, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..records import utc_seconds
from .around import folder_time
from .facts import CannotTellError, Facts
from .recorded import Recorded
from .verdict import quoted

QUIET_S = 300.0
"""A scheduler that gave no sign for so long counts as not running: it gives one a minute."""

MOST_RUNS = 5_000


@dataclass(frozen=True, slots=True)
class Job:
    """One job of the list. Times: seconds since 1970; None where the host wrote none."""

    id: str
    name: str
    created: float | None = None
    paused_at: float | None = None
    last_run: float | None = None
    state: str = "scheduled"
    enabled: bool = True
    fields: Mapping[str, Any] = field(default_factory=dict)

    def standing(self) -> str:
        """How it stands, as a sentence; empty for a job that is simply scheduled."""
        if self.state == "paused" or not self.enabled:
            return f"It is {self.state if self.state != 'scheduled' else 'switched off'}."
        return ""


@dataclass(frozen=True, slots=True)
class Run:
    """One row of `executions.db`."""

    job_id: str
    source: str
    """"direct": by hand or by a call; "builtin" and others: by a scheduler."""
    status: str
    claimed: float
    finished: float | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """Everything that a home keeps of its jobs."""

    there: bool
    jobs: tuple[Job, ...] = ()
    written: float = 0.0
    """When the list was last written, by whichever of its times is the latest. Without a list, when anything in its
    folder was last made or removed."""
    runs: tuple[Run, ...] = ()
    quiet: str = ""
    """Why nothing runs the jobs, as a sentence; empty where a scheduler shows itself."""

    def scheduled_at(self, moment: float) -> bool:
        """Did a run start or end within a few seconds of `moment`? The scheduler writes the list then."""
        times = [t for run in self.runs for t in (run.claimed, run.finished) if t is not None]
        times += [job.last_run for job in self.jobs if job.last_run is not None]
        return any(abs(t - moment) <= 5.0 for t in times)


def read(facts: Facts) -> Store:
    """The store of this home. Raises CannotTellError where it cannot be read whole."""
    folder = facts.home / "cron"
    place = facts.look(folder / "jobs.json")
    runs, quiet = _runs(facts, folder / "executions.db"), _quiet(facts, folder / "ticker_heartbeat")
    if not place.exists:
        return Store(False, written=folder_time(facts, folder), runs=runs, quiet=quiet)
    data = facts.json(place.path)
    listed = data.get("jobs") if isinstance(data, dict) else data
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise CannotTellError("The list of scheduled jobs has a form that is not known here.")
    told = seconds(data.get("updated_at")) if isinstance(data, dict) else None
    return Store(
        True, tuple(map(_job, listed)), max(place.modified, place.changed, told or 0.0), runs=runs, quiet=quiet
    )  # fmt: skip


def _job(item: Mapping[str, Any]) -> Job:
    return Job(
        id=str(item.get("id") or ""),
        name=str(item.get("name") or ""),
        created=seconds(item.get("created_at")),
        paused_at=seconds(item.get("paused_at")),
        last_run=seconds(item.get("last_run_at")),
        state=str(item.get("state") or "scheduled"),
        enabled=item.get("enabled") is not False,
        fields=item,
    )


def _runs(facts: Facts, path: Path) -> tuple[Run, ...]:
    if not facts.look(path).exists:
        return ()
    rows = facts.rows(
        path, "SELECT job_id, source, status, claimed_at, finished_at FROM executions", limit=MOST_RUNS
    )  # fmt: skip
    found = []
    for job_id, source, status, claimed_at, finished_at in rows:
        claimed = seconds(claimed_at)
        if claimed is not None:
            found.append(Run(str(job_id), str(source), str(status), claimed, seconds(finished_at)))
    return tuple(found)


def _quiet(facts: Facts, path: Path) -> str:
    """The scheduler writes the time into a file once a minute."""
    try:
        beat = utc_seconds(float(facts.text(path, limit=4096).split()[0])) if facts.look(path).exists else None
    except (ValueError, IndexError):
        beat = None
    if beat is None:
        return "Nothing will run it: no scheduler has ever shown itself in this home."
    age = facts.now - beat
    if age <= QUIET_S:
        return ""
    return f"Nothing runs it at present: the scheduler last showed itself {_span(age)} ago."


def _span(seconds_: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours")):
        if seconds_ >= 2 * size:
            return f"{int(seconds_ // size)} {unit}"
    return f"{int(seconds_ // 60)} minutes"


def seconds(value: object) -> float | None:
    """A time as the host writes it: ISO 8601, mostly with a zone; without one it is this machine's."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


_COMPARED = ("prompt", "name", "script")


def fits(call: Recorded, facts: Facts, job: Job, *, change: bool = False) -> bool:
    """Is the job what the call asked for, by everything that can be compared? False where nothing can be."""
    return compared(call, facts, job, change=change) is True


def compared(call: Recorded, facts: Facts, job: Job, *, change: bool = False) -> bool | None:
    """The same, with None where nothing can be compared.

    A name that a call to make a job does not give is made by the host of the start of the prompt.
    """
    same = 0
    for name in _COMPARED:
        if name not in call.args and name not in call.value_hashes:
            continue
        given = facts.argument(call, name)
        stored = job.fields.get(name)
        if given is None:
            if call.args.get(name, "") is None:
                continue  # Given as "nothing".
            if not (isinstance(stored, str) and _hashed(call, facts, name, stored)):
                return False
        elif isinstance(given, str):
            if not given.strip() and not (change and name == "script"):
                continue
            if given.strip() != str(stored or "").strip():
                return False
        else:
            raise CannotTellError(f"The argument {quoted(name, 40)} is no text, so jobs cannot be compared with it.")
        same += 1
    schedule = _schedule(call, facts)
    if schedule is not None and job.fields.get("schedule_display") is not None:
        told = _told(schedule, job.fields)
        if told is False:
            return False
        same += told is True
    return True if same else None


def _hashed(call: Recorded, facts: Facts, name: str, stored: str) -> bool:
    """Was the argument this text? Hermes 0.22 takes blanks off its ends; a line's end is the likely one."""
    return any(facts.is_value(call, name, stored + end) for end in ("", "\n", " "))


def _schedule(call: Recorded, facts: Facts) -> str | None:
    given = facts.argument(call, "schedule")
    return given.strip() if isinstance(given, str) and given.strip() else None


def _told(given: str, fields: Mapping[str, Any]) -> bool | None:
    """Does the job run by this schedule? None where the host's own words for it cannot be compared."""
    parsed = fields.get("schedule")
    if given == fields.get("schedule_display"):
        return True
    words = given.split()
    if isinstance(parsed, dict) and len(words) >= 5 and all(c in "0123456789*-,/ " for c in given):
        return bool(parsed.get("expr") == given)
    return None
