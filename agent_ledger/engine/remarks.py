"""What a reader of one call must know beyond its status, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping

from .records import CONFIRMED, PENDING, Call, args_value, known_status
from .tools import runs_on


def remarks(call: Call, *, writer_dead: bool = False) -> list[str]:
    """What a reader must know beyond the status, one plain sentence each."""
    out: list[str] = []
    args = args_value(call)
    if call.status == PENDING and writer_dead:
        out.append(
            "The process that issued this call is gone: no confirmation can come but one that waits in the spool."
        )
    if not known_status(call.status):
        out.append("The status is none of the four, so what became of this call is unknown.")
    if call.no_signal and not call.settled:
        out.append("This host never confirms this tool, so silence says nothing here.")
    if call.effect == "done" and runs_on(call.tool_name, args if isinstance(args, Mapping) else None):
        out.append("Confirmed means started: the work itself goes on elsewhere and is not confirmed by this row.")
    if call.closed_by == "no-pre":
        out.append("The host reported an outcome for a call that it never announced.")
    if call.closed_by == "middleware":
        out.append("The outcome was seen where the tool returned, not in a confirmation by the host.")
    if call.nested_in is not None:
        out.append(
            f"Called from inside the script of call {call.nested_in}; that call's own outcome says nothing of this one."
        )
    if call.later_status is not None:
        out.append(f"A contradicting outcome came later: {call.later_status}. The first one stands.")
    if call.effect == "unknown" and call.settled:
        out.append("Whether the effect happened is unknown: the call had been started.")
    if call.exit_code:
        out.append(f"The command ended with exit code {call.exit_code}.")
    if call.reported_ts is not None and call.settled:
        out.append("It had been reported as lost and was settled afterwards.")
    if call.seen > 1:
        out.append(
            f"The host announced this very call {call.seen} times: two agents or two copies of the plugin are at work."
        )
    if call.repeat_of is not None:
        out.append(f"The same call with the same arguments was issued before, as call {call.repeat_of}.")
    if call.double_id is not None and call.settled and call.status == CONFIRMED:
        out.append(
            f"The same call was lost or failed before, as call {call.double_id}:"
            " should that one have landed, it was done twice."
        )
    elif call.double_id is not None:
        out.append(
            f"The same call was confirmed later, as call {call.double_id}:"
            " should this one have landed, it was done twice."
        )
    if call.args_redacted:
        what = "One secret value was" if call.args_redacted == 1 else f"{call.args_redacted} secret values were"
        out.append(f"{what} taken out before the arguments were stored.")
    if call.args_cut:
        out.append("The arguments are longer than what is stored.")
    return out
