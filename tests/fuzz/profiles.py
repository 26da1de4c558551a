"""How many examples a property is tried on: few and always the same ones by default, many by option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

CI_EXAMPLES = 60
"""Examples of a property with a share of 1 in an ordinary run."""

_SHRINK = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

_examples: int | None = None


def many(examples: int | None) -> None:
    """Try so many random examples each from here on; None goes back to the few fixed ones."""
    global _examples
    _examples = examples


def fuzzed(share: float = 1.0) -> Callable[[Any], Any]:
    """Decorates a property below `@given`'s place; `share` says how dear it is beside others (0.5: half as many)."""
    base = CI_EXAMPLES if _examples is None else _examples
    return settings(
        max_examples=max(1, round(base * share)),
        derandomize=_examples is None,
        deadline=None,
        database=None,
        print_blob=True,
        phases=_SHRINK,
        suppress_health_check=list(HealthCheck),
    )
