"""docs/prompts.md names every kind of rule with its entries, and nothing of ours shows what was withheld."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_ledger.engine.history import WITHHELD
from agent_ledger.engine.prompts.load import KINDS
from agent_ledger.engine.prompts.text import LONGEST_BYTES
from ledger_tui.demo.turn_start import MARKER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "prompts.md").read_text(encoding="utf-8")


def rows() -> dict[str, str]:
    """Kinds in the page's table, with what stands in the column of their entries."""
    found = re.findall(r"^\| `([a-z-]+)` \| [^|]*\| ([^|]*)\|$", PAGE, re.M)
    return {kind: entries for kind, entries in found if kind in KINDS}


def test_every_kind_is_on_the_page() -> None:
    assert rows().keys() == KINDS.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_with_every_entry_that_it_takes(kind: str) -> None:
    entries = KINDS[kind][0]
    assert {word for word in re.findall(r"`([a-z_]+)`", rows()[kind]) if word in entries} == entries


def test_the_longest_message_and_the_marker_are_quoted() -> None:
    assert f"more than {LONGEST_BYTES // 1024} KiB" in PAGE
    assert WITHHELD == MARKER
    assert f"`{WITHHELD}`" in PAGE


def test_nothing_of_ours_reads_what_a_host_keeps_for_its_own_recap() -> None:
    # These play the host, and keep what it keeps.
    hosts = {ROOT / "ledger_tui" / "demo", ROOT / "ledger_tui" / "routing" / "hardened"}
    sources = [
        path
        for package in ("agent_ledger", "ledger_tui", "screens", "widgets")
        for path in (ROOT / package).rglob("*.py")
        if hosts.isdisjoint(path.parents)
    ]
    assert len(sources) > 50
    assert [path for path in sources if "display_metadata" in path.read_text(encoding="utf-8")] == []
