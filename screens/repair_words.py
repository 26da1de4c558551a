"""What the repair says: safety, evidence, the exact change, proof. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_ledger.engine.inert import clip, inert
from ledger_tui.routing.cards import Card
from ledger_tui.routing.repair.apply import PROOFS, Applied, Step
from ledger_tui.routing.repair.cells import Cell
from ledger_tui.routing.repair.holders import FAIL, OK, SafetyCheck
from ledger_tui.routing.repair.plan import LEFT_OUT, Adoption, Answer, Change, Plan
from ledger_tui.routing.repair.settle import Repair
from ledger_tui.routing.repair.undo import Undone
from ledger_tui.sources.guard import MISSING, SourceError, real_path
from widgets.look import age_text, count_text
from widgets.paragraphs import Paragraph

from .repair_model import ACCEPT, CHOSEN, DORMANT, END, PERSON, SKIP, Finding, RepairModel
from .repair_run import UNREAD
from .repair_seen import NEW

TimeOf = Callable[[float | None], str]

_MARKS = {OK: ("✓", "good"), FAIL: ("✗", "bad")}
_DOUBT = ("?", "doubt")

DECISION_GLYPHS = {ACCEPT: "✓", CHOSEN: "★", SKIP: "–", PERSON: "?", END: "■"}

_EVIDENCE = {
    "lineage": "its recorded parent carries the identity of the same platform",
    "contiguity": "exactly one row with an identity fell quiet near its start",
}

SKIPPED = "skipped by you"

UNKNOWN = "the sessions cannot be read, so nobody knows whether anything is lost"

STILL_READING = "The sessions are still being read; go on when they stand here"

CELL = 200
"""Characters of a cell that are shown."""

NOTHING = Paragraph()


def checks(found: Sequence[SafetyCheck], *, vouched: bool) -> list[Paragraph]:
    """Each check with its state, and what to do about it."""
    out: list[Paragraph] = []
    for one in found:
        mark, style = _MARKS.get(one.state, _DOUBT)
        out.append(Paragraph(f"{one.name}: {one.text}", "", f"{mark} ", style))
        if one.remedy and one.state != OK:
            out.append(Paragraph(one.remedy, "strong" if one.state == FAIL else "", "  → "))
    out.append(NOTHING)
    if any(one.state == FAIL for one in found):
        out.append(Paragraph("Nothing may be written now. Do what stands after the arrow, then c checks again.", "bad"))
        out.append(Paragraph("You may look at findings and at the change all the same; n goes on.", "quiet"))
    elif any(one.state != OK for one in found) and not vouched:
        text = "Not everything can be seen from here: before anything is written, you are asked whether all is stopped."
        out.append(Paragraph(text, "doubt"))
    elif vouched:
        out.append(Paragraph("You said that everything is stopped; that goes into the journal. n goes on.", "good"))
    else:
        out.append(Paragraph("Nobody holds the store. n goes on to what was found.", "good"))
    return out


def decision_text(one: Finding) -> str:
    return f"{DECISION_GLYPHS[one.decision]} {one.decision}"


def finding_cells(model: RepairModel, one: Finding) -> tuple[str, str, str, str, str]:
    """Decision, session, messages, from whom it goes on, evidence."""
    orphan, donor = model.card(one.orphan_id), model.card(one.donor_id)
    name, messages = (orphan.name, count_text(orphan.messages)) if orphan else (inert(one.orphan_id), "")
    return decision_text(one), name, messages, donor.name if donor else "–", one.evidence or one.reason


def findings_empty(model: RepairModel, trouble: SourceError | None) -> str:
    if model.survey is None:
        return "reading…" if trouble is None else UNKNOWN
    return "nothing is lost here: every row of a messaging platform has its identity"


def evidence(model: RepairModel, one: Finding, time_of: TimeOf) -> list[Paragraph]:
    """Why this row is thought to be lost, and from whom it goes on."""
    orphan, donor = model.card(one.orphan_id), model.card(one.donor_id)
    if orphan is None:
        return []
    span = f"{time_of(orphan.started_at)} to {time_of(orphan.last_active)}"
    out = [Paragraph(f"{orphan.name} · {orphan.source} · {_count(orphan)} · {span}", "strong")]
    if donor is not None:
        key = _identity(donor, "session_key")
        key, quiet = _identity(donor, "session_key"), time_of(donor.last_active)
        text = f"{donor.name} · {_count(donor)} · {key} · quiet since {quiet}{_gap(orphan, donor)}"
        out.append(Paragraph(text, "", "goes on from ", "quiet"))
    if one.evidence == DORMANT:
        text = "a: say that its talk is over, and the next message begins a new one. Nothing ends it by itself."
        ended = f"ended by {inert(model.chosen_by.get(one.orphan_id, 'you'))}; its messages stay"
        return [*out, Paragraph(one.reason), Paragraph(ended if one.decision == END else text, "doubt")]
    if one.decision == CHOSEN:
        out.append(Paragraph(f"chosen by {inert(model.chosen_by.get(one.orphan_id, 'you'))}", "doubt"))
    elif one.decision == PERSON:
        out.append(
            Paragraph(f"{one.reason or 'no donor'}. d compares who it could be; the program does not guess.", "doubt")
        )
    else:
        out.append(Paragraph(_EVIDENCE.get(one.evidence, one.reason or one.evidence), "quiet"))
    return out


def _gap(orphan: Card, donor: Card) -> str:
    if orphan.started_at is None or donor.last_active is None:
        return ""
    gap = orphan.started_at - donor.last_active
    return f" ({age_text(abs(gap))} {'before' if gap >= 0 else 'after'} this one began)"


def _count(card: Card) -> str:
    return f"{count_text(card.messages)} message{'' if card.messages == 1 else 's'}"


def _identity(card: Card, column: str) -> str:
    value = next((value for name, value in card.identity if name == column), None)
    return "NULL" if value is None else value or "''"


def finding_totals(model: RepairModel) -> str:
    """How many of each decision."""
    counts = dict.fromkeys(DECISION_GLYPHS, 0)
    for one in model.rows.rows:
        counts[one.decision] += 1
    return " · ".join(
        f"{DECISION_GLYPHS[name]} {count_text(number)} {name}" for name, number in counts.items() if number
    )


# What changes while somebody is asked

OTHER_FINDING = "The store was written to, and this session is not as it was when you were asked: look at it again"


def other_plan(new: int, gone: int) -> str:
    """How many lines of the change are others than those that the person saw."""
    text = "The store was written to: this is the change as it would be now"
    return f"{text}, with {_many(new, 'new line')} ({NEW.strip()}) and {_many(gone, 'line')} gone"


def no_longer_safe(found: Sequence[SafetyCheck]) -> str:
    """Why a word is no longer awaited: the worst of the checks, and what to do."""
    one = min((one for one in found if one.state != OK), key=lambda one: one.state != FAIL)
    return f"{one.name}: {one.text} → {one.remedy}"


# The change


def no_change_yet(*, failed: bool) -> list[Paragraph]:
    if failed:
        return [Paragraph("The change could not be worked out: why stands above. b goes back.", "bad", "✗ ", "bad")]
    return [Paragraph("working it out…", "quiet")]


def change(model: RepairModel, plan: Plan, time_of: TimeOf) -> list[Paragraph]:
    """Every cell before and after, row by row; then where each chat goes on."""
    if plan.empty:
        out = [Paragraph("Nothing would be changed.", "strong"), NOTHING]
        return out + list(_skipped(model, plan))
    cells = len(plan.changes)
    parts = [f"{_many(len(plan.adoptions), 'row')} would be taken back"] if plan.adoptions else []
    parts += [f"{_many(len(plan.endings), 'row')} would be ended"] if plan.endings else []
    head = f"{', '.join(parts)}, {_many(cells, 'cell')} written. Nothing else is touched."
    out = [Paragraph(head, "strong"), NOTHING]
    for answer in plan.answers:
        out += _answer(model, answer)
    out.append(NOTHING)
    for adoption in plan.adoptions:
        out += _adoption(model, adoption, time_of)
    for ending in plan.endings:
        out.append(Paragraph(f"{_row_text(model.card(ending.session_id))}: is ended by you", "strong", "■ "))
        out += [line for one in ending.changes for line in _cell_change(one, time_of)]
    return out + list(_skipped(model, plan))


def _many(number: int, word: str) -> str:
    return f"{count_text(number)} {word}{'' if number == 1 else 's'}"


def _answer(model: RepairModel, answer: Answer) -> Iterator[Paragraph]:
    before, after = model.card(answer.before_id), model.card(answer.after_id)
    yield Paragraph(f"{inert(answer.source)} · {inert(answer.session_key)}", "name", "chat ", "quiet")
    yield Paragraph(f"{_row_text(before)} → {_row_text(after)}", "", "  after a restart ", "quiet")
    yield Paragraph(answer.text, "good" if answer.effective else "bad", "  ✓ " if answer.effective else "  ✗ ")


def _row_text(card: Card | None) -> str:
    if card is None:
        return "a new session"
    named = f"{card.name} ({card.id})" if card.named else card.name
    return f"{named}, {_count(card)}"


def _adoption(model: RepairModel, one: Adoption, time_of: TimeOf) -> Iterator[Paragraph]:
    """The cells of one adoption, by row."""
    orphan, donor = model.card(one.orphan_id), model.card(one.donor_id)
    how = "by your choice" if one.chosen else one.evidence
    for id, card, title in ((one.orphan_id, orphan, "◇ "), (one.donor_id, donor, "◉ ")):
        changes = [change for change in one.changes if change.session_id == id]
        role = f"is taken back ({how})" if card is orphan else "gives its identity" + (" and ends" if changes else "")
        yield Paragraph(f"{_row_text(card)}: {role}", "strong", title)
        for change in changes:
            yield from _cell_change(change, time_of)
    for note in one.notes:
        yield Paragraph(note, "doubt", "  • ")
    yield NOTHING


def _cell_change(change: Change, time_of: TimeOf) -> Iterator[Paragraph]:
    text = f"{cell_text(change.before)} → {cell_text(change.after)}"
    if change.column == "ended_at" and isinstance(change.after, (int, float)):
        text += f" ({time_of(float(change.after))})"
    yield Paragraph(text, "", f"    {change.column:<18}", "quiet")


def cell_text(cell: Cell) -> str:
    """One cell, so that NULL, text and number cannot be taken for each other."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"x'{cell[:32].hex()}'{'…' if len(cell) > 32 else ''}"
    if isinstance(cell, str):
        return inert(clip(f"'{cell}'", CELL))
    return repr(cell)


