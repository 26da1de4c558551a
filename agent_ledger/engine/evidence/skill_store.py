"""Skills as files: where one lies, what a call would leave of each, and what the host's own log of changes says."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..secret_values import MARK
from .around import folder_time, once, reads_as
from .facts import CannotTellError, Facts, Place
from .recorded import Recorded, members
from .verdict import quoted

ACTIONS = ("create", "edit", "patch", "delete", "write_file", "remove_file")

SKILL_FILE = "SKILL.md"

MOST_LOG = 8 * 2**20

MOST_FOLDERS = 5_000
"""Folders below `skills/` that are looked into."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a call. `text`: what a file is to be, where it is written whole."""

    action: str
    name: str
    category: str = ""
    file: str = SKILL_FILE
    text: str | None = None
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one file of a skill is to be after all steps of a call: gone, this text, or a text with these spans."""

    name: str
    category: str
    file: str
    """Empty where the skill as a whole is to be gone."""
    gone: bool = False
    text: str | None = None
    spans: tuple[tuple[str, str], ...] = ()
    """(old, new) of each replacement in a text that is not known as a whole."""

    def done(self, text: str) -> bool | None:
        """Does a file with this text look as if it had been done? None where it fits both."""
        if self.text is not None:
            return _ends(text) == _ends(self.text)
        told = {_spliced(text, old, new) for old, new in self.spans}
        return told.pop() if len(told) == 1 else None

    def reads(self, text: str) -> bool | None:
        """The same where secrets were taken out of what was asked for: True where all that is left of it fits."""
        if self.text is not None:
            return reads_as(self.text, _ends(text)) or None
        told = [_holds(text, new) and (old in new or not _holds(text, old)) for old, new in self.spans]
        return True if told and all(told) else None


def _spliced(text: str, old: str, new: str) -> bool | None:
    """The host also takes a span whose blanks differ: the new text may then stand there otherwise than asked for."""
    if old not in text:
        return True if new in text else None
    if not new or new not in text:
        return False
    return True if old in new and text.count(old) == text.count(new) * new.count(old) else None


def _holds(text: str, kept: str) -> bool:
    """Does the text hold this, secrets taken out of it?"""
    return reads_as(f"{MARK}{kept.strip()}{MARK}", f"\0{text}\0")


def _ends(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for, in its order, as far as it is stored."""

    steps: tuple[Step, ...]
    complete: bool = True
    """Are these all steps? A call that was cut shows its first one only."""
    texts: bool = True
    """Are the texts as they were given?"""
    first: Mapping[str, Any] = field(default_factory=dict)
    """The first step as it is stored."""

    @property
    def placed(self) -> bool:
        """Is the category known, or known to be none?"""
        return self.complete or "category" in self.first


def steps_of(call: Recorded) -> tuple[Step, ...] | None:
    """All that a call asks for, in its order; None where that is not stored whole or makes no sense."""
    asked = asked_of(call)
    return asked.steps if asked is not None and asked.complete and asked.texts else None


def asked_of(call: Recorded) -> Asked | None:
    """The same as far as it is stored; None where not even a step's action and skill are."""
    args = call.args
    listed = args.get("operations")
    if call.args_cut and "operations" not in args:
        _, found, text = call.args_text.partition('"operations": [')
        first = members(text) if found else args
        step = _step({**first, **_NO_TEXT}, args.get("name"))
        return Asked((step,), complete=False, texts=False, first=first) if step is not None else None
    if isinstance(listed, str):
        try:
            listed = json.loads(listed)
        except (ValueError, RecursionError):
            return None
    items: Any = [args] if listed is None else listed
    if not isinstance(items, list) or not items:
        return None
    found_steps = [_step(item, args.get("name")) for item in items]
    if not all(found_steps):
        return None
    steps = tuple(step for step in found_steps if step is not None)
    if any("*" in step.name for step in steps):
        return None  # A secret was taken out of the name.
    return Asked(steps, texts=not call.args_redacted, first=items[0])


_NO_TEXT = {"content": "?", "file_content": "?", "old_string": "?", "new_string": "?"}
"""In place of texts that are not stored: they are not compared."""


def _step(item: object, default_name: object) -> Step | None:
    if not isinstance(item, Mapping):
        return None
    action, name = item.get("action"), item.get("name") or default_name
    if action not in ACTIONS or not isinstance(name, str) or not name:
        return None
    words = {key: item.get(key) or "" for key in ("category", "file_path", "content", "old_string", "new_string")}
    if not all(isinstance(value, str) for value in words.values()):
        return None
    text: str | None = None
    file = words["file_path"] or SKILL_FILE
    if action in ("create", "edit") or (action == "patch" and words["content"] and not words["old_string"]):
        text, file = words["content"], SKILL_FILE
    elif action == "write_file":
        given = item.get("file_content")
        if not isinstance(given, str):
            return None
        text = given
    elif action == "patch" and not words["old_string"]:
        return None
    return Step(str(action), name, words["category"], file, text, words["old_string"], words["new_string"])


