"""`write_file` and `patch`: what a file and its times tell, and what they do not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.evidence.facts import Place
from agent_ledger.engine.evidence.files import Facet, judge_missing, judge_patch, judge_write
from agent_ledger.engine.evidence.located import Spot
from agent_ledger.engine.fingerprint import load_key, part_with_hash, value_hash, value_hashes

from .makers import World

NOTE = {"path": "note.md", "content": "alpha\nbeta\n"}


def test_a_file_written_since_with_just_that_content_landed(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "note.md").write_text("alpha\nbeta\n")
    assert world.says(ghost).startswith("landed: ")
    assert "60 s after the call" in world.says(ghost)


def test_a_missing_file_in_an_untouched_folder_is_absent(world: World) -> None:
    ghost = world.call("write_file", NOTE, at=world.after)
    assert world.says(ghost).startswith("absent: ")
    assert "nothing came into" in world.says(ghost)


def test_a_folder_that_was_put_back_with_its_times_is_no_proof(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    os.utime(world.work, (world.before - 30.0, world.before - 30.0))
    assert world.says(ghost).startswith("unknown: ")


def test_a_folder_that_is_missing_too_is_missed_where_it_would_have_been(world: World) -> None:
    ghost = world.call("write_file", {**NOTE, "path": "a/b/c/note.md"}, at=world.after)
    assert world.says(ghost).startswith("absent: ")


def test_an_older_file_that_holds_something_else_is_absent(world: World) -> None:
    (world.work / "note.md").write_text("old\n")
    assert world.says(world.call("write_file", NOTE, at=world.after)).startswith("absent: ")


def test_an_older_file_that_holds_it_already_was_not_written_again(world: World) -> None:
    (world.work / "note.md").write_text(NOTE["content"])
    assert world.says(world.call("write_file", NOTE, at=world.after)).startswith("absent: ")
    assert "as was wanted" in world.says(1)


def test_a_file_written_since_with_something_else_tells_nothing(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "note.md").write_text("gamma\n")
    assert world.says(ghost).startswith("unknown: ")


def test_the_host_keeps_byte_order_mark_and_windows_line_ends(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "note.md").write_bytes(b"\xef\xbb\xbfalpha\r\nbeta\r\n")
    assert world.says(ghost).startswith("landed: ")
    (world.work / "note.md").write_bytes(b"alpha\nbeta")
    assert world.says(ghost).startswith("unknown: "), "without the last line break it is another text"


def test_a_cut_content_is_compared_by_its_keyed_hash(world: World) -> None:
    long = "".join(f"line {number}\n" for number in range(2000))
    key = load_key(world.paths.key)
    args = {"path": "long.txt", "content": long}
    stored = '{"path": "long.txt", "content": "line 0\\nline'
    ghost = world.call("write_file", args_json=stored, args_cut=1, value_hashes=value_hashes(key, args, str))
    (world.work / "long.txt").write_text(long)
    assert world.says(ghost).startswith("landed: ")
    (world.work / "long.txt").write_text(long + "x")
    assert world.says(ghost).startswith("unknown: ")
    world.paths.key.unlink()
    assert world.says(ghost).startswith("unknown: "), "without the key nothing can be compared"


def test_a_redacted_content_is_compared_by_its_keyed_hash(world: World) -> None:
    args = {"path": "env.txt", "content": "token = abc-very-secret\n"}
    hashes = value_hashes(load_key(world.paths.key), args, str)
    ghost = world.call(
        "write_file", {"path": "env.txt", "content": "token = [redacted]"}, args_redacted=1, value_hashes=hashes
    )
    (world.work / "env.txt").write_text("token = [redacted]")
    assert world.says(ghost).startswith("unknown: "), "what is stored is not what was to be written"
    (world.work / "env.txt").write_text(args["content"])
    assert world.says(ghost).startswith("landed: ")


def test_a_relative_path_without_a_recorded_folder_is_unknown(world: World) -> None:
    (world.work / "note.md").write_text(NOTE["content"])
    assert world.says(world.call("write_file", NOTE, workplace=None)).startswith("unknown: In which folder")


def test_nothing_is_missed_where_the_machine_is_not_known(world: World) -> None:
    path = str(world.work / "note.md")
    call = {"path": path, "content": "x"}
    assert world.says(world.call("write_file", call, at=world.after, workplace=None)).startswith("unknown: On which")
    assert world.says(world.call("write_file", call, at=world.after, workplace="docker:")).startswith("unknown: ")


def test_a_file_that_is_there_is_found_wherever_the_machine_was(world: World) -> None:
    ghost = world.call("write_file", {"path": str(world.work / "note.md"), "content": "x"}, workplace=None)
    (world.work / "note.md").write_text("x")
    assert world.says(ghost).startswith("landed: ")


def test_the_same_write_repeated_leaves_the_lost_one_unknown(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "note.md").write_text(NOTE["content"])
    again = world.done("write_file", NOTE, at=world.before + 50, took=20)
    assert f"call {again}" in world.says(ghost)
    assert world.says(ghost).startswith("unknown: ")


def test_a_repeat_after_the_file_was_written_explains_nothing(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "note.md").write_text(NOTE["content"])
    world.done("write_file", NOTE, at=world.after)
    assert world.says(ghost).startswith("landed: ")


def test_an_earlier_write_of_something_else_is_no_rival(world: World) -> None:
    world.done("write_file", {"path": "note.md", "content": "first\n"}, at=world.before - 0.2, took=100)
    ghost = world.call("write_file", NOTE)
    (world.work / "note.md").write_text(NOTE["content"])
    assert world.says(ghost).startswith("landed: ")


def test_a_missing_file_whose_folder_changed_may_have_come_and_gone(world: World) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "other.txt").write_text("")
    assert world.says(ghost).startswith("unknown: ")
    assert "come and gone" in world.says(ghost)
    later = world.done("terminal", {"command": "rm -f note.md"}, at=world.before + 10)
    assert f"call {later} may have taken it away" in world.says(ghost)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("ls -l && cat other.txt | grep x", False), ("echo hi > third.txt", False), ("make clean", True),
        ("rm -rf .", True), ("for f in *; do rm $f; done", True), ("git stash", True), ("mv note.md b.md", True),
        ("rm other2.txt", False),
    ],
)  # fmt: skip
def test_which_later_commands_may_have_taken_a_file_away(world: World, command: str, named: bool) -> None:
    ghost = world.call("write_file", NOTE)
    (world.work / "other.txt").write_text("")
    later = world.done("terminal", {"command": command}, at=world.before + 10)
    assert (f"call {later} may have taken it away" in world.says(ghost)) is named
    after = world.done("terminal", {"command": command}, at=world.after)
    assert f"call {after}" not in world.says(ghost), "the folder has not changed since"


def test_links_pipes_and_folders_at_the_place_are_reported_not_read(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(NOTE["content"])
    (world.work / "note.md").symlink_to(secret)
    assert "is a link" in world.says(world.call("write_file", NOTE))
    assert "is a link" in world.says(world.call("write_file", NOTE, at=world.after))
    os.mkfifo(world.work / "pipe")
    assert world.says(world.call("write_file", {"path": "pipe", "content": "x"})).startswith("unknown: ")
    assert world.says(world.call("write_file", {"path": ".", "content": "x"})).startswith("unknown: ")
    assert world.says(world.call("write_file", {"path": "a\0b", "content": "x"})).startswith("unknown: ")


def test_a_hostile_path_is_quoted_and_inert(world: World) -> None:
    ghost = world.call("write_file", {"path": 'no\x1b[31m\u202e"]\nlanded.md', "content": "x"}, at=world.after)
    (sentence,) = world.verdict(ghost).evidence
    assert sentence.isprintable()
    assert "\\u202e" in sentence


# -- patch -------------------------------------------------------------------------------------------------------------

CHANGE = {"path": "app.py", "old_string": "retries = 3", "new_string": "retries = 5"}


def test_a_patch_that_reads_as_done_landed(world: World) -> None:
    ghost = world.call("patch", CHANGE)
    (world.work / "app.py").write_text("x = 1\nretries = 5\n")
    assert world.says(ghost).startswith("landed: ")


def test_a_patch_of_an_untouched_file_is_absent(world: World) -> None:
    (world.work / "app.py").write_text("retries = 3\n")
    assert world.says(world.call("patch", CHANGE, at=world.after)).startswith("absent: ")


def test_a_patch_that_had_nothing_left_to_change_is_unknown(world: World) -> None:
    (world.work / "app.py").write_text("retries = 5\n")
    assert world.says(world.call("patch", CHANGE, at=world.after)).startswith("unknown: ")


def test_a_patch_whose_old_text_still_stands_is_absent_where_others_wrote_the_file(world: World) -> None:
    ghost = world.call("patch", CHANGE)
    (world.work / "app.py").write_text("retries = 3\nname = 2\n")
    assert world.says(ghost).startswith("unknown: "), "who wrote it is not known"
    world.done("patch", {"path": "app.py", "old_string": "name = 1", "new_string": "name = 2"}, at=world.before + 5)
    assert world.says(ghost).startswith("absent: ")
    world.done("patch", {"path": "app.py", "old_string": "a", "new_string": "retries = 3"}, at=world.before + 6)
    assert world.says(ghost).startswith("unknown: "), "a later call may have put it back"


def test_a_patch_that_another_call_may_have_made_is_unknown(world: World) -> None:
    ghost = world.call("patch", CHANGE)
    (world.work / "app.py").write_text("retries = 5\n")
    world.done("write_file", {"path": "app.py", "content": "retries = 5\n"}, at=world.before + 5)
    assert world.says(ghost).startswith("unknown: ")


@pytest.mark.parametrize(
    ("old", "new", "text", "word"),
    [
        ("b", "a\nb", "a\nb\n", "landed"), ("b", "a\nb", "b\n", "unknown"), ("a\nb\n", "", "c\n", "landed"),
        ("a", "b", "a b", "unknown"), ("a1\n", "b1\n", "b1\r\n", "landed"), ("a", "b", "c", "unknown"),
    ],
)  # fmt: skip
def test_insertions_deletions_and_ambiguous_texts(world: World, old: str, new: str, text: str, word: str) -> None:
    ghost = world.call("patch", {"path": "f", "old_string": old, "new_string": new})
    (world.work / "f").write_text(text, newline="")
    assert world.verdict(ghost).verdict == word


def test_a_change_that_is_not_stored_whole_is_found_by_its_keyed_hash(world: World) -> None:
    key = load_key(world.paths.key)
    new = "".join(f"line {number}\n" for number in range(300))
    args = {"path": "app.py", "old_string": "slow\n", "new_string": new}
    stored = json.dumps(args)[:400]
    ghost = world.call("patch", args_json=stored, args_cut=1, value_hashes=value_hashes(key, args, str))
    (world.work / "app.py").write_text(f"before\n{new}after\n")
    assert world.says(ghost).startswith("landed: ")
    (world.work / "app.py").write_text(f"before\n{new}slow\n")
    assert world.says(ghost).startswith("unknown: "), "the old text stands there, too"
    (world.work / "app.py").write_text("before\nnothing of it\n")
    assert world.says(ghost).startswith("unknown: ")


def test_the_part_of_a_text_with_a_hash() -> None:
    key = b"k" * 32
    text = "one\ntwo\n\nthree\nfour"
    for part in ("one\n", "one", "two\n\nthree", "two\n\nthree\n", "four", text, "three\nfour"):
        assert part_with_hash(key, str(value_hash(key, part)), text) == part
    for other in ("two\nthree", "ne\n", "five", "our"):
        assert part_with_hash(key, str(value_hash(key, other)), text) is None


V4A = """*** Begin Patch
*** Update File: app.py
@@ def run @@
 def run():
