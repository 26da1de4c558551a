"""Every benchmark stands in the docs, and the quick one runs from end to end on a few calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))


def test_there_is_one_for_every_promise() -> None:
    assert SCRIPTS == [
        "app_start",
        "chain_check",
        "hook_overhead",
        "keys",
        "large_ledger",
        "lineage",
        "live_latency",
        "load",
        "locked",
        "policy_matching",
        "posture_rows",
        "prompt_messages",
        "repair_rows",
        "routing_scan",
        "tmux_line",
        "verify_ghosts",
        "writers",
    ]


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_stands_on_the_page_of_figures(script: str) -> None:
    assert f"`python -m benchmarks.{script}" in (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")


def test_hook_overhead_reports_a_ratio_whatever_it_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.hook_overhead", "--calls", "20", "--json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert [line["what"] for line in said["lines"][:2]] == ["pre + post, median", "pre + post, p99"]
    assert all(line["ratio"] > 0 for line in said["lines"][:2])
    assert {"python", "sqlite", "cores", "load"} <= said["machine"].keys()