def _skipped(model: RepairModel, plan: Plan) -> Iterator[Paragraph]:
    ours = {one.orphan_id for one in model.rows.rows}
    for one in plan.skipped:
        if one.reason == LEFT_OUT and one.orphan_id not in ours:
            continue  # The walkthrough is about others.
        card = model.card(one.orphan_id)
        reason = SKIPPED if one.reason == LEFT_OUT else inert(one.reason)
        yield Paragraph(f"{_row_text(card)}: left as it is, {reason}", "quiet", "– ")


# Writing


_STAGES = {
    "checks": "asking again whether anybody holds the store",
    "scan": "reading the store again: the plan must still be the same",
    "backup": "copying the store, and checking the copy",
    "write": "writing, in one transaction",
    "proof": "reading back, checking the store, asking where each chat goes on",
}


def progress(step: Step | None, *, undoing: bool) -> list[Paragraph]:
    """What is being done now, and that it ends by itself."""
    stages = ["checks", "write", "proof"] if undoing else list(_STAGES)
    now = stages.index(step.stage) if step is not None and step.stage in stages else 0
    out = []
    for at, stage in enumerate(stages):
        text = _STAGES[stage]
        if at == now and step is not None and step.total:
            text += f" ({100 * step.done // step.total} %)"
        mark, style = ("✓ ", "good") if at < now else ("▸ ", "strong") if at == now else ("  ", "quiet")
        out.append(Paragraph(text, "strong" if at == now else "quiet", mark, style))
    out.append(NOTHING)
    out.append(Paragraph("This app's own readers of the store are closed meanwhile. It ends by itself.", "quiet"))
    return out


