"""Where the host meant a path to be, and everything about that place that tells when it last changed."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from pathlib import Path

from ..workplace import LOCAL
from .around import once
from .facts import COARSE_S, CannotTellError, Facts, Place
from .recorded import Recorded
from .verdict import ABSENT, UNKNOWN, Finding, quoted

_UNTIMED = (("proc",), ("sys",), ("dev",))
"""Folders at the top in which the kernel shows itself: what is written there need not move any time."""

MOST_LINKS = 40
"""Links on the way to one folder that are gone through: as many as Linux does."""


def place_of(call: Recorded, facts: Facts, text: str) -> Path:
    """The absolute path that `text` named in this call, its folder resolved, the last name not followed.

    Raises CannotTellError where it may have been any of several places.
    """
    if call.backend and call.backend != LOCAL:
        raise CannotTellError(f"The call worked on another machine or in a container ({quoted(call.backend, 30)}).")
    if not text or "\0" in text:
        raise CannotTellError("The path is not one that can be looked at.")
    if text.startswith("~/") and call.folder and call.args.get("path") == text:
        text = call.folder + text[1:]  # The recorder keeps the home as the folder of such a path.
    elif text.startswith("~"):
        raise CannotTellError(f"Which home {quoted(text)} meant for the host is not recorded.")
    if not os.path.isabs(text):
        if not call.folder:
            raise CannotTellError(f"In which folder {quoted(text)} was meant is not recorded.")
        text = os.path.join(call.folder, text)
    path = Path(text)
    if path.name in ("", "..", "."):
        facts.refuse_network(path)
        return Path(posixpath.normpath(text))
    if (
        call.at is not None
        and once(facts, ("turned", path.parent), lambda: turned(facts, path.parent)) >= call.at - COARSE_S
    ):
        raise CannotTellError(f"A link on the way to {quoted(path, 160)} was set since: it may have led elsewhere.")
    found = facts.folder(path.parent) / path.name
    if found.parts[1:2] in _UNTIMED and found.parts[:3] != ("/", "dev", "shm"):
        raise CannotTellError(f"{quoted(found, 160)} is made up by the system, and its times do not tell of writes.")
    return found


def turned(facts: Facts, folder: Path) -> float:
    """When a link on the way to a folder was last set, so that it led elsewhere before; 0.0 where none is there.

    Raises CannotTellError where the way cannot be gone.
    """
    latest, links = 0.0, 0
    place, parts = Path(folder.anchor), list(folder.parts[1:])
    while parts:
        part = parts.pop(0)
        found = facts.look(place / part) if part != ".." else None
        if found is None or found.kind != "link":
            place = place.parent if found is None else found.path
            continue
        latest, links = max(latest, found.changed), links + 1
        if links > MOST_LINKS:
            raise CannotTellError(f"{quoted(folder)} leads through more than {MOST_LINKS} links.")
        named = Path(facts.link(found.path))
        place = Path(named.anchor) if named.is_absolute() else place
        parts[:0] = named.parts[1:] if named.is_absolute() else named.parts
    return latest


def need_place(call: Recorded) -> None:
    """Nothing is missed where it is not known that the call worked on this machine. Raises CannotTellError."""
    if call.backend != LOCAL:
        raise CannotTellError("On which machine the call worked is not recorded, so nothing can be missed on this one.")


@dataclass(frozen=True, slots=True)
class Spot:
    """What stands at a path, and the nearest folder above it that is there."""

    place: Place
    folder: Place
    above: tuple[Place, ...] = ()
    """The folders above that one."""

    @property
    def shown(self) -> str:
        return quoted(self.place.path, 160)

    def untouched_since(self, moment: float) -> bool:
        """Can nothing have been put here, changed here or taken from here at or after `moment`?

        Raises CannotTellError where another tree may have stood here then.
        """
        if (self.place if self.place.exists else self.folder).touched_since(moment):
            return False
        for one in (self.folder, *self.above):
            if one.put_back_since(moment):
                what = "was moved there or put back since: what stood there before is not known."
                raise CannotTellError(f"{quoted(one.path)} {what}")
        return True


def look(facts: Facts, path: Path) -> Spot:
    """Gather a Spot. Raises CannotTellError where a folder on the way cannot be read."""
    place = facts.look(path)
    above = path.parent
    folder = facts.look(above)
    while folder.kind != "folder":
        if folder.exists or above == above.parent:
            raise CannotTellError(f"{quoted(above)} is no folder.")
        above = above.parent
        folder = facts.look(above)
    return Spot(place, folder, tuple(facts.look(one) for one in above.parents))


def missing(call: Recorded, spot: Spot) -> Finding:
    """What a call was to make is not there. Raises CannotTellError."""
    assert call.at is not None
    need_place(call)
    if spot.untouched_since(call.at):
        return ABSENT, f"{spot.shown} is not there, and nothing changed where it would have to be."
    return UNKNOWN, f"{spot.shown} is not there, but something changed there since the call."


def came_last(facts: Facts, folder: Place) -> bool:
    """May a folder's last change be an entry that came and is still there? Else something was taken out last.

    What came may have been written on since, so that its own time says only that it was not there for certain before.
    Looks at every entry.
    """
    entries = (facts.look(folder.path / name) for name in facts.names(folder.path))
    return any(entry.touched_since(folder.modified) for entry in entries)
