"""Plays stories on a real host: one process of the host, a home for each batch, a script for the model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.host.environments import Host, build
from tests.host.home import DRIVER, install_plugin
from tests.host.model import Calls, Model

from .story import ABSENT, LANDED, PARTLY, Call, Case, Forget, Lost, Person, Scene

TOOLSETS = {"write_file": "file", "patch": "file", "cronjob_manage": "cronjob", "delegate_task": "delegation"}
"""Toolset of a tool, where it is not its name's own start."""

ALL_TOOLSETS = ["file", "terminal", "memory", "skills", "cronjob", "kanban", "delegation", "notes"]

LONGEST_S = 1500


class PlayError(AssertionError):
    """A story did not go as it is told."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases that share a home. `name` is unique for a host."""

    name: str
    cases: Sequence[Case]


def chat_of(case: Case) -> str:
    return f"{case.kind}.{case.name}"


def _toolset(tool: str) -> str:
    if tool in TOOLSETS:
        return TOOLSETS[tool]
    if tool.startswith("mcp__"):
        return "notes"
    return {"skill_manage": "skills"}.get(tool, tool.partition("_")[0])


def _filled(value: Any, case: Case, scene: Scene) -> Any:
    """The value with the story's own places and names put in."""
    if isinstance(value, str):
        places = (("@chat", chat_of(case)), ("@here", str(scene.work / case.name)), ("@home", str(scene.home)))
        for token, place in (*places, ("@work", str(scene.work)), ("@name", case.name)):
            value = value.replace(token, place)
        return value
    if isinstance(value, Mapping):
        return {name: _filled(item, case, scene) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, case, scene) for item in value]
    return value


def _actions(case: Case, scene: Scene, model: Model) -> Iterable[dict[str, Any]]:
    """What the driver must do, the model's part being scripted on the way."""
    chat = chat_of(case)
    calls = [step for step in case.steps if isinstance(step, Call | Lost)]
    toolsets = list(dict.fromkeys(_toolset(step.tool) for step in calls))
    number = 0
    for step in case.steps:
        if isinstance(step, Person):
            yield {"do": "person", "command": _filled(step.command, case, scene)}
        elif isinstance(step, Forget):
            yield {"do": "forget", "chat": chat}
        else:
            number += 1
            where = f"{chat}-other" if isinstance(step, Call) and step.other else chat
            model.script(f"[{chat} {number}]", *_read_first(step, case, scene), _step(step, case, scene), "done")
            action: dict[str, Any] = {
                "do": "turn",
                "chat": where,
                "text": f"[{chat} {number}] go on",
                "toolsets": toolsets,
            }
            if step.cut:
                # The knife counts within the turn, which makes this one call.
                action["cut"] = {"tool": step.tool, "at": step.cut, "nth": 1}
                action["truth"] = case.truth if isinstance(step, Lost) else LANDED
            yield action


def _read_first(step: Call | Lost, case: Case, scene: Scene) -> list[Calls]:
    """0.22 refuses to write over a file that the same process has not read."""
    if scene.is_019 or step.tool != "write_file" or callable(step.args):
        return []
    return [Calls([("read_file", {"path": _filled(step.args["path"], case, scene)})])]


def _step(step: Call | Lost, case: Case, scene: Scene) -> Any:
    def answer() -> Calls:
        args = step.args(_Asked(scene, case)) if callable(step.args) else step.args  # type: ignore[arg-type]  # asked like a place
        return Calls([(step.tool, _filled(args, case, scene))])

    return answer


class _Asked:
    """Look-ups by names that still have the story's tokens in them."""

    def __init__(self, scene: Scene, case: Case) -> None:
        self._scene, self._case = scene, case

    def job(self, name: str) -> str:
        return self._scene.job(_filled(name, self._case, self._scene))

    def card(self, title: str) -> str:
        return self._scene.card(_filled(title, self._case, self._scene))