def refused(reason: str, remedy: str, *, unsure: bool) -> list[Paragraph]:
    """Why it was not done, and what to do."""
    head = "It stopped by an error." if unsure else "Nothing was changed."
    out = [Paragraph(head, "strong"), NOTHING, Paragraph(reason, "bad", "✗ ", "bad")]
    if remedy:
        out.append(Paragraph(remedy, "strong", "  → "))
    if unsure:
        out.append(Paragraph("Whether it took effect, the list of repairs says (key 5).", "strong", "  → "))
    return [*out, NOTHING, Paragraph("b goes back; q leaves.", "quiet")]


def proof(model: RepairModel, done: Applied) -> list[Paragraph]:
    """That it took effect, and how that is known."""
    states = {one.state for one in done.checks if one.name in PROOFS}
    if states == {OK}:
        head, style, mark = "The repair is done, and proven.", "good", "✓ "
    elif FAIL in states:
        head, style, mark = "The repair is written, but a proof failed.", "bad", "✗ "
    else:
        head, style, mark = "The repair is written, but not all of it could be proven.", "doubt", "? "
    out = [Paragraph(head, style, mark), NOTHING]
    out += _check_lines([one for one in done.checks if one.name in PROOFS])
    out.append(NOTHING)
    for answer in done.answers:
        out += _answer(model, answer)
    out += [
        NOTHING,
        Paragraph(inert(done.repair_id), "", "repair ", "quiet"),
        Paragraph(inert(str(done.backup)), "", "backup ", "quiet"),
        NOTHING,
        Paragraph("Start Hermes again: the chat goes on where it was lost.", "strong"),
        Paragraph("u takes the repair back, now or later (key 5).", "quiet"),
    ]  # fmt: skip
    return out


