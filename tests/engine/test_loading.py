"""The door loads what the hooks need when the host registers them, and nothing of it for whoever only reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
import agent_ledger
from agent_ledger.engine import paths

class Context:
    def register_hook(self, name, callback): pass
    def register_middleware(self, name, callback): pass

def loaded():
    return [name for name in ("recorder", "prompts", "policy") if f"agent_ledger.engine.{name}" in sys.modules]

print(*loaded())
agent_ledger.register(Context())
print(*loaded())
"""


def test_hooks_are_loaded_with_their_registration() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["", "recorder prompts policy"]
