"""The catalogue entry says what the plugin registers, and a real Hermes accepts it."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from types import ModuleType
from typing import Any

import pytest

import agent_ledger
from tests.host import environments

from .pages import ROOT

FOLDER = ROOT / "docs" / "catalogue"
ENTRY = FOLDER / "ledger-tui.yaml"

READ = """\
import json, sys
from dataclasses import asdict
from pathlib import Path
import hermes_yaml
from hermes_cli import plugin_catalog as catalog
data = hermes_yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
manifest = hermes_yaml.safe_load(Path(sys.argv[2]).read_text(encoding="utf-8"))
entry = catalog.entry_from_mapping(data, "ours")
print(json.dumps({"entry": entry and asdict(entry), "manifest": manifest, "tiers": catalog.CATALOG_TIERS}))
"""


def maker() -> ModuleType:
    """The script that writes the entry."""
    spec = importlib.util.spec_from_file_location("catalogue_make", FOLDER / "make_entry.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Registered:
    """What a plugin registers."""

    def __init__(self) -> None:
        self.hooks: list[str] = []
        self.middleware: list[str] = []

    def register_hook(self, name: str, callback: object) -> None:
        self.hooks.append(name)

    def register_middleware(self, name: str, callback: object) -> None:
        self.middleware.append(name)


def listed(text: str, name: str) -> list[str]:
    """A list written on one line."""
    found = re.search(rf"^ *{name}: \[(.*)\]$", text, re.M)
    assert found is not None, name
    return [word.strip() for word in found[1].split(",") if word.strip()]


def test_capabilities_are_what_is_registered_and_declared() -> None:
    ctx = Registered()  # Anything else that were registered would be an AttributeError.
    agent_ledger.register(ctx)
    for text in (ENTRY.read_text(encoding="utf-8"), maker().manifest()):
        assert listed(text, "provides_hooks") == ctx.hooks
        assert listed(text, "provides_middleware") == ctx.middleware
        assert listed(text, "provides_tools") == []
    assert listed(ENTRY.read_text(encoding="utf-8"), "requires_env") == []


def test_the_entry_is_what_the_script_makes_of_the_manifest() -> None:
    text = ENTRY.read_text(encoding="utf-8")
    sha = maker().value(text, "sha")
    assert re.fullmatch("[0-9a-f]{40}", sha)
    assert text == maker().entry(sha), "run: python docs/catalogue/make_entry.py"


def test_the_disclosure_says_all_that_must_be_said() -> None:
    disclosure = maker().description(ENTRY.read_text(encoding="utf-8")).partition("Disclosure — ")[2]
    for verb in (
        "reads ",
        "writes only ",
        "adds ",
        "blocks nothing",
        "changes no arguments",
        "sends nothing",
        "keeps ",
    ):
        assert verb in disclosure, verb


@pytest.mark.host
def test_a_real_hermes_accepts_the_entry(tmp_path: Any) -> None:
    host = environments.HOSTS["0.22"]
    done = subprocess.run(
        [str(environments.build(host)), "-c", READ, str(ENTRY), str(ROOT / "agent_ledger" / "plugin.yaml")],
        env={"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    entry, manifest = read["entry"], read["manifest"]
    assert entry is not None
    assert (entry["name"], entry["subdir"], entry["category"]) == ("ledger-tui", "agent_ledger", "tools")
    assert entry["tier"] in read["tiers"]
    for name in ("description", "version", "requires_hermes"):
        assert entry[name] == manifest[name]
    for name in ("provides_tools", "provides_hooks", "provides_middleware"):
        assert entry["capabilities"][name] == manifest[name]
    assert "Disclosure — " in entry["description"]
