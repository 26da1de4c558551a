"""The Lineage screen's filter line: `only:anomalies source:telegram open:yes some text`, read into a LineageFilter."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from ledger_tui.routing.anomalies import Anomaly
from ledger_tui.routing.owners import DEFAULT
from ledger_tui.routing.rows import Session, usable

from .filter_terms import FilterError, complete_term, listed, read_moment, split_terms

TERMS: Mapping[str, str] = {
    "only": "anomalies, or orphans, zombies",
    "kind": "kind of anomaly, or its start",
    "source": "telegram, discord, cli…",
    "profile": "name of a profile",
    "open": "yes or no",
    "since": "30m, 2h, 3d, or 2026-05-31 14:00",
    "until": "the same, as the end",
}
"""What stands before a colon, and what may follow it."""

ANOMALIES = "anomalies"
_ONLY: Mapping[str, str] = {ANOMALIES: "", "orphans": "orphan", "zombies": "zombie"}
_YES_NO = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class LineageFilter:
    """Which sessions. Every field narrows; None asks for nothing."""

    kind: str | None = None
    """Start of an anomaly's kind; empty for any anomaly."""
    source: str | None = None
    profile: str | None = None
    open: bool | None = None
    since: float | None = None
    until: float | None = None
    text: str = ""

    def matches(self, row: Session, marks: Sequence[Anomaly], owner: str | None) -> bool:
        """Does this session belong to what is wanted? One that was never active lies in no span of time."""
        if self.kind is not None and not any(one.kind.startswith(self.kind) for one in marks):
            return False
        if self.source is not None and row.source.casefold() != self.source:
            return False
        if self.profile is not None and (row.profile_name or owner or DEFAULT) != self.profile:
            return False
        if self.open is not None and row.open is not self.open:
            return False
        if (self.since is not None or self.until is not None) and not self._in_time(usable(row.last_active)):
            return False
        return not self.text or self.text in _searched(row)

    def _in_time(self, active: float | None) -> bool:
        if active is None:
            return False
        return (self.since is None or active >= self.since) and (self.until is None or active <= self.until)


def _searched(row: Session) -> str:
    """Everything that a person may know of a session."""
    parts = (
        row.id, row.title, row.display_name, row.source, row.session_key, row.chat_id, row.user_id, row.thread_id,
        row.end_reason, row.profile_name,
    )  # fmt: skip
    return " ".join(part for part in parts if part).casefold()


def parse_lineage_filter(line: str, *, now: float, zone: tzinfo | None) -> LineageFilter:
    """Raises FilterError."""
    wanted = LineageFilter()
    words: list[str] = []
    for term in split_terms(line):
        name, colon, value = term.partition(":")
        name = name.lower()
        if not colon or name not in TERMS:
            if colon and name.isalpha() and name != "agent" and value and not value.startswith(("/", "\\")):
                raise FilterError(f"There is no filter '{name}:'; known are {listed(f'{t}:' for t in TERMS)}.")
            words.append(term)
        elif not value:
            raise FilterError(f"'{name}:' needs a value: {TERMS[name]}.")
        elif name in {"since", "until"}:
            moment = read_moment(value, name, now, zone)
            wanted = replace(wanted, since=moment) if name == "since" else replace(wanted, until=moment)
        else:
            wanted = _with_term(wanted, name, value)
    return replace(wanted, text=" ".join(words).casefold())


def _with_term(wanted: LineageFilter, name: str, value: str) -> LineageFilter:
    lower = value.lower()
    if name == "only":
        if lower not in _ONLY:
            raise FilterError(f"'{value}' is nothing to show alone; there are {listed(_ONLY)}.")
        return replace(wanted, kind=_ONLY[lower])
    if name == "kind":
        return replace(wanted, kind=lower)
    if name == "source":
        return replace(wanted, source=value.casefold())
    if name == "profile":
        return replace(wanted, profile=value)
    if lower not in _YES_NO:
        raise FilterError("'open:' is answered by yes or no.")
    return replace(wanted, open=_YES_NO[lower])


def complete_lineage_terms(
    line: str, *, kinds: Collection[str], sources: Collection[str], profiles: Collection[str]
) -> str | None:
    """The line with its last term completed, None where nothing is known to follow."""
    known = {
        "only": list(_ONLY),
        "kind": sorted(kinds),
        "source": sorted(sources),
        "profile": sorted(profiles),
        "open": list(_YES_NO),
    }
    return complete_term(line, TERMS, known)
