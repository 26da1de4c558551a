"""Squaring the accounts at the start of a turn: what is lost, what came back, what was done twice; and saying so once.

Every function works on an open store inside one transaction of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import notice, process
from .history import Message, compaction_marker, delivered, results_in, will_be_merged
from .notice import Item
from .queries import WRITERS_QUERY, writer_from_row
from .records import CONFIRMED, GHOST_REPORTED, Writer, utc_seconds, utc_text
from .store import Store
from .tools import only_looks

if TYPE_CHECKING:
    from .evidence.verdict import Verdict

HINTS_A_SESSION = 5
"""Repeats that one conversation is told of at most."""

DONE_ITEMS = 4
"""Confirmed calls from before a compaction that are recalled."""

LEARN_FROM = 5
"""Calls of one tool in this process, none ever confirmed, before its silence stops meaning anything."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One `pre_llm_call`: whose turn it is and what the host showed of it."""

    session_id: str
    turn_id: str
    task_id: str
    conversation: tuple[str, ...]
    messages: Sequence[Message]
    now: float
    mono: float
    writer_id: int
    repeats_since: float
    never_confirmed: frozenset[str]
    """Tools of which this process saw at least `LEARN_FROM` calls and no confirmation."""

    @property
    def ts(self) -> str:
        return utc_text(self.now)

    @property
    def now_us(self) -> int:
        return int(self.now * 1_000_000)


@dataclass(frozen=True, slots=True)
class Finding:
    """What reconciling found, before anything is written."""

    ghosts: list[Item]
    silent: dict[str, list[int]]


# A plus before a column keeps SQLite from its index: a long session's index would be walked at every turn, while the
# rows in question are few and have an index of their own.


Check = Callable[[Sequence[int]], Mapping[int, "Verdict"]]
"""Verdicts on lost calls, by id; those that were not checked are missing."""


def reconcile(
    store: Store,
    turn: Turn,
    is_dead: Callable[[Writer], bool | None] = process.is_dead,
    check: Check | None = None,
) -> str:
    """Report what is newly lost or newly back, and return the notice for this turn; empty when nothing is new."""
    _judge_deliveries(store, turn)
    compacted = _note_compaction(store, turn)
    found = _lost(store, turn, is_dead)
    for tool_name, ids in found.silent.items():
        store.rows.mark_no_signal(tool_name, ids, ts=turn.ts, now_us=turn.now_us)
    reported = set(store.rows.report([item.ledger_id for item in found.ghosts], ts=turn.ts, now_us=turn.now_us))
    items = [item for item in found.ghosts if item.ledger_id in reported]
    items += _again(store, turn)
    if check is not None and items:
        items = _checked(items, check)
    items += _back(store, turn)
    items += _repeats(store, turn)
    if compacted:
        items += _done_before(store, turn, {item.ledger_id for item in items})
    if not items:
        return ""
    cursor = store.connection.execute(
        "INSERT INTO notice(session_id, turn_id, ts, writer_id, merged) VALUES(?,?,?,?,?)",
        (turn.session_id, turn.turn_id, turn.ts, turn.writer_id, int(will_be_merged(turn.messages))),
    )
    notice_id = int(cursor.lastrowid or 0)
    store.connection.executemany(
        "INSERT OR IGNORE INTO notice_item(notice_id, ledger_id, kind, amount) VALUES(?,?,?,?)",
        [(notice_id, item.ledger_id, item.kind, item.amount) for item in items],
    )
    return notice.compose(notice_id, items)


def _checked(items: list[Item], check: Check) -> list[Item]:
    """Lost calls with what can be told of them."""
    found = check([item.ledger_id for item in items][: notice.ITEMS])
    return [
        replace(item, verdict=found[item.ledger_id].verdict, evidence=found[item.ledger_id].evidence[0])
        if item.ledger_id in found
        else replace(item, verdict="not checked")
        for item in items
    ]


