"""What the tests of the browser view share."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


@pytest.fixture
def apps(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """The processes that were started, in their order."""
    started: list[asyncio.subprocess.Process] = []
    usual = asyncio.create_subprocess_exec

    async def noted(*words: str, **given: Any) -> asyncio.subprocess.Process:
        started.append(await usual(*words, **given))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return started
