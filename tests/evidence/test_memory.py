"""The agent's memory: the judging by hand-made facts, and the reading by files and calls put there by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.evidence.around import LastWrite
from agent_ledger.engine.evidence.memory import Change, Seen, judge_seen, parsed

from .makers import World

BEFORE, OURS, KNOWN, STRANGE = (
    LastWrite(True, False, False),
    LastWrite(False, True, False),
    LastWrite(False, False, True),
    LastWrite(False, False, False),
)


def judged(done: bool | None, write: LastWrite, **more: Any) -> str:
    return judge_seen(Seen("MEMORY.md", more.pop("there", True), done, write, **more), 900.0).verdict


def test_a_file_from_before_the_call() -> None:
    assert judged(False, BEFORE) == "absent"
    assert judged(None, BEFORE) == "absent"
    # A change always writes the file anew, but an entry that is there already is left alone.
    assert judged(True, BEFORE) == "absent"
    assert judged(True, BEFORE, only_adds=True) == "unknown"


def test_a_file_as_asked_for() -> None:
    assert judged(True, OURS) == "landed"
    assert judged(True, STRANGE) == "unknown"
    assert judged(True, KNOWN) == "unknown"
    assert judged(True, KNOWN, other_before=True) == "landed"
    assert judged(True, KNOWN, other_before=True, also=True) == "unknown"
    assert judged(True, STRANGE, other_before=True) == "unknown"


def test_a_file_that_is_not_as_asked_for() -> None:
    assert judged(False, KNOWN) == "absent"
    assert judged(False, KNOWN, undone=True) == "unknown"
    assert judged(False, KNOWN, there=False) == "unknown"
    assert judged(False, OURS) == "unknown"
    assert judged(False, STRANGE) == "unknown"
    assert judged(None, KNOWN) == "unknown"


def test_what_waits_for_approval_is_not_told() -> None:
    assert judged(False, BEFORE, waits=True) == "unknown"


@pytest.mark.parametrize(
    ("change", "entries", "done"),
    [
        (Change("add", "One."), ["One.", "Two."], True),
        (Change("add", "One."), ["One and a half."], False),
        (Change("replace", "New.", "Old"), ["New."], True),
        (Change("replace", "New.", "Old"), ["Old thing."], False),
        (Change("patch", "coffee", "tea"), ["Likes coffee."], True),
        (Change("patch", "coffee", "tea"), ["Likes tea."], False),
        (Change("patch", "coffee", "tea"), ["Likes tea.", "Sells coffee."], None),
        (Change("patch", "green tea", "tea"), ["Likes green tea."], True),
        (Change("remove", "", "tea"), ["Sells bread."], True),
        (Change("remove", "", "tea"), ["tea"], False),
        (Change("remove", "", "tea"), ["Likes tea."], None),
    ],
)
def test_what_entries_tell_of_one_change(change: Change, entries: Sequence[str], done: bool | None) -> None:
    assert change.done(entries) is done


def test_entries_stand_between_lines_of_their_own() -> None:
    assert parsed("One § two\n§\n\n§\nThree\nlines\n§\n  Four  ") == ("One § two", "Three\nlines", "Four")
    assert parsed("") == ()


# -- read from a home --------------------------------------------------------------------------------------------------


def put(world: World, *entries: str, name: str = "MEMORY.md") -> Path:
    """The file is written when the test runs."""
    folder = world.paths.home / "memories"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("\n§\n".join(entries), encoding="utf-8")
    return path


def add(text: str, target: str = "memory") -> dict[str, str]:
    return {"action": "add", "target": target, "content": text}


def test_written_right_after_the_call(world: World) -> None:
    at = world.before + 59.5  # Half a second before the file is written.
    call = world.call("memory", add("Backups run at night."), at=at)
    other = world.call("memory", add("Backups run at night.", "user"), at=at)
    put(world, "The printer is upstairs.", "Backups run at night.")
    assert world.verdict(call).verdict == "landed"
    assert world.verdict(other).verdict == "unknown"  # USER.md: its folder was touched just then.


def test_an_entry_that_was_there_already_is_no_proof(world: World) -> None:
    put(world, "Backups run at night.")
    assert world.verdict(world.call("memory", add("Backups run at night."), at=world.after)).verdict == "unknown"
    assert world.verdict(world.call("memory", add("Never said."), at=world.after)).verdict == "absent"
    batch = {"target": "memory", "operations": [{"action": "add", "content": "Backups run at night."}]}
    assert world.verdict(world.call("memory", batch, at=world.after)).verdict == "absent"


def test_an_entry_that_somebody_wrote_later_is_no_proof(world: World) -> None:
    call = world.call("memory", add("Backups run at night."), at=world.before)
    put(world, "Backups run at night.")
    assert world.verdict(call).verdict == "unknown"


def test_another_call_at_the_same_time_is_a_rival(world: World) -> None:
    at = world.before + 59.5
    call = world.call("memory", add("Backups run at night."), at=at)
    world.done("memory", add("The printer is upstairs."), at=at + 0.2, took=0.5)
    put(world, "Backups run at night.", "The printer is upstairs.")
    assert world.verdict(call).verdict == "unknown"


def test_an_entry_behind_one_that_a_call_added_came_after_it(world: World) -> None:
    now = world.before + 60.0
    world.done("memory", add("First."), at=now - 20.0)
    call = world.call("memory", add("Second."), at=now - 10.0)
    world.done("memory", add("Third."), at=now - 0.2, took=1.0)
    put(world, "First.", "Second.", "Third.")
    assert world.verdict(call).verdict == "landed"
    put(world, "Second.", "First.", "Third.")
    assert world.verdict(call).verdict == "unknown"


def test_what_a_later_call_may_have_removed(world: World) -> None:
    now = world.before + 60.0
    call = world.call("memory", add("Backups run at night."), at=now - 10.0)
    removal = {"action": "remove", "target": "memory", "old_text": "Backups"}
    put(world, "The printer is upstairs.")
    world.done("memory", removal, at=now - 0.2, took=1.0)
    assert world.verdict(call).verdict == "unknown"


def test_a_later_call_that_asked_for_something_else(world: World) -> None:
    now = world.before + 60.0
    call = world.call("memory", add("Backups run at night."), at=now - 10.0)
    world.done("memory", add("The printer is upstairs."), at=now - 0.2, took=1.0)
    put(world, "The printer is upstairs.")
    assert world.verdict(call).verdict == "absent"


def test_no_file_at_all(world: World) -> None:
    call = world.call("memory", add("Backups run at night."), at=world.after)
    assert world.verdict(call).verdict == "absent"  # The home itself is older than the call.
    (world.paths.home / "memories").mkdir()
    early = world.call("memory", add("Backups run at night."), at=world.before)
    assert world.verdict(early).verdict == "unknown"  # The folder was made since: it may have been emptied.


def test_a_change_that_waits_for_a_person(world: World) -> None:
    call = world.call("memory", add("Backups run at night."), at=world.after)
    folder = world.paths.home / "pending" / "memory"
    folder.mkdir(parents=True)
    (folder / "a1.json").write_text(json.dumps({"payload": add("Backups run at night.")}))
    put(world, "The printer is upstairs.")
    assert world.verdict(call).verdict == "unknown"
    (folder / "a1.json").write_text(json.dumps({"payload": add("Something else.")}))
    assert world.verdict(call).verdict == "absent"


def test_a_link_or_no_text_tells_nothing(world: World) -> None:
    path = put(world, "One.")
    call = world.call("memory", add("One."), at=world.after)
    path.write_bytes(b"\xff\xfe\x00")
    assert world.verdict(call).verdict == "unknown"
    path.unlink()
    os.symlink(world.work / "elsewhere", path)
    assert "a link" in world.verdict(call).evidence[0]


def test_an_entry_of_which_only_the_hash_is_kept(world: World) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    key = load_key(world.paths.key)
    at = world.before + 59.5
    hashes = value_hashes(key, add("The token is 1234."), lambda name: name)
    call = world.call("memory", add("The token is ***"), at=at, args_redacted=1, value_hashes=hashes)
    put(world, "The token is 1234.")
    assert world.verdict(call).verdict == "landed"
    put(world, "The token is 5678.")
    assert world.verdict(call).verdict == "unknown"
