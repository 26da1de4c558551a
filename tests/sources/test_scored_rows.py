"""Every row of a ledger in order, for scoring."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.scored_rows import PAGE, RowSource


def a_ledger(path: Path, rows: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts, tool_name, status, args_json)")
    connection.executemany(
        "INSERT INTO ledger(id, ts, tool_name, status) VALUES(?, 1780142400, 'patch', 'CONFIRMED')",
        [(number,) for number in range(1, rows + 1)],
    )
    connection.commit()
    connection.close()


async def test_pages_follow_each_other_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    a_ledger(path, PAGE + 5)
    async with RowSource(path) as source:
        await source.start()
        first = await source.page(0)
        second = await source.page(first[-1][0])
        assert ([row[0] for row in first], [row[0] for row in second]) == (
            list(range(1, PAGE + 1)), list(range(PAGE + 1, PAGE + 6)),
        )  # fmt: skip
        assert await source.page(PAGE + 5) == []


async def test_a_replaced_file_is_read_after_a_new_start(tmp_path: Path) -> None:
    path, other = tmp_path / "ledger.db", tmp_path / "other.db"
    a_ledger(path, 3)
    a_ledger(other, 1)
    async with RowSource(path) as source:
        await source.start()
        assert len(await source.page(0)) == 3
        other.replace(path)
        await source.start()
        assert len(await source.page(0)) == 1


async def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with RowSource(tmp_path / "none.db") as source:
        with pytest.raises(SourceError) as caught:
            await source.start()
        assert caught.value.state == "missing"
        assert await source.page(0) == []
