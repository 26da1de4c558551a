"""A person deletes old rows that another host has amended: the next call still follows the last record."""

from __future__ import annotations

import contextlib
import sqlite3

from .children import Child
from .rounds import CALLS, FaultHome, chain


def test_rows_deleted_after_another_host_spoke_of_them(fault_home: FaultHome) -> None:
    """The head of a host was remembered before; what the other host added since stands in `amendment` only."""
    fault_home.run(f"{CALLS}\nstart(); merged(); calls('old', 4)\nos.kill(os.getpid(), 9)")
    host = f"{CALLS}\nstart(); merged()\nsay('ready')\nfor line in sys.stdin: exec(line); say('did')"
    with fault_home.child(host) as one, fault_home.child(host) as other:
        for child, word in ((one, "ready"), (other, "ready")):
            while child.line() != word:
                pass

        def do(child: Child, order: str) -> None:
            child.tell(order)
            while (line := child.line()) != "did":
                fault_home.enter(line)

        do(one, "calls('one', 3)")
        do(other, "turn()")  # Reports old-0 and old-3 as ghosts: their writer is gone.
        assert [row["status"] for row in fault_home.rows()].count("GHOST_REPORTED") == 2
        with contextlib.closing(sqlite3.connect(fault_home.paths.ledger, timeout=10)) as person, person:
            person.execute("DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT 3)")
        do(one, "calls('later', 2)")
        do(other, "calls('last', 2)")
    assert chain(fault_home.paths.ledger) == "whole"
