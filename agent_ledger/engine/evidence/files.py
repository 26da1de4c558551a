"""`write_file` and `patch`: a file, its times against the call's, and what it holds against what it was to hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..fingerprint import part_with_hash
from .facts import CannotTellError, Facts
from .located import Spot, look, need_place, place_of
from .recorded import Recorded
from .touching import Others, at_work, ended, others
from .verdict import ABSENT, LANDED, UNKNOWN, Finding, Verdict, quoted, together

SOON_S = 5.0
"""A file that holds exactly what was to be written, written within so long of the call, was written by it."""

AT_ONCE_S = 2.0
"""The same where nothing but a time tells: whoever else did it would have had to do it in these two seconds."""

BOM = "\ufeff"

_NOWHERE = "\0nowhere"
"""Stands for a text that is not known, and not in the file."""


@dataclass(frozen=True, slots=True)
class Facet:
    """What is known of one file for one call; everything the judging needs."""

    at: float
    until: float
    """The latest moment at which this call can still have written."""
    spot: Spot
    holds: bool | None = None
    """Write: does it hold exactly what was to be written? Patch: does it read as after the change, not as before?
    None where that cannot be compared, or where it reads as neither."""
    before: bool = False
    """Patch: does it read as before the change?"""
    rivals: tuple[int, ...] = ()
    """Other recorded calls that may have made it what it is."""
    undoers: tuple[int, ...] = ()
    """Later calls that may have taken it away, no later than its place last changed."""
    other_way: bool = False
    """Patch: may another call have put the old text back?"""


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on a `write_file`, or on a `patch` that replaces a text. Raises CannotTellError."""
    if call.at is None:
        raise CannotTellError("When the call was issued is not recorded.")
    return together(facts.now, [_write(call, facts) if call.tool_name == "write_file" else _replace(call, facts)])


# -- gathering ---------------------------------------------------------------------------------------------------------


def gather(call: Recorded, facts: Facts, text: str) -> tuple[Facet, Others]:
    """What is known of the file that `text` names, and which other calls come near it."""
    assert call.at is not None
    path = place_of(call, facts, text)
    spot = look(facts, path)
    if not spot.place.exists or spot.untouched_since(call.at):
        need_place(call)
    around = Others()
    written, slack = spot.place.modified if spot.place.exists else call.at, spot.place.slack
    last = (spot.place if spot.place.exists else spot.folder).modified + slack
    if not spot.untouched_since(call.at):
        around = others(call, str(path), facts, last)
    rivals = [one for one in around.earlier if ended(one) >= written - slack]
    rivals += [one for one in around.later if (one.at or 0.0) <= written + slack]
    rivals += [one for one in (*around.running, *around.unclear) if at_work(one, written, slack)]
    undoers = [one for one in (*around.later, *around.unclear) if (one.at or 0.0) <= last]
    return Facet(
        call.at,
        call.at + SOON_S,
        spot,
        rivals=tuple(dict.fromkeys(one.id for one in rivals)),
        undoers=tuple(one.id for one in undoers),
    ), around


def _named(call: Recorded, facts: Facts) -> str:
    path = facts.argument(call, "path")
    if not isinstance(path, str):
        raise CannotTellError("The path is not stored as it was given.")
    return path


def _write(call: Recorded, facts: Facts) -> Finding:
    facet, around = gather(call, facts, _named(call, facts))
    if facet.spot.place.kind != "file":
        return judge_write(facet)
    text = text_of(facts, facet.spot)
    others_content = {
        one.id for one in (*around.earlier, *around.later)
        if one.tool_name == "write_file" and _holds(one, facts, text) is False
    }  # fmt: skip
    # Who writes exactly the same text names the file, but for a call that is not stored whole.
    others_content |= {
        one.id for one in (*around.running, *around.unclear)
        if not one.args_cut and not one.args_redacted and facet.spot.place.path.name not in one.args_text
    }  # fmt: skip
    rivals = tuple(number for number in facet.rivals if number not in others_content)
    return judge_write(replace(facet, holds=_holds(call, facts, text), rivals=rivals))


