"""The Calls screen's memory: states, counts, panes, and what is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call, Inert, state_of, utc_text
from ledger_tui.sources.ledger import SessionTotals, Totals
from screens.calls_model import CallsModel

from .ledgers import NOW, Clock, a_call, a_change


def a_model(clock: Clock | None = None) -> tuple[CallsModel, Clock]:
    clock = clock or Clock()
    return CallsModel(clock, clock.mono), clock


def ids(rows: Any) -> list[int]:
    return [call.id for call in rows]


def test_rows_stand_in_the_pane_of_their_state() -> None:
    model, _ = a_model()
    model.apply(
        a_change(
            [
                a_call(1),
                a_call(2, at=NOW - 500),
                a_call(3, status=Inert("GHOST_REPORTED"), reported_ts=Inert(utc_text(NOW - 5))),
                a_call(4, status=Inert("CONFIRMED")),
                a_call(5, status=Inert("ERROR:timeout")),
            ],
            reset=True,
        )
    )
    assert ids(model.view.pending) == [2, 1]
    assert ids(model.view.ghosts) == [3]
    assert ids(model.view.settled) == [5, 4]
    assert [model.state(call) for call in model.view.pending] == ["overdue", "pending"]


def test_pending_rows_stand_by_the_moment_at_which_they_are_lost() -> None:
    model, _ = a_model()
    patient = a_call(1, grace_s=900.0)
    hasty = a_call(2, grace_s=30.0)
    silent = a_call(3, no_signal=True)
    model.apply(a_change([patient, hasty, silent], reset=True))
    assert ids(model.view.pending) == [2, 1, 3]


def test_a_pending_row_becomes_overdue_by_the_clock_alone() -> None:
    model, clock = a_model()
    model.apply(a_change([a_call(1)], reset=True, totals=Totals(rows=1, pending=1)))
    clock.now = NOW + 110.0
    assert model.tick() == ()
    clock.now = NOW + 110.5
    assert ids(model.tick()) == [1]
    assert (model.counts().pending, model.counts().overdue) == (0, 1)
    assert model.tick() == ()


def test_deadlines_of_calls_that_settled_are_forgotten() -> None:
    model, clock = a_model()
    model.apply(a_change([a_call(1), a_call(2)], reset=True))
    for number in range(3, 600):
        model.apply(a_change([a_call(number), a_call(2)]))
        model.apply(a_change([a_call(number, status=Inert("CONFIRMED"))]))
    assert len(model._deadlines) <= 106  # Twice the three that are unsettled at a time, and a hundred.
    clock.now = NOW + 110.5
    assert ids(model.tick()) == [1, 2]


def test_a_suspended_machine_ages_nothing() -> None:
    """The wall clock went on for an hour, the machine's own clock for a second."""
    clock = Clock()
    model = CallsModel(clock, lambda: 501.0)
    row = a_call(1, mono=500.0, writer_id=7)
    model.apply(a_change([row], reset=True, same_boot_writers=frozenset({7})))
    clock.now = NOW + 3600
    assert model.tick() == ()
    assert model.remaining(row) == 119.0


def test_a_clock_that_was_set_back_makes_an_overdue_row_pending_again() -> None:
    model, clock = a_model(Clock(NOW + 1000))
    model.apply(a_change([a_call(1)], reset=True))
    model.tick()
    assert model.sessions["s1"].overdue == 1
    clock.now = NOW
    model.tick()
    assert (model.sessions["s1"].pending, model.sessions["s1"].overdue) == (1, 0)


def test_a_dead_writer_is_told_at_once() -> None:
    model, _ = a_model()
    model.apply(a_change([a_call(1, writer_id=7), a_call(2, writer_id=8)], reset=True))
    news = model.apply(a_change(dead_writers=frozenset({7})))
    assert ids(news.overdue) == [1]
    assert model.remaining(a_call(1, writer_id=7)) is None


def test_the_first_reading_is_no_news() -> None:
    model, _ = a_model()
    ghost = a_call(1, status=Inert("GHOST_REPORTED"), reported_ts=Inert("x"))
    assert not model.apply(a_change([a_call(2, at=0.0)], reset=True, more=True))
    assert not model.apply(a_change([ghost]))
    later = replace(ghost, id=3, changed=9)
    assert ids(model.apply(a_change([later])).ghosts) == [3]


