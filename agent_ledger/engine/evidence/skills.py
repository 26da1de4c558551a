"""Skills: what the files under `skills/` say of a call to `skill_manage`.

Hermes 0.19 changes one file a call, 0.22 takes a list of operations and undoes all of them where one fails. Both
write a file by renaming a new one over it, so that a file's own time is that of its last change; a removal shows in
the time of the folder above. Hermes 0.22 also keeps a log of changes, which names the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .around import (
    HANDS,
    SOON_S,
    LastWrite,
    explained,
    folder_time,
    issued,
    last_write,
    may_be_of,
    may_explain,
    once,
    others,
    stayed,
)
from .facts import CannotTellError, Facts
from .recorded import Recorded
from .skill_store import (
    SKILL_FILE,
    Asked,
    NowhereError,
    Step,
    Wanted,
    asked_of,
    folder_of,
    log_of,
    newest_folder,
    steps_of,
    wanted,
)
from .verdict import ABSENT, LANDED, Verdict, absent, landed, quoted, unknown

TOOLS = ("skill_manage",)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one file, or of a whole skill that was to be deleted."""

    shown: str
    gone: bool
    """Is it to be gone?"""
    there: bool
    write: LastWrite
    """When it was last written; of what is not there, when a name last changed in the folder above."""
    done: bool | None = None
    """Is its text as the call asked for? None where that cannot be told."""
    undone: bool = False
    """May another recorded call have changed it since?"""
    existed: bool = False
    """Is it known to have been there before the call?"""


def judge_seen(seen: Seen, now: float) -> Verdict:
    """The verdict on one file."""
    if seen.gone:
        return _gone(seen, now)
    if seen.write.before:
        why = "was last written before the call" if seen.there else "is not there, and its folder is as before the call"
        return absent(now, f"{seen.shown} {why}.")
    if seen.done:
        if seen.write.ours:
            return landed(now, f"{seen.shown} is as the call asked for, and was last written right after it.")
        return unknown(now, f"{seen.shown} is as the call asked for, but may have been written by somebody else.")
    missing = f"{seen.shown} is {'not as the call asked for' if seen.there else 'not there'}."
    if seen.done is None and seen.there:
        return unknown(now, f"{seen.shown} was written since, and does not tell by whom.")
    if seen.undone:
        return unknown(now, missing, "But another call may have changed it since.")
    if seen.write.known:
        return absent(now, missing, "What changed there since the call is known, and is something else.")
    return unknown(now, missing, "But somebody unknown has changed something there since.")


def _gone(seen: Seen, now: float) -> Verdict:
    if seen.there:
        if seen.write.before:
            return absent(now, f"{seen.shown} is still there, unchanged since before the call.")
        return unknown(now, f"{seen.shown} is there, but may have been made anew since.")
    if seen.write.before:
        return absent(now, f"{seen.shown} was gone before the call came, which changed nothing.")
    if seen.write.ours and seen.existed and not seen.undone:
        return landed(now, f"{seen.shown} was there before the call and is gone; its folder changed right after it.")
    return unknown(now, f"{seen.shown} is not there; whether this call removed it cannot be told.")


def together(found: Sequence[Verdict], now: float) -> Verdict:
    """One verdict for all files of a call: it is made as a whole, or a killed host left a part of it."""
    evidence: list[str] = [text for verdict in found for text in verdict.evidence]
    kinds = {verdict.verdict for verdict in found}
    if kinds == {LANDED}:
        return landed(now, *evidence)
    if kinds == {ABSENT}:
        return absent(now, *evidence)
    if {LANDED, ABSENT} <= kinds:
        evidence.insert(0, "Only a part of what the call asked for is there.")
    return unknown(now, *evidence)