def _holds(call: Recorded, facts: Facts, text: str) -> bool | None:
    """Is this what was to be written? The host keeps a file's byte order mark and its Windows line ends."""
    bare = text.removeprefix(BOM)
    forms = dict.fromkeys((text, bare, bare.replace("\r\n", "\n")))
    try:
        return any(facts.is_value(call, "content", form) for form in forms)
    except CannotTellError:
        return None


def _replace(call: Recorded, facts: Facts) -> Finding:
    facet, around = gather(call, facts, _named(call, facts))
    if facet.spot.place.kind != "file":
        return judge_patch(facet)
    text = text_of(facts, facet.spot)
    old, new = (_argument_in(call, facts, name, text) for name in ("old_string", "new_string"))
    if old is None and new is None and not facet.spot.untouched_since(facet.at):
        raise CannotTellError("The texts of the change are not stored whole, and are not found in the file.")
    read = read_as(facet, around, text, [(old or _NOWHERE, _NOWHERE if new is None else new)])
    # Without the old text nothing says that the new one was not there before: then any other call may explain it.
    return judge_patch(read if old is not None else replace(read, rivals=facet.rivals))


def _argument_in(call: Recorded, facts: Facts, name: str, text: str) -> str | None:
    """A text that was to be found or put into a file; of one that is not stored whole, the part of the file that has
    its keyed hash. None where there is none."""
    value = facts.argument(call, name)
    if isinstance(value, str) and not (call.args_cut and name not in call.args):
        return value
    wanted = call.value_hashes.get(name)
    if wanted is None or facts.key is None:
        return None
    return part_with_hash(facts.key, wanted, text.removeprefix(BOM).replace("\r\n", "\n"))


def text_of(facts: Facts, spot: Spot) -> str:
    return facts.content(spot.place.path).decode("utf-8", "surrogateescape")


def read_as(facet: Facet, around: Others, text: str, pairs: list[tuple[str, str]]) -> Facet:
    """Does the text read as after every change, or as before every one, and may other calls have made it so?"""
    bare = text.removeprefix(BOM).replace("\r\n", "\n")
    plain = [(old.replace("\r\n", "\n"), new.replace("\r\n", "\n")) for old, new in pairs]
    told = [*around.earlier, *around.later]
    # A call that wrote the file last says when it was written, but no more whether this one had written before.
    after = bool(plain) and all(_is_after(bare, old, new) for old, new in plain)
    before = bool(plain) and all(_is_before(bare, old, new) for old, new in plain)
    put_back = before and (bool(around.unclear) or any(_says(one, [old for old, _ in plain]) for one in told))
    return replace(
        facet,
        holds=after if after != before else None,
        before=before and not after,
        other_way=put_back or not around.later,
    )


def _is_after(text: str, old: str, new: str) -> bool:
    if old and old in new:
        return new in text and old not in text.replace(new, "")
    return old not in text and (not new.strip() or new in text)


def _is_before(text: str, old: str, new: str) -> bool:
    if not old:
        return False
    return old in text and not (old in new and new in text)


def _says(call: Recorded, wanted: list[str]) -> bool:
    """May the arguments of a call hold one of these texts? Said of a longest line, which JSON only escapes."""
    if call.args_cut or call.args_redacted:
        return True
    stored = call.args_text
    for text in wanted:
        line = max(text.split("\n"), key=len).strip()
        if line.replace("\\", "\\\\").replace('"', '\\"') in stored:
            return True
    return False


# -- judging -----------------------------------------------------------------------------------------------------------


