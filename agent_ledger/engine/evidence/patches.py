"""`patch`: one text replaced in one file, or a V4A patch of several files, which is judged file by file."""

from __future__ import annotations

from dataclasses import replace

from . import files, terminal_files, v4a
from .effects import Effect
from .facts import CannotTellError, Facts
from .files import BOM, gather, judge_patch, judge_write, read_as, text_of
from .recorded import Recorded
from .verdict import Finding, Verdict, together


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on a patch. Raises CannotTellError."""
    if call.at is None:
        raise CannotTellError("When the call was issued is not recorded.")
    if call.args.get("mode") != "patch" and call.args.get("path"):
        return files.judge(call, facts)
    patch = facts.argument(call, "patch")
    changes = v4a.read(patch) if isinstance(patch, str) else []
    if not changes:
        raise CannotTellError("The patch is not stored whole, or names no file.")
    return together(facts.now, [_change(call, facts, change) for change in changes])


def _change(call: Recorded, facts: Facts, change: v4a.Change) -> Finding:
    if change.kind in ("delete", "move"):
        kind = "remove" if change.kind == "delete" else "move"
        source, path = ("", change.path) if change.kind == "delete" else (change.path, change.target)
        return terminal_files.judge(call, facts, Effect(kind, path, source=source))
    facet, around = gather(call, facts, change.path)
    if facet.spot.place.kind != "file":
        return judge_write(facet) if change.kind == "add" else judge_patch(facet)
    text = text_of(facts, facet.spot)
    if change.kind == "add":
        bare = text.removeprefix(BOM).replace("\r\n", "\n")
        return judge_write(replace(facet, holds=bare.rstrip("\n") == change.added.rstrip("\n")))
    pairs = [("\n".join(before), "\n".join(after)) for before, after in change.hunks]
    return judge_patch(read_as(facet, around, text, pairs))
