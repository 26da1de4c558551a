"""Runs the verifiers over the corpus and sets their word against what became of the calls.

`python -m tests.evidence.corpus.judged` prints the table of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine.evidence import ABSENT, LANDED, UNKNOWN, Verdict, recorded, verify
from agent_ledger.engine.queries import COLUMNS_QUERY

from .pack import Unpacked

LATER_S = 3600.0
"""When somebody asks: an hour after the making, when no call can still be at work."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One call of the corpus and its verdict."""

    case: Mapping[str, Any]
    verdict: Verdict

    @property
    def name(self) -> str:
        return f"{self.case['host']} {self.case['kind']} {self.case['name']}"

    @property
    def wrong(self) -> bool:
        """Landed said of what did not land whole, or absent of what did at least in part."""
        return self.verdict.verdict not in (UNKNOWN, self.case["truth"])

    @property
    def missed(self) -> bool:
        return bool(self.case["knowable"]) and self.verdict.verdict == UNKNOWN

    def __str__(self) -> str:
        said = f"{self.case['truth']}, said {self.verdict.verdict}"
        return f"{self.name} ({said}): {' '.join(self.verdict.evidence)}"


def judged(index: Mapping[str, Any], folder: Path) -> list[Judged]:
    """Every call of the corpus through `verify`, home by home."""
    homes: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for case in index["cases"]:
        homes.setdefault((case["host"], case["home"]), []).append(case)
    return [one for (host, home), cases in homes.items() for one in _home(cases, folder / host / home, index["made"])]


def _home(cases: list[Mapping[str, Any]], place: Path, made: float) -> Iterable[Judged]:
    facts = Unpacked(Path(cases[0]["root"]), place, now=made + LATER_S)
    try:
        for case in cases:
            yield Judged(case, verify(_row(facts, case), facts))
    finally:
        facts.close()


def _row(facts: Unpacked, case: Mapping[str, Any]) -> recorded.Recorded:
    assert facts.ledger is not None
    columns = {name for (name,) in facts.ledger.execute(*COLUMNS_QUERY)}
    where = "WHERE session_id = ? AND tool_name = ? ORDER BY id LIMIT 1 OFFSET ?"
    sql, params = recorded.query(columns, where, (case["chat"], case["tool"], case["nth"] - 1))
    rows = facts.ledger.execute(sql, params).fetchall()
    assert len(rows) == 1, f"{case['chat']} was not recorded"
    row = rows[0]
    found = recorded.from_row(row)
    assert found.unsettled, f"{case['chat']} was confirmed"
    return found


def table(found: Iterable[Judged]) -> str:
    """Verdicts by kind and by what became of the call, then the knowable ones that stayed unknown."""
    counts: Counter[tuple[str, str, str]] = Counter()
    knowable: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    kinds: dict[str, None] = {}
    for one in found:
        kind = str(one.case["kind"])
        kinds[kind] = None
        group = str(one.case["group"])
        word = "wrong" if one.wrong else one.verdict.verdict
        counts[kind, group, word] += 1
        knowable[kind] += bool(one.case["knowable"])
        missed[kind] += one.missed
    head = (
        "| tool | cut before: absent / unknown | after: landed / unknown | nobody: told / unknown | wrong | knowable"
        " | of these unknown |"
    )
    lines = [head, "|" + " --- |" * 7]
    for kind in kinds:
        at = {key[1:]: number for key, number in counts.items() if key[0] == kind}
        told = sum(number for (group, word), number in at.items() if group == "nobody" and word in (LANDED, ABSENT))
        wrong = sum(number for (_, word), number in at.items() if word == "wrong")
        share = f"{missed[kind]} ({missed[kind] / knowable[kind]:.0%})" if knowable[kind] else "–"
        lines.append(
            f"| {kind} | {at.get(('before', ABSENT), 0)} / {at.get(('before', UNKNOWN), 0)}"
            f" | {at.get(('after', LANDED), 0)} / {at.get(('after', UNKNOWN), 0)}"
            f" | {told} / {at.get(('nobody', UNKNOWN), 0)} | {wrong} | {knowable[kind]} | {share} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Prints the table and names what stayed unknown."""
    import tempfile

    from .pack import unpack

    with tempfile.TemporaryDirectory() as name:
        found = judged(unpack(Path(name)), Path(name))
    for host in dict.fromkeys(one.case["host"] for one in found):
        print(f"Hermes {host}\n\n{table(one for one in found if one.case['host'] == host)}\n")
    for title, chosen in (
        ("Wrong", [one for one in found if one.wrong]),
        ("Missed", [one for one in found if one.missed]),
    ):
        print(f"{title}: {len(chosen)}", *map(str, chosen), sep="\n- ")


if __name__ == "__main__":
    main()
