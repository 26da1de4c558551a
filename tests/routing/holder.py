"""A host's stand-in in a process of its own: holds a store, writes to it all the time, and counts what failed.

Arguments: store, journal mode, busy timeout in seconds. Says `ready`; on a line of input it stops and prints JSON.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time

_INSERT = "INSERT INTO messages(session_id, role, content, timestamp) VALUES('live', 'user', 'x', ?)"


def _wait(stop: threading.Event) -> None:
    sys.stdin.readline()
    stop.set()


def main() -> None:
    path, mode, busy = sys.argv[1], sys.argv[2], float(sys.argv[3])
    connection = sqlite3.connect(path, isolation_level=None, timeout=busy)
    connection.execute(f"PRAGMA journal_mode={mode}")
    stop = threading.Event()
    threading.Thread(target=_wait, args=(stop,), daemon=True).start()
    written, failed, slowest = 0, 0, 0.0
    print("ready", flush=True)
    while not stop.is_set():
        began = time.monotonic()
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_INSERT, (time.time(),))
            connection.execute("COMMIT")
            written += 1
        except sqlite3.OperationalError:
            failed += 1
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.002)
    connection.execute("UPDATE sessions SET message_count = ? WHERE id = 'live'", (written,))
    print(json.dumps({"written": written, "failed": failed, "slowest": slowest}), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
