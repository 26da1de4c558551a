"""What plain commands do to files: made, written, removed, moved, copied, linked, marked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .effects import Effect
from .facts import CannotTellError, Facts, Place
from .files import AT_ONCE_S, Facet, gather, judge_missing, judge_write, numbers, span, text_of
from .located import came_last, look, need_place, place_of
from .recorded import Recorded
from .touching import Others, at_work
from .verdict import ABSENT, LANDED, UNKNOWN, Finding, quoted

MOST_FOLDERS = 500
"""Folders of one tree that are looked through."""


def judge(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    """What is to be seen of one effect. Raises CannotTellError."""
    if effect.kind == "move":
        return _move(call, facts, effect)
    facet, around = gather(call, facts, effect.path)
    if effect.kind == "remove":
        need_place(call)
        spot = facet.spot
        looks = not spot.place.exists and not spot.untouched_since(facet.at)
        moment, slack = spot.folder.modified, spot.folder.slack
        taken = looks and not any(at_work(one, moment, slack) for one in around.beside)
        taken = taken and not came_last(facts, spot.folder)
        if spot.place.kind == "folder" and effect.parents and not _whole(facts, spot.place, facet.at):
            return UNKNOWN, f"{spot.shown} is there, but something in it was changed or taken out since the call."
        return judge_removed(facet, made=around.made, taken=taken)
    if not facet.spot.place.exists:
        return judge_missing(facet)
    if facet.spot.place.kind == "folder":  # What comes into it, or goes, moves its time too.
        times, slack = (facet.spot.folder.modified, facet.spot.place.modified), facet.spot.folder.slack
        more = tuple(one.id for one in around.beside if any(at_work(one, moment, slack) for moment in times))
        facet = replace(facet, rivals=(*facet.rivals, *more))
    if effect.kind == "folder":
        return judge_folder(facet, empty=_is_empty(facts, facet.spot.place))
    if effect.kind == "link":
        return _link(facts, facet, effect)
    if effect.kind == "mode":
        return judge_mode(facet, effect.text or "")
    if effect.kind == "copy":
        return _copy(call, facts, facet, effect)
    return _written(facts, facet, effect)


# -- gathering ---------------------------------------------------------------------------------------------------------


def _written(facts: Facts, facet: Facet, effect: Effect) -> Finding:
    """write, append, touch, edit."""
    if facet.spot.place.kind != "file" or effect.text is None:
        return judge_touched(facet)
    text = text_of(facts, facet.spot)
    if effect.kind == "append":
        return judge_touched(facet, ends_with=text.endswith(effect.text))
    return judge_write(replace(facet, holds=text == effect.text))


def _whole(facts: Facts, folder: Place, moment: float) -> bool:
    """Is everything below a folder as it was before `moment`? A removal begins with what lies deepest.

    Raises CannotTellError where it holds more than is looked at.
    """
    waiting, looked_at = [folder], 0
    while waiting:
        place = waiting.pop()
        if place.touched_since(moment):
            return False
        if place.kind == "folder":
            waiting += [facts.look(place.path / name) for name in facts.names(place.path)]
            looked_at += 1
            if looked_at > MOST_FOLDERS:
                raise CannotTellError(f"{quoted(folder.path, 160)} holds more than {MOST_FOLDERS} folders.")
    return True


def _is_empty(facts: Facts, place: Place) -> bool:
    return place.kind == "folder" and not facts.names(place.path)


def _link(facts: Facts, facet: Facet, effect: Effect) -> Finding:
    named = facts.link(facet.spot.place.path) if facet.spot.place.kind == "link" else None
    return judge_link(facet, right=named == effect.source)


def _copy(call: Recorded, facts: Facts, facet: Facet, effect: Effect) -> Finding:
    source = look(facts, place_of(call, facts, effect.source))
    if facet.spot.place.kind == "folder" and effect.parents and source.place.kind == "folder":
        return _copied_folder(facts, facet, source.place)
    if facet.spot.place.kind == "folder":
        raise CannotTellError(f"{facet.spot.shown} is a folder, so the copy may have another name.")
    if facet.spot.place.kind != "link" and facet.spot.untouched_since(facet.at):
        return (
            ABSENT,
            f"{facet.spot.shown} was last changed {span(facet.at - facet.spot.place.changed)} before the call.",
        )
    if source.place.kind != "file" or facet.spot.place.kind != "file":
        return UNKNOWN, f"{facet.spot.shown} cannot be compared with what was to be copied there."
    same = facts.content(source.place.path) == facts.content(facet.spot.place.path)
    return judge_copied(facet, same=same)


def _copied_folder(facts: Facts, facet: Facet, source: Place) -> Finding:
    if facts.names(source.path) != facts.names(facet.spot.place.path):
        return UNKNOWN, f"{facet.spot.shown} does not hold the same names as what was to be copied there."
    return judge_folder(facet, empty=False)


@dataclass(frozen=True, slots=True)
class Move:
    """Both ends of a move, seen once."""

    source: Facet
    target: Facet


def _move(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    need_place(call)
    source, _ = gather(call, facts, effect.source)
    target, _ = _target(call, facts, effect)
    return judge_moved(Move(source, target))


def _target(call: Recorded, facts: Facts, effect: Effect) -> tuple[Facet, Others]:
    """The place that the moved thing has afterwards: inside the target, where that is a folder it is in."""
    facet, around = gather(call, facts, effect.path)
    if facet.spot.place.kind != "folder":
        return facet, around
    inside, beside = gather(call, facts, f"{effect.path}/{effect.source.rpartition('/')[2]}")
    return (inside, beside) if inside.spot.place.exists else (facet, around)


# -- judging -----------------------------------------------------------------------------------------------------------


def judge_touched(facet: Facet, *, ends_with: bool | None = None) -> Finding:
    """Pure: a file whose time was to move. `ends_with`: does it end with what was to be added, where that is known?"""
    spot, at = facet.spot, facet.at
    place = spot.place
    if place.kind not in ("file", "folder"):
        return (
            UNKNOWN,
            f"{spot.shown} is {'a link, which is not followed' if place.kind == 'link' else 'no plain file'}.",
        )
    if spot.untouched_since(at):
        return ABSENT, f"{spot.shown} was last changed {span(at - place.changed)} before the call."
    if ends_with is False:
        return UNKNOWN, f"{spot.shown} was written since, but does not end with what was to be added."
    why = _not_alone(facet, place.modified)
    return (UNKNOWN, why) if why else (LANDED, f"{spot.shown} was written {span(place.modified - at)} after the call.")


def _not_alone(facet: Facet, moment: float) -> str:
    """Why what happened at a moment may not be this call's doing; empty where it is."""
    shown = facet.spot.shown
    if moment < facet.at - facet.spot.place.slack:
        return f"{shown} was written before the call and only moved or marked since."
    if facet.rivals:
        return f"{shown} changed since, but call {numbers(facet.rivals)} may have done it."
    if moment > facet.at + AT_ONCE_S:
        return f"{shown} changed {span(moment - facet.at)} after the call: by whom is not known."
    return ""


