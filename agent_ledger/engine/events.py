"""What the host told us, as plain values that can be written now, or spooled and written later, with one effect."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from .chain.seal import ISSUE_COLUMNS
from .outcome import Outcome, unannounced
from .process import Identity
from .records import PENDING, utc_text
from .repeats import Repeats
from .store import Store

ANNOUNCED_TWICE_S = 5.0
"""Two announcements of one call are milliseconds apart; later, the provider has used the id again."""

Key = tuple[str, str, str]
"""Session, turn and call id: what names a call, since call ids alone are not unique."""


@dataclass(slots=True)
class Issue:
    """A call is about to run (`pre_tool_call`)."""

    at: float
    session_id: str
    turn_id: str
    tool_call_id: str
    task_id: str
    request_id: str
    tool_name: str
    args_json: str
    args_cut: int
    """0 or 1: SQLite takes a plain number without asking what a bool is."""
    args_redacted: int
    args_hash: bytes | None
    value_hashes: str | None
    grace_s: float
    mono: float
    parent: Key | None
    """The `execute_code` call whose script makes this one."""
    conversation: tuple[str, ...]
    repeats_since: float
    compacted: str
    late: bool = False
    """The host had given this call up before it announced it."""
    workplace: str = ""

    @property
    def key(self) -> Key:
        return self.session_id, self.turn_id, self.tool_call_id


@dataclass(slots=True)
class Settlement:
    """A call ended (`post_tool_call`, or the tool seen to return)."""

    at: float
    session_id: str
    turn_id: str
    tool_call_id: str
    task_id: str
    request_id: str
    tool_name: str
    args_json: str
    args_hash: bytes | None
    outcome: Outcome
    by: str
    recordable: bool
    """May a row be made for it when the host never announced the call? Not for calls that only read."""

    @property
    def key(self) -> Key:
        return self.session_id, self.turn_id, self.tool_call_id


@dataclass(slots=True)
class Contradiction:
    """Another word came of a call from inside a script that is settled already. Such a call has no id."""

    at: float
    tool_name: str
    task_id: str
    args_hash: bytes | None
    outcome: Outcome


Event = Issue | Settlement | Contradiction

_KINDS: dict[str, type[Event]] = {"issue": Issue, "settle": Settlement, "contradict": Contradiction}
"""What they are called in the spool."""


def write_issue(store: Store, issue: Issue, writer_id: int, nested_in: int | None, repeats: Repeats) -> int:
    """One row for the call; its id."""
    ts = utc_text(issue.at)
    first = repeats.first_of(
        store, issue.conversation, issue.args_hash, since=issue.repeats_since, compacted=issue.compacted
    )
    row = (
        ts, issue.session_id, issue.turn_id, issue.tool_call_id, issue.task_id, issue.request_id,
        issue.tool_name, issue.args_json, issue.args_cut, issue.args_redacted, issue.args_hash,
        issue.value_hashes, PENDING, issue.grace_s, issue.mono, writer_id, nested_in, first,
        issue.workplace or None,
    )  # fmt: skip
    call_id = store.rows.insert(row, now_us=int(issue.at * 1_000_000))
    repeats.add(issue.conversation, issue.args_hash, first or call_id, ts)
    return call_id


def write_late(store: Store, issue: Issue) -> None:
    """No second row for a call that the host gave up and then announced: it would look lost for ever."""
    values = {
        "task_id": issue.task_id,
        "args_json": issue.args_json,
        "args_cut": issue.args_cut,
        "args_redacted": issue.args_redacted,
        "args_hash": issue.args_hash,
        "value_hashes": issue.value_hashes,
        "workplace": issue.workplace or None,
    }
    store.rows.announce_late(issue.key, values, now_us=int(issue.at * 1_000_000))


def announced_before(store: Store, issue: Issue) -> int | None:
    """Row of this very call if the host announced it a moment ago; the announcement is counted there."""
    if not issue.tool_call_id:
        return None
    found = store.rows.pending_since(issue.key, issue.args_hash, utc_text(issue.at - ANNOUNCED_TWICE_S))
    if found is None or not store.rows.seen_again(found, now_us=int(issue.at * 1_000_000)):
        return None
    return found


def parent_id(store: Store, parent: Key | None) -> int | None:
    """Row of the `execute_code` call that a nested call names."""
    if parent is None:
        return None
    session_id, turn_id, tool_call_id = parent
    found = store.rows.find(
        session_id=session_id, turn_id=turn_id, tool_call_id=tool_call_id, task_id="", request_id="",
        tool_name="execute_code", args_hash=None,
    )  # fmt: skip
    return found[0] if found else None


def write_settlement(store: Store, done: Settlement, writer_id: int, hint: int | None) -> int | None:
    """Settle the row that `done` speaks of; `hint` is its id where this process remembers it. The row's id.

    A row that is settled already keeps its status; what contradicts it is recorded beside it. Without any row
    the outcome is recorded in one of its own.
    """
    ts, now_us = utc_text(done.at), int(done.at * 1_000_000)
    if hint is not None and store.rows.settle(hint, done.tool_call_id, done.outcome, by=done.by, ts=ts, now_us=now_us):
        return hint
    found = store.rows.find(
        session_id=done.session_id, turn_id=done.turn_id, tool_call_id=done.tool_call_id, task_id=done.task_id,
        request_id=done.request_id, tool_name=done.tool_name, args_hash=done.args_hash,
    )  # fmt: skip
    if found is None:
        return _write_unannounced(store, done, writer_id) if done.recordable else None
    call_id, tool_call_id, unsettled = found
    if unsettled and done.session_id:
        # Before it is settled: were this refused, the settlement would still find its row later.
        store.rows.fill_session(call_id, done.session_id, done.turn_id, now_us=now_us)
    if not unsettled or not store.rows.settle(call_id, tool_call_id, done.outcome, by=done.by, ts=ts, now_us=now_us):
        store.rows.contradict(call_id, done.outcome, ts=ts, now_us=now_us)
    return call_id


def write_contradiction(store: Store, later: Contradiction) -> int | None:
    """Keep what differs beside the newest settled call that can be meant; its row."""
    ts = utc_text(later.at)
    call_id = store.rows.newest_nested(later.tool_name, later.task_id, later.args_hash, before=ts)
    if call_id is not None:
        store.rows.contradict(call_id, later.outcome, ts=ts, now_us=int(later.at * 1_000_000))
    return call_id


def _write_unannounced(store: Store, done: Settlement, writer_id: int) -> int | None:
    outcome = unannounced(done.outcome)
    ts = utc_text(done.at)
    row: tuple[Any, ...] = (
        ts, done.session_id, done.turn_id, done.tool_call_id, done.task_id, done.request_id, done.tool_name,
        done.args_json, None, None, done.args_hash, None, PENDING, None, None, writer_id,
    )  # fmt: skip
    row += (None,) * (len(ISSUE_COLUMNS) - len(row))
    settled = (outcome.status, outcome.effect, outcome.digest, ts, outcome.duration_ms, outcome.exit_code, "no-pre")
    return store.rows.insert_settled(row, settled, now_us=int(done.at * 1_000_000))


# -- spooled form --------------------------------------------------------------------------------------------------


def writer_record(who: Identity, opened_ts: str) -> dict[str, Any]:
    return {"kind": "writer", **asdict(who), "opened_ts": opened_ts}


def to_record(event: Event, why: str) -> dict[str, Any]:
    """The event as a JSON object; `why` says what kept it from the ledger."""
    data = asdict(event)
    if event.args_hash is not None:
        data["args_hash"] = event.args_hash.hex()
    kind = next(kind for kind, shape in _KINDS.items() if type(event) is shape)
    return {"kind": kind, "at": utc_text(event.at), "why": why, "event": data}


def from_record(record: dict[str, Any]) -> Event:
    """The event back from its JSON object. Raises KeyError, TypeError, ValueError for a strange one."""
    data = dict(record["event"])
    data["args_hash"] = bytes.fromhex(data["args_hash"]) if data["args_hash"] else None
    shape = _KINDS[record["kind"]]
    if shape is Issue:
        data["args_cut"] = int(data["args_cut"])  # Older plugins wrote true and false, which is another link.
        data["parent"] = tuple(data["parent"]) if data["parent"] else None
        data["conversation"] = tuple(data["conversation"])
    else:
        data["outcome"] = Outcome(**data["outcome"])
    return shape(**data)


def from_other_boot(event: Event) -> Event:
    """An event of an earlier boot: its monotonic clock means nothing any more."""
    return replace(event, mono=-1.0) if isinstance(event, Issue) else event
