"""docs/posture.md: its example is worked out again, and its rules are those of the code."""

from __future__ import annotations

import re

from agent_ledger.engine.posture import LIMITS, asi01, asi02, asi08, asi11, memory, score, telegram
from agent_ledger.engine.posture.acts import ASI_OF
from agent_ledger.engine.severity import SEVERITY_WEIGHT
from tests.docs.pages import ROOT, code, page, sections, table

from .ledgers import row, scored

PAGE = page("posture.md")
PARTS = sections(PAGE)


def test_the_weights_and_the_limits() -> None:
    assert {name: int(points) for name, points in table(PAGE)} == SEVERITY_WEIGHT
    assert all(f"- {limit}\n" in PARTS["What a score does not say"] for limit in LIMITS)


def test_the_example_worked_out_again() -> None:
    part = PARTS["With a pencil"]
    calls = [[cell.strip("`") for cell in cells] for cells in table(part)]
    posture = scored(row(int(number), tool, args, status=status) for number, tool, args, status in calls)
    left, worked = 100, []
    for one in posture.findings:
        left -= one.weight
        calls_of = ", ".join(map(str, one.rows))
        worked.append([f"{one.severity} `{one.rule}` ({one.asi})", calls_of, str(one.weight), str(left)])
    assert table(part[part.index("| finding |") - 1 :]) == worked
    assert posture.score == left == 100 - 15 - 3 - 8


def described() -> dict[str, tuple[str, str, str]]:
    """Rule to (id, severity, when) of both tables."""
    rows = [*table(PARTS["Rules over several calls"]), *table(PARTS["Rules over one call"])]
    return {cells[0].strip("`"): (cells[1], cells[2], cells[3]) for cells in rows}


def test_every_rule_of_the_code_is_described_and_no_other() -> None:
    folder = ROOT / "agent_ledger" / "engine" / "posture"
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
    named = set(re.findall(r'finding\(\s*"([a-z-]+)", "ASI', source))
    named |= set(re.findall(r'\("([a-z]+-[a-z]+)", (?:HIGH|MEDIUM), _', source))
    named |= {"failing-retries", "blind-repeats", "lost-calls", "doubled-calls"}
    assert set(described()) == named


def test_kinds_of_acts_stand_under_their_ids() -> None:
    part = PARTS["Rules over one call"]
    rows = {cells[0]: set(code(cells[1])) for cells in table(part[part.index("| id | kinds |") - 1 :])}
    assert rows.pop("ASI02") == set()
    assert rows == {asi: {kind for kind, of in ASI_OF.items() if of == asi} for asi in rows}
    assert set(rows) == set(ASI_OF.values())


def test_the_thresholds() -> None:
    when = {rule: text for rule, (_, _, text) in described().items()}
    for rule, numbers in {
        "hijack-chain": (asi01.CHAIN_S / 60,),
        "call-burst": (memory.BURST_CALLS, memory.BURST_S),
        "credential-sweep": (asi02.SECRETS, asi02.SECRETS_S / 60),
        "error-burst": (memory.ERRORS, memory.ERRORS_S),
        "failing-retries": (asi08.RETRIES,),
        "blind-repeats": (asi08.REPEATS, asi08.REPEATS_S / 60),
        "lost-calls": (asi08.LOST,),
        "timeouts-spread": (asi08.SPREAD, asi08.SPREAD_S / 60),
        "many-tools": (asi11.TOOLS,),
        "delegate-fan-out": (memory.FAN_OUT, memory.FAN_OUT_S / 60),
        "cron-series": (memory.CRONS, memory.CRONS_S / 60),
    }.items():
        assert [int(number) for number in re.findall(r"\d+", when[rule])] == [int(number) for number in numbers], rule


def test_what_is_remembered() -> None:
    text = " ".join(PARTS["While it is watched"].split())
    assert f"{score.SESSIONS:,} sessions" in text
    assert f"{score.OPEN_ROWS:,} unsettled calls" in text
    assert f"{score.KEPT} written files" in text


def test_the_daily_page() -> None:
    text = page("daily.md")
    assert f"{telegram.LIMIT:,} UTF-16 units" in text
    assert f"{telegram.LONGEST_WAIT_S:.0f} seconds" in text