def judge_removed(facet: Facet, *, made: bool, taken: bool) -> Finding:
    """Pure: something was to be taken away. `made`: an earlier recorded call is known to have put it there; `taken`:
    the last that happened to its folder is that something was taken out."""
    spot, at = facet.spot, facet.at
    folder = quoted(spot.folder.path, 160)
    if spot.place.exists:
        if spot.untouched_since(at):
            return ABSENT, f"{spot.shown} is still there, unchanged since before the call."
        return UNKNOWN, f"{spot.shown} is there, but was changed or made anew since the call."
    if spot.untouched_since(at):
        return UNKNOWN, f"{spot.shown} is not there, and was not there when the call was issued."
    if facet.undoers or facet.rivals:
        who = numbers(tuple(dict.fromkeys((*facet.rivals, *facet.undoers))))
        return UNKNOWN, f"{spot.shown} is gone, but call {who} may have taken it away."
    when = spot.folder.modified - at
    if when > AT_ONCE_S:
        return UNKNOWN, f"{spot.shown} is gone, but {folder} changed {span(when)} after the call: by whom is not known."
    if made or taken:
        return (
            LANDED,
            f"{spot.shown} is gone; {folder} last changed {span(when)} after the call, and no other call did it.",
        )
    return UNKNOWN, f"{spot.shown} is not there, but whether it was there before is not known."


def judge_folder(facet: Facet, *, empty: bool) -> Finding:
    """Pure: a folder was to be made, and something stands there."""
    spot, at = facet.spot, facet.at
    place, above = spot.place, spot.folder
    if place.kind != "folder":
        return UNKNOWN, f"{spot.shown} is no folder."
    if above.modified < at - above.slack or spot.untouched_since(at):
        return UNKNOWN, f"{spot.shown} was there before the call, so making it again leaves no trace."
    first = min(place.modified, place.changed)
    fresh = first >= at - place.slack and (empty or abs(above.modified - first) <= place.slack)
    if not fresh or facet.rivals or first > at + AT_ONCE_S:
        return UNKNOWN, f"{spot.shown} is there, but whether it was there before the call is not known."
    return LANDED, f"{spot.shown} was made {span(first - at)} after the call."


