"""Check of the tool policy: can its file be used?"""

from __future__ import annotations

from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.load import load
from agent_ledger.engine.policy.mode import mode_of
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.place import Place

NAME = "policy"


def tool_policy(place: Place) -> Check:
    """The file, judged by the mode that is set."""
    mode = mode_of(place.data / "policy_mode").value
    path = place.data / "policy.json"
    on = mode in ("dry_run", "enforce")
    refused = " Until that is mended calls that change something are refused." if mode == "enforce" else ""
    if not path.exists():
        if not on:
            return Check(NAME, OK, "There is no tool policy.")
        remedy = "Copy policy.example.json from the plugin's folder there, or write off into policy_mode."
        return Check(NAME, FAIL, f"The mode is {mode}, but there is no {path}.{refused}", remedy)
    loaded = load(path)
    if isinstance(loaded, PolicyError):
        remedy = "Mend that line; ledger-tui policy lint checks it again."
        return Check(NAME, FAIL if on else WARN, f"{loaded}.{refused}", remedy)
    return Check(NAME, OK, f"The tool policy is in order; {len(loaded.rules)} rules are on.")
