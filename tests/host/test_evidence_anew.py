"""A sample of the corpus of lost calls, made anew on this very machine: no verdict is wrong, and none is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evidence.corpus.judged import Judged, judged, table
from tests.evidence.corpus.pack import CHOSEN, choose
from tests.evidence.corpus.stage import Batch, play
from tests.evidence.corpus.stories import batches
from tests.evidence.corpus.story import Scene

from .environments import Host

pytestmark = pytest.mark.host

SAMPLE = {
    "write_file": ("new-before", "secret-after", "over-other-after"),
    "patch": ("one-before", "one-after"),
    "terminal": ("echo-before", "git-commit-after"),
    "cron": ("create-after", "create-before"),
    "delegate_task": ("one-before", "one-after"),
    "memory": ("add-after", "add-before"),
    "skill_manage": ("create-after", "create-before"),
    "kanban": ("create-after", "create-before"),
    "mcp": ("heard-0", "cut-0"),
}


@pytest.fixture(scope="module")
def found(host: Host, tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    folder = tmp_path_factory.mktemp("anew")
    scene = Scene(folder / "person", host.is_019)
    chosen = [
        Batch(batch.name, cases)
        for batch in batches(scene)
        if (cases := [case for case in batch.cases if case.name in SAMPLE[case.kind]])
    ]
    play(host, scene, chosen, folder / host.name)
    choose(folder, [(host, scene, chosen)])
    index = json.loads(Path(folder, CHOSEN, "index.json").read_text(encoding="utf-8"))
    return judged(index, folder / CHOSEN)


def test_the_sample_is_whole(found: list[Judged]) -> None:
    assert len(found) == sum(map(len, SAMPLE.values()))


def test_no_verdict_is_wrong_and_none_that_can_be_had_is_missing(found: list[Judged]) -> None:
    assert not [str(one) for one in found if one.wrong or one.missed], table(found)
