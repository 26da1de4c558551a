"""The scenarios by name, and the lost cron job that hermes-agent #90985 reports."""

from __future__ import annotations

from dataclasses import replace

from ledger_tui.demo.desk import DESK, DESK_LIVE, SWITCHES
from ledger_tui.demo.everyday import EVERYDAY, HOUR
from ledger_tui.demo.incident import incidents
from ledger_tui.demo.making import cron, lost
from ledger_tui.demo.operations import OPERATIONS
from ledger_tui.demo.story import Call, Chat, Compaction, Scenario, Turn

NEXT_TURN_S = 135.0
"""From losing a cron job to the next turn: just past the two minutes that such a call is given."""


def lost_cron_job(at: float, name: str, schedule: str, wish: str, doubt: str) -> tuple[Turn, Turn]:
    """A cron job is issued and the conversation compacted before it exists; the agent says it is done all the same.

    In the next turn the plugin's notice tells of it, and the agent looks instead of believing itself.
    """
    return (
        Turn(
            at,
            wish,
            (lost(cron(name, schedule, wish)),),
            "Done, the reminder is set.",
            Compaction(f"The user asked: {wish!r} The assistant took care of it."),
        ),
        Turn(
            at + NEXT_TURN_S,
            doubt,
            (Call("cronjob", {"action": "list"}, {"jobs": ["keys"]}, 0.4),),
            "I said so, but nothing confirms it, and the job is not in the list. Shall I set it up again?",
        ),
    )


def _reminders(opens_with: float) -> Chat:
    """`opens_with`: when, in seconds from the opening, the second job is lost."""
    first = lost_cron_job(
        -5.4 * HOUR,
        "evening-pills",
        "0 21 * * *",
        "Remind me every evening at nine to take my pills.",
        "Is the reminder for tonight set?",
    )
    second = lost_cron_job(
        opens_with,
        "bins",
        "0 19 * * 4",
        "Remind me on Thursdays at seven to put the bins out.",
        "You did set the one for the bins, didn't you?",
    )
    return Chat(
        name="reminders",
        source="telegram",
        title="Evening reminders",
        user_id="70010044",
        chat_id="70010044",
        chat_type="dm",
        turns=(*first, *second),
    )


_PAST = (*EVERYDAY, *OPERATIONS)

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "everyday",
            "Chats, a night job and work at the machine; some of it is lost on the way.",
            (*_PAST, replace(DESK, turns=DESK.turns + DESK_LIVE), _reminders(-95.0)),
            frozenset({"cottage", "ops", "site"}),
            SWITCHES,
        ),
        Scenario(
            "lost-cron",
            "The same past; then only the chat in which a cron job is lost to a compaction (hermes-agent #90985).",
            (*(replace(chat, small_talk=()) for chat in _PAST), DESK, _reminders(-110.0)),
            frozenset(),
            SWITCHES,
        ),
        *incidents((*_PAST, DESK, _reminders(-110.0))),
    )
}

DEFAULT = "everyday"
