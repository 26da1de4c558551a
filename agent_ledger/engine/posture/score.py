"""The score of a ledger, row by row: `score = 100 - Σ weight(finding)`, nothing merged, nothing clamped.

The findings are a function of the rows as they stand, whatever the portions in which they are fed. A row that changed
is fed again: what it was issued with counts once, how it ended counts as it now stands, so that a lost call that did
land, or a retry that succeeded in the end, takes its finding back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..records import CONFIRMED, ERROR_PREFIX, GHOST_REPORTED, PENDING, Call
from ..severity import SEVERITIES
from . import asi01, asi02, asi03, asi04, asi05, asi06, asi08, asi11
from .acts import findings as act_findings
from .acts import looked_at
from .catalogue import IDS
from .finding import Finding, finding
from .joined import Joined, began_as
from .memory import BURST_CALLS, BURST_S, FAILED, GOOD, MANY, OPEN, Run, Session, outcome_of
from .plain import ALWAYS, FILES, is_plain, names_one_of, plain_file, quiet_call, runs_a_path
from .rows import RawRow, Row, raw_row, row_of
from .seen import Seen
from .times import Times
from .windows import Window

SESSIONS = 4096
"""Sessions that are remembered at a time; of those beyond, the ones that were silent longest are forgotten."""

OPEN_ROWS = 20_000
"""Unsettled rows whose end still counts."""

KEPT = 512
"""Written files whose content is kept until somebody runs them."""

_NO_KINDS: frozenset[str] = frozenset()
_LOADED_ALREADY = frozenset({"persistence", "supply-chain", "ledger-touch"})
"""Kinds of acts beside which a change of what is loaded is no finding of its own."""

_TIMED_OUT = ERROR_PREFIX + "timeout"

Key = tuple[object, ...]


class Posture:
    """Scores rows as they come. What is remembered is bounded, except for the findings themselves."""

    def __init__(self) -> None:
        self.rows = 0
        """Rows that were scored, each once."""
        self.revision = 0
        """Grows whenever a finding comes or goes."""
        self._points = 0
        self._findings: dict[Key, Finding] = {}
        self._in_order: tuple[int, tuple[Finding, ...]] = (0, ())
        self._new: list[tuple[Key, Finding]] = []
        self._seen = Seen()
        self._joined = Joined()
        self._sessions: dict[object, Session] = {}
        """By id; the ids of one conversation share theirs."""
        self._open: dict[int, Session] = {}
        self._runs: dict[int, Run] = {}
        """Of open rows, the row of identical calls that they stand in."""
        self._kept: dict[int, asi05.Kept] = {}
        self._times = Times()

    @property
    def score(self) -> int | None:
        """100 minus the weight of every finding, below zero where they weigh more; None where nothing was scored."""
        return 100 - self._points if self.rows else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, by the call that made it one, then by id and rule."""
        if self._in_order[0] != self.revision:
            self._in_order = (self.revision, tuple(sorted(self._findings.values(), key=_place)))
        return self._in_order[1]

    @property
    def history(self) -> list[tuple[float, int]]:
        """(moment, score from then on) for each finding that has a time, earliest first."""
        timed = sorted((one.at, one.weight) for one in self._findings.values() if one.at is not None)
        score, out = 100, []
        for at, weight in timed:
            score -= weight
            out.append((at, score))
        return out

    def severities(self) -> dict[str, int]:
        """Number of findings of each severity, worst first, zeros included."""
        counts = dict.fromkeys(SEVERITIES, 0)
        for one in self._findings.values():
            counts[one.severity] += 1
        return counts

    def ids(self) -> dict[str, tuple[int, int]]:
        """(findings, points) of each ASI id, zeros included."""
        counts = dict.fromkeys(IDS, (0, 0))
        for one in self._findings.values():
            number, points = counts[one.asi]
            counts[one.asi] = (number + 1, points + one.weight)
        return counts

    def join(self, rotations: Iterable[tuple[str, str]]) -> bool:
        """Take (session id, the id that it had before): what the ledger tells of conversations that changed their id.

        False where that came too late: rows of both ids were scored apart, and only a new Posture counts them as one.
        """
        if not self._joined.add(rotations):
            return True
        if self._joined.divides(self._sessions):
            return False
        for key, session in list(self._sessions.items()):
            self._sessions.setdefault(self._joined.first(key), session)
        return True

    def begins(self, session_id: object) -> bool:
        """Would a row of this session be the first one?"""
        return bool(session_id) and session_id not in self._sessions

    def feed(self, calls: Iterable[Call]) -> list[Finding]:
        """New or changed calls, in the order of their ids or of their changes. Returns the findings that came."""
        return self.feed_rows(map(raw_row, calls))

    def feed_rows(self, rows: Iterable[RawRow]) -> list[Finding]:
        """The same for rows in the order of `rows.COLUMNS`, as they come from the file."""
        self._new = []
        seen = self._seen
        for raw in rows:
            if raw[0] == seen.end:
                seen.end += 1
                self._first(raw)
            elif seen.add(raw[0]):
                self._first(raw)
            else:
                self._again(raw)
        return [one for key, one in self._new if self._findings.get(key) is one]

    # -- a row that was not met before ------------------------------------------------------------------------------

    def _first(self, raw: RawRow) -> None:
        row_id, ts, session_id, task_id, tool, args, cut, redacted, status, seen, turn_id = raw
        self.rows += 1
        key = session_id or task_id or ""
        session = self._sessions.get(key)
        if session is None:
            session = self._begin(key, turn_id)
        session.touched = self.rows
        at = self._times.seconds(ts)
        window = session.tools.get(tool)
        if window is None:
            window = self._first_use(session, raw, at)
        if at is not None:
            rows = window.add(at, row_id)
            if rows:
                self._found(asi02.burst(row_of(raw, at), rows))
        outcome = GOOD if status == CONFIRMED else outcome_of(status)
        if args and args == session.last[5] and tool == session.last[4] and not cut:
            self._alike(session, raw, at, outcome)
        else:
            session.run = None
        session.last, session.last_at, session.last_outcome = raw, at, outcome
        if outcome is not GOOD:
            self._unconfirmed(session, raw, at, outcome)
        if seen is not None and seen > 1:
            self._doubled(session, raw, at)
        if tool in FILES:
            self._file(session, raw, at)
        elif args and (redacted or tool in ALWAYS or not self._goes_by(session, raw, at)):
            self._look(session, raw, at)

    def _goes_by(self, session: Session, raw: RawRow, at: float | None) -> bool:
        """May this call go by without a closer look?"""
        args = raw[5]
        if type(args) is not str or (at is not None and at <= session.watched_until):
            return False
        if not is_plain(args) or (session.written and names_one_of(args, session.written) and runs_a_path(args)):
            known = quiet_call(args) if raw[4] == "terminal" and not raw[6] else None
            if known is None or (session.written and asi05.wrote_one_of(session, known.run)):
                return False
            if known.made:
                asi05.remember(raw[0], session, known.made)
                self._keep_content(raw[0], (raw[4], args, False))
        if "://" in args and at is not None and asi01.names_outside(args):
            session.outside.append((at, raw[0]))
        return True

    def _begin(self, key: object, turn_id: object) -> Session:
        """A session that was not met, or was forgotten, or goes on under a new id."""
        if len(self._sessions) >= SESSIONS:
            silent = sorted({session.touched for session in self._sessions.values()})[: SESSIONS // 4]
            kept = self._sessions.items()
            self._sessions = {one: session for one, session in kept if session.touched > silent[-1]}
        before = began_as(turn_id)
        if before in self._sessions and isinstance(key, str):
            self._joined.add([(key, before)])
        first = self._joined.first(key)
        session = self._sessions.get(first)
        if session is None:
            session = self._sessions[first] = Session(first, self.rows)
        self._sessions[key] = session
        return session

    def _first_use(self, session: Session, raw: RawRow, at: float | None) -> Window:
        if len(session.tools) >= MANY:
            del session.tools[next(iter(session.tools))]
        session.tools[raw[4]] = window = Window(BURST_CALLS, BURST_S)
        if session.key:
            found = asi11.many_tools(row_of(raw, at), len(session.tools))
            if found:
                self._found(found)
        return window

    def _alike(self, session: Session, raw: RawRow, at: float | None, outcome: str) -> None:
        """The call before was the same one."""
        far = at is not None and session.last_at is not None and abs(at - session.last_at) > asi08.REPEATS_S
        if far:
            session.run = None
            return
        if session.run is None:
            session.run = Run(row_of(session.last, session.last_at), session.last_outcome)
            if session.last_outcome is OPEN:
                self._runs[session.last[0]] = session.run
        session.run.add(row_of(raw, at), outcome)
        if outcome is OPEN:
            self._runs[raw[0]] = session.run
        self._judge_run(session.run)

    def _judge_run(self, run: Run) -> None:
        for rule, found in (("failing-retries", asi08.retries(run)), ("blind-repeats", asi08.repeats(run))):
            self._keep((rule, run.first.id), rule, asi08.RUN_SEVERITY, run.rows, found)

    def _unconfirmed(self, session: Session, raw: RawRow, at: float | None, outcome: str) -> None:
        row_id, status = raw[0], raw[8]
        if outcome is OPEN:
            self._open[row_id] = session
            if len(self._open) > OPEN_ROWS:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self._runs.pop(oldest, None)
            if status == GHOST_REPORTED:
                self._lost(session, raw, at)
        elif outcome is FAILED:
            self._failed(session, raw, at)

    def _failed(self, session: Session, raw: RawRow, at: float | None) -> None:
        if at is None:
            return
        row = row_of(raw, at)
        rows = session.errors.add(at, row.id)
        if rows:
            self._found(asi08.error_burst(row, rows))
        spread = asi08.spread(row, session) if raw[8] == _TIMED_OUT else None
        if spread:
            self._found(spread)

    def _lost(self, session: Session, raw: RawRow, at: float | None) -> None:
        if len(session.lost) < MANY:
            session.lost[raw[0]] = row_of(raw, at)
            self._judge_lost(session)

    def _judge_lost(self, session: Session) -> None:
        self._keep(("lost-calls", session.number), "lost-calls", asi08.LOST_SEVERITY, session.lost, asi08.lost(session))

    def _doubled(self, session: Session, raw: RawRow, at: float | None) -> None:
        """The first call of a session that was announced twice stands for all of them."""
        if session.doubled is None or raw[0] < session.doubled:
            session.doubled = raw[0]
            row = row_of(raw, at)
            found = ((row.id,), asi08.DOUBLED_TEXT)
            self._keep(("doubled-calls", session.number), "doubled-calls", asi08.DOUBLED_SEVERITY, {row.id: row}, found)

    def _file(self, session: Session, raw: RawRow, at: float | None) -> None:
        """A file is written: most of them are remembered by name, and that is all."""
        row_id, tool, args, cut = raw[0], raw[4], raw[5], raw[6]
        path = plain_file(args) if type(args) is str else None
        if path is None:
            self._look(session, raw, at)
            return
        asi05.remember(row_id, session, (path,))
        self._keep_content(row_id, (tool, args, bool(cut)))

    def _keep_content(self, row_id: int, kept: asi05.Kept) -> None:
        self._kept[row_id] = kept
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def _look(self, session: Session, raw: RawRow, at: float | None) -> None:
        """Everything that the arguments of one call can tell."""
        row = row_of(raw, at)
        args, examined = looked_at(row.tool_name, row.args_text, row.cut)
        acts, kinds = examined.acts, _NO_KINDS
        found: list[Finding | None] = []
        if acts:
            found.extend(act_findings(row, acts))
            kinds = frozenset(act.kind for act in acts)
            secrets = tuple(act.target or act.text for act in acts if act.kind == "credential-read")
            found.append(asi02.credential_sweep(row, session, secrets))
        if row.redacted:
            found.append(asi03.secret_in_command(row))
        if kinds.isdisjoint(_LOADED_ALREADY):
            found.append(asi04.judge(row, args))
        if examined.run:
            found.extend(asi05.judge(row, session, examined.run, self._kept))
        if row.tool_name != "terminal":
            found.append(asi06.judge(row, args))
            found.append(asi11.fan_out(row, session, args))
            found.append(asi11.cron_series(row, session, args))
        found.append(asi01.judge(row, session, kinds))
        if examined.made:
            asi05.remember(row.id, session, examined.made)
            self._keep_content(row.id, (row.tool_name, row.args_text, row.cut))
        for one in found:
            if one is not None:
                self._found(one)

    # -- a row that changed -----------------------------------------------------------------------------------------

    def _again(self, raw: RawRow) -> None:
        row_id, status, seen = raw[0], raw[8], raw[9]
        session = self._open.get(row_id)
        at = self._times.seconds(raw[1])
        if session is not None and status != PENDING:
            self._changed(session, raw, at)
        if seen is not None and seen > 1:
            known = self._sessions.get(raw[2] or raw[3] or "")
            if known is not None:
                self._doubled(known, raw, at)

    def _changed(self, session: Session, raw: RawRow, at: float | None) -> None:
        row_id, status = raw[0], raw[8]
        outcome = outcome_of(status)
        if status == GHOST_REPORTED:
            self._lost(session, raw, at)
            return
        del self._open[row_id]
        if session.lost.pop(row_id, None) is not None:
            self._judge_lost(session)
        if session.last[0] == row_id:
            session.last_outcome = outcome
        run = self._runs.pop(row_id, None)
        if run is not None and row_id in run.outcomes:
            run.outcomes[row_id] = outcome
            self._judge_run(run)
        if outcome is FAILED:
            self._failed(session, raw, at)

    # -- small things ---------------------------------------------------------------------------------------------

    def _found(self, one: Finding) -> None:
        self._put((one.rule, one.ledger_id, self.revision), one)

    def _keep(
        self,
        key: Key,
        rule: str,
        severity: str,
        known: Mapping[int, Row],
        found: tuple[tuple[int, ...], str] | None,
    ) -> None:
        """Makes the finding at `key` what the rows now say: there, gone, or resting on other rows."""
        before = self._findings.get(key)
        if found is None:
            if before is not None:
                self._points -= before.weight
                self.revision += 1
                del self._findings[key]
            return
        rows, text = found
        if before is None or before.rows != rows:
            if before is not None:
                self._points -= before.weight
            self._put(key, finding(rule, "ASI08", severity, known[rows[-1]], text, rows))

    def _put(self, key: Key, one: Finding) -> None:
        self._findings[key] = one
        self._points += one.weight
        self.revision += 1
        self._new.append((key, one))


def _place(one: Finding) -> tuple[int, str, str]:
    """Where a finding stands in the list."""
    return one.ledger_id, one.asi, one.rule
