"""`terminal`: a command whose effect files tell, judged part by part; it landed or is absent only as a whole."""

from __future__ import annotations

from dataclasses import replace

from . import effects, terminal_archives, terminal_files, terminal_git, terminal_installs
from .effects import Effect
from .facts import CannotTellError, Facts
from .located import place_of
from .recorded import Recorded
from .touching import folder_of
from .verdict import Finding, Verdict, quoted, together, unknown

MOST = 20
"""Effects of one command that are looked at."""


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on a command. Raises CannotTellError."""
    command = facts.argument(call, "command")
    if not isinstance(command, str):
        raise CannotTellError("The command is not stored whole.")
    if call.at is None:
        raise CannotTellError("When the call was issued is not recorded.")
    folder = folder_of(call)
    reading = effects.read(command, folder)
    if not reading.clear:
        return unknown(
            facts.now, f"What the command leaves behind cannot be told from its words: {quoted(reading.why)}."
        )
    found = settled(reading.effects)
    if not found:
        return unknown(facts.now, "The command only looks, or leaves nothing behind that could be looked at.")
    if not folder and not all(one.path.startswith("/") for one in found):
        raise CannotTellError("In which folder the command began is not recorded.")
    for one in reading.folders:
        if facts.look(place_of(call, facts, one)).kind not in ("folder", "link"):
            raise CannotTellError(f"The command goes to {quoted(one, 160)}, which is no folder, and then goes on.")
    return together(facts.now, [_one(call, facts, effect) for effect in found])


def _one(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    if effect.kind == "git":
        return terminal_git.judge(call, facts, effect)
    if effect.kind == "unpack" or effect.words == ("tar",):
        return terminal_archives.judge(call, facts, effect)
    if effect.kind == "install":
        return terminal_installs.judge(call, facts, effect)
    return terminal_files.judge(call, facts, effect)


def settled(found: tuple[Effect, ...]) -> list[Effect]:
    """What of a command's effects is to be seen once all have happened. Pure.

    Raises CannotTellError where one undoes or hides another.
    """
    out: list[Effect] = []
    for effect in found:
        if effect.kind == "git" and effect.words[:1] == ("commit",):
            out = [one for one in out if not (one.kind == "git" and one.words[:1] == ("add",))]
        same = [one for one in out if _meet(one, effect)]
        if not same:
            out.append(effect)
        elif effect.kind == "append" and same[-1].kind in ("write", "append") and len(same) == 1:
            known = same[0].text is not None and effect.text is not None
            text = f"{same[0].text}{effect.text}" if known else None
            out[out.index(same[0])] = replace(same[0], text=text)
        elif effect != same[-1]:
            raise CannotTellError("One part of the command does something to what another part made.")
    if len(out) > MOST:
        raise CannotTellError(f"The command does more than {MOST} things.")
    return out


def _meet(one: Effect, other: Effect) -> bool:
    """Do both speak of one place? Making a folder and then something in it does not count."""
    if "git" in (one.kind, other.kind) or "install" in (one.kind, other.kind):
        return False
    mine, theirs = {one.path, one.source} - {""}, {other.path, other.source} - {""}
    if one.kind == "copy":
        mine -= {one.source}
    if other.kind == "copy":
        theirs -= {other.source}
    if one.kind == "link" or other.kind == "link":
        mine, theirs = {one.path}, {other.path}
    if mine & theirs:
        return True
    takes = ("remove", "move")
    return any(
        (left.startswith(right + "/") and other.kind in takes) or (right.startswith(left + "/") and one.kind in takes)
        for left in mine
        for right in theirs
    )
