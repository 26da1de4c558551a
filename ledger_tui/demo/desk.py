"""A guest house's desk, whose chat the two policies have something to say about. Every name and number is invented."""

from __future__ import annotations

from ledger_tui.demo.making import mcp, read, shell, write
from ledger_tui.demo.story import Chat, Switch, Turn

HOUR = 3600.0

SWITCHES = (Switch(-8.0 * HOUR, "enforce", prompts=True), Switch(-6.5 * HOUR, "dry_run", prompts=True))
"""Somebody tried the prompt policy in earnest for a morning."""

DESK = Chat(
    name="desk",
    source="telegram",
    title="Guest house desk",
    user_id="70010077",
    chat_id="70010077",
    chat_type="dm",
    turns=(
        Turn(-7.9 * HOUR, "Who cleans room 4 today?", (read("desk/rota.md"),), "Ilse does, at eleven."),
        Turn(-7.2 * HOUR, "Guest KD-204417 says that her bill is wrong. Please put it right."),
        Turn(
            -7.1 * HOUR,
            "A guest says that her bill is wrong. Where does that go?",
            (),
            "Into the ticket system, with her number: it is none of mine.",
        ),
        Turn(
            -4.3 * HOUR,
            "Tell sheets@laundry.example that we need twelve sets on Friday.",
            (mcp("mail__send", {"to": "the laundry", "subject": "Twelve sets, Friday"}, {"sent": True}),),
            "Ordered.",
        ),
        Turn(
            -1.5 * HOUR,
            "Throw away the scans of last year's forms, there is no room left.",
            (
                write("desk/tidy.sh", "rm -r desk/scans/2030\n"),
                shell("sh desk/tidy.sh", takes=3.0),
                shell("df -h desk", "4.1G free", takes=0.3),
            ),
            "They are gone; there are 4 GB again.",
        ),
    ),
)

DESK_LIVE = (
    Turn(
        25.0,
        "And the scans of the year before.",
        (shell("rm -r desk/scans/2029", takes=2.0),),
        "They are gone too.",
    ),
    Turn(
        60.0,
        "Room 2 wants her deposit back on DE89 3704 0044 0532 0130 00.",
        (mcp("bank__prepare_refund", {"room": 2, "eur": 60}, {"draft": "r-19"}),),
        "The refund is prepared; a person has to release it.",
    ),
)
"""While somebody watches."""
