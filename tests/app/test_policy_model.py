"""The Policy screen's memory, without a screen."""

from __future__ import annotations

from agent_ledger.engine.policy.load import parse
from agent_ledger.engine.policy.mode import Mode
from agent_ledger.engine.policy.rules import Budget, Rule, ToolPolicy
from agent_ledger.engine.records import Inert
from ledger_tui.sources.decisions import Refusal
from ledger_tui.sources.policy_files import PolicyState
from ledger_tui.sources.refusals import RefusalChange
from screens.policy_model import PolicyModel, Trial, means, tried

from .risky import DELETE


def refusal(id: int, rule: str) -> Refusal:
    text = Inert("x")
    return Refusal(id, text, None, id, text, text, Inert(rule), Inert("HIGH"), text, Inert("dry_run"), ())


def test_hits_are_counted_over_everything_and_carried_on() -> None:
    """90 older ones are only counted: 90 + 2 held before, one more after."""
    model = PolicyModel()
    model.decided(RefusalChange(True, (refusal(91, "a"), refusal(92, "a")), {"a": 92}, {"m": 3}))
    model.decided(RefusalChange(False, (refusal(93, "a"),)))
    assert {(row.of, row.name): row.hits for row in model.rules.rows} == {("before", "a"): 93, ("before", "m"): 3}
    assert (model.decisions, len(model.view)) == (93, 3)


def test_newest_first_and_a_row_keeps_its_key() -> None:
    model = PolicyModel()
    model.decided(RefusalChange(True, (refusal(1, "a"), refusal(4, "b"), refusal(9, "a")), {"a": 2, "b": 1}, {}))
    assert [model.view.at(index).id for index in range(3)] == [9, 4, 1]
    assert (model.view.index(4), model.view.index(9), model.view.index(5)) == (1, 0, None)
    model.choose(model.rules.rows[0])
    assert [model.view.at(index).id for index in range(2)] == [9, 1]
    model.decided(RefusalChange(False, (refusal(10, "a"), refusal(11, "b"))))
    assert [model.view.at(index).id for index in range(3)] == [10, 9, 1]


def test_what_a_rule_means_in_words() -> None:
    assert means(Rule("r", kinds=("eval", "pipe-to-shell"))) == "eval, pipe-to-shell"
    assert means(Rule("r", paths=("*.env",), tools=("write_file",))) == "paths *.env · tools write_file"
    assert means(Rule("r", budget=Budget(calls=5, depth=2))) == "at most 5 calls, 2 deep"


def test_a_command_is_tried_by_the_rules_and_shown_as_it_reads() -> None:
    policy = parse('{"rules": [{"name": "deletes", "kinds": ["recursive-delete"]}]}')
    assert isinstance(policy, ToolPolicy)
    trial = tried((f"X=1 bash -c '{DELETE}'",), policy, example=False)
    assert (trial.decision.decision, trial.decision.rule) == ("block", "deletes")
    assert DELETE in trial.commands
    assert tried(("make",), policy, example=False).decision.decision == "allow"


def test_an_act_that_is_split_in_two_commands_is_put_together() -> None:
    policy = parse('{"rules": [{"name": "deletes", "kinds": ["recursive-delete"]}]}')
    assert isinstance(policy, ToolPolicy)
    write, run = f"echo '{DELETE}' > tidy.sh", "sh tidy.sh"
    assert tried((run,), policy, example=False).decision.decision == "allow"
    assert tried((write,), policy, example=False).decision.decision == "allow"
    decision = tried((write, "ls", run), policy, example=False).decision
    assert (decision.decision, decision.rule, decision.call_ids) == ("block", "deletes", (1,))


def test_commands_are_one_conversation_until_they_are_forgotten() -> None:
    """A budget of two: the third is refused, and the first of the next conversation is not."""
    policy = parse('{"rules": [{"name": "two", "tools": ["terminal"], "budget": {"calls": 2}}]}')
    assert isinstance(policy, ToolPolicy)
    model = PolicyModel()
    off = Mode("off", True, "off")
    model.files_changed(PolicyState(off, "off", policy, off, "off", None))

    def verdict() -> str:
        trial = model.try_command("ls")
        assert isinstance(trial, Trial)
        return trial.decision.decision

    assert [verdict(), verdict(), verdict()] == ["allow", "allow", "block"]
    model.forget_tried()
    assert verdict() == "allow"
