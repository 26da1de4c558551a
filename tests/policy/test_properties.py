"""What holds for every command: no error, bounded work, danger stays danger in any wrapping and is quiet as data."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ledger.engine.commands import acts, examine, shell

DANGEROUS = st.sampled_from(
    [
        ("rm", "-rf", "/srv/data"),
        ("rm", "-r", "-f", "--", "/home/ada/work"),
        ("git", "reset", "--hard"),
        ("git", "push", "--force", "origin", "main"),
        ("git", "stash", "clear"),
        ("find", "/srv/data", "-delete"),
        ("terraform", "destroy", "-auto-approve"),
        ("dropdb", "shop"),
        ("cat", "/home/ada/.ssh/id_ed25519"),
    ]
)


def ticked(command: str) -> str:
    """As it must be written between backquotes."""
    return command.replace("\\", "\\\\").replace("`", "\\`")


Wrapper = Callable[[str], str]

PREFIXES: list[Wrapper] = [
    lambda c: f"sudo {c}",
    lambda c: f"sudo -u root -n {c}",
    lambda c: f"env -i A=1 {c}",
    lambda c: f"nice -n 10 {c}",
    lambda c: f"nohup {c} &",
    lambda c: f"timeout -k 5 30 {c}",
    lambda c: f"time {c}",
    lambda c: f"command {c}",
    lambda c: f"exec {c}",
    lambda c: f"busybox {c}",
    lambda c: f"sh -c {shlex.quote(c)}",
]
WRAPPERS: list[Wrapper] = [
    lambda c: f"bash -lc {shlex.quote(c)}",
    lambda c: f"eval {shlex.quote(c)}",
    lambda c: f"ssh host {shlex.quote(c)}",
    lambda c: f"docker exec -it web sh -c {shlex.quote(c)}",
    lambda c: f"kubectl exec pod -- sh -c {shlex.quote(c)}",
    lambda c: f"echo {shlex.quote(c)} | sh",
    lambda c: f"bash <<< {shlex.quote(c)}",
    lambda c: f"bash <<'E{len(c)}'\n{c}\nE{len(c)}\n",
    lambda c: f"({c})",
    lambda c: f"{{ {c}; }}",
    lambda c: f"true && {c}",
    lambda c: f"if true; then {c}; fi",
    lambda c: f"for i in 1 2; do {c}; done",
    lambda c: f"f() {{ {c}; }}; f",
    lambda c: f"X=$( {c} )",
    lambda c: f"echo $(( $( {c} ) + 1 ))",
    lambda c: f"echo `{ticked(c)}`",
    lambda c: f"cat <({c})",
    lambda c: f"trap {shlex.quote(c)} EXIT",
    lambda c: f"xargs -I% sh -c {shlex.quote(c)} < names",
    lambda c: f'C={shlex.quote(c)}; eval "$C"',
    lambda c: f"python3 -c {shlex.quote(f'import os; os.system({json.dumps(c)})')}",
]
DATA: list[Wrapper] = [
    lambda c: f"echo {shlex.quote(c)}",
    lambda c: f"printf '%s\\n' {shlex.quote(c)} > notes.txt",
    lambda c: f"git commit -m {shlex.quote('never run ' + c)}",
    lambda c: f"git commit -F - <<'EOF'\n{c}\nEOF",
    lambda c: f"grep -rn {shlex.quote(c)} docs",
    lambda c: f"cat > notes.md <<'EOF'\n{c}\nEOF",
    lambda c: f"# {c}",
    lambda c: f"gh issue create --title x --body {shlex.quote(c)}",
    lambda c: f"A={shlex.quote(c)}",
    lambda c: f"wc -w <<< {shlex.quote(c)}",
]


def severe(command: str) -> bool:
    return any(act.severity in ("HIGH", "CRITICAL") for act in acts("terminal", {"command": command}))


@given(DANGEROUS, st.lists(st.sampled_from(PREFIXES), max_size=2), st.lists(st.sampled_from(WRAPPERS), max_size=3))
@settings(max_examples=300, deadline=None)
def test_wrapped_in_anything_it_stays_dangerous(
    words: tuple[str, ...], prefixes: list[Wrapper], wrappers: list[Wrapper]
) -> None:
    command = shlex.join(words)
    for wrap in (*prefixes, *wrappers):
        command = wrap(command)
    assert severe(command), command


@given(DANGEROUS, st.sampled_from(DATA))
@settings(max_examples=150, deadline=None)
def test_as_data_it_is_quiet(words: tuple[str, ...], wrap: Wrapper) -> None:
    command = wrap(shlex.join(words))
    assert not severe(command), command


@given(DANGEROUS, st.data())
@settings(max_examples=200, deadline=None)
def test_quoted_and_escaped_it_is_the_same(words: tuple[str, ...], data: st.DataObject) -> None:
    def disguise(word: str) -> str:
        return "".join(
            data.draw(st.sampled_from([char, f"'{char}'", f'"{char}"', f"\\{char}", f"$'{char}'"])) for char in word
        )

    assert severe(" ".join(disguise(word) for word in words))


SHELLISH = st.text(alphabet="abrm -rf/.$(){}[]<>|&;'\"\\`\n\t*?!#=~0123456789:,@%^+é\x00\ud800", max_size=400)


@given(SHELLISH)
@settings(max_examples=400, deadline=None)
def test_nothing_raises_and_every_text_is_one_harmless_line(command: str) -> None:
    for act in examine("terminal", {"command": command}).acts:
        assert "\n" not in act.text + act.target
        assert "\x00" not in act.text + act.target


@pytest.mark.parametrize("args", [{}, {"command": None}, {"command": 7}, {"command": ["rm", 3]}, {"code": b"x"}])
def test_strange_arguments_are_no_error(args: dict[str, object]) -> None:
    assert examine("terminal", args).acts == ()
    assert examine("execute_code", args).acts == ()


@pytest.mark.parametrize(
    "command",
    [
        "f() { f; f; }; f",
        "for a in 1 2 3 4 5 6 7 8 9; do " * 8 + "ls; " + "done; " * 8,
        "$(" * 5_000,
        "A=$A$A$A$A; " * 400,
        "{a,b,c,d}" * 30,
        "echo " + "$(echo " * 15 + ")" * 15,
    ],
)
def test_work_is_bounded(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    counted = shell.Shell.step

    def step(self: shell.Shell) -> None:
        nonlocal steps
        steps += 1
        counted(self)

    monkeypatch.setattr(shell.Shell, "step", step)
    examine("terminal", {"command": command})
    assert steps <= shell.MOST_STEPS + 1


@pytest.mark.parametrize("head", ["f() { ", "", "x=$(", "cat <<E\n$("])
def test_what_stands_behind_more_commands_than_are_read_is_said_to_be_unread(head: str) -> None:
    found = acts("terminal", {"command": head + "a;b&" * 500 + "} " + " ".join(("rm", "-rf", "/srv/data"))})
    assert "unreadable" in {act.kind for act in found}


def test_what_stands_before_them_counts() -> None:
    found = acts("terminal", {"command": "{ " + " ".join(("rm", "-rf", "/srv/data")) + ";" + "a;b&" * 500 + "}"})
    assert {act.kind for act in found} == {"recursive-delete", "unreadable"}
