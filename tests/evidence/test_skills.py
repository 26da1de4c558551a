"""Skills: the judging by hand-made facts, and the reading by files and calls put there by hand."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.evidence.around import LastWrite
from agent_ledger.engine.evidence.skill_store import Step, Wanted, wanted
from agent_ledger.engine.evidence.skills import Seen, judge_seen, together
from agent_ledger.engine.evidence.verdict import absent, landed, unknown

from .makers import World

BEFORE, OURS, KNOWN, STRANGE = (
    LastWrite(True, False, False),
    LastWrite(False, True, False),
    LastWrite(False, False, True),
    LastWrite(False, False, False),
)


def judged(there: bool, write: LastWrite, done: bool | None, *, gone: bool = False, **more: Any) -> str:
    return judge_seen(Seen("The file", gone, there, write, done, **more), 900.0).verdict


def test_a_file_that_was_to_be_written() -> None:
    assert judged(True, OURS, True) == "landed"
    assert judged(True, STRANGE, True) == "unknown"
    assert judged(True, BEFORE, True) == "absent"
    assert judged(True, BEFORE, False) == "absent"
    assert judged(True, OURS, None) == "unknown"
    assert judged(True, OURS, False) == "unknown"
    assert judged(True, KNOWN, False) == "absent"
    assert judged(True, KNOWN, False, undone=True) == "unknown"
    assert judged(False, BEFORE, False) == "absent"
    assert judged(False, STRANGE, False) == "unknown"


def test_a_file_that_was_to_go() -> None:
    assert judged(True, BEFORE, None, gone=True) == "absent"
    assert judged(True, STRANGE, None, gone=True) == "unknown"
    assert judged(False, BEFORE, None, gone=True) == "absent"
    assert judged(False, OURS, None, gone=True) == "unknown"  # It need not have been there.
    assert judged(False, OURS, None, gone=True, existed=True) == "landed"
    assert judged(False, STRANGE, None, gone=True, existed=True) == "unknown"


def test_a_batch_is_one_verdict() -> None:
    yes, no, perhaps = landed(1.0, "a"), absent(1.0, "b"), unknown(1.0, "c")
    assert together([yes, yes], 1.0).verdict == "landed"
    assert together([no, no], 1.0).verdict == "absent"
    assert together([yes, perhaps], 1.0).verdict == "unknown"
    told = together([yes, no], 1.0)
    assert (told.verdict, told.evidence[0]) == ("unknown", "Only a part of what the call asked for is there.")


def test_what_steps_leave_in_the_end() -> None:
    steps = (
        Step("create", "tides", "sea", text="low\n"),
        Step("patch", "tides", old="low", new="high"),
        Step("write_file", "tides", file="references/./a.md", text="a\n"),
        Step("remove_file", "tides", file="references/b.md"),
        Step("patch", "moon", old="full", new="new"),
    )
    assert wanted(steps) == (
        Wanted("tides", "sea", "SKILL.md", text="high\n"),
        Wanted("tides", "", "references/a.md", text="a\n"),
        Wanted("tides", "", "references/b.md", gone=True),
        Wanted("moon", "", "SKILL.md", spans=(("full", "new"),)),
    )


@pytest.mark.parametrize(
    ("old", "new", "text", "done"),
    [
        ("low", "high", "high tide", True),
        ("low", "high", "low tide", False),
        ("low", "high", "ebb", None),
        ("low", "", "ebb", True),
        ("low", "", "low ebb", False),
        ("low", "lower", "lower tide", True),
        ("low", "lower", "lower tide, low ebb", None),
        ("low", "high", "low and high", None),
    ],
)
def test_what_a_text_tells_of_one_replacement(old: str, new: str, text: str, done: bool | None) -> None:
    assert Wanted("tides", "", "SKILL.md", spans=((old, new),)).done(text) is done


# -- read from a home --------------------------------------------------------------------------------------------------

PAGE = "---\nname: tides\ndescription: When tides matter.\n---\n\nLook twice.\n"


def put(world: World, text: str, file: str = "SKILL.md", folder: str = "tides") -> Path:
    path = world.paths.home / "skills" / folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def create(**more: object) -> dict[str, object]:
    return {"action": "create", "name": "tides", "content": PAGE, **more}


def test_made_right_after_the_call(world: World) -> None:
    at = world.before + 59.5
    put(world, PAGE)
    assert world.verdict(world.call("skill_manage", create(), at=at)).verdict == "landed"
    put(world, PAGE, folder="sea/tides")
    call = world.call("skill_manage", {"operations": [create(category="sea")]}, at=at)
    assert world.verdict(call).verdict == "unknown"  # The same skill was asked for twice in that second.


def test_a_skill_from_before_the_call(world: World) -> None:
    put(world, PAGE)
    for args in (create(), create(content=PAGE + "more"), {"action": "delete", "name": "tides"}):
        assert world.verdict(world.call("skill_manage", args, at=world.after)).verdict == "absent"


def test_the_same_text_written_later_is_no_proof(world: World) -> None:
    call = world.call("skill_manage", create(), at=world.before)
    put(world, PAGE)
    assert world.verdict(call).verdict == "unknown"


def test_a_skill_below_a_category_is_found_by_its_name(world: World) -> None:
    put(world, PAGE.replace("twice", "thrice"), folder="sea/tides")
    at = world.before + 59.5
    change = {"action": "patch", "name": "tides", "old_string": "twice", "new_string": "thrice"}
    assert world.verdict(world.call("skill_manage", change, at=at)).verdict == "landed"


def test_a_deletion_of_what_a_call_made_before(world: World) -> None:
    now = world.before + 60.0
    put(world, "x", folder="sea/other")
    made = world.done("skill_manage", create(category="sea"), at=now - 30.0)
    call = world.call("skill_manage", {"action": "delete", "name": "sea/tides"}, at=now - 0.5)
    assert made < call
    assert world.verdict(call).verdict == "unknown"  # The name differs: whether it is that skill is not known.
    call = world.call("skill_manage", {"action": "delete", "name": "tides", "category": "sea"}, at=now - 0.4)
    world.db.execute("DELETE FROM ledger WHERE id = ?", (call - 1,))
    assert world.verdict(call).verdict == "landed"


def test_other_places_for_skills_are_not_looked_into(world: World) -> None:
    (world.paths.home / "skills").mkdir()
    call = world.call("skill_manage", create(), at=world.after)
    assert world.verdict(call).verdict == "absent"
    (world.paths.home / "config.yaml").write_text("skills:\n  create_dir: /srv/skills\n")
    told = world.verdict(call)
    assert (told.verdict, "other places for skills" in told.evidence[0]) == ("unknown", True)


def test_a_link_on_the_way_is_not_followed(world: World) -> None:
    put(world, PAGE, folder="real")
    os.symlink("real", world.paths.home / "skills" / "tides")
    told = world.verdict(world.call("skill_manage", create(), at=world.before + 59.5))
    assert (told.verdict, "is a link" in told.evidence[0]) == ("unknown", True)


@pytest.mark.parametrize("name", ["..", "../tides", "a/../../b", ""])
def test_names_that_lead_elsewhere(world: World, name: str) -> None:
    call = world.call("skill_manage", create(name=name), at=world.before + 59.5)
    assert world.verdict(call).verdict == "unknown"


def test_files_that_lead_out_of_the_skill(world: World) -> None:
    put(world, PAGE)
    put(world, "secret", file="a.md", folder="..")
    args = {"action": "write_file", "name": "tides", "file_path": "../../a.md", "file_content": "secret"}
    assert world.verdict(world.call("skill_manage", args, at=world.before + 59.5)).verdict == "unknown"


def log(world: World, *entries: tuple[float, str, str, str]) -> None:
    """The host's log: time, action, skill, session."""
    lines = [
        json.dumps({"ts": datetime.fromtimestamp(at, UTC).isoformat(), "action": action, "skill": skill,
                    "evidence": {"session_id": session} if session else {}})
        for at, action, skill, session in entries
    ]  # fmt: skip
    path = world.paths.home / "skills" / ".curator_ledger.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["no json", *lines]) + "\n")


