"""What the commands about both policies share: which file is judged by, `lint`, and events from standard input."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine import prompts
from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.load import load
from agent_ledger.engine.policy.mode import mode_of
from agent_ledger.engine.policy.rules import ToolPolicy
from ledger_tui.commands import act_kinds
from ledger_tui.commands.errors import unreadable
from ledger_tui.commands.output import amount, print_json, say, warn
from ledger_tui.commands.place import Place, path_of
from ledger_tui.sources.policy_files import EXAMPLE, PROMPT_EXAMPLE


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two policies, by its files in the home."""

    command: str
    title: str
    file: str
    mode: str
    load: Callable[[Path], ToolPolicy | prompts.PromptPolicy | PolicyError]
    example: Path
    refused: str
    """What is refused under `enforce` while the file cannot be used."""


TOOLS = Kind(
    "policy", "tool policy", "policy.json", "policy_mode", load, EXAMPLE, "calls that change something are refused"
)  # fmt: skip
PROMPTS = Kind(
    "prompt-policy", "prompt policy", "prompt_policy.json", "prompt_policy_mode", prompts.load, PROMPT_EXAMPLE,
    "every message is refused",
)  # fmt: skip


def named_file(named: str) -> Path:
    """The file that `--policy` names."""
    path = path_of(named, "--policy")
    if not path.exists():
        raise unreadable(f"The policy {named} named by --policy does not exist; check the path.")
    return path


def file_to_judge_by(place: Place, kind: Kind, named: str | None) -> Path:
    """The named file, else the home's. Without one there the shipped example serves, and that is said.

    Raises CommandError where a home that was named is none.
    """
    if named is not None:
        return named_file(named)
    place.need_home()
    own = place.data / kind.file
    if own.exists():
        return own
    warn(f"There is no {own}; the example that comes with the program serves: {kind.example}.")
    return kind.example


def lint(place: Place, kind: Kind, named: str | None, *, json: bool) -> None:
    """Can the files be used? A mistake is named with its line."""
    if named is None:
        place.need_home()
    path = named_file(named) if named is not None else place.data / kind.file
    found = examined(kind, path, place.data / kind.mode)
    if json:
        print_json(found)
        return
    for line in _as_text(kind, found):
        say(line)


def examined(kind: Kind, path: Path, mode_path: Path) -> dict[str, Any]:
    """The shape of `lint --json`."""
    mode = mode_of(mode_path)
    there = path.exists()
    loaded = kind.load(path)
    wrong = loaded if isinstance(loaded, PolicyError) else None
    never = act_kinds.never(loaded.rules) if isinstance(loaded, ToolPolicy) else ()
    return {
        "file": str(path),
        "exists": there,
        "valid": wrong is None,
        "line": wrong.line if wrong and wrong.line else None,
        "reason": wrong.reason if wrong and there else None,
        "rules": [] if isinstance(loaded, PolicyError) else [rule.name for rule in loaded.rules],
        **({"never": [act_kinds.told(*one) for one in never]} if kind is TOOLS else {}),
        "mode": mode.value,
        "mode_valid": mode.valid,
    }


def _as_text(kind: Kind, found: Mapping[str, Any]) -> Iterator[str]:
    file = inert(found["file"])
    if not found["exists"]:
        yield f"There is no {file}. To begin: cp {inert(str(kind.example))} {file}"
    elif found["valid"]:
        yield f"{file}: in order, {amount(len(found['rules']), 'rule')}: {inert(', '.join(found['rules']) or 'none')}"
        yield from map(inert, found.get("never", ()))
    else:
        line = f", line {found['line']}" if found["line"] else ""
        yield f"{file}{line}: {inert(found['reason'])}"
    if found["mode_valid"]:
        yield f"The mode is {found['mode']}."
    else:
        yield f"{kind.mode} holds no mode; write off, dry_run or enforce into it. The last valid one stays in force."
    if found["mode"] == "enforce" and not found["valid"]:
        yield f"Until that is mended {kind.refused}; writing off into {kind.mode} ends that."


def events() -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number, JSON object) of every line of standard input that is not empty; what is no object comes as {}."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            event = json_module.loads(line)
        except (ValueError, RecursionError):
            event = None
        yield number, event if isinstance(event, dict) else {}


def no_event(number: int, what: str) -> str:
    """Says on standard error that a line cannot be judged, and gives the reason for its verdict."""
    reason = f"Line {number} is no JSON object with {what}."
    warn(reason)
    return reason
