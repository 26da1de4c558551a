"""What the Lineage screen says. Pure functions over its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.text import Text

from agent_ledger.engine.severity import LOW
from ledger_tui.routing.anomalies import Anomaly
from ledger_tui.routing.cards import Card
from ledger_tui.routing.details import Excerpt, Message
from ledger_tui.routing.live import SurveyChange
from ledger_tui.routing.survey import Survey
from widgets.look import count_text
from widgets.top_line import Total

from .lineage_model import BAD, DORMANT, MINOR, ORPHAN, ZOMBIE, LineageModel

LABEL = 13
"""Cells of the names before the values in the details."""

_RELATIONS = {
    "compression": "goes on after its parent was compressed",
    "branch": "a branch of its parent",
    "reset": "follows its parent after a reset",
    "delegate": "a delegate's work for its parent",
    "tool": "a tool's own session",
    "repair": "took its parent's place by a repair",
    "other": "below its parent, by no relation that the host names",
}

TimeOf = Callable[[float | None], str]


def totals(survey: Survey) -> tuple[Total, ...]:
    """The top line."""
    zombies = sum(1 for one in survey.zombies if one.grade != DORMANT)
    others = sum(1 for several in survey.anomalies.values() if any(_is_other(one) for one in several))
    sessions = len(survey.store.sessions)
    totals = (
        Total("", count_text(sessions), "session" if sessions == 1 else "sessions", "top--quiet", 3),
        Total(
            ORPHAN, count_text(len(survey.lost)), _many(len(survey.lost), "orphan"), _style(len(survey.lost), "ghost")
        ),
        Total(ZOMBIE, count_text(zombies), _many(zombies, "zombie"), _style(zombies, "overdue"), 1),
    )
    return (*totals, Total(BAD, count_text(others), "more to look at", "top--overdue", 2)) if others else totals


def _is_other(one: Anomaly) -> bool:
    return one.severity != LOW and one.kind not in {"orphan", "zombie"}


def _many(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"


def _style(number: int, name: str) -> str:
    return f"top--{name}" if number else "top--quiet"


def progress_text(change: SurveyChange | None) -> str:
    """How far the reading is; empty when nothing is being read."""
    if change is None:
        return "reading…"
    if change.progress is None:
        return ""
    if not change.progress.total:
        return "reading…"
    share = 100 * change.progress.done // change.progress.total
    if share >= 100:
        return "read; looking for what does not fit…"
    return f"reading {share} % of {count_text(change.progress.total)} rows"


def empty_text(model: LineageModel, change: SurveyChange | None) -> str:
    """What stands where the tree would be."""
    if change is not None and change.missing:
        return "there is no session store yet; it appears with the host's first session"
    if model.view is None and change is not None and change.trouble is not None:
        return "the sessions cannot be read, so nothing is known of them"
    if model.view is None:
        return progress_text(change) or "reading…"
    if not model.view.facts.survey.store.sessions:
        return "there are no sessions yet"
    return "no session fits the filter; x shows all"


def count(model: LineageModel) -> str:
    """How many sessions are shown, of how many."""
    if model.view is None:
        return ""
    every = len(model.view.facts.survey.store.sessions)
    shown = model.view.matches
    return count_text(every) if shown == every else f"{count_text(shown)} of {count_text(every)}"


def notice(model: LineageModel, change: SurveyChange | None, line: str, note: str) -> str:
    """The line below the top: what is wrong, what is being read, what narrows the view. Mostly empty."""
    parts = []
    if change is not None and change.trouble is not None and not change.missing:
        parts.append(str(change.trouble))
    if model.view is not None and change is not None and change.progress is not None and change.took_s > 1:
        parts.append(progress_text(change))
    survey = model.survey
    if survey is not None and survey.store.moved:
        parts.append("The store was written to while it was read: rows may not agree with each other yet")
    if note:
        parts.append(note)
    if line:
        parts.append(f"Filter: {line}")
    return " · ".join(parts)


def row_line(model: LineageModel, id: str) -> str:
    """Who the row at the cursor is, in one line."""
    card = model.card(id)
    if card is None:
        return ""
    return " · ".join(part for part in (card.id, card.source, _messages(card), _key_text(card)) if part)


def about(model: LineageModel, id: str, *, ghost: bool) -> str:
    """What is to be said of it, where the details have no room beside the tree."""
    card, donor = model.card(id), model.card(model.donor_of(id) or "")
    if card is None:
        return ""
    if ghost:
        return "It would go on here after a repair; r looks at that first, step by step."
    marks = model.marks(id)
    if marks:
        told = " ".join(one.text for one in marks)
    elif model.set_aside(id):
        told = f"set aside: {', '.join(model.set_aside(id))} (i takes that back)"
    else:
        told = relation_text(model, id)
    return told if donor is None else f"It goes on from {donor.name}. {told}"


def _key_text(card: Card) -> str:
    return next((value or "" for column, value in card.identity if column == "session_key"), "")


def _messages(card: Card) -> str:
    return f"{count_text(card.messages)} message{'' if card.messages == 1 else 's'}"


def relation_text(model: LineageModel, id: str) -> str:
    survey = model.survey
    relation = survey.forest.relations.get(id, "") if survey else ""
    return _RELATIONS.get(relation, "begins a tree of its own") if relation else "begins a tree of its own"


def headline(model: LineageModel, id: str) -> Text:
    card = model.card(id)
    return Text(card.name if card else "This session is no longer in the store")


def findings(model: LineageModel, id: str) -> Text:
    """Anomalies in sentences, worst first, and what a person set aside."""
    out = Text()
    for one in model.marks(id):
        glyph = MINOR if one.severity == LOW else BAD
        out.append(f"{glyph} {one.severity:<8} ", "bold").append(f"{one.kind}: ").append(f"{one.text}\n")
    donor = model.card(model.donor_of(id) or "")
    if donor is not None:
        out.append("→ ", "bold").append(f"A repair would let it go on from {donor.name} ({donor.id}); r shows how.\n")
    aside = model.set_aside(id)
    if aside:
        out.append(f"set aside: {', '.join(aside)} (i takes that back)\n")
    out.rstrip()
    return out


def facts(model: LineageModel, id: str, time_of: TimeOf) -> Text:
    """Life span and place."""
    card = model.card(id)
    out = Text()
    if card is None:
        return out
    _fact(out, "id", card.id)
    _fact(out, "source", card.source)
    parent = model.card(card.parent or "")
    _fact(out, "relation", relation_text(model, id))
    if card.parent is not None:
        _fact(
            out,
            "parent",
            f"{parent.name} ({parent.id})" if parent is not None and parent.named else card.parent or "''",
        )
    _fact(out, "started", time_of(card.started_at))
    _fact(out, "last active", time_of(card.last_active))
    _fact(out, "ended", "open" if card.open else f"{time_of(card.ended_at)} · {card.end_reason or 'no reason given'}")
    counted = "" if card.counted is None else f" (the host counts {count_text(card.counted)})"
    _fact(out, "messages", count_text(card.messages) + counted)
    out.rstrip()
    return out


def identity(model: LineageModel, id: str) -> Text:
    """The columns by which a message finds its session."""
    card = model.card(id)
    out = Text()
    for column, value in card.identity if card else ():
        _fact(out, column, "NULL" if value is None else value or "''")
    out.rstrip()
    return out


def _fact(out: Text, name: str, value: str) -> None:
    out.append(f"{name:<{LABEL}}", "dim").append(f"{value}\n")


def talk(excerpt: Excerpt | None, trouble: str, time_of: TimeOf) -> Text:
    """The first and the last messages."""
    if trouble:
        return Text(trouble)
    if excerpt is None:
        return Text("reading…")
    if not excerpt.total:
        return Text("no messages")
    out = Text()
    for message in excerpt.first:
        _message(out, message, time_of)
    between = excerpt.total - len(excerpt.first) - len(excerpt.last)
    if between > 0:
        out.append(f"⋯ {count_text(between)} more\n", "dim")
    for message in excerpt.last:
        _message(out, message, time_of)
    out.rstrip()
    return out


def _message(out: Text, message: Message, time_of: TimeOf) -> None:
    out.append(f"{time_of(message.at):<11} ", "dim").append(f"{message.role}: ", "bold").append(f"{message.text}\n")


def help_notes() -> Iterator[str]:
    yield "Marks"
    yield f"  {ORPHAN} orphan   holds messages, lost its routing identity: no message of its chat finds it again"
    yield f"  {ZOMBIE} zombie   would be opened for its chat after a restart, though the talk went on elsewhere"
    yield f"  {BAD} {MINOR}        something else does not fit, of weight and of little"
    yield "  ╌▷         where a repair would put an orphan; the row itself stays where it is until then"
    yield ""
    yield "Kinds of link"
    for relation, meaning in _RELATIONS.items():
        yield f"  {relation:<12} {meaning}"
    yield ""
    yield "Sessions of the command line, of schedules and of delegates carry no identity by nature: no mark."
