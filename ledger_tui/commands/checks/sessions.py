"""Checks of the host's session store: can it be read, is a conversation lost in it, did a repair end well?"""

from __future__ import annotations

import os

from ledger_tui.commands import surveys
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.routing.repair import journal
from ledger_tui.routing.repair.undo import repairs
from ledger_tui.routing.survey import Survey
from ledger_tui.sources.guard import SourceError


def sessions(place: Place, *, quiet: bool = True) -> tuple[list[Check], SourceError | None]:
    """The checks `sessions` and `lost-sessions`; and why the store cannot be read. Raises CommandError."""
    if not place.state_exists():
        return [Check("sessions", OK, f"The host has stored no session yet ({place.state} is not there).")], None
    try:
        found = surveys.surveyed(place, quiet=quiet)
    except SourceError as error:
        return [
            Check("sessions", FAIL, f"{error.path} {error.reason}.", f"{error.remedy[:1].upper()}{error.remedy[1:]}.")
        ], error
    number = amount(len(found.store.sessions), "session")
    return [Check("sessions", OK, f"The host's store holds {number}."), _lost(found)], None


def _lost(found: Survey) -> Check:
    """Am I affected? Only chats of messaging platforms can be (hermes-agent #82616)."""
    lost = {one.orphan_id: one.adoptable for one in found.troubling}
    lost |= {one.orphan_id: True for one in found.further if one.adoptable and one.gateway and one.orphan_id in lost}
    back = sum(one.grade != "dormant" and (one.session_id, "zombie") not in found.ignored for one in found.zombies)
    if not (lost or back):
        return Check("lost-sessions", OK, "You are not affected: no chat has lost the way to its conversation.")
    rows = amount(len(lost), "conversation has lost its chat", "conversations have lost their chat")
    chats = amount(back, "chat falls", "chats fall")
    text = f"You are affected: {rows}, and {chats} back into an older talk with the gateway's next restart."
    ready = sum(lost.values())
    if ready:
        return Check(
            "lost-sessions", WARN, text, f"Run: ledger-tui repair-routing, which can take back {ready} of them."
        )
    remedy = "Run: ledger-tui repair-routing, which names what you may choose from."
    return Check("lost-sessions", WARN, text, remedy)


def mended(place: Place) -> Check:
    """Repairs of this home: none may be left where its process died, and each journal must be readable for an undo."""
    odd = journal.unreadable(place.home)
    cut_short = [one for one in repairs(place.home) if one.crashed]
    if cut_short:
        remedy = f"Run: ledger-tui --state {cut_short[-1].store} repair-undo, which first brings it to an end."
        return Check("repairs", WARN, f"A repair was cut short. {cut_short[-1].text}.", remedy)
    if journal.folder(place.home) in odd:
        text = f"{journal.folder(place.home)} cannot be looked into, so whether a repair was cut short is not known."
        return Check("repairs", UNKNOWN, text, "Look as its owner.")
    if odd:
        remedy = "Keep it and the copy beside it: by that copy the rows can be put back by hand."
        return Check(
            "repairs", WARN, f"{odd[-1]} cannot be read or understood, so its repair cannot be undone.", remedy
        )
    return _backups(place)


def _backups(place: Place) -> Check:
    """Is the copy there that was made before each repair which is in effect?"""
    gone = [one for one in repairs(place.home) if one.state == journal.APPLIED and not os.path.isfile(one.backup)]
    if not gone:
        return Check("repairs", OK, "No repair was cut short.")
    others = f" (and of {len(gone) - 1} more)" if len(gone) > 1 else ""
    return Check(
        "repairs",
        WARN,
        f"The copy {gone[-1].backup}, made before repair {gone[-1].repair_id}, is gone{others}: it can still be undone"
        " cell by cell, but nothing is left to compare with.",
        "Put the copy back if you moved it; else see that the chats are well, and make a copy of the store as it is.",
    )
