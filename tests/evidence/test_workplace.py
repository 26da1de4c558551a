"""Where a call was to work: asked of the host's loaded modules, in the host's own order, and never at a call's cost."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from agent_ledger.engine import workplace
from agent_ledger.engine.workplace import Workplaces, parted


class Host:
    """The parts of a host that are asked; tests set what it would answer."""

    def __init__(self) -> None:
        self.recorded: dict[str, str] = {}
        self.overrides: dict[str, str] = {}
        self.configured: str | None = None
        self.backend = "local"
        self.session_key = ""
        self.asked = 0

    def modules(self) -> dict[str, ModuleType]:
        terminal, files, approval = (
            ModuleType(f"tools.{name}") for name in ("terminal_tool", "file_tools", "approval")
        )
        terminal.__dict__.update(
            get_session_cwd=lambda key: self.recorded.get(key or "default"),
            resolve_task_overrides=lambda task: {"cwd": self.overrides[task]} if task in self.overrides else {},
        )
        files.__dict__.update(
            _terminal_env_type_for_task=self._backend,
            _configured_terminal_cwd=lambda: self.configured,
            _expand_tilde=lambda path: path.replace("~", "/home/kim", 1),
        )
        approval.__dict__["get_current_session_key"] = lambda default: self.session_key or default
        return {"tools.terminal_tool": terminal, "tools.file_tools": files, "tools.approval": approval}

    def _backend(self, task: str) -> str:
        self.asked += 1
        return self.backend


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    for name, module in made.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("os.getcwd", lambda: "/start")
    return made


def of(tool: str = "write_file", task: str = "t1", mono: Any = lambda: 0.0, **args: Any) -> str:
    return Workplaces(mono).of(tool, task, args)


def test_the_last_command_then_the_session_then_the_configuration_then_the_start(host: Host) -> None:
    assert of() == "local:/start"
    host.configured = "/configured"
    assert of() == "local:/configured"
    host.overrides["t1"] = "/override"
    assert of() == "local:/override"
    host.recorded["t1"] = "/after/cd"
    assert of() == "local:/after/cd"
    assert of(task="t2") == "local:/configured", "another task has its own"


def test_a_command_goes_by_the_chat_s_own_key(host: Host) -> None:
    host.recorded["chat"] = "/chat"
    host.recorded["t1"] = "/task"
    host.session_key = "chat"
    assert of("terminal") == "local:/chat"
    assert of("write_file") == "local:/task"
    del host.recorded["chat"]
    assert of("terminal") == "local:/task"


def test_the_home_of_a_path_that_begins_with_one(host: Host) -> None:
    assert of(path="~/notes.md") == "local:/home/kim"
    assert of("terminal", path="x") == "local:/start"


def test_elsewhere_the_folder_means_nothing_here(host: Host) -> None:
    host.backend = "docker"
    host.recorded["t1"] = "/workspace"
    assert of() == "docker:"


def test_only_tools_whose_effect_depends_on_it_are_asked_about(host: Host) -> None:
    assert of("cronjob") == of("mcp__files__write") == of("memory") == ""
    assert host.asked == 0


def test_the_kind_of_machine_is_remembered_for_a_while(host: Host) -> None:
    now = [0.0]
    places = Workplaces(lambda: now[0])
    for _ in range(5):
        places.of("terminal", "t1", {})
    assert host.asked == 1
    now[0] = workplace.FRESH_S + 1
    places.of("terminal", "t1", {})
    assert host.asked == 2
    for number in range(workplace.REMEMBERED + 10):
        places.of("terminal", f"t{number}", {})
    assert len(places._backends) <= workplace.REMEMBERED


def test_without_a_host_or_with_a_strange_one_it_is_unknown(monkeypatch: pytest.MonkeyPatch, host: Host) -> None:
    host.recorded["t1"] = "relative"
    assert of() == "local:"
    monkeypatch.delattr(sys.modules["tools.file_tools"], "_terminal_env_type_for_task")
    assert of() == ""
    monkeypatch.delitem(sys.modules, "tools.terminal_tool")
    assert of() == ""


def test_a_stored_workplace_is_taken_apart() -> None:
    assert parted("local:/srv/a:b") == ("local", "/srv/a:b")
    assert parted("docker:") == ("docker", "")
    assert parted("") == ("", "")