-    return 1
+    return 2
*** Add File: new.py
+first
+second
*** End Patch"""


def test_a_patch_of_several_files_is_one_verdict_only_where_they_agree(world: World) -> None:
    ghost = world.call("patch", {"mode": "patch", "patch": V4A})
    (world.work / "app.py").write_text("def run():\n    return 2\n")
    assert world.says(ghost).startswith("unknown: ")
    (world.work / "new.py").write_text("first\nsecond\n")
    assert world.says(ghost).startswith("landed: ")
    (world.work / "app.py").write_text("def run():\n    return 1\n")
    later = world.call("patch", {"mode": "patch", "patch": V4A.replace("new.py", "other.py")}, at=world.after)
    assert world.says(later).startswith("absent: ")


def test_a_patch_that_deletes_or_moves(world: World) -> None:
    (world.work / "x").write_text("x")
    ghost = world.call("patch", {"mode": "patch", "patch": "*** Move File: x -> y"})
    patch = "*** Begin Patch\n*** Delete File: x\n*** End Patch"
    assert world.says(world.call("patch", {"mode": "patch", "patch": patch}, at=world.after)).startswith("absent: ")
    moved = patch.replace("Delete File: x", "Move File: x -> y")
    assert world.says(world.call("patch", {"mode": "patch", "patch": moved}, at=world.after)).startswith("absent: ")
    (world.work / "x").rename(world.work / "y")
    assert world.says(ghost).startswith("landed: ")


# -- the judging by itself ---------------------------------------------------------------------------------------------


def facet(modified: float, changed: float, *, at: float = 1000.0, **more: Any) -> Facet:
    place = Place(Path("/w/f"), "file", 3, modified, changed)
    return Facet(at, at + 5, Spot(place, Place(Path("/w"), "folder", 0, 900.0, 900.0)), **more)


@pytest.mark.parametrize(
    ("modified", "changed", "holds", "word"),
    [
        (1000.0, 1000.0, True, "landed"), (999.96, 999.96, True, "landed"), (999.94, 999.94, True, "absent"),
        (999.94, 999.94, False, "absent"), (900.0, 1001.0, True, "unknown"), (900.0, 1001.0, False, "unknown"),
        (1005.0, 1005.0, True, "landed"), (1005.1, 1005.1, True, "unknown"), (1001.0, 1001.0, None, "unknown"),
        (900.0, 900.0, None, "absent"),
    ],
)  # fmt: skip
def test_the_times_of_a_written_file(modified: float, changed: float, holds: bool | None, word: str) -> None:
    assert judge_write(facet(modified, changed, holds=holds))[0] == word


def test_a_file_system_of_whole_seconds_gets_two(world: World) -> None:
    place = Place(Path("/w/f"), "file", 3, 998.0, 998.0, slack=2.0)
    spot = Spot(place, Place(Path("/w"), "folder", 0, 900.0, 900.0))
    assert judge_write(Facet(1000.0, 1600.0, spot, holds=True))[0] == "landed"
    assert judge_patch(Facet(1000.5, 1600.0, spot))[0] == "absent"


def test_a_missing_file_and_its_folder() -> None:
    gone = Place(Path("/w/f"), "")
    for modified, undoers, word in [
        (999.9, (), "absent"), (1000.0, (), "unknown"), (1000.0, (7,), "unknown"), (999.9, (7,), "absent"),
    ]:  # fmt: skip
        spot = Spot(gone, Place(Path("/w"), "folder", 0, modified, modified))
        assert judge_missing(Facet(1000.0, 1600.0, spot, undoers=undoers))[0] == word