# -- gathering ---------------------------------------------------------------------------------------------------------


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on one call. Raises CannotTellError where the skill's place cannot be told or read."""
    issued(call)
    asked = asked_of(call)
    if asked is None:
        raise CannotTellError("What the call asked for is not stored whole.")
    if asked.complete and _logged(call, facts, asked.steps):
        return landed(
            facts.now, "The host's own log of changes to skills holds every step of it, right after the call."
        )
    if _waits(facts, asked.steps):
        return unknown(facts.now, "A change of this skill waits for a person's approval.")
    parts = wanted(asked.steps)
    if _not_logged(call, facts, asked.steps) and not any(_is_done(call, facts, part, asked) for part in parts):
        return absent(
            facts.now,
            "It is not as the call asked for, and the host's own log of changes to skills, which was kept before and"
            " after, names no such step since.",
        )
    return together([judge_seen(_seen(call, facts, part, asked), facts.now) for part in parts], facts.now)


def _seen(call: Recorded, facts: Facts, part: Wanted, asked: Asked) -> Seen:
    new = any(step.action == "create" and step.name == part.name for step in asked.steps)
    folder, place = folder_of(facts, part.name, part.category, new=new, placed=asked.placed)
    root = facts.home / "skills"
    stayed(facts, (one for one in (folder, *folder.parents) if one.is_relative_to(root)), issued(call))
    around = [other for other in _others(call, facts, part.name) if _touches(other, part)]
    shown = f"The skill {quoted(part.name, 60)}"
    if part.file:
        target = folder / part.file
        if any(p in ("..", ".") for p in target.relative_to(folder).parts):
            raise CannotTellError(f"{quoted(part.file)} leads out of the skill.")
        place, shown = facts.look(target), f"The file {quoted(part.file, 60)} of the skill {quoted(part.name, 60)}"
        if place.exists and place.kind != "file":
            raise CannotTellError(f"{shown} is no plain file.")
    if place.exists:
        own = facts.look(folder / SKILL_FILE) if not part.file else place
        write = last_write(call, max(own.modified, own.changed), around)
        done = None
        if part.file and not part.gone:
            text = facts.text(place.path)
            done = part.done(text) if asked.texts else _by_hash(call, facts, asked, folder, text)
            if done is None and asked.complete:
                done = part.reads(text)
        return Seen(shown, part.gone, True, write, done, _after(call, around))
    write = last_write(call, folder_time(facts, place.path.parent), around)
    if not new and not facts.look(folder).exists:
        write = _anywhere(call, facts, part, around)
    return Seen(shown, part.gone, False, write, False, _after(call, around), _existed(call, around, part))


def _anywhere(call: Recorded, facts: Facts, part: Wanted, around: Sequence[Recorded]) -> LastWrite:
    """The same for a skill that is not there and may have been in any category: none of their folders may have changed.

    Only a recorded call that made the skill says in which one it was.
    """
    youngest = once(facts, newest_folder, lambda: newest_folder(facts))
    write = last_write(call, youngest, around)
    made = [step for other in around if other.id < call.id for step in _creations(other, part.name)]
    if not made:
        return LastWrite(write.before, False, write.known)
    category = part.category or made[-1].category
    ours = last_write(call, folder_time(facts, facts.home / "skills" / category), around).ours
    return LastWrite(write.before, ours, write.known)


def _creations(other: Recorded, name: str) -> list[Step]:
    steps = steps_of(other) if other.tool_name in TOOLS and other.confirmed else None
    return [step for step in steps or () if step.action == "create" and step.name == name]


def _by_hash(call: Recorded, facts: Facts, asked: Asked, folder: Path, text: str) -> bool | None:
    """Was this text the one that the call's only step was to write? None where its keyed hash does not say so."""
    step = asked.steps[0]
    name = "file_content" if step.action == "write_file" else "content"
    if len(asked.steps) > 1 or step.text is None:
        return None
    if name in call.value_hashes:
        return facts.is_value(call, name, text) or None
    if "operations" not in call.value_hashes:
        return None
    # The step may hold more than the cut text shows, so that only a match tells. The category shows in the place.
    category = folder.parent.relative_to(facts.home / "skills").as_posix()
    steps = ({**asked.first, name: text}, {**asked.first, "category": category, name: text})
    return any(facts.is_value(call, "operations", [step]) for step in steps) or None


def _others(call: Recorded, facts: Facts, name: str) -> list[Recorded]:
    word = name.rsplit("/", 1)[-1]
    by_hand = others(facts, call, HANDS, word)
    found = [other for other in others(facts, call, TOOLS, word) if _mentions(other, facts, word)]
    return [other for other in [*found, *by_hand] if other.effect != "none"]


