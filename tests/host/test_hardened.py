"""The hardened store writes the rows that a released Hermes writes, and its search finds what Hermes' own finds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from .environments import ROOT, Host, python_of

pytestmark = pytest.mark.host

DRIVER = Path(__file__).with_name("driver") / "both_stores.py"
STORIES = 15


def test_the_same_story_leaves_the_same_rows_and_the_same_answers(host: Host, tmp_path: Path) -> None:
    if host.is_019:
        pytest.skip("Hermes 0.19 has the faults")
    told = subprocess.run(
        [python_of(host), DRIVER, tmp_path, str(STORIES)],
        env={"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    assert json.loads(told.stdout.splitlines()[-1]) == []
