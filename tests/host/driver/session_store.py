"""Runs in the host's own interpreter: what its session store says of files. `session_store.py PLAN`.

The plan is a JSON list of `{path, peers, ids}`; one line of JSON per file answers `{listed, resolved, tips, lost}` or
`{error}`: the sessions of the host's own list with the rows that they stand for, the id that its search after a restart
finds for each peer (null where none), the tip of the compaction chain of each id, and what its own finder would still
adopt (null where it has none).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def ask(one: dict[str, Any]) -> dict[str, Any]:
    from hermes_state import SessionDB

    store = SessionDB(db_path=Path(one["path"]))
    try:
        listed = store.list_sessions_rich(limit=10_000)
        found = [store.find_latest_gateway_session_for_peer(**peer) for peer in one["peers"]]
        return {
            "listed": [[row["id"], row.get("_lineage_root_id")] for row in listed],
            "resolved": [row["id"] if row else None for row in found],
            "tips": {key: store.get_compression_tip(key) for key in one["ids"]},
            "lost": lost(store),
        }
    finally:
        store.close()


def lost(store: Any) -> list[str] | None:
    finder = getattr(store, "find_orphaned_gateway_sessions", None)
    return None if finder is None else [row["orphan_id"] for row in finder() if row["adoptable"]]


def main(plan: Path) -> None:
    for one in json.loads(plan.read_text(encoding="utf-8")):
        try:
            said = ask(one)
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print("ANSWER " + json.dumps(said), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
