"""Checks of the prompt policy: can its file be used, and does the host do what it says?"""

from __future__ import annotations

from agent_ledger.engine.policy.mode import mode_of
from agent_ledger.engine.prompts import PolicyError, load
from ledger_tui.commands import hosts, reading
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot
from ledger_tui.sources.guard import SourceError

NAME = "prompt-policy"


def prompt_policy(place: Place) -> list[Check]:
    """The file, and, where the policy is on, whether a refused message is really held back."""
    mode = mode_of(place.data / "prompt_policy_mode").value
    checks = [_file(place, mode)]
    if mode in ("dry_run", "enforce"):
        checks.append(_host(place, mode))
    return checks


def _file(place: Place, mode: str) -> Check:
    path = place.data / "prompt_policy.json"
    on = mode in ("dry_run", "enforce")
    refused = " Until that is mended every message is refused." if mode == "enforce" else ""
    if not path.exists():
        if not on:
            return Check(NAME, OK, "There is no prompt policy.")
        remedy = "Copy prompt_policy.example.json from the plugin's folder there, or write off into prompt_policy_mode."
        return Check(NAME, FAIL, f"The mode is {mode}, but there is no {path}.{refused}", remedy)
    loaded = load(path)
    if isinstance(loaded, PolicyError):
        remedy = "Mend that line; ledger-tui prompt-policy lint checks it again."
        return Check(NAME, FAIL if on else WARN, f"{loaded}.{refused}", remedy)
    return Check(NAME, OK, f"The prompt policy is in order; {len(loaded.rules)} rules are on.")


def _host(place: Place, mode: str) -> Check:
    version = _host_version(place)
    honours = hosts.honours_prompt_block(version)
    if honours:
        return Check("prompt-block", OK, f"Hermes {version} ends a turn that the prompt policy refuses.")
    if honours is None:
        text = "Which Hermes wrote this ledger is not known, so neither is whether it holds a refused message back."
        return Check("prompt-block", UNKNOWN, text, "Let the host record a call, then ask again.")
    what = "would be" if mode == "dry_run" else "is"
    text = (
        f"The prompt policy {what} advisory on this host: Hermes {version} ignores a block and sends the message to the"
        " model all the same. The model is told not to act on it, and tools are refused in that turn."
    )
    return Check("prompt-block", WARN, text, "Use Hermes 0.22.6 or newer, which ends such a turn without a request.")


def _host_version(place: Place) -> str | None:
    try:
        if not place.ledger.exists():
            return None
        with snapshot.reading_ledger(place.ledger) as ledger:
            return reading.newest_host_version(ledger)
    except (OSError, SourceError):
        return None
