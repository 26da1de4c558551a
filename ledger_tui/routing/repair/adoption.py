"""One orphan taken back by the row that it continues: which cells change, and to what.

Gaps are filled and nothing is overwritten (hermes-agent #82712). Where the host's own command loses something, this
one does not: a donor that ended on purpose keeps its stamp, and the row stays in the host's session list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_ledger.engine.end_reasons import COMPRESSION, RECOVERABLE, SUPERSEDED

from ..rows import Session, markers, number, text
from .cells import IDENTITY, Cell, same

Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Change:
    """One cell. Raw values as they stand in the file, with their storage class."""

    session_id: str
    column: str
    before: Cell
    after: Cell


@dataclass(frozen=True, slots=True)
class Adoption:
    """What is done to one orphan and its donor. Notes are sentences of ours, with nothing raw in them."""

    orphan_id: str
    donor_id: str
    evidence: str
    """`lineage`, `contiguity`, the kind of a further finding, or `choice`."""
    chosen: bool
    """A person named the donor."""
    changes: tuple[Change, ...]
    """First those of the orphan, then those of the donor."""
    notes: tuple[str, ...] = ()


KEEPS_STAMP = "The old row had already been ended on purpose, so its end stays as it is."
JOURNAL_LINK = (
    "Hermes 0.19 hides a row with such a parent from its session list, so the link to the old row stands in"
    " model_config (_reset_from) and in the repair journal, and the parent stays empty."
)
PARENT_TAKEN_OUT = (
    "Hermes 0.19 hides a row with such a parent from its session list and deletes it together with the parent, so the"
    " parent moves to model_config (_reset_from) and to the repair journal."
)
NO_OBJECT = (
    "model_config of this row is no JSON object and is left alone, so the parent stays as it was: the host's session"
    " list may hide the row, and the link stands in the repair journal only."
)
OTHER_PARENT = "The row names another parent, which it keeps."
HIDDEN_MARK = "The row is marked as a branch or a delegate's; the mark stays, and the host's list may hide the row."
OTHER_PERSON = "The two rows name different users: make sure that both are the same person's chat."


def adopt(
    orphan: Session, donor: Session, orphan_cells: Row, donor_cells: Row, *, recent: bool, now: float
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Changes and notes. `recent`: the file is of a Hermes 0.22 or later. `now` in seconds since 1970."""
    changes = [
        Change(orphan.id, column, orphan_cells[column], donor_cells[column])
        for column in IDENTITY
        if column in orphan_cells and _gap(column, orphan_cells[column]) and donor_cells[column] is not None
    ]
    link, notes = _link(orphan, donor, orphan_cells, recent)
    retirement = _retirement(donor, donor_cells, now)
    if not retirement:
        notes.append(KEEPS_STAMP)
    if orphan.delegate_from is not None or orphan.branched_from is not None:
        notes.append(HIDDEN_MARK)
    if orphan.user_id and donor.user_id and orphan.user_id != donor.user_id:
        notes.append(OTHER_PERSON)
    written = [change for change in (*changes, *link, *retirement) if not same(change.before, change.after)]
    return tuple(written), tuple(notes)


def _gap(column: str, cell: Cell) -> bool:
    """An empty text is a value like any other, but for the key: no message ever finds an empty key."""
    return cell is None or (column == "session_key" and cell in ("", b""))


def _link(orphan: Session, donor: Session, cells: Row, recent: bool) -> tuple[list[Change], list[str]]:
    """Parent and mark, so that the lineage is recorded and the host's list still shows the row."""
    parent, config = cells["parent_session_id"], cells.get("model_config")
    notes = [OTHER_PARENT] if orphan.parent_session_id and orphan.parent_session_id != donor.id else []
    if donor.end_reason == COMPRESSION:
        return ([] if orphan.parent_session_id else [_parent(orphan, parent, donor.id)]), notes
    marked = _marked(config, donor.id) if "model_config" in cells else None
    if marked is None:
        return [], [*notes, NO_OBJECT]
    changes = [Change(orphan.id, "model_config", config, marked)]
    if recent:
        return ([] if orphan.parent_session_id else [_parent(orphan, parent, donor.id)]) + changes, notes
    if orphan.parent_session_id == donor.id:
        return [_parent(orphan, parent, None), *changes], [*notes, PARENT_TAKEN_OUT]
    if orphan.parent_session_id:
        return changes, notes
    return [_parent(orphan, parent, None), *changes], [*notes, JOURNAL_LINK]


def _parent(orphan: Session, before: Cell, after: Cell) -> Change:
    return Change(orphan.id, "parent_session_id", before, after)


def _marked(config: Cell, donor_id: str) -> str | None:
    """`config` with the mark added behind all else; a mark that stands there stays. None where it is no object."""
    try:
        donor_id.encode("utf-8")
    except UnicodeEncodeError:
        return None
    mark = json.dumps("_reset_from") + ": " + json.dumps(donor_id)
    if config is None:
        return "{" + mark + "}"
    if not isinstance(config, str):
        return None
    try:
        found = json.loads(config, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if found.get("_reset_from") is not None:
        return config
    if "_reset_from" in found:  # Written as null, which is no mark.
        found["_reset_from"] = donor_id
        return json.dumps(found)
    head = config.rstrip()[:-1].rstrip()
    return head + (", " if found else "") + mark + "}"


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _retirement(donor: Session, cells: Row, now: float) -> list[Change]:
    """How the donor ends; not where somebody ended it on purpose, for a fence or a chain may hang on that."""
    if not donor.open and donor.end_reason is not None and donor.end_reason not in RECOVERABLE:
        return []
    ended = cells["ended_at"] if cells["ended_at"] is not None else now
    reason = cells["end_reason"] if donor.end_reason == COMPRESSION else SUPERSEDED
    return [
        Change(donor.id, "ended_at", cells["ended_at"], ended),
        Change(donor.id, "end_reason", cells["end_reason"], reason),
    ]


def applied(row: Session, column: str, cell: Cell) -> Session:
    """The row as it would be with this cell."""
    if column == "model_config":
        delegate, branch, reset = markers(cell)
        return row._replace(delegate_from=delegate, branched_from=branch, reset_from=reset)
    if column == "origin_json":
        return row
    changed: dict[str, Any] = {column: number(cell) if column == "ended_at" else text(cell)}
    return row._replace(**changed)


def refusal(orphan: Session | None, donor: Session | None, owner: str | None) -> str:
    """Why these two may not come together, whoever wishes it; empty where they may."""
    if orphan is None or donor is None:
        return "one of the two rows does not exist"
    if orphan.id == donor.id:
        return "a row cannot take back itself"
    if orphan.session_key:
        return "the row has a routing key already"
    if not donor.session_key:
        return "the other row has no routing key to give"
    if orphan.source != donor.source:
        return "the two rows are of different platforms"
    if owner is not None and (orphan.profile_name or owner) != (donor.profile_name or owner):
        return "the two rows belong to different profiles"
    return ""
