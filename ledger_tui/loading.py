"""No garbage collection while modules load: what they bring stays to the end, and walking it again costs the start."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Collections rest inside. What is there afterwards is never looked at again, so later ones are short, too."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
