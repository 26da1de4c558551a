"""The agent's memory: what `memories/MEMORY.md` and `USER.md` say of a call to `memory`.

Hermes 0.19 and 0.22 keep entries between lines of `§` and write a file whole, by renaming a new one over it, at each
change and only then. So the file's own time says when memory was last changed; entries carry no time of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .around import HANDS, UNSEEN_S, LastWrite, folder_time, issued, last_write, others, stayed
from .facts import CannotTellError, Facts
from .recorded import Recorded
from .verdict import Verdict, absent, landed, quoted, unknown

TOOLS = ("memory",)

_BETWEEN = "\n§\n"
_FILES = {"memory": "MEMORY.md", "user": "USER.md"}
_CHANGES = ("add", "replace", "patch", "remove")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was asked for. `content`: a new entry or span; `old`: what finds the entry."""

    action: str
    content: str = ""
    old: str = ""

    def done(self, entries: Sequence[str]) -> bool | None:
        """Do these entries look as if it had been done? None where they fit both."""
        if self.action == "remove":
            if not any(self.old in entry for entry in entries):
                return True
            return False if self.old in entries else None
        if self.action == "patch":
            if not any(self.content in entry for entry in entries):
                return False
            kept = self.old in self.content or not any(self.old in entry for entry in entries)
            return True if kept else None
        return self.content in entries

    def touches(self, text: str) -> bool:
        """Could it have taken an entry with this text away, or changed it?"""
        return self.action != "add" and (not self.old or self.old in text or text in self.old)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one call."""

    file: str
    """The file's name."""
    there: bool
    done: bool | None
    """Does the file look as the call asked for? None where that cannot be told."""
    write: LastWrite
    only_adds: bool = False
    """A single new entry: the one change that leaves the file alone where it is there already."""
    undone: bool = False
    """May another recorded call have taken it away since?"""
    also: bool = False
    """May another recorded call have made the same change?"""
    other_before: bool = False
    """Did a recorded call shortly before leave the file otherwise than this one asked for?"""
    waits: bool = False
    """Is the same change waiting for a person's approval?"""
    shown: str = ""
    """What was asked for, to be quoted."""


def judge_seen(seen: Seen, now: float) -> Verdict:
    """Landed: the file is as asked, and written when the call would have done it. Absent: not written, or not so."""
    if seen.waits:
        return unknown(now, "The change waits for a person's approval; whether it was made already cannot be told.")
    what = f" ({quoted(seen.shown, 60)})" if seen.shown else ""
    if seen.write.before:
        if seen.done and seen.only_adds:
            return unknown(now, f"The entry{what} is in {seen.file}, but was there before the call.")
        return absent(now, f"{seen.file} was last written before the call, so nothing of it{what} is in there.")
    if seen.done:
        if seen.write.ours:
            return landed(now, f"{seen.file} is as the call asked for{what}, and was last written right after it.")
        if seen.write.known and seen.other_before and not seen.also:
            return landed(
                now, f"{seen.file} is as the call asked for{what}; a call shortly before had left it otherwise, and no"
                " other recorded one changed that."
            )  # fmt: skip
        return unknown(
            now, f"{seen.file} is as the call asked for{what}, but may have been so before, or by another call."
        )
    if seen.done is None:
        return unknown(now, f"{seen.file} was written since, and does not tell whether by this call{what}.")
    missing = f"{seen.file} is not as the call asked for{what}."
    if seen.undone or not seen.there:
        return unknown(now, missing, "But it may have been changed back since.")
    if seen.write.known:
        return absent(now, missing, "The file was written since by recorded calls only, which asked for other things.")
    return unknown(now, missing, "But somebody unknown has written the file since.")


# -- gathering ---------------------------------------------------------------------------------------------------------


def judge(call: Recorded, facts: Facts) -> Verdict | None:
    """The verdict on one call. Raises CannotTellError where the file cannot be read whole."""
    issued(call)
    target = _target(call, facts)
    folder = facts.home / "memories"
    path = folder / _FILES[target]
    place = facts.look(path)
    entries = parsed(facts.text(path)) if place.exists else ()
    written = max(place.modified, place.changed) if place.exists else folder_time(facts, folder)
    around = [other for other in others(facts, call, TOOLS) if _same_file(other, target)]
    by_hand = [*others(facts, call, HANDS, "memor"), *others(facts, call, HANDS, "user.md")]
    write = last_write(call, written, [*around, *by_hand])
    stayed(facts, (folder,), issued(call))
    changes = changes_of(call)
    done, shown = (_done(changes, entries), _shown(changes)) if changes else (_by_hash(call, facts, entries), "")
    texts = [change.content or change.old for change in changes or ()]
    return judge_seen(
        Seen(
            file=_FILES[target],
            there=place.exists,
            done=done,
            write=write,
            only_adds="operations" not in call.args and call.args.get("action") == "add",
            undone=_undone(call, texts, around, by_hand),
            also=_also(changes or (), around, by_hand),
            other_before=_other_before(call, changes or (), entries, around, written),
            waits=_waits(call, facts, target, changes or ()),
            shown=shown,
        ),
        facts.now,
    )


