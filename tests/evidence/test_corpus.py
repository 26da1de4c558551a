"""The verifiers over the corpus of real hosts' lost calls: never a wrong verdict, and seldom an avoidable "unknown"."""

from __future__ import annotations

from collections import Counter

import pytest

from .corpus.judged import Judged, judged, table
from .corpus.pack import unpack

MOST_UNKNOWN = 0.15
"""Of the knowable calls, that may stay unknown."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    folder = tmp_path_factory.mktemp("corpus")
    return judged(unpack(folder), folder)


def test_it_holds_enough_of_every_kind_from_both_hosts(found: list[Judged]) -> None:
    counts = Counter((one.case["host"], one.case["kind"], one.case["group"]) for one in found)
    kinds = {"write_file", "patch", "terminal", "cron", "delegate_task", "memory", "skill_manage", "kanban", "mcp"}
    assert {kind for _, kind, _ in counts} == kinds
    assert {host for host, _, _ in counts} == {"0.19", "0.22"}
    few = {
        (host, kind, group): counts[host, kind, group]
        for host in ("0.19", "0.22")
        for kind in kinds
        for group, least in (("before", 12), ("after", 12), ("nobody", 6))
        if counts[host, kind, group] < least
    }
    assert not few


def test_no_verdict_is_wrong(found: list[Judged]) -> None:
    wrong = [str(one) for one in found if one.wrong]
    assert not wrong, "\n".join((table(found), *wrong))


def test_few_of_the_knowable_stay_unknown(found: list[Judged]) -> None:
    knowable = [one for one in found if one.case["knowable"]]
    missed = [one for one in knowable if one.missed]
    assert len(missed) <= MOST_UNKNOWN * len(knowable), "\n".join((table(found), *map(str, missed)))


def test_every_verdict_says_why(found: list[Judged]) -> None:
    assert not [one.name for one in found if not all(one.verdict.evidence)]