def _mentions(other: Recorded, facts: Facts, word: str) -> bool:
    """Of a call that was cut: is the skill named in what is left of it? What a batch held further on is not known."""
    if not other.args_cut:
        return True
    if "name" in other.value_hashes and facts.key is not None:
        return facts.is_value(other, "name", word)
    return word in other.args_text


def _touches(other: Recorded, part: Wanted) -> bool:
    """May that other call write, move or remove this file? In doubt yes."""
    steps = steps_of(other) if other.tool_name in TOOLS else None
    if steps is None:
        return True
    mine = [end for end in wanted(steps) if end.name.rsplit("/", 1)[-1] == part.name.rsplit("/", 1)[-1]]
    return any(end.file == part.file or not end.file or not part.file for end in mine)


def _after(call: Recorded, around: Sequence[Recorded]) -> bool:
    return any(other.id > call.id for other in around)


def _existed(call: Recorded, around: Sequence[Recorded], part: Wanted) -> bool:
    """Did a confirmed call before this one write it, with nothing since that may have removed it?"""
    there = False
    for other in around:
        if other.id > call.id:
            break
        steps = steps_of(other) if other.tool_name in TOOLS else None
        if steps is None:
            there = False
            continue
        for end in wanted(steps):
            if end.name == part.name and (end.file == part.file or not part.file or not end.file):
                there = other.confirmed and not end.gone
    return there


def _logged(call: Recorded, facts: Facts, steps: Sequence[Step]) -> bool:
    """Does the host's log hold every step? A batch that failed is undone, and its last steps are not in there."""
    log = [
        entry
        for entry in once(facts, log_of, lambda: log_of(facts))
        if may_be_of(call, entry.at) and entry.session_id in ("", call.session_id)
    ]
    around = _others(call, facts, steps[0].name)
    for step in steps:
        fitting = [entry for entry in log if entry.action == step.action and entry.name == step.name]
        rivals = [other for other in around if _has_step(other, step)]
        fitting = [entry for entry in fitting if not any(may_explain(other, entry.at, alike=True) for other in rivals)]
        if len(fitting) < sum(1 for one in steps if (one.action, one.name) == (step.action, step.name)):
            return False
    return True


def _has_step(other: Recorded, step: Step) -> bool:
    steps = steps_of(other) if other.tool_name in TOOLS else None
    return steps is None or any((one.action, one.name) == (step.action, step.name) for one in steps)


def _not_logged(call: Recorded, facts: Facts, steps: Sequence[Step]) -> bool:
    """Was the log kept around the call, without a word of these skills since but by other recorded calls?"""
    log, at = once(facts, log_of, lambda: log_of(facts)), issued(call)
    if not log or log[0].at >= at or log[-1].at <= at + SOON_S:
        return False
    names = {step.name.rsplit("/", 1)[-1] for step in steps}
    around = [other for name in names for other in _others(call, facts, name)]
    since = [entry for entry in log if entry.at >= at and entry.name.rsplit("/", 1)[-1] in names]
    by_hand = any(other.tool_name not in TOOLS and other.id > call.id for other in around)
    return not by_hand and all(explained(around, entry.at) for entry in since)


def _is_done(call: Recorded, facts: Facts, part: Wanted, asked: Asked) -> bool:
    """May it have been done, by what is there now?"""
    try:
        seen = _seen(call, facts, part, asked)
    except NowhereError:
        return False
    if part.gone:
        return not seen.there and (seen.existed or seen.write.ours)
    return seen.there and seen.done is not False


def _waits(facts: Facts, steps: Sequence[Step]) -> bool:
    """Changes that a person must approve lie in a folder of their own."""
    folder = facts.home / "pending" / "skills"
    if not facts.look(folder).exists:
        return False
    names = {step.name for step in steps}
    for name in facts.names(folder):
        if name.endswith(".json"):
            text = facts.text(folder / name)
            if any(f'"{skill}"' in text for skill in names):
                return True
    return False
