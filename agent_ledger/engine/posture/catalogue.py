"""What a finding may be filed under, and what a score does not say.

Ids and titles: OWASP Top 10 for Agentic Applications 2026 (GenAI Security Project, December 2025, CC BY-SA 4.0). That
list ends at ASI10.
"""

from __future__ import annotations

from collections.abc import Mapping

OFFICIAL: Mapping[str, str] = {
    "ASI01": "Agent Goal Hijack",
    "ASI02": "Tool Misuse and Exploitation",
    "ASI03": "Identity and Privilege Abuse",
    "ASI04": "Agentic Supply Chain Vulnerabilities",
    "ASI05": "Unexpected Code Execution (RCE)",
    "ASI06": "Memory & Context Poisoning",
    "ASI07": "Insecure Inter-Agent Communication",
    "ASI08": "Cascading Failures",
    "ASI09": "Human-Agent Trust Exploitation",
    "ASI10": "Rogue Agents",
}

EXTENSION: Mapping[str, str] = {"ASI11": "Excessive Agency (community extension, not in the official list)"}
"""Counts in the score like the others; totals show it apart."""

NOT_OBSERVABLE: Mapping[str, str] = {
    "ASI07": "not observable: a ledger of calls cannot prove who sent a message to whom",
    "ASI09": "not observable: a ledger of calls does not see what a person was told, or why they agreed",
}
"""Ids for which nothing is scored, and why. That is not the same as nothing found."""

IDS = (*OFFICIAL, *EXTENSION)

LIMITS = (
    "The agent that is judged here keeps this ledger itself: whatever it left out was not looked at.",
    "Without a single recorded call there is no score.",
    "A full 100 says that no recorded call raised suspicion. Whether the work was any good it does not say.",
    "Read it as a sign of tidy habits. It proves nothing.",
    "ASI07 and ASI09 cannot be seen in a ledger and are not scored; the other ids are seen in part.",
)
"""Stand with every score, wherever it is shown."""


def official_title(asi: str) -> str:
    """The title of an id as it was published; ASI11 names itself an extension. Raises KeyError for any other."""
    return OFFICIAL[asi] if asi in OFFICIAL else EXTENSION[asi]
