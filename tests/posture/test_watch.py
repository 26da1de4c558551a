"""Findings in `watch`: those that come while it watches."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ledger.engine import queries
from agent_ledger.engine.posture.rows import COLUMNS, RawRow
from agent_ledger.engine.records import Call
from ledger_tui.commands.findings import FindingNews
from ledger_tui.commands.watch import as_line

from .ledgers import BEGIN, WIPE, command


@dataclass(frozen=True)
class Change:
    calls: tuple[Call, ...]
    more: bool = False
    reset: bool = False
    dead_writers: frozenset[int] = frozenset()
    same_boot_writers: frozenset[int] = frozenset()


def call(raw: RawRow) -> Call:
    values = dict(zip(COLUMNS, raw, strict=True))
    return queries.call_from_row([values.get(name) for name in queries._CALL_COLUMNS])


def test_only_what_comes_while_it_watches() -> None:
    news = FindingNews(lambda: BEGIN)
    assert list(news.take(Change((call(command(2, WIPE)),), more=True))) == []
    assert list(news.take(Change((call(command(1, WIPE)),)))) == []
    pending = Change((call(command(3, f"{WIPE}/old", status="PENDING")),))
    (event,) = news.take(pending)
    assert (event["at"], event["kind"]) == ("2026-05-28T20:26:40.000Z", "finding")
    assert (event["rule"], event["ledger_id"], event["weight"]) == ("recursive-delete", 3, 25)
    assert list(news.take(Change((call(command(3, f"{WIPE}/old")),)))) == []
    line = as_line(event)
    assert line.startswith("2026-05-28 20:26:40  finding   #3  CRITICAL  ASI02  recursive-delete  ")
