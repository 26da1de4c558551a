"""The two policies in a demonstration's home: the plugin's examples, and the words in the mode files."""

from __future__ import annotations

import os
from pathlib import Path

import agent_ledger
from agent_ledger.engine.paths import Paths, private_file, private_folder
from agent_ledger.engine.policy.mode import DRY_RUN
from ledger_tui.demo.story import Switch

_SHIPPED = Path(agent_ledger.__file__).parent


def put(paths: Paths) -> None:
    """Both examples, unchanged, in dry run. Raises OSError."""
    private_folder(paths.data)
    for place in (paths.policy, paths.prompt_policy):
        example = _SHIPPED / f"{place.stem}.example.json"
        _write(place, example.read_text(encoding="utf-8"))
    for place in (paths.policy_mode, paths.prompt_policy_mode):
        _write(place, f"{DRY_RUN}\n")


def set_mode(paths: Paths, switch: Switch) -> None:
    """Somebody writes another word into a mode file. Raises OSError."""
    _write(paths.prompt_policy_mode if switch.prompts else paths.policy_mode, f"{switch.word}\n")


def _write(place: Path, text: str) -> None:
    with os.fdopen(private_file(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)
