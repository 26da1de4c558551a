"""Writes the catalogue entry from the plugin's manifest: `python docs/catalogue/make_entry.py`, before a release."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "agent_ledger"
ENTRY = Path(__file__).with_name("ledger-tui.yaml")

_ENTRY = """\
name: ledger-tui
title: Ledger
repo: https://github.com/ledger-tui/ledger-tui
subdir: {plugin}
sha: {sha}
version: {version}
{description}maintainer: ledger-tui
tier: community
category: tools
requires_hermes: {requires_hermes}
docs_url: https://github.com/ledger-tui/ledger-tui#readme
platforms: []
capabilities:
  provides_tools: {provides_tools}
  provides_hooks: {provides_hooks}
  provides_middleware: {provides_middleware}
  requires_env: []
"""


def manifest() -> str:
    """The plugin's own manifest, as text."""
    return (ROOT / PLUGIN / "plugin.yaml").read_text(encoding="utf-8")


def value(text: str, name: str) -> str:
    """What stands behind `name:` on its line."""
    found = re.search(rf"^ *{name}: (.+)$", text, re.M)
    if found is None:
        raise LookupError(f"there is no line `{name}:`")
    return found[1]


def description(text: str) -> str:
    """The folded block `description:` with its lines."""
    found = re.search(r"^description: >-\n(?:  .*\n)+", text, re.M)
    if found is None:
        raise LookupError("there is no folded `description:`")
    return found[0]


def entry(sha: str) -> str:
    """The catalogue entry for the plugin as it stands, pinned to a commit."""
    text = manifest()
    names = ("version", "requires_hermes", "provides_tools", "provides_hooks", "provides_middleware")
    taken = {name: value(text, name) for name in names}
    return _ENTRY.format(plugin=PLUGIN, sha=sha, description=description(text), **taken)


def newest_commit() -> str:
    """The commit that last touched the plugin's folder."""
    command = ["git", "log", "-1", "--format=%H", "--", PLUGIN]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    ENTRY.write_text(entry(newest_commit()), encoding="utf-8")
