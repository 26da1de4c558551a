"""The kinds of acts that a rule of the tool policy may name, and rules whose kinds no call ever has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from agent_ledger.engine.policy.rules import Rule, named

KINDS = (
    "account-delete", "branch-delete", "bulk-delete", "checks-skipped", "cloud-change", "cloud-delete",
    "container-delete", "credential-read", "cut", "database-change", "database-drop", "decode-to-shell", "disk-write",
    "download-then-run", "eval", "exfiltration", "force-push", "guard-down", "heredoc-code", "history-rewrite",
    "inline-code", "kill-host", "ledger-touch", "log-wipe", "mirror-delete", "overwrite", "permissions-open",
    "persistence", "pipe-to-shell", "privilege", "recursive-delete", "remote-delete", "reverse-shell",
    "schedule-delete", "secret-overwrite", "service-stop", "supply-chain", "system-file", "unreadable", "work-discard",
)  # fmt: skip


def never(rules: Iterable[Rule]) -> Iterator[tuple[str, str, str]]:
    """(rule, kind, the kind that it looks like or "") of each kind that means nothing: most likely it is mistyped.

    Such a policy is used all the same: a newer plugin may know the kind, and under `enforce` a policy that cannot be
    used stops all work.
    """
    for rule in rules:
        for kind in rule.kinds:
            if not any(named((kind,), one) for one in KINDS):
                yield rule.name, kind, next(iter(difflib.get_close_matches(kind, KINDS, 1)), "")


def told(rule: str, kind: str, near: str) -> str:
    """One sentence, not yet inert."""
    meant = f"; did you mean {near}?" if near else ""
    return f"Rule {rule}: no call is ever of the kind {kind!r}{meant or '.'}"
