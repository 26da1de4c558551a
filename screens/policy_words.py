"""What the Policy screen says. Pure functions over the model."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.mode import DRY_RUN, ENFORCE, OFF, Mode
from agent_ledger.engine.prompts import enforced
from ledger_tui.sources.decisions import Refusal
from widgets.look import count_text
from widgets.policy_tables import RuleRow
from widgets.top_line import Total

from .policy_model import PROMPTS, PolicyModel, Trial

LIMITS_IN_SIGHT = (
    "Stops accidents, not somebody who means harm. Not seen: what only running "
    "composes, values from outside, acts split without a shared file (see ?)."
)
SHORT_LIMITS = "Stops accidents; ? lists what it cannot see"

LIMITS = (
    "A command that only running would compose: read from a file, computed, handed to a shell that way.",
    "Variables that the call does not set itself, and names that come from the environment.",
    "One act in two calls that share something else than a file: a shell's variable, a process, a renamed copy.",
    "What a program or script does that was there before, and what a server of tools does with its arguments.",
    "Code in other languages beyond the calls that delete, and the texts that it hands to a shell.",
    "Anything that is done without the agent's tools.",
)

_TOOLS = {
    OFF: "asks nothing, refuses nothing",
    DRY_RUN: "notes what it would refuse, and refuses nothing",
    ENFORCE: "refuses calls that a rule means; the agent reads why",
}
_PROMPTS = {
    OFF: "looks at no message",
    DRY_RUN: "notes messages that it would hold back",
    ENFORCE: "holds back messages that a rule means",
}


NOT_SHIPPED = "Modes and rules are not shipped; what they decided is."


def mode_lines(model: PolicyModel) -> str:
    """Both policies, one line each, and what is wrong with a file."""
    state = model.state
    if model.shipped:
        return NOT_SHIPPED
    if state is None:
        return "reading…"
    tools = _mode("Tool policy", state.mode, state.valid_mode, _TOOLS)
    prompts = _mode("Prompt policy", state.prompt_mode, state.prompt_valid_mode, _on_this_host(model.host_version))
    lines = [tools, prompts]
    if isinstance(state.policy, PolicyError):
        lines.append(f"✗ {_problem(state.policy)}{_consequence(state.valid_mode, 'every call that changes something')}")
    elif state.policy is None and state.valid_mode != OFF:
        lines.append(f"✗ There is no policy.json{_consequence(state.valid_mode, 'every call that changes something')}")
    if isinstance(state.prompts, PolicyError):
        lines.append(f"✗ {_problem(state.prompts)}{_consequence(state.prompt_valid_mode, 'every message')}")
    elif state.prompts is None and state.prompt_valid_mode != OFF:
        lines.append(f"✗ There is no prompt_policy.json{_consequence(state.prompt_valid_mode, 'every message')}")
    return "\n".join(lines)


def has_trouble(model: PolicyModel) -> bool:
    """Is something wrong with a file?"""
    return "✗" in mode_lines(model)


def _mode(name: str, mode: Mode, valid: str, means: dict[str, str]) -> str:
    if mode.valid:
        return f"{name:<14} {mode.value:<8} {means[mode.value]}"
    word = inert(mode.raw.strip()[:20])
    return f"{name:<14} invalid  ✗ '{word}' is no mode; the last valid one stays (seen here: {valid})"


def _on_this_host(version: str | None) -> dict[str, str]:
    """What each mode of the prompt policy comes to on the Hermes that serves this ledger."""
    honours = enforced(version)
    if honours:
        return {**_PROMPTS, ENFORCE: f"{_PROMPTS[ENFORCE]}; Hermes {version} ends such a turn"}
    if honours is None:
        return {**_PROMPTS, ENFORCE: f"{_PROMPTS[ENFORCE]}, if this host honours it (not known yet)"}
    return {
        OFF: _PROMPTS[OFF],
        DRY_RUN: f"{_PROMPTS[DRY_RUN]}; would be advisory on this host ({version})",
        ENFORCE: f"advisory on this host: Hermes {version} ignores it",
    }


def _problem(error: PolicyError) -> str:
    name = error.file.rpartition("/")[2]
    return inert(f"{name}, line {error.line}: {error.reason}" if error.line else f"{name}: {error.reason}")


def _consequence(valid: str, what: str) -> str:
    return f": {what} is refused until it is mended" if valid == ENFORCE else ""


def totals(model: PolicyModel) -> tuple[Total, ...]:
    """The top line."""
    noted = f"decision{'' if model.decisions == 1 else 's'}"
    decided = Total("", count_text(model.decisions), noted, "top--pending" if model.decisions else "top--quiet")
    if model.state is None:
        return (decided,) if model.shipped else ()
    return (
        Total("", model.state.mode.value, "tools", "top--quiet"),
        Total("", model.state.prompt_mode.value, "prompts", "top--quiet"),
        decided,
    )


def rules_empty(model: PolicyModel) -> str:
    if model.shipped:
        return "no rule has held there yet"
    if model.state is None:
        return "reading…"
    return "no rules: there is no policy.json (? says how to begin)"


def decisions_count(model: PolicyModel) -> str:
    """How many are in view; those that are only counted are said."""
    shown = len(model.view)
    return count_text(shown) if shown == model.decisions else f"{count_text(shown)} of {count_text(model.decisions)}"


def notice(model: PolicyModel, trouble: str) -> str:
    """The line below the top: what is wrong with the ledger, and which rule narrows the view. Mostly empty."""
    chosen = model.chosen
    narrowed = "" if chosen is None else f"Only decisions by {chosen.name} (held {count_text(chosen.hits)} times)"
    return " · ".join(part for part in (trouble, narrowed) if part)


def decisions_empty(model: PolicyModel) -> str:
    if model.chosen is not None and model.chosen.of == PROMPTS:
        return "of messages only a number is kept here, never a word"
    if model.chosen is not None:
        return "this rule has not held"
    if model.state is not None and model.state.valid_mode == OFF:
        return "nothing is noted while the policy is off"
    return "no rule has held yet"


def about_rule(rule: RuleRow) -> str:
    """The rule at the cursor in full."""
    severity = f" · {rule.severity}" if rule.severity else ""
    return f"{rule.name} · {rule.of}{severity} · held {count_text(rule.hits)} times\n{rule.means}"


def about_refusal(one: Refusal, session: str) -> str:
    """The decision at the cursor in full."""
    call = "" if one.ledger_id is None else f" #{one.ledger_id}"
    calls = ", ".join(f"#{call}" if isinstance(call, int) else call for call in one.call_ids)
    with_ = f" · with {calls}" if calls else ""
    done = "refused" if one.mode == ENFORCE else "noted, not refused"
    return f"{one.rule} · {one.severity} · {done} · {one.tool_name}{call}{with_} · {session}\n{one.reason}"


def trial_text(trial: Trial) -> str:
    """What the rules say of a typed command, and what was considered with it."""
    decision = trial.decision
    by = " (by the example rules that come with the plugin)" if trial.example else ""
    if decision.blocks:
        lines = [f"✗ block · {decision.rule} · {decision.severity}{by}", decision.reason]
    else:
        lines = [f"✓ allow · no rule means it{by}"]
        lines += trial.acts[:2]
    lines.append("reads as: " + ("; ".join(trial.commands) if trial.commands else inert(trial.typed[-1])))
    lines.append(_considered(trial))
    return "\n".join(lines)


def _considered(trial: Trial) -> str:
    """Which commands the verdict rests on. No recorded call is one of them."""
    if len(trial.typed) == 1:
        return "considered: this command alone, no recorded call"
    named = [f"{one} was {inert(trial.typed[one - 1])}" for one in trial.decision.call_ids if isinstance(one, int)]
    calls = f"; call {', call '.join(named)}" if named else ""
    return f"considered: the {len(trial.typed)} commands tried so far, as one conversation; no recorded call{calls}"


def help_notes() -> Iterator[str]:
    """What a policy of this kind cannot see, whole."""
    yield "What the tool policy cannot see"
    for sentence in LIMITS:
        yield f"  {sentence}"
    yield ""
    yield "How to begin"
    yield "  Copy policy.example.json from the plugin's folder to policy.json beside the ledger, and write dry_run into"
    yield "  policy_mode beside it. Read the decisions here for a few days, then write enforce, or off to stop."
    yield "  The prompt policy has prompt_policy.json and prompt_policy_mode, with the same three words."