def wanted(steps: Sequence[Step]) -> tuple[Wanted, ...]:
    """What each file is to be in the end, in the order in which the files are first met."""
    found: dict[tuple[str, str], Wanted] = {}
    for step in steps:
        if step.action == "delete":
            found[(step.name, "")] = Wanted(step.name, step.category, "", gone=True)
            continue
        file = posixpath.normpath(step.file.lstrip("/"))
        before = found.get((step.name, file), Wanted(step.name, step.category, file))
        if step.action == "remove_file":
            after = Wanted(step.name, before.category, file, gone=True)
        elif step.text is not None:
            after = Wanted(step.name, step.category or before.category, file, text=step.text)
        elif before.text is not None and before.text.count(step.old) == 1:
            after = Wanted(step.name, before.category, file, text=before.text.replace(step.old, step.new))
        else:
            after = Wanted(step.name, before.category, file, spans=(*before.spans, (step.old, step.new)))
        found[(step.name, file)] = after
    return tuple(found.values())


class NowhereError(CannotTellError):
    """A skill is not there, and where it would be is not stored."""


def folder_of(facts: Facts, name: str, category: str, *, new: bool, placed: bool = True) -> tuple[Path, Place]:
    """Where a skill lies, or would be made. Raises CannotTellError where there may be several, or one elsewhere.

    `placed`: its category is known, or known to be none.
    """
    root = facts.home / "skills"
    parts = [part for part in (*category.split("/"), *name.split("/")) if part]
    if not parts or any(part in (".", "..") or "\\" in part for part in parts):
        raise CannotTellError(f"{quoted(name)} is no name of a skill.")
    _no_links(facts, root, parts)
    place = facts.look(root.joinpath(*parts))
    if (new and placed) or place.kind == "folder":
        if new and not place.exists:
            _only_here(facts)
        return place.path, place
    found = [path for path in once(facts, _skills, lambda: _skills(facts)) if path.name == parts[-1]]
    if len(found) != 1:
        _only_here(facts)
        if found:
            raise CannotTellError(f"Several skills have the name {quoted(name)}.")
        if not placed:
            raise NowhereError("Where the skill was to be made is not stored.")
        return place.path, place
    return found[0], facts.look(found[0])


def _no_links(facts: Facts, root: Path, parts: Sequence[str]) -> None:
    path = root
    for part in ("", *parts):
        path = path / part if part else path
        if facts.look(path).kind == "link":
            raise CannotTellError(f"{quoted(path)} is a link, which is not followed.")


def _skills(facts: Facts) -> list[Path]:
    """Every folder that holds a skill, however deep it lies."""
    return [path for path in all_folders(facts) if facts.look(path / SKILL_FILE).exists]


def newest_folder(facts: Facts) -> float:
    """When a name was last made, renamed or removed in any folder of the skills."""
    root = facts.home / "skills"
    return max(folder_time(facts, place) for place in (root, *all_folders(facts)))


def all_folders(facts: Facts) -> list[Path]:
    """The folders below `skills/`, but hidden ones. Raises CannotTellError where there are too many."""
    found: list[Path] = []
    ahead = [facts.home / "skills"]
    while ahead:
        path = ahead.pop()
        if facts.look(path).kind != "folder":
            continue
        inner = [path / name for name in facts.names(path) if not name.startswith(".")]
        inner = [one for one in inner if facts.look(one).kind == "folder"]
        found += inner
        ahead += inner
        if len(found) > MOST_FOLDERS:
            raise CannotTellError("There are more folders of skills than are looked into.")
    return found


def _only_here(facts: Facts) -> None:
    """Raise CannotTellError where the home's configuration may name other places for skills."""
    path = facts.home / "config.yaml"
    if facts.look(path).exists and any(word in facts.text(path) for word in ("create_dir", "external_dirs")):
        raise CannotTellError("This home names other places for skills too, which are not looked into.")


@dataclass(frozen=True, slots=True)
class Logged:
    """One line of the host's own log of changes to skills (Hermes 0.22 writes it after each change)."""

    at: float
    action: str
    name: str
    session_id: str


def log_of(facts: Facts) -> tuple[Logged, ...]:
    """That log, as far as it is there; lines that are none of it are passed over."""
    path = facts.home / "skills" / ".curator_ledger.jsonl"
    if not facts.look(path).exists:
        return ()
    found = []
    for line in facts.text(path, limit=MOST_LOG).splitlines():
        try:
            entry = json.loads(line)
            at = datetime.fromisoformat(entry["ts"]).timestamp()
            session = (entry.get("evidence") or {}).get("session_id") or ""
            found.append(Logged(at, str(entry["action"]), str(entry["skill"]), str(session)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError, OverflowError):
            continue
    return tuple(found)