def _text(value: object) -> str:
    """A cell as text: other software, or a hand, may have put anything into it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else "" if value is None else str(value)


def _item(kind: str, call_id: int, ts: object, tool: object, args: object, **more: Any) -> Item:
    """A row as the notice tells of it."""
    return Item(kind, call_id, _text(ts), _text(tool), _text(args), **more)


def _marks(turn: Turn) -> str:
    return ",".join("?" * len(turn.conversation))


def _judge_deliveries(store: Store, turn: Turn) -> None:
    """Notices of earlier turns: did they reach the model? Where nothing tells, they count as read."""
    rows = store.connection.execute(
        "SELECT id, writer_id, merged FROM notice"
        f" WHERE session_id IN ({_marks(turn)}) AND delivered IS NULL AND turn_id <> ?",
        (*turn.conversation, turn.turn_id),
    ).fetchall()
    for notice_id, writer_id, merged in rows:
        seen = delivered(turn.messages, notice_id)
        if seen is None:
            # Another process gave it, and this is a first turn: that process ended before its turn was kept.
            first = bool(turn.messages) and not any(m.get("role") == "assistant" for m in turn.messages)
            seen = not merged and not (first and writer_id != turn.writer_id)
        store.connection.execute("UPDATE notice SET delivered=? WHERE id=?", (int(seen), notice_id))


def _note_compaction(store: Store, turn: Turn) -> bool:
    marker = compaction_marker(turn.messages)
    if marker is None:
        return False
    cursor = store.connection.execute(
        "INSERT OR IGNORE INTO compaction(session_id, marker, seen_ts) VALUES(?,?,?)",
        (turn.session_id, marker, turn.ts),
    )
    return bool(cursor.rowcount)


def last_compaction(store: Store, conversation: Sequence[str]) -> str:
    """When a conversation was last seen compacted; empty if never."""
    marks = ",".join("?" * len(conversation))
    (ts,) = store.connection.execute(
        f"SELECT max(seen_ts) FROM compaction WHERE session_id IN ({marks})", tuple(conversation)
    ).fetchone()
    return str(ts or "")


def _lost(store: Store, turn: Turn, is_dead: Callable[[Writer], bool | None]) -> Finding:
    rows = store.rows.pending_of(turn.conversation, turn.task_id)
    if not rows:
        return Finding([], {})
    writers = {w.id: w for w in map(writer_from_row, store.connection.execute(WRITERS_QUERY[0]).fetchall())}
    results: frozenset[str] | None = None
    ghosts: list[Item] = []
    silent: dict[str, list[int]] = {}
    for call_id, ts, tool, args, grace, mono, writer_id, tool_call_id in rows:
        writer = writers.get(writer_id)
        age = _age(ts, mono, writer, turn)
        patience = grace if isinstance(grace, (int, float)) else 0.0
        if age <= patience and not (writer is not None and writer_id != turn.writer_id and is_dead(writer)):
            continue
        if tool in turn.never_confirmed:
            results = results_in(turn.messages) if results is None else results
            if tool_call_id in results:
                silent.setdefault(tool, []).append(call_id)
                continue
        ghosts.append(_item("ghost", call_id, ts, tool, args, age_s=age))
    return Finding(ghosts, silent)


def _age(ts: Any, mono: Any, writer: Writer | None, turn: Turn) -> float:
    at = utc_seconds(ts)
    wall = float("inf") if at is None else max(0.0, turn.now - at)
    if isinstance(mono, float) and 0 <= mono <= turn.mono and writer is not None and process.same_boot(writer):
        return min(wall, turn.mono - mono)
    return wall


def _again(store: Store, turn: Turn) -> list[Item]:
    """Ghosts whose only notices never reached the model."""
    rows = store.connection.execute(
        "SELECT l.id, l.ts, l.tool_name, l.args_json FROM ledger l"
        f" WHERE l.status='{GHOST_REPORTED}' AND l.status<>'CONFIRMED' AND l.session_id IN ({_marks(turn)})"
        " AND NOT EXISTS (SELECT 1 FROM notice_item i JOIN notice n ON n.id=i.notice_id WHERE i.ledger_id=l.id"
        "  AND i.kind='ghost' AND n.delivered IS NOT 0)"
        " AND EXISTS (SELECT 1 FROM notice_item i WHERE i.ledger_id=l.id AND i.kind='ghost') ORDER BY l.id",
        turn.conversation,
    ).fetchall()
    return [
        _item("ghost", i, ts, tool, args, age_s=max(0.0, turn.now - (utc_seconds(ts) or turn.now)))
        for i, ts, tool, args in rows
    ]


_UNTOLD = (
    " AND NOT EXISTS (SELECT 1 FROM notice_item i JOIN notice n ON n.id=i.notice_id WHERE i.ledger_id=l.id"
    " AND i.kind='{kind}' AND n.delivered IS NOT 0)"
)


def _back(store: Store, turn: Turn) -> list[Item]:
    """Ghosts that settled after all, and failures that a later result contradicts."""
    revived = store.connection.execute(
        "SELECT l.id, l.ts, l.tool_name, l.args_json, l.status FROM ledger l WHERE l.reported_ts IS NOT NULL"
        f" AND l.status NOT IN ('PENDING','{GHOST_REPORTED}') AND +l.session_id IN ({_marks(turn)})"
        + _UNTOLD.format(kind="revived"),
        turn.conversation,
    ).fetchall()
    landed = store.connection.execute(
        "SELECT l.id, l.ts, l.tool_name, l.args_json, l.later_status FROM ledger l"
        f" WHERE l.later_ts IS NOT NULL AND l.later_status='{CONFIRMED}' AND +l.changed >= ?"
        f" AND +l.session_id IN ({_marks(turn)})" + _UNTOLD.format(kind="landed"),
        (int((turn.now - 3600) * 1_000_000), *turn.conversation),
    ).fetchall()
    return [_item("revived", i, ts, tool, args, status=_text(status)) for i, ts, tool, args, status in revived] + [
        _item("landed", i, ts, tool, args, status=_text(status)) for i, ts, tool, args, status in landed
    ]


def _repeats(store: Store, turn: Turn) -> list[Item]:
    """Calls issued again with the same arguments; each kind once, and again only when its number has doubled."""
    rows = store.connection.execute(
        "SELECT DISTINCT repeat_of FROM ledger"
        f" WHERE changed >= ? AND repeat_of IS NOT NULL AND +session_id IN ({_marks(turn)})",
        (int(turn.repeats_since * 1_000_000), *turn.conversation),
    ).fetchall()
    if not rows:
        return []
    (told,) = store.connection.execute(
        "SELECT count(*) FROM notice_item i JOIN notice n ON n.id=i.notice_id"
        f" WHERE i.kind='repeat' AND n.session_id IN ({_marks(turn)}) AND n.delivered IS NOT 0",
        turn.conversation,
    ).fetchone()
    items: list[Item] = []
    for first in (row[0] for row in rows if isinstance(row[0], int)):
        if told + len(items) >= HINTS_A_SESSION:
            break
        item = _repeat(store, turn, first)
        if item is not None:
            items.append(item)
    return items


def _repeat(store: Store, turn: Turn, first: int) -> Item | None:
    row = store.connection.execute(
        "SELECT f.ts, f.tool_name, f.args_json, count(l.id), max(l.status='CONFIRMED' OR l.status LIKE 'ERROR:timeout'"
        "  OR l.status IN ('PENDING','GHOST_REPORTED'))"
        " FROM ledger f JOIN ledger l ON l.id = f.id OR l.repeat_of = f.id"
        " WHERE f.id = ? AND l.effect IS NOT 'none'",
        (first,),
    ).fetchone()
    ts, tool, args, amount, worth = row
    if ts is None or amount < 2 or not worth or only_looks(_text(tool), _text(args)):
        return None
    (told,) = store.connection.execute(
        "SELECT coalesce(max(i.amount), 0) FROM notice_item i JOIN notice n ON n.id=i.notice_id"
        " WHERE i.ledger_id=? AND i.kind='repeat' AND n.delivered IS NOT 0",
        (first,),
    ).fetchone()
    return _item("repeat", first, ts, tool, args, amount=amount) if amount >= 2 * max(1, told) else None


def _done_before(store: Store, turn: Turn, named: set[int]) -> list[Item]:
    """The newest confirmed calls from before the compaction that was just noticed, different ones only."""
    items: list[Item] = []
    seen: set[tuple[str, str]] = set()
    for call_id, ts, tool, args in store.rows.confirmed_before(turn.conversation, turn.ts, 10 * DONE_ITEMS):
        key = (_text(tool), _text(args))
        if key in seen or call_id in named or only_looks(_text(tool), _text(args)):
            continue
        seen.add(key)
        items.append(_item("done", call_id, ts, tool, args))
        if len(items) == DONE_ITEMS:
            break
    return items
