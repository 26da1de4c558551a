"""Check of a policy, the tools' and the prompts': can its file be used?"""

from __future__ import annotations

import os

from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.mode import mode_of
from agent_ledger.engine.policy.rules import ToolPolicy
from ledger_tui.commands import act_kinds
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.commands.policy_file import Kind


def policy_file(place: Place, kind: Kind) -> Check:
    """The file, judged by the mode that is set."""
    mode = mode_of(place.data / kind.mode).value
    path = place.data / kind.file
    on = mode in ("dry_run", "enforce")
    refused = f" Until that is mended {kind.refused}." if mode == "enforce" else ""
    if not os.path.lexists(path):
        if not on:
            return Check(kind.command, OK, f"There is no {kind.title}.")
        remedy = f"Copy {kind.example.name} from the plugin's folder there, or write off into {kind.mode}."
        return Check(kind.command, FAIL, f"The mode is {mode}, but there is no {path}.{refused}", remedy)
    loaded = kind.load(path)
    if isinstance(loaded, PolicyError):
        remedy = f"Mend that line; ledger-tui {kind.command} lint checks it again."
        return Check(kind.command, FAIL if on else WARN, f"{loaded}.{refused}", remedy)
    never = list(act_kinds.never(loaded.rules)) if isinstance(loaded, ToolPolicy) else []
    if never:
        remedy = f"Write one of the kinds of docs/policy.md; ledger-tui {kind.command} lint names every such rule."
        return Check(kind.command, WARN if on else OK, inert(act_kinds.told(*never[0])), remedy if on else "")
    rules = amount(len(loaded.rules), "rule")
    return Check(kind.command, OK, f"The {kind.title} is in order, with {rules} switched on.")
