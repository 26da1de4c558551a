"""The Policy screen's memory, without a screen."""

from __future__ import annotations

from agent_ledger.engine.policy.load import parse
from agent_ledger.engine.policy.rules import Budget, Rule, ToolPolicy
from agent_ledger.engine.records import Inert
from ledger_tui.sources.decisions import Refusal
from ledger_tui.sources.refusals import RefusalChange
from screens.policy_model import PolicyModel, means, tried

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
    trial = tried(f"X=1 bash -c '{DELETE}'", policy, example=False)
    assert (trial.decision.decision, trial.decision.rule) == ("block", "deletes")
    assert DELETE in trial.commands
    assert tried("make", policy, example=False).decision.decision == "allow"
