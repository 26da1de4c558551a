"""The Policy screen by its keys, and how it follows files and decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from screens.call_details import CallDetailsScreen
from screens.policy import PolicyScreen, rules_height
from widgets.policy_tables import RefusalTable, RuleTable

from .conftest import Run, Start
from .ledgers import Ledger
from .policies import note, some_decisions, write_mode, write_policy
from .risky import DELETE


async def shown(run: Run) -> PolicyScreen:
    """The Policy screen in front, with files and decisions read."""
    await run.press("4")
    await run.until(lambda: isinstance(run.front(), PolicyScreen), "the Policy screen")
    screen = run.front()
    assert isinstance(screen, PolicyScreen)
    await run.until(lambda: screen.model.state is not None and screen.model.read, "files and decisions")
    await run.pilot.pause()
    await run.until(run.drawn, "every list drawn")
    return screen


def a_host(ledger: Ledger, version: str) -> None:
    ledger.db.execute(
        "INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts, host_version)"
        " VALUES(1, '1', 'b', 'n', 'm', '2026-05-30T00:00:00.000Z', ?)",
        (version,),
    )


def decided(screen: PolicyScreen) -> list[tuple[str, int | None]]:
    """(rule, call) of the decisions in view, from the top."""
    return [(str(one.rule), one.ledger_id) for one in map(screen.model.view.at, range(len(screen.model.view)))]


async def test_without_a_policy_everything_is_off(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        await shown(run)
        await run.until_shown("Tool policy    off", "Prompt policy  off", "no rules: there is no policy.json")
        await run.until_shown("nothing is noted while the policy is off")


async def test_rules_with_hits_and_the_decisions(ledger: Ledger, start: Start) -> None:
    calls = some_decisions(ledger)
    write_policy(ledger)
    async with start() as run:
        screen = await shown(run)
        held = {rule.name: rule.hits for rule in screen.model.rules.rows}
        assert held == {"deletes": 2, "downloads-that-run": 0, "secrets": 1, "calls-of-terminal": 0}
        assert decided(screen) == [("deletes", calls[3]), ("secrets", calls[1]), ("deletes", calls[0])]
        await run.until_shown("Tool policy    dry_run", "3 decisions", "at most 500 calls · tools terminal", "○ noted")


async def test_new_decisions_are_shown_as_they_come(ledger: Ledger, start: Start) -> None:
    calls = some_decisions(ledger)
    write_policy(ledger)
    async with start() as run:
        screen = await shown(run)
        note(ledger, "secrets", calls[2], ago=5, mode="enforce")
        await run.until_shown("4 decisions", "✗ refused")
        assert decided(screen)[0] == ("secrets", calls[2])
        assert {rule.name: rule.hits for rule in screen.model.rules.rows}["secrets"] == 2


async def test_changed_files_are_shown(ledger: Ledger, start: Start) -> None:
    write_policy(ledger)
    async with start() as run:
        await shown(run)
        write_mode(ledger.paths.policy_mode, "enforce")
        await run.until_shown("Tool policy    enforce  refuses calls")
        write_mode(ledger.paths.policy_mode, "enforced")
        await run.until_shown("invalid  ✗ 'enforced' is no mode", "(seen here: enforce)")
        write_policy(ledger, mode="off", rules=[{"name": "only-this", "tools": ["terminal"]}])
        await run.until_shown("Tool policy    off", "only-this")


async def test_a_broken_policy_names_its_line(ledger: Ledger, start: Start) -> None:
    write_policy(ledger, mode="enforce")
    (ledger.paths.data / "policy.json").write_text('{\n  "rules": [\n    nonsense\n  ]\n}\n', "utf-8")
    async with start((130, 30)) as run:
        await shown(run)
        await run.until_shown(
            "✗ policy.json, line 3", "every call that changes something is refused until it is mended"
        )


async def test_a_host_that_ignores_blocks_is_called_advisory(ledger: Ledger, start: Start) -> None:
    write_mode(ledger.paths.prompt_policy_mode, "enforce")
    a_host(ledger, "0.22.2")
    async with start() as run:
        await shown(run)
        await run.until_shown("advisory on this host: Hermes 0.22.2 ignores it")


async def test_a_host_that_honours_blocks_is_named(ledger: Ledger, start: Start) -> None:
    write_mode(ledger.paths.prompt_policy_mode, "enforce")
    a_host(ledger, "0.22.6")
    async with start((120, 30)) as run:
        await shown(run)
        await run.until_shown("Hermes 0.22.6 ends such a turn", "There is no prompt_policy.json")


async def test_t_tries_a_command_by_the_rules_of_the_home(ledger: Ledger, start: Start) -> None:
    write_policy(ledger)
    async with start() as run:
        await shown(run)
        await run.press("t")
        await run.type(f"bash -c '{DELETE}'")
        await run.press("enter")
        await run.until_shown("✗ block · deletes · CRITICAL", "Ask first.", f"reads as: {DELETE}")
        assert "example" not in run.text
        await run.press("t", "ctrl+u")
        await run.type("make test")
        await run.press("enter")
        await run.until_shown("✓ allow · no rule means it", "reads as: make test")
        await run.press("x")
        assert "✓ allow" not in run.text


async def test_what_was_tried_before_counts_until_x(ledger: Ledger, start: Start) -> None:
    write_policy(ledger)
    async with start((120, 30)) as run:
        await shown(run)
        for command in (f"echo '{DELETE}' > tidy.sh", "sh tidy.sh"):
            await run.press("t", "ctrl+u")
            await run.type(command)
            await run.press("enter")
            await run.until_shown("reads as: " + command.split()[0])
        await run.until_shown("✗ block · deletes", "which call 1 wrote")
        await run.until_shown("considered: the 2 commands tried so far", "no recorded call; call 1 was echo")
        await run.press("x", "t", "enter")
        await run.until_shown("✓ allow · no rule means it", "considered: this command alone, no recorded call")


async def test_without_rules_the_shipped_ones_serve_and_that_is_said(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        await shown(run)
        await run.press("t")
        await run.type(DELETE)
        await run.press("enter")
        await run.until_shown("✗ block · deletes", "by the example rules that come with the plugin")


async def test_enter_on_a_rule_shows_its_decisions_and_x_all_of_them(ledger: Ledger, start: Start) -> None:
    calls = some_decisions(ledger)
    write_policy(ledger)
    async with start() as run:
        screen = await shown(run)
        await run.press("enter")
        assert decided(screen) == [("deletes", calls[3]), ("deletes", calls[0])]
        await run.until_shown("Only decisions by deletes (held 2 times)")
        assert screen.query_one(RefusalTable).has_focus
        await run.press("x")
        assert len(decided(screen)) == 3


async def test_enter_on_a_decision_opens_its_call(ledger: Ledger, start: Start) -> None:
    some_decisions(ledger)
    write_policy(ledger)
    async with start() as run:
        await shown(run)
        await run.press("tab", "j", "enter")
        await run.until(lambda: isinstance(run.front(), CallDetailsScreen))
        await run.until_shown("#2", "id_ed25519")
        await run.press("q")
        await run.until(lambda: isinstance(run.front(), PolicyScreen))


async def test_tab_goes_between_rules_and_decisions(ledger: Ledger, start: Start) -> None:
    some_decisions(ledger)
    write_policy(ledger)
    async with start((60, 15)) as run:
        screen = await shown(run)
        rules, decisions = screen.query_one(RuleTable), screen.query_one(RefusalTable)
        assert rules.has_focus
        assert not decisions.display
        await run.press("tab")
        await run.until(lambda: decisions.has_focus and not rules.display)
        await run.until_shown("noted, not refused")
        await run.press("shift+tab")
        await run.until(lambda: rules.has_focus and not decisions.display)


async def test_export(ledger: Ledger, start: Start, tmp_path: Path) -> None:
    calls = some_decisions(ledger)
    async with start() as run:
        await shown(run)
        await run.press("e", "ctrl+u")
        await run.type("noted.json")
        await run.press("enter")
        await run.until_shown("3 decisions were written to noted.json")
    rows = json.loads((tmp_path / "noted.json").read_text())
    assert [(row["ledger_id"], row["rule"], row["mode"]) for row in rows] == [
        (calls[0], "deletes", "dry_run"), (calls[1], "secrets", "dry_run"), (calls[3], "deletes", "dry_run"),
    ]  # fmt: skip


async def test_rules_that_are_in_no_file_now_keep_their_hits(ledger: Ledger, start: Start) -> None:
    note(ledger, "long-gone", None, ago=50)
    write_policy(ledger)
    async with start() as run:
        await shown(run)
        await run.until_shown("long-gone", "in no policy file now")


async def test_help_has_what_it_cannot_see(ledger: Ledger, start: Start) -> None:
    async with start((120, 50)) as run:
        await shown(run)
        await run.press("question_mark")
        await run.until_shown("What the tool policy cannot see", "Anything that is done without the agent's tools.")


@pytest.mark.parametrize(
    ("room", "rules", "decisions", "height"),
    [
        (20, 4, 3, 5),  # Both fit: five lines and four, the rest stays free below.
        (20, 18, 4, 15),  # What five lines of decisions leave.
        (20, 18, 40, 8),  # Both want more: two fifths.
        (20, 3, 40, 4),
        (20, 0, 0, 2),  # A heading, and why there is nothing.
    ],
)
def test_two_tables_share_the_room(room: int, rules: int, decisions: int, height: int) -> None:
    assert rules_height(room, rules, decisions) == height
