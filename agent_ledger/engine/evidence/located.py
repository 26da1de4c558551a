"""Where the host meant a path to be, and everything about that place that tells when it last changed."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from pathlib import Path

from ..workplace import LOCAL
from .facts import CannotTellError, Facts, Place
from .recorded import Recorded
from .verdict import quoted

DRAFT = ".hermes-tmp."
"""Start of the name under which the host writes a file before it gives it its own."""


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
    return facts.folder(path.parent) / path.name


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


def came_last(facts: Facts, folder: Place) -> bool:
    """Is a folder's last change an entry that came and is still there? Else something was taken out last.

    Looks at every entry.
    """
    for name in facts.names(folder.path):
        entry = facts.look(folder.path / name)
        if (
            abs(entry.changed - folder.modified) <= folder.slack
            or abs(entry.modified - folder.modified) <= folder.slack
        ):
            return True
        if name.startswith(DRAFT) and entry.changed >= folder.modified:
            return True
    return False
