"""The work of judging 4,000 characters stays bounded, whatever they are. Counted in calls of functions, not in time."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from agent_ledger.engine.commands import examine

LONG = 4_000
MOST_CALLS = 60_000
"""Half as much again as the hardest of these takes; a text that is read again and again takes millions."""

_DELETE = " ".join(("rm", "-rf"))
_ROUNDS = "".join(f"for {name} in 1 2 3 4 5 6 7 8 9; do " for name in "abc")
HARD = {
    "computations in computations": "$((",
    "the same in lists": "$((($((",
    "braces": f"{{1..9}}|{_DELETE} /x ",
    "braces after another": f"{_DELETE} {{1..9}}x;",
    "defaults in loops": _ROUNDS + "git push -f; " * 20 + "${A:-" * 12 + "$A$A;" * 600,
    "loops": _ROUNDS + "git push -f; find /x -exec rm -r {} + ; " * 10 + "done; " * 3,
    "loops of braces": _ROUNDS + f"{_DELETE} {{1..9}}; " * 40,
    "a variable that doubles": 'A=$A$A;eval "../.. ',
    "targets": f"{_DELETE} /x ",
    "many targets": f"{_DELETE} " + " ".join(f"/a{number}" for number in range(900)),
    "many commands": "\nE\n",
    "pipes": "cat a | sort | uniq -c | ",
    "functions": "f() { f | f; }; f; ",
    "substitutions": "$(echo $(echo x)) ",
    "backticks": "`",
    "quotes": "'\"$(",
    "patterns": "${A//x/y}",
    "documents": "cat <<E\nx\nE\n",
    "groups in texts": "eval '{ eval ",
    "hosts behind hosts": "{ ssh h ",
    "pieces of words": "$a",
    "finders in finders": "find / -exec ",
}
HEADS = {
    "a text for another machine": ("ssh h '", "("),
    "a text that begins with eval": ("eval '", "{ eval "),
    "pieces of words in a loop": ("for a in 1 2 3 4 5 6 7 8 9; do ", "$a"),
    "code in loops": ("for a in 1 2 3; do ", "for x in 1 2 3;python3 -c '"),
    "texts in code": ("python3 -c '", "sh -c 'a=$a$a;"),
    "an alias and a variable that doubles": ("parallel 'alias a='", "eval a=$a$a;"),
    "a document in a loop": ("for a in 1 2 3 4 5 6 7 8 9; do bash <<E\n", '"if $a'),
    "lines behind a head": ("sh -c 'for a in 1 2 3 4 5 6 7 8 9; do ", "f;"),
    "closers without openers": ("su -c '", ")]"),
    "words out of braces in loops": ("for a in 1 2 3 4 5 6 7 8 9; do for a in 1 2 3; do ", "!{a,b}eval "),
    "an alias of git": ("git -c alias.a='!", "{ ssh h ssh h "),
}
"""What begins once, and what follows it again and again."""


def calls(text: str) -> int:
    """How many functions of Python are called while a text is judged."""
    number = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal number
        number += event == "call"

    sys.setprofile(count)
    try:
        examine("terminal", {"command": text})
    finally:
        sys.setprofile(None)
    return number


@pytest.mark.parametrize("name", HARD)
def test_hard_texts(name: str) -> None:
    part = HARD[name]
    assert calls((part * (LONG // len(part) + 1))[:LONG]) <= MOST_CALLS


@pytest.mark.parametrize("name", HEADS)
def test_hard_texts_behind_a_head(name: str) -> None:
    head, part = HEADS[name]
    assert calls((head + part * (LONG // len(part) + 1))[:LONG]) <= MOST_CALLS