def test_a_ghost_that_settles_leaves_its_pane_and_counts_as_revived() -> None:
    model, _ = a_model()
    ghost = a_call(1, status=Inert("GHOST_REPORTED"), reported_ts=Inert(utc_text(NOW)))
    model.apply(a_change([ghost], reset=True))
    model.take_session_totals([SessionTotals(Inert("s1"), ghost=1, changed=1)])
    model.apply(a_change([replace(ghost, status=Inert("CONFIRMED"), changed=2)]))
    assert ids(model.view.ghosts) == []
    assert ids(model.view.settled) == [1]
    assert (model.sessions["s1"].ghost, model.sessions["s1"].revived) == (0, 1)


def test_an_older_version_of_a_row_changes_nothing() -> None:
    model, _ = a_model()
    model.apply(a_change([a_call(1, status=Inert("CONFIRMED"), changed=5)], reset=True))
    model.view.settled.first_page([a_call(1, status=Inert("CONFIRMED"), changed=4, duration_ms=1)], full=False)
    assert model.view.settled.at(0).changed == 5


def test_pruned_rows_are_forgotten() -> None:
    model, _ = a_model()
    model.apply(a_change([a_call(1), a_call(2, status=Inert("CONFIRMED")), a_call(3)], reset=True, gone_through=1))
    model.apply(a_change(gone_through=3))
    assert ids(model.view.pending) == [3]
    assert ids(model.view.settled) == []
    assert model.sessions["s1"].pending == 1


def test_a_filter_narrows_every_pane() -> None:
    model, _ = a_model()
    rows = [
        a_call(1, tool_name=Inert("patch")),
        a_call(2),
        a_call(3, tool_name=Inert("patch"), status=Inert("CONFIRMED"), session_id=Inert("s2")),
        a_call(4, status=Inert("CONFIRMED"), args_json=Inert('{"command": "Make love"}'), at=NOW - 5000),
    ]
    model.apply(a_change(rows, reset=True))
    model.show(Filter(tool_name="patch"))
    assert (ids(model.view.pending), ids(model.view.settled)) == ([1], [3])
    model.show(Filter(session_id="s2"))
    assert (ids(model.view.pending), ids(model.view.settled)) == ([], [3])
    model.show(Filter(text="MAKE", since=NOW - 60))
    assert (ids(model.view.pending), ids(model.view.settled)) == ([1, 2], [3])
    assert model.settled_filter() == Filter(
        text="MAKE", since=NOW - 60, states=frozenset({"confirmed", "error", "revived"})
    )
    model.show(Filter(states=frozenset({"overdue"})))
    assert model.settled_filter() is None


def test_counts_that_were_read_meanwhile_are_not_counted_twice() -> None:
    """A row settles while the counts are being read: once it is in them already, once it is not yet."""
    model, _ = a_model()
    model.apply(a_change([a_call(1), a_call(2)], reset=True))
    model.apply(a_change([a_call(1, status=Inert("CONFIRMED"), changed=3)]))
    model.apply(a_change([a_call(2, status=Inert("ERROR:x"), changed=4)]))
    model.take_session_totals([SessionTotals(Inert("s1"), pending=1, confirmed=1, changed=3)])
    counts = model.sessions["s1"]
    assert (counts.pending, counts.confirmed, counts.error) == (0, 1, 1)


def test_counts_that_no_longer_add_up_are_noticed() -> None:
    model, _ = a_model()
    model.apply(a_change([a_call(1, status=Inert("CONFIRMED"))], reset=True, totals=Totals(rows=9, confirmed=9)))
    assert not model.sessions_drifted()
    model.take_session_totals([SessionTotals(Inert("s1"), confirmed=9, changed=1)])
    assert not model.sessions_drifted()
    model.apply(a_change(totals=Totals(rows=4, confirmed=4)))
    assert model.sessions_drifted()


# Any history gives the counts that counting the rows gives


