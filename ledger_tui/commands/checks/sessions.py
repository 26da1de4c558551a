"""Checks of the host's session store: can it be read, and is a conversation lost in it?"""

from __future__ import annotations

from ledger_tui.commands import surveys
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.routing.survey import Survey
from ledger_tui.sources.guard import SourceError


def sessions(place: Place) -> tuple[list[Check], SourceError | None]:
    """The checks `sessions` and `lost-sessions`; and why the store cannot be read. Raises CommandError."""
    if not place.state_exists():
        return [Check("sessions", OK, f"The host has stored no session yet ({place.state} is not there).")], None
    try:
        found = surveys.surveyed(place)
    except SourceError as error:
        return [Check("sessions", FAIL, f"{error.path} {error.reason}.", f"{error.remedy}.")], error
    number = amount(len(found.store.sessions), "session")
    return [Check("sessions", OK, f"The host's store holds {number}."), _lost(found)], None


def _lost(found: Survey) -> Check:
    """Am I affected? Only chats of messaging platforms can be (hermes-agent #82616)."""
    lost = len(found.lost)
    ready = {one.orphan_id for one in found.lost if one.adoptable}
    ready |= {one.orphan_id for one in found.further if one.adoptable and one.gateway}
    back = sum(one.grade != "dormant" for one in found.zombies)
    if not (lost or back or ready):
        return Check("lost-sessions", OK, "You are not affected: no conversation of a chat lost its way to it.")
    rows = amount(lost, "conversation has", "conversations have")
    chats = amount(back, "chat", "chats")
    text = (
        f"You are affected: {rows} lost the way to their chat, and {chats} would fall back into an older talk with the"
        " next restart of the gateway."
    )
    if ready:
        remedy = f"Run: ledger-tui repair-routing, which shows how {len(ready)} of them can be taken back."
    else:
        remedy = "Run: ledger-tui repair-routing, which names the candidates that you can choose from."
    return Check("lost-sessions", WARN, text, remedy)
