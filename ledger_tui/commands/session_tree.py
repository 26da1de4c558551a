"""The survey of a session store for a person: what does not fit first, then the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from agent_ledger.engine.inert import inert
from agent_ledger.engine.severity import HIGH, MEDIUM, SEVERITIES
from ledger_tui.commands.output import amount, duration, fit, table, terminal_width
from ledger_tui.commands.place import Place
from ledger_tui.routing.anomalies.kinds import KINDS, Anomaly
from ledger_tui.routing.forest import Line
from ledger_tui.routing.survey import Survey

ROWS = 200
"""Rows of the tree that are shown without `--limit`."""

_NAMED, _SENTENCES = 4, 4
"""Sessions that are named for each sentence, and sentences for each kind of anomaly; the tree marks the others."""

_MARKS = {HIGH: "!!", MEDIUM: "!"}
_ASCII = str.maketrans({"│": "|", "├": "|", "└": "`", "─": "-", "…": "~"})


def as_text(
    found: Survey, place: Place, *, only: Collection[str] | None, limit: int | None, unicode: bool
) -> Iterator[str]:
    """The lines. `only`: the sessions asked for, which are shown with their ancestors; None for all."""
    lines = _lines(found, place, only, ROWS if limit is None else limit)
    return lines if unicode else (line.translate(_ASCII) for line in lines)


def _lines(found: Survey, place: Place, only: Collection[str] | None, limit: int) -> Iterator[str]:
    if not place.state_exists():
        yield f"No session is stored yet ({inert(str(place.state))} is not there)."
        return
    yield from _summary(found, place)
    shown = None if only is None else found.forest.with_ancestors(only)
    total = len(found.store.sessions) if shown is None else len(shown)
    if not total or not limit:
        return
    yield ""
    if shown is None and total > limit and any(found.anomalies):
        shown = found.forest.with_ancestors(_worst(found, limit))
    rows = list(islice(found.forest.lines(only=shown), min(limit, total)))
    now = place.clock()
    yield from table(
        ("SESSION", "NAME", "SOURCE", "LINK", "MESSAGES", "SILENT", "END", "ANOMALIES"),
        (_row(found, line, now) for line in rows),
        width=terminal_width(),
        flexible=7,
    )
    if total > len(rows):
        yield ""
        more = amount(total - len(rows), "more session is", "more sessions are")
        yield f"{more} not shown here; see --limit and --json."


def _summary(found: Survey, place: Place) -> Iterator[str]:
    profile = f", profile {inert(found.store.owner)}" if found.store.owner else ""
    aside = f" ({found.hidden} more set aside)" if found.hidden else ""
    number = amount(len(found.store.sessions), "session")
    several = sum(map(len, found.anomalies.values()))
    yield f"{number} in {inert(str(place.state))}{profile}: {amount(several, 'anomaly', 'anomalies')}{aside}."
    if found.store.moved:
        yield "The host wrote to the store while it was read: some counts may be a moment apart."
    for kind, named in _by_kind(found).items():
        worst = min((one.severity for _, one in named), key=SEVERITIES.index)
        yield f"{worst:<8} {kind} ({len(named)})"
        yield from _sentences(named)


def _sentences(named: Sequence[tuple[str, Anomaly]]) -> Iterator[str]:
    """Each sentence once, with the sessions that it is true of."""
    by_text: dict[str, list[str]] = {}
    for key, one in named:
        by_text.setdefault(one.text, []).append(key)
    for text, keys in islice(by_text.items(), _SENTENCES):
        more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
        yield f"{'':<8} {text}"
        yield f"{'':<8} -> {', '.join(map(name, keys[:_NAMED]))}{more}"
    left = sum(map(len, list(by_text.values())[_SENTENCES:]))
    if left:
        yield f"{'':<8} and {left} more of this kind, with other sentences"


def _worst(found: Survey, most: int) -> list[str]:
    """Sessions about which something does not fit, as many as there is room for."""
    rank = {
        key: min(SEVERITIES.index(one.severity) for one in several) for key, several in found.anomalies.items() if key
    }
    return sorted(rank, key=rank.__getitem__)[:most]


def _by_kind(found: Survey) -> Mapping[str, list[tuple[str, Anomaly]]]:
    """Worst kinds first, in each the worst findings."""
    kinds: dict[str, list[tuple[str, Anomaly]]] = {kind: [] for kind in KINDS}
    for key, several in found.anomalies.items():
        for one in several:
            kinds[one.kind].append((key, one))
    for named in kinds.values():
        named.sort(key=lambda pair: SEVERITIES.index(pair[1].severity))
    return {kind: named for kind, named in kinds.items() if named}


def counts(found: Survey) -> Mapping[str, int]:
    """Anomalies by kind, worst kinds first."""
    number = Counter(one.kind for several in found.anomalies.values() for one in several)
    return {kind: number[kind] for kind in KINDS if number[kind]}


def name(session_id: str) -> str:
    """A session's id for a person; the empty id stands for the store as a whole."""
    return inert(session_id) or "the store as a whole"


def _row(found: Survey, line: Line, now: float) -> tuple[str, ...]:
    row = found.store.sessions[line.session_id]
    anomalies = found.anomalies.get(line.session_id, ())
    end = "open" if row.open else row.end_reason or "ended"
    return (
        line.guides + fit(inert(row.id), 40).rstrip(),
        fit(inert(row.title or row.display_name or ""), 24).rstrip(),
        fit(inert(row.source), 16).rstrip(),
        found.forest.relations[line.session_id],
        str(row.messages),
        duration(None if row.last_active is None else max(0.0, now - row.last_active)),
        fit(inert(end), 24).rstrip(),
        ", ".join(f"{_MARKS.get(one.severity, '')}{one.kind}" for one in anomalies),
    )
