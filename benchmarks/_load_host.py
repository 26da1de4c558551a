"""One host under load: sessions in threads, each making calls at a steady pace through the plugin's own hooks.

`python -m benchmarks._load_host PLAN`, a JSON object with the fields of `Plan`. It says `ready`, starts at the moment
(monotonic seconds) that it is given, says `done`, and closes the ledger when it is given a further line. What each
hook took stands in the plan's file then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import agent_ledger
from benchmarks._homes import RESULT, call_args, call_ids
from benchmarks.hook_overhead import Bare

CALLS_A_TURN = 7
TOOL_S = 0.02
"""How long a tool works: so long its call is pending."""

COLUMNS = ("pre", "post", "bare pre", "bare post", "turn", "behind")
"""Seconds that stand in the file for each call. `turn` is `pre_llm_call`, not a number where no turn starts;
`behind` is how much later than planned the call was made."""

HISTORY = [
    {"role": role, "content": f"{role} says a sentence or two about the report of day {number}. " * 3}
    for number in range(20)
    for role in ("user", "assistant")
]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one host does. Call `k` of session number `n` has the number `first + k * every + n`."""

    home: str
    bare: str
    times: str
    """File for the times: rows of `COLUMNS` as doubles, session by session."""
    sessions: dict[str, int]
    """Session id to its number in the whole load."""
    first: int
    every: int
    """Sessions of the whole load."""
    calls: int
    """Calls of each session."""
    period_s: float
    """From one call of a session to its next."""

    def text(self) -> str:
        return json.dumps(asdict(self))


class Host:
    """All sessions of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._bare = Bare(Path(plan.bare))
        self._one_at_a_time = threading.Lock()  # The sessions of a host share one connection there too.
        # Full size from the start, so that what is measured is not the growth of the measurements.
        self._times = [array("d", [float("nan")]) * (plan.calls * len(COLUMNS)) for _ in plan.sessions]

    def open(self) -> None:
        """All sessions start, and so the ledger is opened."""
        for session in self._plan.sessions:
            agent_ledger.on_session_start(session_id=session)

    def run(self, start: float) -> None:
        """Make all calls. Each session in a thread of its own, as a gateway does it."""
        threads = [
            threading.Thread(target=self._session, args=(start, *who, times))
            for who, times in zip(self._plan.sessions.items(), self._times, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def keep(self) -> None:
        """Write the times down."""
        with open(self._plan.times, "wb") as file:
            for times in self._times:
                times.tofile(file)

    def _session(self, start: float, session: str, number: int, times: array[float]) -> None:
        plan = self._plan
        start += number * plan.period_s / plan.every
        for k in range(plan.calls):
            planned = start + k * plan.period_s
            if (early := planned - time.monotonic()) > 0:
                time.sleep(early)
            behind = max(0.0, time.monotonic() - planned)
            # No two sessions are at the same place of their turns, but for chance.
            turn_number, place = divmod(k + number, CALLS_A_TURN)
            turn_id = f"{session}:turn-{turn_number}"
            turn = float("nan") if place and k else self._turn(session, turn_id)
            row = (
                *self._call(session, turn_id, plan.first + k * plan.every + number, ours_first=bool(k % 2)),
                turn,
                behind,
            )
            times[k * len(row) : (k + 1) * len(row)] = array("d", row)

    @staticmethod
    def _turn(session: str, turn_id: str) -> float:
        began = time.perf_counter()
        agent_ledger.pre_llm_call(
            session_id=session, turn_id=turn_id, task_id="task-1", user_message="Go on.",
            conversation_history=[*HISTORY, {"role": "user", "content": "Go on."}],
        )  # fmt: skip
        return time.perf_counter() - began

    def _call(self, session: str, turn_id: str, number: int, *, ours_first: bool) -> tuple[float, float, float, float]:
        """One call with one of bare sqlite3 beside it; in the order of `COLUMNS`."""
        ids = call_ids(number) | {"session_id": session, "turn_id": turn_id}
        args = call_args(number)
        befores = (
            partial(agent_ledger.pre_tool_call, tool_name="terminal", args=args, **ids),
            partial(self._bare_pre, args, ids),
        )
        afters = (
            partial(
                agent_ledger.post_tool_call, tool_name="terminal", args=args, result=RESULT, status="ok",
                duration_ms=20, error_type=None, error_message=None, **ids,
            ),
            partial(self._bare_post, ids),
        )  # fmt: skip
        order = (0, 1) if ours_first else (1, 0)
        pre, post = [0.0, 0.0], [0.0, 0.0]
        for side in order:
            pre[side] = _timed(befores[side])
        agent_ledger.tool_execution(_work, args, tool_name="terminal", **ids)
        for side in order:
            post[side] = _timed(afters[side])
        return pre[0], post[0], pre[1], post[1]

    def _bare_pre(self, args: dict[str, Any], ids: dict[str, str]) -> None:
        with self._one_at_a_time:
            self._bare.pre(args, ids)

    def _bare_post(self, ids: dict[str, str]) -> None:
        with self._one_at_a_time:
            self._bare.post(ids)


def _timed(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def _work(_: Any) -> str:
    time.sleep(TOOL_S)
    return RESULT


def rows_of(path: Path) -> Iterator[dict[str, float]]:
    """What stands in a file of times, call by call."""
    times = array("d")
    times.frombytes(path.read_bytes())
    for at in range(0, len(times), len(COLUMNS)):
        yield dict(zip(COLUMNS, times[at : at + len(COLUMNS)], strict=True))


def main() -> None:
    plan = Plan(**json.loads(sys.argv[1]))
    os.environ["HERMES_HOME"] = plan.home
    host = Host(plan)
    host.open()
    print("ready", flush=True)
    host.run(float(sys.stdin.readline()))
    print("done", flush=True)
    sys.stdin.readline()
    agent_ledger.recorder().keeper.close()
    host.keep()


if __name__ == "__main__":
    main()