def judge_write(facet: Facet) -> Finding:
    """Pure: what the facts say of a file that was to be written whole."""
    spot, at = facet.spot, facet.at
    place, shown = spot.place, spot.shown
    if not place.exists:
        return judge_missing(facet)
    if place.kind != "file":
        return judge_no_file(facet)
    if spot.untouched_since(at):
        if facet.holds:
            return (
                ABSENT,
                f"{shown} was not written since before the call; it held exactly this already, as was wanted.",
            )
        return (
            ABSENT,
            f"{shown} was last written {span(at - place.modified)} before the call, and holds something else.",
        )
    if facet.holds is None:
        return UNKNOWN, f"{shown} was written since, but with what it was to hold cannot be compared."
    if not facet.holds:
        return UNKNOWN, f"{shown} was written since the call and holds something else now; what it held then is gone."
    if place.modified < at - place.slack:
        return UNKNOWN, f"{shown} holds exactly this, but was written before the call and only moved or marked since."
    if facet.rivals:
        return UNKNOWN, f"{shown} holds exactly this, but call {numbers(facet.rivals)} may have written it, too."
    if place.modified > facet.until:
        late = span(place.modified - at)
        return UNKNOWN, f"{shown} holds exactly this, but was written {late} after the call: by whom is not known."
    return LANDED, f"{shown} holds exactly what was to be written, written {span(place.modified - at)} after the call."


def judge_patch(facet: Facet) -> Finding:
    """Pure: what the facts say of a file in which a text was to be replaced."""
    spot, at = facet.spot, facet.at
    place, shown = spot.place, spot.shown
    if not place.exists:
        if spot.untouched_since(at):
            return ABSENT, f"{shown} is not there, and was not there when the call was issued."
        return UNKNOWN, f"{shown} is not there any more."
    if place.kind != "file":
        return judge_no_file(facet)
    if spot.untouched_since(at):
        if facet.holds:
            return (
                UNKNOWN,
                f"{shown} read as after the change before the call already, which then has nothing to write.",
            )
        return ABSENT, f"{shown} was last written {span(at - place.modified)} before the call."
    if facet.holds:
        if facet.rivals:
            return UNKNOWN, f"{shown} reads as after the change, but call {numbers(facet.rivals)} may have made it so."
        if place.modified < at - place.slack:
            return UNKNOWN, f"{shown} reads as after the change, but did so before the call."
        if place.modified > facet.until:
            late = span(place.modified - at)
            return UNKNOWN, f"{shown} reads as after the change, but was written {late} after the call: by whom?"
        return LANDED, f"{shown} was written since the call and reads as after the change."
    if facet.before and not facet.other_way:
        return ABSENT, f"{shown} still reads as before the change; later calls wrote it, none put that text back."
    return UNKNOWN, f"{shown} was written since the call, and does not tell whether this change was in it."


def judge_no_file(facet: Facet) -> Finding:
    """Pure: a link, a folder, a pipe stands where a file was to be written."""
    if facet.spot.place.kind == "link":
        return UNKNOWN, f"{facet.spot.shown} is a link, which is not followed."
    if facet.spot.place.kind == "folder" and facet.spot.untouched_since(facet.at):
        return ABSENT, f"{facet.spot.shown} is a folder, and has not changed since before the call."
    return UNKNOWN, f"{facet.spot.shown} is no plain file."


def judge_missing(facet: Facet) -> Finding:
    """Pure: nothing stands where something was to be made. A folder that changed since may have lost it again."""
    spot, at = facet.spot, facet.at
    folder = quoted(spot.folder.path, 160)
    if spot.untouched_since(at):
        return ABSENT, f"{spot.shown} is not there, and nothing came into {folder} or left it since before the call."
    if facet.undoers:
        return UNKNOWN, f"{spot.shown} is not there, but call {numbers(facet.undoers)} may have taken it away since."
    return UNKNOWN, f"{spot.shown} is not there, but {folder} has changed since: it may have come and gone."


def numbers(ids: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, ids[:3]))
    return shown if len(ids) <= 3 else f"{shown} and others"


def span(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