def play(host: Host, scene: Scene, batches: Sequence[Batch], folder: Path) -> dict[str, Path]:
    """Play everything; returns where each batch's root lies afterwards, below `folder`. Raises PlayError."""
    shutil.rmtree(scene.root, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    model = Model()
    try:
        _template(folder / "template", model)
        actions: list[dict[str, Any]] = []
        for batch in batches:
            actions.append({"do": "home", "template": str(folder / "template"), "root": str(scene.root)})
            for case in batch.cases:
                actions += _actions(case, scene, model)
            actions.append({"do": "away", "root": str(scene.root), "to": str(folder / batch.name)})
        _run(host, scene, actions, model, folder)
    finally:
        model.close()
    return {batch.name: folder / batch.name for batch in batches}


def _template(place: Path, model: Model) -> None:
    """A home with our plugin and the stand-in for a remote server, its model on this machine."""
    home = place / "hermes-home"
    (place / "work").mkdir(parents=True)
    install_plugin(home)
    shutil.copytree(DRIVER / "notes", home / "plugins" / "notes", ignore=shutil.ignore_patterns("__pycache__"))
    home.joinpath("config.yaml").write_text(
        f"model:\n  default: scripted\n  provider: custom\n  base_url: {model.url}\n  api_key: none\n"
        "  context_length: 64000\nplugins:\n  enabled: [agent-ledger, notes]\ntoolsets: [kanban, notes]\n"
        "approvals:\n  mode: 'off'\ntools:\n  tool_search:\n    enabled: 'off'\n",
        encoding="utf-8",
    )


def _run(host: Host, scene: Scene, actions: list[dict[str, Any]], model: Model, folder: Path) -> None:
    plan, report, output = folder / "plan.json", folder / "report.jsonl", folder / "output.txt"
    results = folder / "results.jsonl"
    given: dict[str, Any] = {"model_url": model.url, "report": str(report), "results": str(results)}
    given |= {"toolsets": ALL_TOOLSETS, "actions": actions}
    plan.write_text(json.dumps(given), encoding="utf-8")
    report.unlink(missing_ok=True)
    results.write_text("", encoding="utf-8")
    shutil.copytree(folder / "template", scene.root)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": str(scene.root),
        "HERMES_HOME": str(scene.home), "TERMINAL_CWD": str(scene.work), "HERMES_YOLO_MODE": "1",
        "HERMES_INTERACTIVE": "1", "PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "NOTES_FILE": str(folder / "far-away.jsonl"),
    }  # fmt: skip
    with open(output, "w", encoding="utf-8") as sink:
        process = subprocess.Popen(
            [str(build(host)), str(DRIVER / "cuts.py"), str(plan)],
            cwd=scene.work, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    if code:
        raise PlayError(f"the host ended with {code}:\n{output.read_text(errors='replace')[-4000:]}")
    _check(actions, report, results)


def _check(actions: list[dict[str, Any]], report: Path, results: Path) -> None:
    """Did every turn end as it was told: killed where it was cut, else by itself? And the tool, where it ran?"""
    done = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    said = {one["text"]: one["result"] for one in map(json.loads, results.read_text(encoding="utf-8").splitlines())}
    wrong: list[object] = []
    for action, ended in zip(actions, done, strict=True):
        cut = action.get("cut", {}).get("at")
        killed = cut in ("before", "after")
        if ended["status"] != (signal.SIGKILL if killed else 0):
            wrong.append((action.get("text") or action["do"], ended["status"]))
        elif cut in ("after", "unheard"):
            result = said.get(action["text"], "(never returned)")
            if action["truth"] != PARTLY and failed(result) != (action["truth"] == ABSENT):
                wrong.append((action["text"], result[:300]))
    if wrong:
        raise PlayError("stories that went otherwise than told:\n" + "\n".join(map(str, wrong)))


def failed(result: str) -> bool:
    """Does the tool itself say that nothing came of it?"""
    try:
        said = json.loads(result)
    except ValueError:
        return True
    return bool(said.get("error")) or said.get("success") is False or bool(said.get("exit_code"))
