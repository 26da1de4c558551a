"""`tar`: an archive that was to be made, or what was to come out of one. Archives are read, never unpacked."""

from __future__ import annotations

import io
import posixpath
from pathlib import Path

from .effects import Effect
from .facts import CannotTellError, Facts
from .files import AT_ONCE_S, gather, judge_missing, numbers, span
from .located import Spot, need_place, place_of
from .recorded import Recorded
from .terminal_files import judge_touched
from .verdict import ABSENT, LANDED, UNKNOWN, Finding, quoted

MOST = 200
"""Members of an archive that are looked for."""


def judge(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    """What is to be seen of one `tar`. Raises CannotTellError."""
    if effect.kind == "unpack":
        return _unpacked(call, facts, effect)
    facet, _ = gather(call, facts, effect.path)
    if not facet.spot.place.exists:
        return judge_missing(facet)
    found = judge_touched(facet)
    if found[0] == LANDED:
        members(facts, facet.spot.place.path)
    return found


def members(facts: Facts, path: Path) -> list[str]:
    """Names of the plain files in an archive. Raises CannotTellError where it cannot be read to its end."""
    import tarfile  # With its compressions a tenth of what the whole plugin takes to load; hardly ever asked for.

    try:
        with tarfile.open(fileobj=io.BytesIO(facts.content(path)), mode="r:*") as archive:
            names = []
            for member in archive:
                facts.step()
                if member.isfile():
                    names.append(member.name)
                if len(names) > MOST:
                    raise CannotTellError(f"{quoted(path, 160)} holds more than {MOST} files.")
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise CannotTellError(f"{quoted(path, 160)} cannot be read to its end as an archive.") from error
    return names


def _unpacked(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    assert call.at is not None
    archive = place_of(call, facts, effect.source)
    names = members(facts, archive)
    if not names or any(name.startswith("/") or ".." in name.split("/") for name in names):
        raise CannotTellError("The archive holds no files, or some that would lie elsewhere.")
    facets = [gather(call, facts, posixpath.join(effect.path, name))[0] for name in names]
    spots = [facet.spot for facet in facets]
    rivals = tuple(dict.fromkeys(number for facet in facets for number in facet.rivals))
    need_place(call)
    there = any(spot.place.exists for spot in spots)
    found = judge_unpacked(call.at, spots, rivals) if there else judge_missing(facets[0])
    if found[0] == ABSENT and facts.look(archive).touched_since(call.at):
        return UNKNOWN, f"{quoted(archive, 160)} was written since the call: what it held then is not known."
    return found


def judge_unpacked(at: float, spots: list[Spot], rivals: tuple[int, ...]) -> Finding:
    """Pure: some of what was to come out of an archive is there. Unpacking keeps the files' times, not their ctime."""
    fresh = [spot for spot in spots if spot.place.exists and spot.place.changed >= at - spot.place.slack]
    if not fresh and all(spot.place.exists for spot in spots):
        return ABSENT, f"What the archive holds was there before the call and has not changed since: {spots[0].shown}."
    if len(fresh) < len(spots):
        return UNKNOWN, "Of what the archive holds some is there and some is not."
    last = max(spot.place.changed for spot in spots)
    if rivals or last > at + AT_ONCE_S:
        who = f"call {numbers(rivals)}" if rivals else f"somebody {span(last - at)} after the call"
        return UNKNOWN, f"All that the archive holds is there, but {who} may have put it there."
    return (
        LANDED,
        f"All that the archive holds is there, such as {spots[0].shown}, come {span(last - at)} after the call.",
    )
