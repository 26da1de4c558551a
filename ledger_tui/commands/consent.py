"""Before the host's store is changed: what a person must have said, on a terminal or by `--yes`."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence

from agent_ledger.engine.inert import inert
from ledger_tui.commands.errors import refused
from ledger_tui.commands.output import speakable, warn
from ledger_tui.routing.repair.holders import FAIL, UNKNOWN, SafetyCheck
from ledger_tui.routing.repair.plan import Plan

STOPPED = "stopped"
"""The word that the app asks for as well."""


def refuse_failed(checks: Sequence[SafetyCheck]) -> None:
    """Raises CommandError (4) with the first check that failed."""
    failed = next((check for check in checks if check.state == FAIL), None)
    if failed is not None:
        raise refused(f"{failed.text.rstrip('.')} (check: {failed.name}); {failed.remedy}.")


def vouched_for(checks: Sequence[SafetyCheck], yes: bool) -> str | None:
    """Who says that everything is stopped, where a check cannot see it. Raises CommandError (4)."""
    refuse_failed(checks)
    unseen = next((check for check in checks if check.state == UNKNOWN), None)
    if unseen is None:
        return None
    if yes:
        return f"{_person()}, by --yes"
    need_terminal()
    warn(f"{unseen.text} Nobody but you can know that no gateway, dashboard or other Hermes uses this store.")
    ask(f"Type '{STOPPED}' if that is so: ", STOPPED)
    return f"{_person()}, typed: {STOPPED}"


def confirmed(plan: Plan, because: str | None, yes: bool) -> str | None:
    """Who chose, and why. Raises CommandError (4) where the person does not confirm."""
    chosen = [one for one in plan.adoptions if one.chosen]
    if not yes:
        need_terminal()
        for one in chosen:
            warn(f"Whoever writes in the chat of {one.donor_id} will read all of {one.orphan_id}.")
            ask(f"Type the id of the lost session to choose so ({inert(one.orphan_id)}): ", one.orphan_id)
        for ending in plan.endings:
            warn(f"The talk of {ending.session_id} will be over; its messages stay.")
            ask(f"Type its id to end it ({inert(ending.session_id)}): ", ending.session_id)
        if plan.decided and because is None:
            because = _answer("Why are you sure? (goes into the journal) ")
        word = f"repair {len(plan.adoptions) + len(plan.endings)}"
        ask(f"Type '{word}' to do it: ", word)
    return f"{_person()}: {because or 'no reason given, and --yes'}" if plan.decided else None


def need_terminal() -> None:
    """Raises CommandError (4) where nobody could be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise refused("This changes the host's session store and asks first, but here is no terminal; add --yes.")


def ask(question: str, word: str) -> None:
    """Raises CommandError (4) unless the person types this very word; an id may be typed as it is shown."""
    if _answer(question) not in (word, inert(word)):
        raise refused("Not confirmed, so nothing was changed.")


def _answer(question: str) -> str:
    sys.stderr.write(speakable(question, sys.stderr.encoding))
    sys.stderr.flush()
    try:
        return sys.stdin.readline().strip()
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # The question ends without one.
        warn("Interrupted, so nothing was changed.")
        raise


def _person() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown user"
