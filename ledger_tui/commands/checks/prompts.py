"""Check of the host that must honour the prompt policy."""

from __future__ import annotations

from agent_ledger.engine.policy.mode import mode_of
from ledger_tui.commands import hosts, reading
from ledger_tui.commands.checks import OK, UNKNOWN, WARN, Check
from ledger_tui.commands.place import Place
from ledger_tui.commands.policy_file import PROMPTS
from ledger_tui.sources import snapshot
from ledger_tui.sources.guard import SourceError


def honoured(place: Place) -> list[Check]:
    """Where the policy is on: is a refused message really held back?"""
    mode = mode_of(place.data / PROMPTS.mode).value
    return [_host(place, mode)] if mode in ("dry_run", "enforce") else []


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
