"""Runs in the host's own interpreter: what people type, through the host's own handlers of it. `chat.py PLAN`.

Actions, each answered by one line of JSON with `answer`; text is all that matters, and `at` says where it is typed:

gateway  {chat, text, and?, plain?}: a message to the messaging gateway; also `session_id`, the session that the chat
         has afterwards, and `sent`, how many files and pictures the gateway would find to send in the answer (and in
         the text `plain`: `sent_plain`). `and`: messages that come at the same time, with `answers` of all of them.
tui      {session, text}: a command in the TUI, in the session of that id.
cli      {session, text}: a command in `hermes chat`, in the session of that id.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


class Gateway:
    """One messaging gateway without a network."""

    def __init__(self) -> None:
        from gateway.config import GatewayConfig
        from gateway.run import GatewayRunner

        self.runner = GatewayRunner(GatewayConfig())

    async def answer(self, action: dict[str, Any]) -> dict[str, Any]:
        from gateway.platforms.base import BasePlatformAdapter as Adapter

        source, _ = self._message(action)
        every = [action, *action.get("and", [])]
        answers = await asyncio.gather(*(self.runner._handle_message(self._message(one)[1]) for one in every))
        entry = self.runner.session_store._entries.get(self.runner.session_store._generate_session_key(source))
        ways = (Adapter.extract_media, Adapter.extract_images, Adapter.extract_local_files)
        return {
            "answer": answers[0],
            "answers": answers,
            "session_id": entry and entry.session_id,
            "sent": [len(way(str(answers[0]))[0]) for way in ways],
            "sent_plain": [len(way(action.get("plain", ""))[0]) for way in ways],
        }

    def _message(self, action: dict[str, Any]) -> tuple[Any, Any]:
        from gateway.config import Platform
        from gateway.platforms.base import MessageEvent
        from gateway.session import SessionSource

        chat = action["chat"]
        source = SessionSource(platform=Platform.TELEGRAM, chat_id=chat, chat_type="dm", user_id=chat)
        return source, MessageEvent(text=action["text"], source=source)


def tui(action: dict[str, Any]) -> dict[str, Any]:
    name, _, rest = action["text"].lstrip("/").partition(" ")
    try:
        from tui_gateway import server
    except NameError:  # The wheel of 0.22 that is on the index lacks an import there: what its TUI does, by hand.
        return {"answer": _bound(action["session"], name, rest)}
    server._sessions["window"] = {"session_key": action["session"], "cwd": os.getcwd()}
    asked = {"name": name, "arg": rest, "session_id": "window"}
    return {"answer": server._methods["command.dispatch"](1, asked)["result"]["output"]}


def _bound(session: str, name: str, rest: str) -> str:
    from gateway.session_context import clear_session_vars, set_session_vars
    from hermes_cli.plugins import get_plugin_command_handler

    tokens = set_session_vars(session_key=session, session_id=session, source="tui", cron_session="")
    try:
        return str(get_plugin_command_handler(name)(rest))
    finally:
        clear_session_vars(tokens)


def cli(action: dict[str, Any]) -> dict[str, Any]:
    import cli as module
    from hermes_cli.plugins import get_plugin_manager

    said: list[str] = []
    with redirect_stdout(io.StringIO()):
        program = module.HermesCLI(compact=True, verbose=False)
        program.session_id = action["session"]
        get_plugin_manager()._cli_ref = program  # As its `run` does.
        module._cprint = said.append
        program.process_command(action["text"])
    return {"answer": "\n".join(said)}


async def answers(actions: list[dict[str, Any]], report: Any) -> None:
    from hermes_cli.plugins import discover_plugins

    discover_plugins()
    gateway: Gateway | None = None
    for action in actions:
        if action["at"] == "gateway":
            gateway = gateway or Gateway()
            done = await gateway.answer(action)
        else:
            # Neither has the gateway's event loop around its commands.
            done = await asyncio.to_thread({"tui": tui, "cli": cli}[action["at"]], action)
        report.write(json.dumps(done, default=str) + "\n")
        report.flush()


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with open(plan["report"], "a", encoding="utf-8") as report:
        asyncio.run(answers(plan["actions"], report))
    sys.stdout.flush()
    # Some threads of the host never end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
