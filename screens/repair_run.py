"""Lets a repair or an undo run in a thread, with the app's own readers of the store closed, and tells how it went."""

from __future__ import annotations

import asyncio
import getpass
import math
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agent_ledger.engine.inert import inert
from ledger_tui.routing.repair.apply import Applied, Step, apply
from ledger_tui.routing.repair.holders import SafetyCheck, safety_checks
from ledger_tui.routing.repair.journal import Journal, read_all, unreadable
from ledger_tui.routing.repair.plan import Plan, propose
from ledger_tui.routing.repair.refused import RefusedError
from ledger_tui.routing.repair.settle import Repair, hold_in, repairs
from ledger_tui.routing.repair.undo import Undone, undo
from ledger_tui.routing.survey import Survey
from ledger_tui.sources.guard import SourceError

from .feeds import Desk
from .repair_model import RepairModel
from .repair_seen import same_plan


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why it was not done, and what to do. Inert."""

    reason: str
    remedy: str
    unsure: bool = False
    """It stopped in the middle by an error: only the rows say whether it took effect."""


Outcome = TypeVar("Outcome")

Standing = tuple[Journal | None, str]
"""A repair's journal, and which of its two states the rows hold."""

UNREAD = "unreadable"
"""State of a repair whose journal nobody understands."""

OTHER_STANDING = "The repair or its rows are not as they were when you were asked"


class RepairRun:
    """What the walkthrough and the list of repairs do to the store. Each in a thread, each an answer in words."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.step: Step | None = None
        """How far the running one is."""

    async def checks(self) -> Sequence[SafetyCheck]:
        live = self._desk.lineage
        return await asyncio.to_thread(safety_checks, live.path, live.home, now=self._desk.clock())

    async def plan(self, survey: Survey, model: RepairModel, seen: Plan | None = None) -> Plan | Refusal:
        """What the decisions in `model` come to: `seen` itself, where that is still the answer to its own question."""
        if seen is not None:
            answer = await self._plan_at(seen.asked.now, survey, model)
            if isinstance(answer, Plan) and same_plan(answer, seen):
                return seen
        return await self._plan_at(self._desk.clock(), survey, model)

    async def _plan_at(self, now: float, survey: Survey, model: RepairModel) -> Plan | Refusal:
        live = self._desk.lineage
        only, choices, end, gap = model.only, dict(model.choices), model.ends, survey.max_gap_s
        return await _answer(
            lambda: propose(live.path, survey, only=only, choices=choices, end=end, now=now, max_gap_s=gap)
        )

    async def repair(self, plan: Plan, *, stopped_by: str | None, chosen_by: str | None) -> Applied | Refusal:
        live, clock = self._desk.lineage, self._desk.clock
        return await self._alone(
            lambda: apply(
                live.path, live.home, plan, clock=clock, stopped_by=stopped_by, chosen_by=chosen_by, tell=self._tell
            )
        )

    async def undo(self, repair_id: str, standing: Standing, *, stopped_by: str | None) -> Undone | Refusal:
        """Takes it back if it still stands as it did when the person was asked."""
        live, clock = self._desk.lineage, self._desk.clock

        def act() -> Undone:
            if _standing(live.home, repair_id) != standing:
                raise RefusedError(OTHER_STANDING, "look at it again, then ask anew")
            return undo(live.path, live.home, repair_id, clock=clock, stopped_by=stopped_by, tell=self._tell)

        return await self._alone(act)

    async def standing(self, repair_id: str) -> Standing:
        """What an undo of it would put back, and what the rows hold now."""
        return await asyncio.to_thread(_standing, self._desk.lineage.home, repair_id)

    async def past(self) -> tuple[Repair, ...]:
        """Newest first; before them what cannot be read, for it may be newer."""
        return await asyncio.to_thread(_past, self._desk.lineage.home)

    async def _alone(self, act: Callable[[], Outcome]) -> Outcome | Refusal:
        self.step = None
        async with self._desk.store_at_rest():
            return await _answer(act)

    def _tell(self, step: Step) -> None:
        self.step = step


def _past(home: Path) -> tuple[Repair, ...]:
    return *(_unread(path) for path in unreadable(home)), *reversed(repairs(home))


def _unread(path: Path) -> Repair:
    """Stands for a journal that nobody understands; of its rows nothing is known."""
    if os.access(path, os.R_OK):
        told = "cannot be understood, so the app cannot take its repair back"
        remedy = "put its rows back by hand from the copy beside it, then move the journal away"
    else:
        told = "cannot be read by this user"
        remedy = "look at it and undo it as the user who made it"
    text = f"{inert(str(path))} {told}\n→ {remedy}"
    return Repair(inert(path.stem), UNREAD, math.inf, path, path, (), text, crashed=False)


def _standing(home: Path, repair_id: str) -> Standing:
    journal = next((one for one in read_all(home) if one.repair_id == repair_id), None)
    if journal is None:
        return None, ""
    try:
        return journal, hold_in(journal.store, journal.rows)
    except (SourceError, sqlite3.Error) as error:
        return journal, inert(str(error))


async def _answer(act: Callable[[], Outcome]) -> Outcome | Refusal:
    try:
        return await asyncio.to_thread(act)
    except RefusedError as error:
        named = f" (check: {error.check})" if error.check else ""
        return Refusal(f"{error.reason.rstrip('.')}{named}", error.remedy)
    except (SourceError, sqlite3.Error, OSError) as error:
        return Refusal(inert(str(error)), "", unsure=True)


def who() -> str:
    """Who sits here, for the journal."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "the person at the terminal"


def by_whom(reason: str) -> str:
    """Who decided, and why if they said so."""
    return f"{who()}: {reason.strip()}" if reason.strip() else who()
