"""Links against a second implementation that knows the page of the docs only, and one that was worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path

from agent_ledger.engine.chain.seal import unpack

from .by_docs import verified
from .ledgers import Made, of_every_kind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chain.md"

BY_HAND = "17c631aa7b8435076caa35461ed082fd9f1da5a0d5d136d5714ec9ee6e39ccec"
"""{ head -c 32 /dev/zero; printf '%s' '["issue",1,1,1767355201000000,…,120.0,0.5,1]'; } | sha256sum"""


def test_the_first_link_is_the_one_that_sha256sum_gives() -> None:
    made = Made()
    made.issue("c1", mono=0.5)
    (data,) = made.db.execute("SELECT issue_seal FROM ledger").fetchone()
    seal = unpack(data)
    assert seal is not None
    assert (seal.number, seal.changed, seal.previous) == (1, 1_767_355_201_000_000, bytes(32))
    assert seal.link.hex() == BY_HAND


def test_the_page_shows_that_very_record() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^([0-9a-f]{64})  -$", text, re.MULTILINE) == [BY_HAND]


def test_every_kind_of_record_has_the_link_that_the_page_promises() -> None:
    made = of_every_kind()
    found = verified(made.db)
    assert [name for *_, name in found] == [
        "issue of 1", "settle of 1", "issue of 2", "settle of 2", "issue of 3", "issue of 4", "settle of 4",
        "settle of 3", "issue of 5", "reported of 5", "issue of 6", "reported of 6", "settle of 6", "issue of 7",
        "settle of 7", "issue of 8", "settle of 8", "contradicted of 7", "issue of 9", "announced again of 9",
        "settle of 9", "issue of 10", "settle of 10", "issue of 11", "settle of 11", "issue of 12",
    ]  # fmt: skip
    assert made.head().link == found[-1][2]