def _check_lines(found: Sequence[SafetyCheck]) -> Iterator[Paragraph]:
    for one in found:
        mark, style = _MARKS.get(one.state, _DOUBT)
        yield Paragraph(f"{one.name}: {one.text}", "", f"{mark} ", style)
        if one.remedy and one.state != OK:
            yield Paragraph(one.remedy, "strong", "  → ")


def undone(done: Undone) -> list[Paragraph]:
    """That the rows are back, and how that is known."""
    proofs = [one for one in done.checks if one.name in PROOFS]
    if all(one.state == OK for one in proofs):
        head = Paragraph(f"{_many(done.rows, 'row')} as before; the repair is taken back.", "good", "✓ ")
    elif any(one.state == FAIL for one in proofs):
        head = Paragraph("The former cells are written, but a proof failed.", "bad", "✗ ")
    else:
        head = Paragraph("The former cells are written, but not all of it could be proven.", "doubt", "? ")
    out = [head, NOTHING, *_check_lines(proofs)]
    return [*out, NOTHING, Paragraph("q leaves.", "quiet")]


# Past repairs


def repairs_empty() -> str:
    return "no repair has been made in this home"


def about_repair(one: Repair, names: Callable[[str], str], store: Path) -> str:
    """Two lines on the past repair at the cursor. `store` is the one that the app is about."""
    if one.state == UNREAD:
        return one.text
    rows = ", ".join(names(id) for id in one.orphan_ids[:3])
    more = f" and {len(one.orphan_ids) - 3} more" if len(one.orphan_ids) > 3 else ""
    crashed = " · its process ended in the middle of it" if one.crashed else ""
    other = "" if one.store == real_path(store) else f" · of another store: {inert(str(one.store))}"
    return f"{one.text}{crashed}{other}\n{rows}{more} · backup {inert(one.backup.name)}"


def summary(model: RepairModel, trouble: SourceError | None) -> list[Paragraph]:
    """What there is to repair, and how. `trouble`: why the store cannot be read now."""
    if model.survey is None and trouble is not None and trouble.state == MISSING:
        return [Paragraph("There is no session store yet, so nothing is lost.", "quiet")]
    if model.survey is None and trouble is not None:
        return [Paragraph(f"{UNKNOWN[0].upper()}{UNKNOWN[1:]}.", "bad", "? ")]
    if model.survey is None:
        return [Paragraph("reading the sessions…", "quiet")]
    rows = model.rows.rows
    silent = sum(1 for one in model.survey.zombies if one.grade == DORMANT)
    quiet = f"{_many(silent, 'session')} open and silent for long; r on one of them in the Lineage (3) can end it."
    dormant = [Paragraph(quiet, "quiet", "△ ")] if silent else []
    if not rows:
        text = "Nothing is lost: every row of a messaging platform has its routing identity."
        return [Paragraph(text, "good", "✓ "), *dormant]
    sure = sum(1 for one in rows if one.decision == ACCEPT)
    unsure = len(rows) - sure
    messages = sum(model.survey.store.sessions[one.orphan_id].messages for one in rows)
    out = [
        Paragraph(
            f"{_many(len(rows), 'session')} with {_many(messages, 'message')} lost the way to the chat.", "bad", "◇ "
        )
    ]
    if sure:
        out.append(Paragraph(f"{_many(sure, 'session')} can be taken back on clear evidence.", "good", "✓ "))
    if unsure:
        out.append(Paragraph(f"{_many(unsure, 'session')} may be taken back only if you say from whom.", "doubt", "? "))
    out.append(
        Paragraph("r goes through it step by step; nothing is written before you have seen it and said so.", "strong")
    )
    return out + dormant


def help_notes() -> Iterator[str]:
    yield "A repair gives a lost session the identity of the one that it goes on from, and ends that one."
    yield "  It fills gaps and overwrites nothing; before it writes, it copies the store and checks the copy."
    yield "  It is refused while anybody holds the store: stop the gateway and everything else of Hermes first."
    yield "  Leaving before the last confirmation changes nothing. Afterwards u puts every cell back as it was."