@dataclass
class World:
    """A ledger in memory to which things happen, and a model that hears of them late and in batches."""

    clock: Clock = field(default_factory=Clock)
    rows: dict[int, Call] = field(default_factory=dict)
    unheard: list[int] = field(default_factory=list)
    changed: int = 0

    def __post_init__(self) -> None:
        self.model = CallsModel(self.clock, self.clock.mono)
        self.hear(reset=True)

    def put(self, call: Call) -> None:
        self.changed += 1
        self.rows[call.id] = replace(call, changed=self.changed)
        self.unheard.append(call.id)

    def issue(self, session: str, grace: float) -> None:
        at = self.clock.now
        row = a_call(len(self.rows) + 1, session_id=Inert(session), at=at, ts=Inert(utc_text(at)), grace_s=grace)
        self.put(row)

    def change(self, pick: int, kind: str) -> None:
        if not self.rows:
            return
        row = self.rows[pick % len(self.rows) + 1]
        if kind == "report" and row.status == "PENDING":
            self.put(replace(row, status=Inert("GHOST_REPORTED"), reported_ts=Inert("x")))
        elif kind in {"CONFIRMED", "ERROR:timeout"} and not row.settled:
            self.put(replace(row, status=Inert(kind)))
        elif kind == "contradict" and row.settled:
            self.put(replace(row, later_status=Inert("CONFIRMED")))

    def totals(self) -> Totals:
        states = Counter(state_of(call, age_s=0.0) for call in self.rows.values())
        return Totals(len(self.rows), **{s: states[s] for s in ("pending", "ghost", "error", "revived", "confirmed")})

    def hear(self, *, reset: bool = False) -> None:
        ids = list(self.rows) if reset else list(dict.fromkeys(reversed(self.unheard)))[::-1]
        self.unheard.clear()
        self.model.apply(a_change([self.rows[i] for i in ids], reset=reset, totals=self.totals()))

    def read_sessions(self) -> list[SessionTotals]:
        out = []
        for session in sorted({call.session_id or "" for call in self.rows.values()}):
            mine = [call for call in self.rows.values() if call.session_id == session]
            states = Counter(state_of(call, age_s=0.0) for call in mine)
            counts = {s: states[s] for s in ("pending", "ghost", "error", "revived", "confirmed")}
            out.append(SessionTotals(Inert(session), **counts, changed=max(call.changed for call in mine)))
        return out

    def expected(self) -> dict[str, Counter[str]]:
        out: dict[str, Counter[str]] = {}
        for call in self.rows.values():
            assert call.at is not None
            state = state_of(call, age_s=self.clock.now - call.at)
            out.setdefault(call.session_id or "", Counter())[state] += 1
        return out


STEPS = st.one_of(
    st.tuples(st.just("issue"), st.sampled_from(["s1", "s2", ""]), st.sampled_from([5.0, 60.0, 900.0])),
    st.tuples(
        st.just("change"),
        st.integers(0, 200),
        st.sampled_from(["report", "CONFIRMED", "ERROR:timeout", "contradict"]),
    ),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 30.0, 400.0]), st.none()),
    st.tuples(st.just("hear"), st.booleans(), st.none()),
    st.tuples(st.just("look"), st.sampled_from(["s1", None]), st.none()),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=60), st.integers(0, 60))
def test_any_history_gives_the_counts_of_its_rows(steps: list[tuple[str, object, object]], read_at: int) -> None:
    world = World()
    for number, (kind, first, second) in enumerate([*steps, ("hear", False, None)]):
        if number == read_at:
            # The counts are read between two messages, when some changes were not heard of yet.
            world.model.take_session_totals(world.read_sessions())
        if kind == "issue":
            world.issue(str(first), float(str(second)))
        elif kind == "change":
            world.change(int(str(first)), str(second))
        elif kind == "wait":
            world.clock.now += float(str(first))
            world.model.tick()
        elif kind == "look":
            world.model.show(Filter(session_id=first if isinstance(first, str) else None))
        else:
            world.hear()
    model = world.model
    if not model.sessions_known:
        model.take_session_totals(world.read_sessions())
    world.clock.now += 1.0
    model.tick()
    if any(call.later_status for call in world.rows.values()) and model.sessions_drifted():
        # Settled unheard, counted, contradicted, heard: which of it was counted cannot be told, so it is read again.
        model.recount_sessions()
        model.take_session_totals(world.read_sessions())
    expected = world.expected()
    states = ("pending", "overdue", "ghost", "confirmed", "error", "revived")
    found = {key: Counter({s: getattr(counts, s) for s in states}) for key, counts in model.sessions.items()}
    assert {key: +value for key, value in found.items()} == expected
    pending = {c.id for c in world.rows.values() if c.status == "PENDING" and model.matches(c, "pending")}
    assert set(ids(model.view.pending)) == pending
    assert model.counts().overdue == sum(counts["overdue"] for counts in expected.values())


def test_looking_at_a_call_does_not_move_its_session_up() -> None:
    issued = int((NOW - 10) * 1_000_000)
    for changed, expected in (
        (int(NOW * 1_000_000) + 7, issued),
        (int((NOW + 5) * 1_000_000), int((NOW + 5) * 1_000_000)),
    ):
        model, _ = a_model()
        call = a_call(verdict=Inert("landed"), checked_ts=Inert(utc_text(NOW)), changed=changed)
        model.apply(a_change([call], reset=True))
        assert model.sessions["s1"].changed == expected
