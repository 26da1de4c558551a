"""Removing what a finder names is the finder's own deleting, however the two are joined."""

from __future__ import annotations

import pytest

from agent_ledger.engine.commands import acts

RM = "rm"
EVERYTHING = [
    f"find /srv/archive -exec {RM} {{}} +",
    f"find /srv/archive -type f -exec {RM} -f {{}} \\;",
    f"find /srv/archive -execdir {RM} {{}} \\;",
    f"find /srv/archive -exec sh -c '{RM} \"$@\"' _ {{}} +",
    "find /srv/archive -exec unlink {} \\;",
    f"yes | find /srv/archive -ok {RM} {{}} \\;",
    f"find /srv/archive | xargs {RM}",
    f"find /srv/archive -print0 | xargs -0 -n1 {RM} -f",
    f"find /srv/archive -type f | sort | xargs -I@ {RM} @",
    f'find /srv/archive | while read name; do {RM} "$name"; done',
    f"for name in $(find /srv/archive); do {RM} $name; done",
    f"fd . /srv/archive -x {RM}",
    f"fdfind -H . /srv/archive --exec-batch {RM} -f {{}}",
    f"fd . /srv/archive | xargs {RM}",
]


def found(command: str) -> list[tuple[str, str]]:
    return [(act.kind, act.severity) for act in acts("terminal", {"command": command})]


@pytest.mark.parametrize("command", EVERYTHING)
def test_everything_below_a_folder(command: str) -> None:
    assert found(command) == found("find /srv/archive -delete") == [("recursive-delete", "CRITICAL")]


@pytest.mark.parametrize(
    ("looking", "severity"),
    [
        ("find . -name '*.tmp' -mtime +7", None),
        ("find build -type f", None),
        ("find /tmp/work -type f", None),
        ("find . -name '*.log'", "MEDIUM"),
        ("find . -type f -mtime +31", "MEDIUM"),
        ("find /var/spool -name '*.core'", "HIGH"),
        ("find . -type f", "CRITICAL"),
    ],
)
def test_what_is_asked_for_weighs_as_it_does_with_delete(looking: str, severity: str | None) -> None:
    expected = [("recursive-delete", severity)] if severity else []
    assert found(f"{looking} -delete") == expected
    assert found(f"{looking} -exec {RM} -f {{}} +") == expected
    assert found(f"{looking} -print0 | xargs -0 {RM}") == expected


@pytest.mark.parametrize(
    "command",
    [
        f"fd -e tmp -x {RM}",
        f"fd '\\.pyc$' | xargs {RM}",
        f"fd -t d '^__pycache__$' -x {RM} -r",
        f"find . | grep draft | xargs {RM}",
        f"find /srv/archive -name notes.txt; {RM} notes.txt",
        "find /srv/archive -type f -exec grep -l draft {} +",
        "fd -e py -x wc -l",
    ],
)
def test_look_alikes(command: str) -> None:
    assert found(command) == []


def test_a_pattern_of_fd_narrows() -> None:
    assert found(f"fd draft -x {RM}") == [("recursive-delete", "MEDIUM")]
    assert found(f"fd -e log . /srv/archive -x {RM}") == [("recursive-delete", "HIGH")]


def test_a_finder_that_asks_and_gets_no_answer_is_a_remark() -> None:
    assert found(f"find . -ok {RM} -f {{}} \\;") == [("recursive-delete", "LOW")]


def test_a_file_that_is_shredded_is_beyond_recovery() -> None:
    assert found("shred -u notes.txt") == [("overwrite", "HIGH")]
    assert found("find /srv/archive -exec shred -u {} +") == [("overwrite", "HIGH")]
    assert found("shred -u /tmp/notes.txt") == []