def judge_link(facet: Facet, *, right: bool) -> Finding:
    """Pure: a link was to be made, and something stands there. `right`: is it a link to what was to be named?"""
    spot, at = facet.spot, facet.at
    if spot.untouched_since(at):
        if right:
            return UNKNOWN, f"{spot.shown} was this very link before the call."
        if spot.place.kind == "link":
            return UNKNOWN, f"{spot.shown} is another link; where that leads to a folder the new one lies in there."
        return ABSENT, f"{spot.shown} is something else, unchanged since before the call."
    why = _not_alone(facet, spot.place.modified) if right else f"{spot.shown} is something else now."
    return (
        (UNKNOWN, why)
        if why
        else (LANDED, f"{spot.shown} became this link {span(spot.place.modified - at)} after the call.")
    )


def judge_mode(facet: Facet, mode: str) -> Finding:
    """Pure: the rights of a file were to be set. Setting them always moves its ctime."""
    spot, at = facet.spot, facet.at
    if spot.place.kind == "link":
        return UNKNOWN, f"{spot.shown} is a link, which is not followed."
    if spot.untouched_since(at):
        return ABSENT, f"{spot.shown} was last changed {span(at - spot.place.changed)} before the call."
    if not _has_mode(spot.place.mode, mode):
        return UNKNOWN, f"{spot.shown} was changed since, and has other rights now."
    why = _not_alone(facet, spot.place.changed)
    if spot.place.modified >= at - spot.place.slack and not why:
        why = f"{spot.shown} has these rights, but was written since the call, too."
    return (
        (UNKNOWN, why)
        if why
        else (LANDED, f"{spot.shown} got its rights {span(spot.place.changed - at)} after the call.")
    )


def _has_mode(mode: int, wanted: str) -> bool:
    if re.fullmatch(r"[0-7]{3,4}", wanted):
        return mode == int(wanted, 8)
    match = re.fullmatch(r"([ugoa]*)\+([rwx]+)", wanted)
    if not match:
        raise CannotTellError(f"The rights {quoted(wanted, 20)} are not followed.")
    bits = sum({"r": 4, "w": 2, "x": 1}[letter] for letter in set(match[2]))
    who = set(match[1] or "u") | ({"u", "g", "o"} if "a" in match[1] else set())
    return all(
        mode & (bits << {"u": 6, "g": 3, "o": 0}[one]) == bits << {"u": 6, "g": 3, "o": 0}[one] for one in who - {"a"}
    )


def judge_copied(facet: Facet, *, same: bool) -> Finding:
    """Pure: a file was to be copied here, and was changed since. `same`: does it hold what the source holds?"""
    if not same:
        return UNKNOWN, f"{facet.spot.shown} was changed since, and holds something else than what was to be copied."
    why = _not_alone(facet, facet.spot.place.changed)
    when = span(facet.spot.place.changed - facet.at)
    return (UNKNOWN, why) if why else (LANDED, f"{facet.spot.shown} holds the copy, made {when} after the call.")


def judge_moved(move: Move) -> Finding:
    """Pure: from one place to another. A move leaves the content's time and moves the entry's."""
    source, target = move.source.spot, move.target.spot
    at = move.source.at
    if source.place.exists and source.untouched_since(at):
        return ABSENT, f"{source.shown} is still there, unchanged since before the call."
    if source.place.exists:
        return UNKNOWN, f"{source.shown} is there, but was changed or made anew since the call."
    if not target.place.exists:
        return UNKNOWN, f"Neither {source.shown} nor {target.shown} is there."
    if target.untouched_since(at):
        return UNKNOWN, f"{source.shown} is not there, and {target.shown} was there before the call."
    if source.untouched_since(at):
        return UNKNOWN, f"{source.shown} was not there when the call was issued."
    why = _not_alone(move.target, target.place.changed)
    if why or move.source.rivals:
        return UNKNOWN, why or f"Call {numbers(move.source.rivals)} may have moved {source.shown}."
    when = span(target.place.changed - at)
    return LANDED, f"{source.shown} is gone and {target.shown} came {when} after the call."