def parsed(text: str) -> tuple[str, ...]:
    """The entries of a file, as the host reads them."""
    stripped = (entry.strip() for entry in text.lstrip("\ufeff").replace("\r\n", "\n").split(_BETWEEN))
    return tuple(entry for entry in stripped if entry)


def _target(call: Recorded, facts: Facts) -> str:
    target = call.args.get("target")
    if target is None and "target" not in call.args and "target" in call.value_hashes:
        target = next((name for name in _FILES if facts.is_value(call, "target", name)), "")
    if target is None:
        target = "memory"
    if not isinstance(target, str) or target not in _FILES:
        raise CannotTellError("Which memory was meant is not stored, or not known here.")
    return target


def changes_of(call: Recorded) -> tuple[Change, ...] | None:
    """What a call asks for, in its order; None where that is not stored whole."""
    args = call.args
    if call.args_redacted or call.args_cut:
        return None
    listed = args.get("operations")
    if isinstance(listed, str):
        try:
            listed = json.loads(listed)
        except (ValueError, RecursionError):
            return None
    items = listed if listed else [args]
    if not isinstance(items, list):
        return None
    found = [_change(item) for item in items]
    return tuple(change for change in found if change is not None) if all(found) else None


def _change(item: object) -> Change | None:
    if not isinstance(item, Mapping) or item.get("action") not in _CHANGES:
        return None
    content, old = item.get("content") or item.get("new_text") or "", item.get("old_text") or ""
    if not isinstance(content, str) or not isinstance(old, str):
        return None
    if item["action"] != "patch":
        content, old = content.strip(), old.strip()
    if (item["action"] != "remove" and not content) or (item["action"] != "add" and not old.strip()):
        return None
    return Change(str(item["action"]), content, old)


def _done(changes: Iterable[Change], entries: Sequence[str]) -> bool | None:
    """All of them together: a batch is made whole or not at all. A later change may hide an earlier one."""
    told = {change.done(entries) for change in changes}
    return told.pop() if len(told) == 1 else None


def _by_hash(call: Recorded, facts: Facts, entries: Sequence[str]) -> bool | None:
    """The same for an entry that the ledger holds as a keyed hash only."""
    if call.args.get("action") not in ("add", "replace") or "content" not in call.value_hashes:
        return None
    return True if any(facts.is_value(call, "content", entry) for entry in entries) else None


def _shown(changes: Sequence[Change]) -> str:
    first = changes[0]
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{first.action} {first.content or first.old}{more}"


def _same_file(other: Recorded, target: str) -> bool:
    return str(other.args.get("target") or "memory") == target or not other.whole("target")


def _undone(call: Recorded, texts: Sequence[str], around: Sequence[Recorded], by_hand: Sequence[Recorded]) -> bool:
    for other in around:
        if other.id < call.id or other.effect == "none":
            continue
        asked = changes_of(other)
        if asked is None or any(change.touches(text) for change in asked for text in texts or ("",)):
            return True
    return any(other.id > call.id and other.effect != "none" for other in by_hand)


def _also(changes: Sequence[Change], around: Sequence[Recorded], by_hand: Sequence[Recorded]) -> bool:
    for other in around:
        asked = changes_of(other)
        if other.effect != "none" and (asked is None or any(_same(one, two) for one in asked for two in changes)):
            return True
    return any(other.effect != "none" for other in by_hand)


def _same(one: Change, two: Change) -> bool:
    """Could one have done what the other asked for?"""
    if two.action == "remove":
        return one.touches(two.old)
    return one.content == two.content


def _other_before(
    call: Recorded, changes: Sequence[Change], entries: Sequence[str], around: Sequence[Recorded], written: float
) -> bool:
    """Does a confirmed call shortly before show that the file was otherwise?

    New entries go to the end, so that one behind an entry that a call added came after that call.
    """
    added = [
        change.content
        for other in around
        if other.id < call.id and other.confirmed and (other.at or 0.0) >= written - UNSEEN_S
        for change in changes_of(other) or ()
        if change.action == "add"
    ]
    for change in changes:
        if change.action != "add" and any(change.old in text for text in added):
            return True
        if change.action == "add" and change.content in entries:
            ahead = entries[: entries.index(change.content)]
            if any(text in ahead for text in added):
                return True
    return False


def _waits(call: Recorded, facts: Facts, target: str, changes: Sequence[Change]) -> bool:
    """Changes that a person must approve lie in a folder of their own."""
    folder = facts.home / "pending" / "memory"
    if not facts.look(folder).exists:
        return False
    for name in facts.names(folder):
        if not name.endswith(".json"):
            continue
        record = facts.json(folder / name)
        payload: Any = record.get("payload") if isinstance(record, dict) else None
        if isinstance(payload, dict) and str(payload.get("target") or "memory") == target:
            asked = changes_of(Recorded(0, None, "memory", payload if payload.get("operations") else dict(payload)))
            if asked is None or tuple(asked) == tuple(changes):
                return True
    return False
