"""Does the host end a turn when a prompt policy says block? It depends on its version (hermes-agent PR 81434)."""

from __future__ import annotations

import re

BLOCKS_SINCE = (0, 22, 6)
"""First version that does. 0.19.0 and 0.22.2 were tried: they ask the model all the same."""


def version_numbers(text: str | None) -> tuple[int, ...] | None:
    """`0.22.2.post1` as (0, 22, 2); None for what is no version."""
    found = re.match(r"v?(\d+(?:\.\d+){1,3})", text or "")
    return tuple(int(part) for part in found[1].split(".")) if found else None


def enforced(host_version: str | None) -> bool | None:
    """True where a block ends the turn, False where it is ignored, None where the version is not known."""
    numbers = version_numbers(host_version)
    return None if numbers is None else numbers >= BLOCKS_SINCE
