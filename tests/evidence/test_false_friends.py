"""What looks like an effect or like the lack of one, and is neither: nothing of it may make a verdict wrong."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
from typing import Any

import pytest

from agent_ledger.engine.evidence.verdict import quoted
from agent_ledger.engine.fingerprint import KEY_BYTES, value_hash

from .makers import World
from .test_terminal import ENVIRONMENT, run


def word(world: World, command: str, **cells: object) -> str:
    return world.verdict(world.call("terminal", {"command": command}, **cells)).verdict


def repository(world: World, folder: str = ".") -> None:
    """One commit, an hour old."""
    begin = "git init -q -b main && touch a && git add a && git commit -qm Begin"
    run(
        world,
        f"mkdir -p {folder} && cd {folder} && export GIT_COMMITTER_DATE='@{int(world.before) - 3600} +0000' && {begin}",
    )


# -- places that were other places -----------------------------------------------------------------------------------


def test_a_link_on_the_way_that_was_set_anew_hides_where_the_call_wrote(world: World) -> None:
    for release in ("1", "2"):
        (world.work / release).mkdir()
        (world.work / release / "conf").write_text("old")
    os.symlink("1", world.work / "current")
    call = world.call("write_file", {"path": "current/conf", "content": "new"}, at=time.time() + 0.2)
    time.sleep(0.5)
    (world.work / "1" / "conf").write_text("new")
    os.symlink("2", world.work / "next")
    os.replace(world.work / "next", world.work / "current")
    assert world.verdict(call).verdict == "unknown"


def test_a_copy_through_a_link_leaves_the_link_as_it_was(world: World) -> None:
    run(world, "echo x > a; echo y > b; ln -s b l")
    call = world.call("terminal", {"command": "cp a l"}, at=world.after)
    assert world.verdict(call).verdict == "unknown"


def test_a_link_put_through_a_link_to_a_folder_leaves_it_as_it_was(world: World) -> None:
    run(world, "mkdir d; ln -s d l")
    assert word(world, "ln -s x l", at=world.after) == "unknown"


def test_two_points_behind_a_link_lead_elsewhere(world: World) -> None:
    run(world, "mkdir -p far/deep; ln -s far/deep l")
    moment = time.time() + 0.3
    time.sleep(0.6)
    run(world, "touch l/../y")
    call = world.call("terminal", {"command": "touch l/../y"}, at=moment)
    assert world.verdict(call).verdict != "absent"


def test_a_folder_that_is_not_there_any_more_though_nothing_removed_it(world: World) -> None:
    """A disk that is not mounted."""
    call = world.call("terminal", {"command": "touch x"}, at=world.after, workplace=f"local:{world.work}/disk/project")
    assert world.verdict(call).verdict == "unknown"


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_makes_nothing_absent(world: World) -> None:
    (world.work / "f").write_text("x")
    args = {"path": "f", "content": "x"}
    call = world.call("write_file", args, at=world.after)
    assert world.verdict(call).verdict == "absent"
    world.done("read_file", {"path": "f"}, at=world.before)
    assert world.verdict(call).verdict == "unknown"
    assert world.verdict(world.call("write_file", args, at=world.now + 60)).verdict == "unknown"


# -- others who did it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["touch x", "echo hi > x", "echo hi >> x", "mkdir d"])
@pytest.mark.parametrize("other", ["make", "python3 gen.py"])
def test_a_command_that_may_do_anything_may_have_done_it(world: World, command: str, other: str) -> None:
    call = world.call("terminal", {"command": command})
    world.done("terminal", {"command": other}, at=world.before + 0.5, took=120)
    run(world, command)
    assert world.verdict(call).verdict == "unknown"


@pytest.mark.parametrize(("code", "told"), [("open('f', 'w').write('x')", "unknown"), ("tests()", "landed")])
def test_code_that_names_the_file_may_have_written_it(world: World, code: str, told: str) -> None:
    call = world.call("write_file", {"path": "f", "content": "x"})
    world.done("execute_code", {"code": code}, at=world.before + 0.5, took=120)
    (world.work / "f").write_text("x")
    assert world.verdict(call).verdict == told


def test_one_that_was_at_work_already_may_have_done_it(world: World) -> None:
    world.done("terminal", {"command": "make"}, at=world.before - 5, took=120)
    call = world.call("terminal", {"command": "touch x"})
    run(world, "touch x")
    assert world.verdict(call).verdict == "unknown"


def test_a_file_that_came_and_grew_is_no_removal(world: World) -> None:
    call = world.call("terminal", {"command": "rm -f x"})
    with (world.work / "log").open("w") as log:
        time.sleep(0.3)
        log.write("line")
    assert world.verdict(call).verdict == "unknown"


def test_the_removal_of_something_else_is_none(world: World) -> None:
    run(world, "touch y")
    call = world.call("terminal", {"command": "rm -f x"})
    world.done("terminal", {"command": "rm y"}, at=world.before + 0.5, took=120)
    run(world, "rm y")
    assert world.verdict(call).verdict == "unknown"


def test_a_folder_that_lost_what_was_in_it_was_not_made(world: World) -> None:
    run(world, "mkdir d; touch d/x")
    call = world.call("terminal", {"command": "mkdir -p d"}, at=time.time() + 0.3)
    time.sleep(0.6)
    world.done("terminal", {"command": "mv d/x ."}, at=time.time() - 0.1, took=1)
    run(world, "mv d/x .")
    assert world.verdict(call).verdict == "unknown"


def test_a_folder_into_which_something_came_was_not_touched(world: World) -> None:
    run(world, "mkdir d")
    call = world.call("terminal", {"command": "touch d"})
    world.done("terminal", {"command": "touch d/x"}, at=world.before + 0.5, took=120)
    run(world, "touch d/x")
    assert world.verdict(call).verdict == "unknown"


def test_a_patch_that_was_in_the_file_before(world: World) -> None:
    (world.work / "f").write_text("new\nend\n")
    call = world.call("patch", {"path": "f", "old_string": "old", "new_string": "new"}, at=time.time() + 0.3)
    time.sleep(0.6)
    args = {"path": "f", "old_string": "end", "new_string": "END"}
    world.done("patch", args, at=time.time() - 0.1, took=1)
    (world.work / "f").write_text("new\nEND\n")
    assert world.verdict(call).verdict == "unknown"


def test_a_patch_that_somebody_took_back(world: World) -> None:
    """Somebody put the old text back by hand, and much later another call wrote the file."""
    (world.work / "f").write_text("old\nEND\n")
    call = world.call("patch", {"path": "f", "old_string": "old", "new_string": "new"}, at=world.before - 3600)
    args = {"path": "f", "old_string": "end", "new_string": "END"}
    world.done("patch", args, at=time.time() - 0.1, took=1)
    assert world.verdict(call).verdict == "unknown"


# -- parts -------------------------------------------------------------------------------------------------------------


def test_a_removal_cut_in_the_middle_is_not_absent(world: World) -> None:
    run(world, "mkdir -p d/e; touch d/e/1 d/e/2")
    moment = time.time() + 0.3
    time.sleep(0.6)
    run(world, "rm d/e/1")
    assert word(world, "rm -rf d", at=moment) == "unknown"


def test_another_archive_of_the_same_name_tells_nothing(world: World) -> None:
    run(world, "touch y; sleep 0.3")
    moment = time.time() + 0.1
    time.sleep(0.4)
    run(world, "tar cf ../a.tar y")
    assert word(world, "tar xf ../a.tar", at=moment) == "unknown"


# -- commands ----------------------------------------------------------------------------------------------------------


def test_a_folder_that_could_not_be_gone_to_leaves_the_rest_where_it_was(world: World) -> None:
    run(world, "echo a > f; sleep 0.3")
    moment = time.time() + 0.1
    time.sleep(0.4)
    run(world, "cd nowhere; echo b > f")
    assert word(world, "cd nowhere; echo b > f", at=moment) == "unknown"
    assert word(world, "cd nowhere\necho b > f", at=moment) == "unknown"


# -- git ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "commit",
    [
        "git commit -q --allow-empty -m 'two  blanks'",
        "git commit -q --allow-empty -m 'tab\there'",
        "git commit -q --allow-empty -mwarm",
        "git commit -q --allow-empty -mfixm",
        "git commit -q --allow-empty --squash=HEAD -m x",
        "GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git commit -q --allow-empty -m x",
        "export GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'; git commit -q --allow-empty -m x",
        "git commit -q --allow-empty -m $'one\\n\\nbody'",
        "git commit -q --allow-empty -m '  padded  '",
        "git commit -q --allow-empty -m x -m y",
        "git commit -q --allow-empty --amend -m x",
    ],
)
def test_a_commit_that_was_made_is_not_absent(world: World, commit: str) -> None:
    repository(world)
    call = world.call("terminal", {"command": commit})
    subprocess.run(["bash", "-c", commit], cwd=world.work, env=ENVIRONMENT, check=True)
    assert world.verdict(call).verdict != "absent"


def test_a_hook_that_words_the_message_anew(world: World) -> None:
    repository(world)
    hook = world.work / ".git" / "hooks" / "prepare-commit-msg"
    hook.write_text('#!/bin/sh\necho "AB-1 $(cat $1)" > $1\n')
    hook.chmod(0o755)
    call = world.call("terminal", {"command": "git commit --allow-empty -m x"}, at=world.before)
    run(world, "git commit --allow-empty -m x")
    assert world.verdict(call).verdict == "unknown"


def test_a_date_from_the_environment(world: World) -> None:
    repository(world)
    call = world.call("terminal", {"command": "git commit --allow-empty -m x"}, at=world.before)
    run(world, "GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git commit --allow-empty -m x")
    assert world.verdict(call).verdict == "unknown"


def test_a_log_out_of_which_a_line_was_taken(world: World) -> None:
    repository(world)
    call = world.call("terminal", {"command": "git commit --allow-empty -m x"}, at=world.before)
    run(world, "git commit -q --allow-empty -m x && git commit -q --amend --allow-empty -m y")
    run(world, "git reflog delete HEAD@{1}")
    assert world.verdict(call).verdict == "unknown"


def test_references_in_a_form_that_is_not_read(world: World) -> None:
    repository(world)
    store = world.work / ".git"
    shutil.rmtree(store / "refs")
    shutil.rmtree(store / "logs")
    (store / "refs").mkdir()
    (store / "refs" / "heads").write_text("this repository uses the reftable format\n")
    (store / "HEAD").write_text("ref: refs/heads/.invalid\n")
    (store / "reftable").mkdir()
    assert word(world, "git commit -m x", at=world.after) == "unknown"
    assert word(world, "git tag v1", at=world.after) == "unknown"
    assert word(world, "git checkout main", at=world.after) == "unknown"


def test_a_repository_behind_a_link_is_not_the_one_above(world: World) -> None:
    repository(world)
    repository(world, "sub")
    run(world, "mv sub/.git elsewhere && ln -s ../elsewhere sub/.git")
    assert word(world, "cd sub && git commit -m x", at=world.after) == "unknown"


@pytest.mark.parametrize(
    "setting", ["remote.origin.pushurl ../other.git", "remote.origin.push main:main", "url.x.insteadOf ../far.git"]
)
def test_a_remote_that_is_pushed_elsewhere_is_not_asked(world: World, setting: str) -> None:
    repository(world)
    run(world, "git init -q --bare ../far.git && git remote add origin ../far.git")
    assert word(world, "git push origin main", at=world.after) == "absent"
    run(world, f"git config {setting}")
    assert word(world, "git push origin main", at=world.after) == "unknown"


def test_what_is_pushed_need_not_be_a_branch(world: World) -> None:
    repository(world)
    run(world, "git init -q --bare ../far.git && git remote add origin ../far.git && git tag v1")
    moment = time.time() + 0.1
    time.sleep(0.2)
    run(world, "git push -q origin v1")
    assert word(world, "git push origin v1", at=moment) == "unknown"


def test_nothing_to_add_is_no_lack(world: World) -> None:
    repository(world)
    assert word(world, "git add a", at=world.after) == "unknown"


# -- installs ----------------------------------------------------------------------------------------------------------


def test_a_package_may_come_into_a_folder_above(world: World) -> None:
    run(world, "mkdir sub; echo '{}' > package.json")
    assert word(world, "cd sub && npm install left", at=world.after) == "unknown"


@pytest.mark.parametrize("command", ["npm install left", "git clone ../there left", "git init left"])
def test_made_again_at_once_by_a_confirmed_call(world: World, command: str) -> None:
    repository(world, "../there")
    call = world.call("terminal", {"command": command})
    world.done("terminal", {"command": command}, at=world.before + 1, took=120)
    if command.startswith("npm"):
        run(world, "mkdir -p node_modules/left; echo '{}' > node_modules/left/package.json")
    else:
        run(world, command)
    assert world.verdict(call).verdict == "unknown"


# -- what times do not tell, and what must not be told -----------------------------------------------------------------


@pytest.mark.parametrize("path", ["/proc/sys/vm/swappiness", "/sys/kernel/profiling", "/dev/null", "/dev/nowhere"])
def test_what_the_system_makes_up_keeps_no_time(world: World, path: str) -> None:
    assert word(world, f"echo 1 > {path}", at=world.now - 1) == "unknown"
    call = world.call("write_file", {"path": path, "content": "1"}, at=world.now - 1)
    assert world.verdict(call).verdict == "unknown"


def transcript(world: World, args: dict[str, Any], result: dict[str, Any]) -> None:
    """One request under the id `c1` and its result."""
    asked = json.dumps([{"id": "c1", "function": {"name": "terminal", "arguments": json.dumps(args)}}])
    db = sqlite3.connect(world.paths.state)
    db.executescript(
        "CREATE TABLE sessions(id, parent_session_id, end_reason, model_config); CREATE TABLE messages(id INTEGER"
        " PRIMARY KEY, session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp)"
    )
    db.execute("INSERT INTO messages VALUES(1, 's1', 'assistant', '', NULL, ?, NULL, ?)", (asked, world.before))
    db.execute(
        "INSERT INTO messages VALUES(2, 's1', 'tool', ?, 'c1', NULL, 'terminal', ?)",
        (json.dumps(result), world.before + 1),
    )
    db.commit()
    db.close()


def test_no_secret_of_the_hosts_stores_is_told(world: World) -> None:
    secret = "sk-ant-api03-" + "Ab3dE6gH1jK2" * 6
    transcript(world, {"command": "make"}, {"exit_code": 2, "error": f"refused: {secret}"})
    evidence = world.verdict(world.call("terminal", {"command": "make"}, tool_call_id="c1")).evidence
    assert "refused" in evidence[0]
    assert secret[:20] not in str(evidence)
    assert secret[:20] not in quoted("x" * 49 + " " + secret), "nor the half of one that is cut off"


def test_a_failure_without_words_is_told_by_its_code(world: World) -> None:
    transcript(world, {"command": "make"}, {"output": "", "exit_code": 2, "error": None})
    evidence = world.verdict(world.call("terminal", {"command": "make"}, tool_call_id="c1")).evidence
    assert evidence[0] == "The host's transcript holds a failure of this call: the command ended with 2."


@pytest.mark.parametrize(("asked", "told"), [("deploy --token abc", "landed"), ("deploy --token xyz", "unknown")])
def test_a_redacted_call_is_held_against_what_was_asked(world: World, asked: str, told: str) -> None:
    key = b"k" * KEY_BYTES
    world.paths.key.write_bytes(key)
    transcript(world, {"command": asked}, {"output": "", "exit_code": 0})
    call = world.call(
        "terminal", {"command": "deploy --token [redacted]"}, tool_call_id="c1", args_redacted=1,
        value_hashes=json.dumps({"command": value_hash(key, "deploy --token abc")}),
    )  # fmt: skip
    assert world.verdict(call).verdict == told


@pytest.mark.parametrize(
    ("tool", "folder", "file", "args"),
    [
        ("memory", "memories", "MEMORY.md", {"action": "add", "target": "memory", "content": "One."}),
        ("skill_manage", "skills/tidy", "SKILL.md", {"action": "edit", "name": "tidy", "content": "new"}),
    ],
)
def test_a_store_that_was_moved_into_place(
    world: World, tool: str, folder: str, file: str, args: dict[str, Any]
) -> None:
    kept = world.paths.home / "kept"
    kept.mkdir()
    (kept / file).write_text("Old.")
    moment = time.time() + 0.1
    call = world.call(tool, args, at=moment)
    os.utime(kept, (moment - 60, moment - 60))
    time.sleep(0.3)
    (world.paths.home / folder).parent.mkdir(exist_ok=True)
    kept.rename(world.paths.home / folder)
    assert world.verdict(call).verdict == "unknown"
