"""What the hosts' own tools think of what we release, and the two other ways in: entry point and install."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger_tui.commands.hosts import run_hermes
from ledger_tui.commands.place import place_of

from .conftest import MakeHome
from .environments import ROOT, Host
from .home import HermesHome
from .model import call

pytestmark = pytest.mark.host

SCAN = """\
import json, sys
from pathlib import Path
from tools.plugin_guard import scan_plugin
result = scan_plugin(Path(sys.argv[1]))
found = [(f.severity, f.pattern_id, f.file, f.line) for f in result.findings]
print(json.dumps({"verdict": result.verdict, "findings": found}))
"""

LOAD = """\
import sys
from importlib.metadata import entry_points
(point,) = entry_points(group="hermes_agent.plugins", name="agent-ledger")
print(callable(point.load().register), sorted({"textual", "ledger_tui", "screens", "widgets"} & set(sys.modules)))
"""

NOT_RELEASED = shutil.ignore_patterns(".git", ".venv", ".cache", ".*_cache", "__pycache__", ".hypothesis", "*.egg-info")


@pytest.fixture
def newer(host: Host) -> Host:
    if host.is_019:
        pytest.skip("Hermes 0.19 has no such command")
    return host


def run_in(home: HermesHome, command: Sequence[str | Path], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**home.environment(), **more}
    return subprocess.run(
        [str(part) for part in command],
        env=environment,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )


def hermes(home: HermesHome, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_in(home, [home.python.with_name("hermes"), *arguments])


def scan(home: HermesHome, tree: Path) -> tuple[str, list[list[object]]]:
    done = run_in(home, [home.python, "-c", SCAN, tree])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    return said["verdict"], said["findings"]


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> HermesHome:
    return make_home("release")


def test_the_plugin_passes_the_hosts_validation(newer: Host, home: HermesHome) -> None:
    """With one warning: the self-test drives the host's own dispatch, which no public module offers. The hooks import
    nothing of the host."""
    done = hermes(home, "plugins", "validate", home.home / "plugins" / "agent-ledger")
    assert done.returncode == 0, done.stdout
    assert "Validation passed." in done.stdout
    warned = " ".join(done.stdout.split()).partition("⚠")[2]
    assert "⚠" not in warned, done.stdout
    assert set(re.findall(r"\b(\w+\.py):\d+", warned)) <= {"selftest.py"}, done.stdout


def test_the_plugin_passes_the_hosts_doctor(newer: Host, home: HermesHome) -> None:
    done = hermes(home, "plugins", "doctor", home.home / "plugins" / "agent-ledger", "--ci")
    assert done.returncode == 0, done.stdout
    assert "registrations: 0 tool(s), 4 hook(s)" in done.stdout


def test_the_install_scan_calls_the_plugin_safe(newer: Host, home: HermesHome) -> None:
    """Its medium findings are words such as sudo and crontab in the reader of commands, which must know them, and that
    `hermes ledger selftest` starts a process, which it must not do in this one."""
    verdict, findings = scan(home, home.home / "plugins" / "agent-ledger")
    assert (verdict, [f for f in findings if f[0] in ("critical", "high")]) == ("safe", [])
    medium = {(str(f[1]), str(f[2])) for f in findings if f[0] == "medium"}
    outside = {(what, file) for what, file in medium if not file.startswith("engine/commands/")}
    assert outside == {("python_subprocess", "host_command.py")}


def test_the_install_scan_calls_the_whole_tree_safe(newer: Host, home: HermesHome, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_RELEASED)
    verdict, findings = scan(home, tree)
    assert (verdict, [f for f in findings if f[0] in ("critical", "high")]) == ("safe", [])


def test_it_loads_by_entry_point_and_drags_nothing_of_the_app_in(
    make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = make_home("entrypoint")
    shutil.rmtree(home.home / "plugins" / "agent-ledger")
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    done = subprocess.run([*pip, "--no-deps", "--target", str(site), str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = run_in(home, [home.python, "-c", LOAD], PYTHONPATH=str(site))
    assert loaded.stdout.split(maxsplit=1) == ["True", "[]\n"], loaded.stderr
    home.model.script("[go]", call("terminal", command="echo by entry point"))
    home.run({"do": "turn", "chat": "go", "text": "[go]"}, environment={"PYTHONPATH": str(site)})
    assert home.row("go")["status"] == "CONFIRMED"


def test_the_self_test_passes_on_the_installed_host(home: HermesHome) -> None:
    folder = home.home / "plugins" / "agent-ledger"
    done = run_in(home, [home.python, folder / "selftest.py"], HERMES_HOME=str(home.folder / "untouched"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (home.folder / "untouched").exists()


def test_the_hosts_command_is_asked_about_the_home_that_is_meant(make_home: MakeHome) -> None:
    """`hermes profile use` sends the host's commands elsewhere, whatever HERMES_HOME says, unless they are told."""
    home = make_home("chosen")
    work = home.home / "profiles" / "work"
    work.mkdir(parents=True)
    (work / ".env").touch()
    hermes = home.python.parent / "hermes"
    assert run_in(home, [hermes, "profile", "use", "work"]).returncode == 0
    assert place_of(str(home.home), None, None, None, {}).profile_used() == "work"
    environ = {**home.environment(), "PATH": str(hermes.parent)}
    asked = run_hermes(["config", "path"], home.home, environ)
    assert asked is not None
    assert asked.stdout.strip() == str(home.home / "config.yaml")
    assert str(work) in run_in(home, [hermes, "config", "path"]).stdout
    in_profile = run_hermes(["config", "path"], work, environ)
    assert in_profile is not None
    assert in_profile.stdout.strip() == str(work / "config.yaml")
