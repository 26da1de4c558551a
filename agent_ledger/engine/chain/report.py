"""What a check of the chain found: counts, findings, the head. The sentences about them are in `words.py`."""

from __future__ import annotations

import re
from bisect import insort
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["edited", "deleted", "reordered", "cut off", "added"]

SHOWN = 100
"""Findings that are kept; further ones are counted."""

PROVES = (
    "Every record counted here is as it was written, in the order in which it was written, and none between them is"
    " missing."
)
PROVES_LESS = (
    "Every record counted here is as it was written, and no more are missing than can have gone with the calls that are"
    " gone."
)
LIMITS = (
    "The chain has no secret: whoever can write the file as its owner, the agent included, can compute a new one; only"
    " a head that was noted elsewhere and is given to --expect shows that. What was never recorded is not in it, nor"
    " are notices, decisions of policies and the evidence of verdicts."
)

LIMITS_OF_COPY = (
    "This is a copy at an engine. It tells what was shipped: nothing of what was changed or deleted on its own machine"
    " since, nor of what is not shipped yet; and who can write the tables there can compute a new chain as well. Give"
    " its head to ledger-check --expect on that machine: the ledger there must have it."
)


class Head(NamedTuple):
    """One record of the chain, by which everything before it is fixed."""

    changed: int
    link: bytes

    def __str__(self) -> str:
        return f"{self.changed}:{self.link.hex()}"


def head_of(text: str) -> Head | None:
    """A head from its text, `N:` and 64 hexadecimal digits; None for any other text."""
    found = re.fullmatch(r"([0-9]{1,19}):([0-9a-f]{64})", text.strip())
    return Head(int(found[1]), bytes.fromhex(found[2])) if found and int(found[1]) < 2**63 else None


@dataclass(frozen=True, slots=True)
class Broken:
    """One place where the chain does not hold."""

    ledger_id: int | None
    kind: Kind
    text: str


@dataclass(slots=True)
class Checked:
    """The outcome for a whole ledger."""

    rows: int = 0
    records: int = 0
    """Records that were checked: calls issued, calls settled, amendments."""
    uncovered: int = 0
    """Rows from before the chain began: nothing is known of them."""
    pruned: int = 0
    """Rows that are gone and may be: at the head, or by `prune`."""
    pruned_us: int | None = None
    """When `prune` last took some, in microseconds since 1970."""
    by_hand: bool = False
    """Rows at the head are gone without a record of it, as after a DELETE by a person."""
    unproven: int = 0
    """Records of which the one before went with such rows."""
    altered: int | None = None
    """Calls of a copy from which secrets were taken on the way: their place was checked, not what they say. None: no
    copy."""
    broken: int = 0
    found: list[Broken] = field(default_factory=list)
    """The first of them, in the order of their rows."""
    head: Head | None = None
    """The last record: to be noted elsewhere and given to a later check."""
    expected: bool | None = None
    """Is the head that was noted elsewhere still there? None: not asked, or it may have gone with what was pruned."""

    fixed_from: int | None = None
    """With `expected`: the call from which on that head fixes what was recorded; None: from the first of all."""

    @property
    def first(self) -> Broken | None:
        return self.found[0] if self.found else None

    @property
    def whole(self) -> bool:
        return not self.broken

    @property
    def state(self) -> str:
        """`broken`, `empty`, `not covered` (no row has a seal), `pruned` or `whole`."""
        if self.broken:
            return "broken"
        if not self.rows and not self.pruned:
            return "empty"
        if self.rows and self.uncovered == self.rows:
            return "not covered"
        return "pruned" if self.pruned else "whole"

    @property
    def limits(self) -> str:
        """What it does not say."""
        return LIMITS if self.altered is None else f"{LIMITS_OF_COPY} {LIMITS}"

    @property
    def proves(self) -> str:
        """What a chain that holds says of its calls."""
        return PROVES_LESS if self.by_hand or self.unproven else PROVES

    def add(self, ledger_id: int | None, kind: Kind, text: str) -> None:
        self.broken += 1
        insort(self.found, Broken(ledger_id, kind, text), key=_place)
        del self.found[SHOWN:]


def _place(one: Broken) -> tuple[bool, int]:
    """Those without a row last."""
    return one.ledger_id is None, one.ledger_id or 0


def calls(first: int, last: int) -> str:
    """`Call #3 is` or `Calls #3 to #5 are`."""
    return f"Call #{first} is" if first == last else f"Calls #{first} to #{last} are"