def test_the_hosts_own_log_tells(world: World) -> None:
    at = world.before
    call = world.call("skill_manage", {"operations": [create()]}, at=at)
    put(world, "changed since")
    log(world, (at + 0.2, "create", "tides", "s1"))
    assert world.verdict(call).verdict == "landed"
    log(world, (at + 0.2, "create", "tides", "another"))
    assert world.verdict(call).verdict == "unknown"
    log(world, (at + 30.0, "create", "tides", "s1"))
    assert world.verdict(call).verdict == "unknown"


def test_a_batch_needs_all_its_steps_in_the_log(world: World) -> None:
    """A batch that fails is undone, but its first steps were logged."""
    at = world.before
    write = {"action": "write_file", "name": "tides", "file_path": "references/a.md", "file_content": "a\n"}
    call = world.call("skill_manage", {"operations": [create(), write]}, at=at)
    log(world, (at + 0.2, "create", "tides", "s1"))
    assert world.verdict(call).verdict == "unknown"
    log(world, (at + 0.2, "create", "tides", "s1"), (at + 0.3, "write_file", "tides", "s1"))
    assert world.verdict(call).verdict == "landed"


def test_a_log_that_was_kept_and_does_not_name_it(world: World) -> None:
    at = world.before
    call = world.call("skill_manage", {"operations": [create()]}, at=at)
    put(world, PAGE.replace("tides", "moon"), folder="moon")
    log(world, (at - 50.0, "create", "moon", "s2"), (at + 20.0, "patch", "moon", "s2"))
    assert world.verdict(call).verdict == "absent"
    log(world, (at + 20.0, "patch", "moon", "s2"))  # It may have begun later than the call.
    assert world.verdict(call).verdict == "unknown"


