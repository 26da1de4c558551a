"""Both policies as their files say now, read again when one of the files changes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import agent_ledger
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.policy.mode import OFF, Mode, mode_of

if TYPE_CHECKING:
    from agent_ledger.engine.policy.file import PolicyError
    from agent_ledger.engine.policy.rules import ToolPolicy
    from agent_ledger.engine.prompts import PromptPolicy

EXAMPLE = Path(agent_ledger.__file__).with_name("policy.example.json")
PROMPT_EXAMPLE = EXAMPLE.with_name("prompt_policy.example.json")
"""The rules that come with the plugin: they serve for trying a call or a message where a home has none."""

_Mark = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What the four files say. A policy that is not there is None."""

    mode: Mode
    valid_mode: str
    """The last valid word seen since the app started: what an invalid one leaves in force, as far as we can know."""
    policy: ToolPolicy | PolicyError | None
    prompt_mode: Mode
    prompt_valid_mode: str
    prompts: PromptPolicy | PolicyError | None


class PolicyFiles:
    """Asked again and again: `look()`. What reads policies is loaded with the first look: the app starts without it."""

    def __init__(self, paths: Paths) -> None:
        self._files = (paths.policy_mode, paths.policy, paths.prompt_policy_mode, paths.prompt_policy)
        self._marks: tuple[_Mark, ...] | None = None
        self._valid = [OFF, OFF]

    def look(self) -> PolicyState | None:
        """What the files say, or None where none of them has changed. Never raises."""
        marks = tuple(_mark(path) for path in self._files)
        if marks == self._marks:
            return None
        from agent_ledger.engine.policy.load import load
        from agent_ledger.engine.prompts import load as load_prompts

        self._marks = marks
        mode_file, policy_file, prompt_mode_file, prompt_file = self._files
        modes = (mode_of(mode_file), mode_of(prompt_mode_file))
        self._valid = [mode.value if mode.valid else old for mode, old in zip(modes, self._valid, strict=True)]
        return PolicyState(
            mode=modes[0],
            valid_mode=self._valid[0],
            policy=None if marks[1] is None else load(policy_file),
            prompt_mode=modes[1],
            prompt_valid_mode=self._valid[1],
            prompts=None if marks[3] is None else load_prompts(prompt_file),
        )


def example_policy() -> ToolPolicy | PolicyError:
    """The shipped rules."""
    from agent_ledger.engine.policy.load import load

    return load(EXAMPLE)


def _mark(path: Path) -> _Mark:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
