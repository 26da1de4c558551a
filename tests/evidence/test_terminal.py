"""`terminal`: what its words say, and what files say of it. Real commands are run where it is to have landed."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from agent_ledger.engine.evidence import effects
from agent_ledger.engine.evidence.effects import Effect
from agent_ledger.engine.evidence.git_store import Entry, Log
from agent_ledger.engine.evidence.recorded import Recorded
from agent_ledger.engine.evidence.terminal_git import judge_commit, judge_reference, subject
from agent_ledger.engine.evidence.verdict import together

from .makers import World

ENVIRONMENT = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Kim",
    "GIT_AUTHOR_EMAIL": "kim@example.org", "GIT_COMMITTER_NAME": "Kim", "GIT_COMMITTER_EMAIL": "kim@example.org",
}  # fmt: skip


def run(world: World, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=world.work, env=ENVIRONMENT, check=True, capture_output=True)


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("touch a b", [Effect("touch", "/w/a"), Effect("touch", "/w/b")]),
        ("mkdir -p x/y && cd x/y && echo hi > z", [
            Effect("folder", "/w/x/y", parents=True), Effect("write", "/w/x/y/z", text="hi\n")]),
        ("printf 'a\\nb' | tee /t/f >/dev/null", [Effect("write", "/t/f", text="a\nb")]),
        ("echo 1 >> log 2>&1", [Effect("append", "/w/log", text="1\n")]),
        ("cat <<'EOF' > f\n$x\nEOF", [Effect("write", "/w/f", text="$x\n")]),
        ("ls -l > out", [Effect("write", "/w/out")]), ("rm -rf ./d/", [Effect("remove", "/w/d", parents=True)]),
        ("mv a b/", [Effect("move", "/w/b/a", source="/w/a")]),
        ("cp 'a b' c", [Effect("copy", "/w/c", source="/w/a b")]),
        ("ln -s ../x l", [Effect("link", "/w/l", source="../x")]),
        ("chmod 600 k", [Effect("mode", "/w/k", text="600")]),
        ("sed -i s/a/b/ f", [Effect("edit", "/w/f")]), ("grep -r x . | sort | head", []),
        ("git status; git log -3", []),
        ("cd / && rm x", [Effect("remove", "/x")]), ("sed -n p f > g", [Effect("write", "/w/g")]),
        ("sudo touch /etc/x", [Effect("touch", "/etc/x")]),
        ("git -C r commit -m 'a b'", [Effect("git", "/w/r", words=("commit", "-m", "a b"))]),
    ],
)  # fmt: skip
def test_what_the_words_say(command: str, found: list[Effect]) -> None:
    reading = effects.read(command, "/w")
    assert reading.clear, reading.why
    assert list(reading.effects) == found


@pytest.mark.parametrize(
    "command",
    [
        "make", "rm *.log", "touch $x", "touch `date`", "cd ~/x && touch y", "a || touch b",
        "if true; then touch x; fi",
        "touch x &", "(touch x)", "x=1; touch $x", "rm {a,b}", "echo $(id) > f", "cat <<EOF > f\n$x\nEOF",
        "find . -delete",
        "cp -r a b c", "git rebase main", "python3 build.py", "ln a b", "sudo -u kim touch x", "npm run build",
        "cd - && touch x",
        "touch \x00", "curl -o f https://example.org/f", "for f in a b; do rm $f; done", "x() { rm a; }; x",
        "ssh h touch x",
    ],
)  # fmt: skip
def test_what_the_words_do_not_say_proves_nothing(world: World, command: str) -> None:
    assert not effects.read(command, "/w").clear
    assert world.verdict(world.call("terminal", {"command": command})).verdict == "unknown"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("python3 tools/reserve_table.py --guests 4", "`python3 tools/reserve_table.py` is not followed"),
        (f"python3 {'a' * 41}", f"`python3 {'a' * 39}…` is not followed"),
        (f"git {'a' * 41}", f"`git {'a' * 39}…` is not followed"),
        ("a" * 41, f"`{'a' * 39}…` may do anything"),
    ],
)
def test_what_is_not_told_in_full_ends_with_an_ellipsis(command: str, why: str) -> None:
    assert effects.read(command, "/w").why == why


# -- files -------------------------------------------------------------------------------------------------------------

LANDING = [
    "touch new", "mkdir made", "mkdir -p deep/er", "echo hi > new", "echo more >> old", "rm old", "rm -r folder",
    "mv old moved", "mv old folder/", "cp old copied", "ln -s old linked", "chmod 600 old", "sed -i s/o/0/ old",
    "printf 'a' | tee t1 t2", "cp -r folder copy", "tar czf f.tgz folder",
    "mkdir d && touch d/x && echo y > d/y", "cat <<'X' > doc\nline\nX",
]  # fmt: skip


def prepare(world: World) -> None:
    (world.work / "old").write_text("once\n")
    (world.work / "old").chmod(0o644)
    (world.work / "folder").mkdir()
    (world.work / "folder" / "inside").write_text("x")
    for place in (world.work / "folder", world.work):
        os.utime(place, (1_700_000_000, 1_700_000_000))
    time.sleep(0.12)  # What was there before is older than the kernel's coarse clock can blur.


@pytest.mark.parametrize("command", LANDING)
def test_a_command_that_ran_landed(world: World, command: str) -> None:
    prepare(world)
    ghost = world.call("terminal", {"command": command}, at=time.time())
    run(world, command)
    assert world.says(ghost).startswith("landed: ")


@pytest.mark.parametrize("command", LANDING)
def test_a_command_that_did_not_run_is_absent(world: World, command: str) -> None:
    prepare(world)
    assert world.says(world.call("terminal", {"command": command}, at=world.after)).startswith("absent: ")


@pytest.mark.parametrize("command", LANDING)
def test_the_same_by_another_call_leaves_it_unknown(world: World, command: str) -> None:
    prepare(world)
    ghost = world.call("terminal", {"command": command})
    world.done("terminal", {"command": command}, at=world.before + 30, took=40)
    run(world, command)
    assert world.says(ghost).startswith("unknown: ")


def test_what_comes_out_of_an_archive(world: World) -> None:
    prepare(world)
    run(world, "tar cf a.tar folder && rm -r folder")
    command = {"command": "tar xf a.tar"}
    later = world.call("terminal", command, at=world.after)
    assert world.says(later).startswith("absent: ")
    ghost = world.call("terminal", command, at=world.before)
    run(world, "tar xf a.tar")
    assert world.says(ghost).startswith("unknown: "), "both calls may have done it"
    world.db.execute("DELETE FROM ledger WHERE id = ?", (later,))
    assert world.says(ghost).startswith("landed: ")
    (world.work / "a.tar").write_bytes(b"not an archive")
    assert world.says(ghost).startswith("unknown: ")


def test_half_a_command_is_neither(world: World) -> None:
    prepare(world)
    ghost = world.call("terminal", {"command": "touch one && touch two"})
    run(world, "touch one")
    found = world.verdict(ghost)
    assert found.verdict == "unknown"
    assert len(found.evidence) == 2
    assert together(1.0, [("landed", "a"), ("absent", "b")]).evidence[0] == "A part of it landed, and a part did not."


def test_one_part_that_undoes_another_is_not_judged(world: World) -> None:
    prepare(world)
    for command in (
        "touch a && rm a",
        "mkdir d && touch d/x && rm -r d",
        "mv old b && mv b c",
        "echo a > f; echo b > f",
    ):
        assert world.verdict(world.call("terminal", {"command": command}, at=world.after)).verdict == "unknown"


def test_a_removal_of_what_may_never_have_been_there(world: World) -> None:
    prepare(world)
    assert world.says(world.call("terminal", {"command": "rm -f nothing"}, at=world.after)).startswith("unknown: ")
    ghost = world.call("terminal", {"command": "rm -f nothing"})
    (world.work / "other").write_text("")
    assert world.says(ghost).startswith("unknown: ")


def test_a_background_command_and_one_elsewhere(world: World) -> None:
    ghost = world.call("terminal", {"command": "touch x"}, at=world.after, workplace="ssh:")
    assert world.verdict(ghost).verdict == "unknown"
    ghost = world.call("terminal", {"command": "touch x", "workdir": "sub"}, at=world.after)
    assert "In which folder" in world.says(ghost)


def test_a_command_that_is_not_stored_whole(world: World) -> None:
    ghost = world.call("terminal", args_json='{"command": "touch a && touc', args_cut=1)
    assert "not stored whole" in world.says(ghost)


# -- git ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(world: World) -> World:
    run(world, "git init -q -b main . && echo a > a && git add a && git commit -q -m first && git branch side")
    run(
        world,
        "git init -q --bare -b main ../remote.git && git remote add origin ../remote.git && git push -q origin main",
    )
    run(world, "echo b > b && git add b")
    return world


GIT = [
    "git commit -m 'second one'", "git add b && git commit -q -m second", "git tag v1", "git tag -a v2 -m 'two'",
    "git branch topic", "git checkout -b other", "git switch -c more", "git checkout side",
]  # fmt: skip


@pytest.mark.parametrize("command", GIT)
def test_git_by_its_own_files(repository: World, command: str) -> None:
    later = repository.call("terminal", {"command": command}, at=repository.after)
    assert repository.says(later).startswith("absent: ")
    ghost = repository.call("terminal", {"command": command})
    run(repository, command)
    twin = repository.done("terminal", {"command": command}, at=repository.after + 1)
    assert repository.says(ghost).startswith("landed: "), f"call {twin} came too late to explain it"
    repository.done("terminal", {"command": command}, at=repository.before + 20, took=60)
    assert repository.says(ghost).startswith("unknown: ")


def test_a_push_is_seen_here_or_in_a_remote_on_this_machine(repository: World) -> None:
    run(repository, "git commit -q -m second")
    command = {"command": "git push origin main"}
    assert repository.says(repository.call("terminal", command, at=repository.after)).startswith("absent: ")

    run(repository, "git push -q origin main")
    assert repository.says(repository.call("terminal", command, at=repository.now - 3601)).startswith("landed: ")


def test_a_push_to_elsewhere_is_never_missed(repository: World) -> None:
    run(repository, "git remote set-url origin https://git.example.org/kim/app.git")
    ghost = repository.call("terminal", {"command": "git push origin main"}, at=repository.after)
    assert repository.says(ghost).startswith("unknown: ")


def test_a_commit_where_no_log_is_kept(repository: World) -> None:
    (repository.work / ".git" / "logs" / "HEAD").unlink()
    ghost = repository.call("terminal", {"command": "git commit -m x"}, at=repository.after)
    assert repository.says(ghost).startswith("unknown: ")


def test_a_first_commit_that_is_not_there(world: World) -> None:
    run(world, "git init -q -b main .")
    assert world.says(world.call("terminal", {"command": "git commit -m x"}, at=world.after)).startswith("absent: ")


def test_init(world: World) -> None:
    assert world.says(world.call("terminal", {"command": "git init"}, at=world.after)).startswith("absent: ")
    ghost = world.call("terminal", {"command": "git init"})
    run(world, "git init -q .")
    assert world.says(ghost).startswith("landed: ")


def test_clone(repository: World) -> None:
    command = {"command": "git clone ../remote.git second"}
    ghost = repository.call("terminal", command, at=time.time())
    assert repository.says(repository.call("terminal", command, at=repository.after)).startswith("absent: ")
    run(repository, "git clone -q ../remote.git second")
    assert repository.says(ghost).startswith("landed: ")


def test_a_tag_that_was_removed_again_is_not_missed(repository: World) -> None:
    ghost = repository.call("terminal", {"command": "git tag v9"})
    run(repository, "git tag v9 && git tag -d v9")
    assert repository.says(ghost).startswith("unknown: ")


def test_a_log_that_was_emptied_is_not_whole(repository: World) -> None:
    ghost = repository.call("terminal", {"command": "git commit -m second"})
    run(repository, "git commit -q -m second && git reset -q --hard HEAD~1 && git reflog expire --expire=now --all")
    assert repository.says(ghost).startswith("unknown: ")


def test_the_log_and_the_clock_of_whole_seconds() -> None:
    log = Log((Entry("a" * 40, 99, "commit (initial): one"), Entry("b" * 40, 100, "commit: two: more")), whole=True)
    assert judge_commit(100.0, log, "two: more")[0] == "landed"
    assert judge_commit(100.9, log, "two: more")[0] == "unknown", "before or after the call, within its second"
    exact = Log((log.entries[0], Entry("b" * 40, 100.95, "commit: two: more", exact=True)), whole=True)
    assert judge_commit(100.9, exact, "two: more")[0] == "landed"
    assert judge_commit(101.2, exact, "two: more")[0] == "absent"
    twice = Log((log.entries[0], log.entries[1], Entry("c" * 40, 100.95, "commit: two: more", exact=True)), whole=True)
    assert judge_commit(100.9, twice, "two: more")[0] == "landed", "one of that name may be older, the last one is not"
    assert judge_commit(101.0, log, "two: more")[0] == "absent"
    assert judge_commit(100.0, log, "one")[0] == "unknown", "a hook may have worded the second one anew"
    one = Recorded(1, 99.9, "terminal", {}, settled_at=100.2)
    assert judge_commit(100.0, log, "one", (one,))[0] == "absent"
    assert judge_commit(98.0, log, "three")[0] == "unknown", "the log begins after the call"
    late = Log((*log.entries, Entry("c" * 40, 104, "commit: three")), whole=True)
    assert judge_commit(102.5, late, "three")[0] == "landed"
    assert judge_commit(102.4, late, "three")[0] == "unknown", "somebody else had time for it"
    assert judge_commit(100.0, log, None)[0] == "unknown"
    assert judge_commit(100.0, Log(log.entries, whole=False), "one")[0] == "unknown"
    assert judge_reference(100.9, "v1", Entry("", 101.0, ""), beside=())[0] == "landed"
    assert judge_reference(100.9, "v1", Entry("", 100.0, ""), beside=())[0] == "unknown"
    assert judge_reference(100.9, "v1", Entry("", 100.88, "", exact=True), beside=())[0] == "landed"
    assert judge_reference(100.9, "v1", Entry("", 101.0, "", exact=True), beside=(3,))[0] == "unknown"


def test_the_subject_of_a_commit() -> None:
    assert subject(["-m", "one\n\nmore", "-m", "two"]) == "one"
    assert subject(["-qam", "one"]) == "one"
    assert subject(["--message=one"]) == "one"
    assert subject(["-F", "file"]) is None


# -- packages ----------------------------------------------------------------------------------------------------------


def test_a_package_of_an_environment(world: World, tmp_path: Path) -> None:
    site = world.work / ".venv" / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (world.work / ".venv" / "pyvenv.cfg").write_text("")
    command = {"command": ".venv/bin/pip install -q Ruff_Like==1.2"}
    assert world.says(world.call("terminal", command, at=world.after)).startswith("absent: ")
    ghost = world.call("terminal", command)
    (site / "ruff_like-1.2.dist-info").mkdir()
    (site / "ruff_like-1.2.dist-info" / "RECORD").write_text("")
    assert world.says(ghost).startswith("landed: ")
    assert world.says(world.call("terminal", {"command": "pip install x"})).startswith("unknown: ")
    assert world.says(world.call("terminal", {"command": ".venv/bin/pip install -r r.txt"})).startswith("unknown: ")


def test_a_package_of_a_project(world: World) -> None:
    command = {"command": "npm install @scope/left-pad@1.0.0"}
    assert world.says(world.call("terminal", command, at=world.after)).startswith("absent: ")
    ghost = world.call("terminal", command)
    place = world.work / "node_modules" / "@scope" / "left-pad"
    place.mkdir(parents=True)
    (place / "package.json").write_text("{}")
    assert world.says(ghost).startswith("landed: ")