def test_a_text_of_which_only_the_hash_is_kept(world: World) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    key = load_key(world.paths.key)
    at = world.before + 59.5
    hashes = value_hashes(key, create(), lambda name: name)
    call = world.call("skill_manage", create(content="---\nname: ***"), at=at, args_redacted=1, value_hashes=hashes)
    put(world, PAGE)
    assert world.verdict(call).verdict == "landed"
    put(world, PAGE + "changed")
    assert world.verdict(call).verdict == "unknown"


def test_an_operation_of_which_only_the_hash_is_kept(world: World) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    key = load_key(world.paths.key)
    at = world.before + 59.5
    args = {"operations": [create(category="sea")]}
    hashes = value_hashes(key, args, lambda name: name)
    kept = {"operations": [create(category="sea", content="---\nname: [redacted]")]}
    put(world, PAGE, folder="sea/tides")
    call = world.call("skill_manage", kept, at=at, args_redacted=1, value_hashes=hashes)
    assert world.verdict(call).verdict == "landed"
    world.db.execute("DELETE FROM ledger WHERE id = ?", (call,))
    text = '{"operations": [{"action": "create", "name": "tides", "category": "sea", "content": "---\\nname: ti'
    cut = world.call("skill_manage", args_json=text, args_cut=1, at=at, value_hashes=hashes)
    assert world.verdict(cut).verdict == "landed"
    put(world, PAGE + "more", folder="sea/tides")
    assert world.verdict(cut).verdict == "unknown"


def test_a_skill_whose_category_was_cut_off(world: World) -> None:
    """Where it would have to be is not known, so that it is not there is no proof."""
    text = '{"operations": [{"action": "create", "name": "tides", "content": "---\\nname: tides and much more'
    (world.paths.home / "skills").mkdir()
    cut = world.call("skill_manage", args_json=text, args_cut=1, at=world.after, value_hashes='{"operations":"00"}')
    assert world.verdict(cut).verdict == "unknown"


def test_a_skill_that_is_gone_may_have_been_in_any_category(world: World) -> None:
    """The folder of all skills need not change when one goes out of a category."""
    root = world.paths.home / "skills"
    put(world, "x", folder="sea/other")
    os.utime(root, (world.before - 50.0, world.before - 50.0))
    call = world.call("skill_manage", {"action": "delete", "name": "tides"}, at=world.before)
    assert world.verdict(call).verdict == "unknown"
    later = world.call("skill_manage", {"action": "delete", "name": "moon"}, at=world.after)
    assert world.verdict(later).verdict == "absent"
