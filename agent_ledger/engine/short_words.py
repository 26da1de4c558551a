"""What `/ledger` says in a chat: at most 1,200 characters, and nothing that a chat platform acts upon.

What an agent wrote stands as one code span: a gateway sends no file whose path stands in one, and a platform calls
nobody by a name in it. No evidence of a finding is quoted: the rule and the call say where to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .glance import SCORED_AT_ONCE
from .inert import clip, inert
from .notice import age_text
from .posture import Posture
from .posture.catalogue import EXTENSION
from .records import STATES
from .redact import redact_text
from .severity import SEVERITIES, SEVERITY_WEIGHT

LIMIT = 1200
"""Characters of an answer."""

_FOR_WAITING = 100
"""Characters of them for what `with_waiting` adds."""

ITEMS = 10
_EXCERPT = 60
_NAME = 40

HELP = """\
What is recorded of this conversation:
/ledger: calls by state, and the posture
/ledger ghosts: calls that were never confirmed
/ledger posture: the score, and what it is made of
/ledger help: this
Nothing is changed, and no other chat is shown. `ledger-tui` on the machine shows all of it."""

NOT_TOLD = (
    "This host does not tell a plugin which chat is asking, so nothing is shown here;"
    " `hermes ledger` or `ledger-tui` on its machine shows everything."
)
NO_CONVERSATION = "Hermes keeps no conversation with this chat in this home, so nothing is recorded of it here."
NOTHING = "Nothing is recorded of this conversation."
TROUBLE = "The ledger cannot be asked right now; `ledger-tui doctor` on its machine says why."

Row = Mapping[str, Any]


def status(counts: Mapping[str, int], posture: Posture) -> str:
    """The conversation in three lines."""
    if not counts["rows"]:
        return NOTHING
    states = ", ".join(f"{counts[name]:,} {name}" for name in STATES if counts[name])
    calls = _calls(counts["rows"])
    head = f"T{calls[1:]}" if calls.startswith("the") else f"{calls} recorded"
    lines = [f"{head} of this conversation: {states}."]
    if counts["overdue"] + counts["ghost"]:
        lines.append("Overdue and ghost calls were never confirmed: /ledger ghosts")
    found = _amount(len(posture.findings), "finding")
    lines.append(f"Posture {posture.score} with {found}, of what was recorded, and no proof: /ledger posture")
    return "\n".join(lines)


def ghosts(rows: Sequence[Row]) -> str:
    """Lost calls, the newest first, as many as there is room for."""
    if not rows:
        return "No call of this conversation is lost: each was settled, or is within its time."
    head = f"{_amount(len(rows), 'call')} of this conversation never confirmed. Look at the real state first:"
    return _fitted([head], [_lost(row) for row in reversed(rows)], "ledger-tui calls --state ghost,overdue")


def _lost(row: Row) -> str:
    age = "an unknown time" if row["age_s"] is None else age_text(row["age_s"])
    found = f", {inert(row['verdict'])}" if row["verdict"] else ""
    args = row["args"] if isinstance(row["args"], str) else _flat(row["args"])
    return f"#{row['id']} {row['state']} {name(row['tool_name'])} {excerpt(args)} {age} ago{found}"


def _flat(args: Any) -> str:
    """Arguments by their values, which say more in so little room than names do."""
    if isinstance(args, dict):
        return "; ".join(f"{key}: {value}" for key, value in args.items())
    return "" if args is None else str(args)


def posture(found: Posture) -> str:
    """The arithmetic of one conversation's score, then its findings, the heaviest first."""
    if found.score is None:
        return NOTHING
    counts = found.severities()
    parts = [f"{counts[one]} {one} x {SEVERITY_WEIGHT[one]}" for one in SEVERITIES if counts[one]]
    lines = [f"Posture of this conversation: {found.score}, from {_calls(found.rows)}."]
    lines.append(f"100 - ({' + '.join(parts)}) = {found.score}" if parts else "Nothing in it looked suspicious.")
    heaviest = sorted(found.findings, key=lambda one: (-one.weight, one.ledger_id))
    limits = "It rests on what was recorded of the agent by its own host: a sign of hygiene, no proof."
    return _fitted([*lines, limits], [_finding(one) for one in heaviest], "ledger-tui posture")


def _finding(one: Any) -> str:
    asi = f"{one.asi} (extension)" if one.asi in EXTENSION else one.asi
    return f"-{one.weight} {asi} {one.rule}, #{one.ledger_id} {name(one.tool_name)}"


def name(tool_name: str) -> str:
    """A tool's name as a code span, with nothing in it that could end one."""
    return "`" + clip("".join(c if c.isalnum() or c in "-." else "_" for c in tool_name), _NAME) + "`"


_DIRECTIVES = re.compile(r"MEDIA(?=\s*:)|!(?=\[)|<(?=[a-z!@#])|\[(?=\[)|@", re.IGNORECASE)
"""What gateways and platforms act upon, some of them even within a code span."""


def excerpt(text: str) -> str:
    """The start of a text as one code span that ends where we end it; secrets are looked for once more."""
    clean = redact_text(inert(text).replace("`", "'"))[0]
    return "`" + clip(_DIRECTIVES.sub(lambda found: f"{found[0]} ", clean), _EXCERPT).strip() + "`" if clean else "``"


def with_waiting(answer: str, records: int) -> str:
    """An answer, and how many of the conversation's records are not in the ledger yet."""
    if not records:
        return answer
    waiting = f"{_amount(records, 'record')} of this conversation"
    return f"{answer}\nStill waiting to be written, and not in this answer: {waiting}."


def _fitted(head: Sequence[str], items: Sequence[str], more: str) -> str:
    """`head`, then items while they fit; what does not is counted, with the command that shows it."""
    shown = min(len(items), ITEMS)
    while True:
        text = "\n".join([*head, *items[:shown], *_left(len(items) - shown, more)])
        if len(text) <= LIMIT - _FOR_WAITING or not shown:
            return text
        shown -= 1


def _left(number: int, more: str) -> Iterable[str]:
    if number:
        yield f"and {number:,} more: `{more}` on the machine"


def _calls(number: int) -> str:
    """Of a very long conversation the oldest calls are left out, and that is said."""
    calls = _amount(number, "call")
    return calls if number < SCORED_AT_ONCE else f"the newest {calls}"


def _amount(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
