"""The same properties under a fuzzer that looks at coverage: `python -m tests.fuzz.atheris_targets TARGET [options]`.

Needs the extra `fuzz`. Options are those of libFuzzer: `-max_total_time=300`, a folder for the corpus, and so on. What
it finds is printed with its traceback, and kept in a file that the same command takes to try it again.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

MODULES = ("test_hooks", "test_policies", "test_ledgers", "test_posture", "test_evidence", "test_spool")

LONGEST = "-max_len=4096"
"""Bytes from which one example is drawn; libFuzzer's own start is a few dozen."""

Target = Callable[[bytes], object]


def targets() -> dict[str, Any]:
    """Every property of this folder that takes generated values only, by its name without `test_`."""
    found = {}
    for module in MODULES:
        for name, value in vars(importlib.import_module(f"{__package__}.{module}")).items():
            if name.startswith("test_") and hasattr(value, "hypothesis"):
                found[name.removeprefix("test_")] = value
    return found


def fuzzer() -> ModuleType | None:
    """Atheris, where it is installed."""
    try:
        return importlib.import_module("atheris")
    except ImportError:
        return None


def main(words: list[str]) -> int:
    atheris = fuzzer()
    if atheris is None:
        print("Atheris is not installed; install the extra with it: pip install -e '.[fuzz]'.", file=sys.stderr)
        return 2
    logging.disable()
    with atheris.instrument_imports(include=["agent_ledger"]):
        known = targets()
    if not words or words[0] not in known:
        print("Name one of:\n" + "\n".join(sorted(known)), file=sys.stderr)
        return 2
    one: Target = known[words[0]].hypothesis.fuzz_one_input
    atheris.Setup([words[0], LONGEST, *words[1:]], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
