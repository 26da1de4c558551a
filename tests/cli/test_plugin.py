"""`plugin`: into a home and out again, never over somebody else's."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

CONFIG = "# mine\nmodel: x  # keep\nplugins:\n  enabled:\n    - other # too\n"


def write_other(folder: Path, author: str = "Somebody Else") -> None:
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text(f"name: agent-ledger\nversion: 9.9\nauthor: {author}\n")


def test_install_status_uninstall(program: Any, home: Path, ledger: Any) -> None:
    config = home / "config.yaml"
    config.write_text(CONFIG)
    config.chmod(0o640)
    before = program("plugin", "status", "--json").json
    assert (before["installed"], before["enabled"], before["others"]) == (False, False, [])

    result = program("plugin", "install")
    assert result.code == 0, result
    assert "estart the gateway" in result.out
    folder = home / "plugins" / "agent-ledger"
    assert (folder / "__init__.py").is_file()
    assert (folder / "engine" / "queries.py").is_file()
    assert not list(folder.rglob("__pycache__"))
    assert config.read_text() == CONFIG + "    - agent-ledger\n"
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert (home / "config.yaml.bak-1").read_text() == CONFIG
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == []

    found = program("plugin", "status", "--json").json
    assert (found["installed"], found["enabled"], found["linked"]) == (True, True, False)
    assert found["version"] == found["available"]

    assert program("plugin", "uninstall").code == 0
    assert not folder.exists()
    assert config.read_text() == CONFIG
    assert ledger.path.exists()


def test_install_again_updates_ours(program: Any, home: Path) -> None:
    assert program("plugin", "install").code == 0
    folder = home / "plugins" / "agent-ledger"
    manifest = (folder / "plugin.yaml").read_text()
    (folder / "plugin.yaml").write_text(manifest.replace("version: ", "version: 0.0."))
    (folder / "left_over.py").write_text("")
    assert "before: 0.0." in program("plugin", "install").out
    assert (folder / "plugin.yaml").read_text() == manifest
    assert not (folder / "left_over.py").exists()
    assert not (home / "config.yaml.bak-1").exists()


def test_a_link_can_be_put_and_replaced(program: Any, home: Path) -> None:
    assert program("plugin", "install", "--link").code == 0
    folder = home / "plugins" / "agent-ledger"
    assert folder.is_symlink()
    assert program("plugin", "status", "--json").json["linked"] is True
    source = folder.resolve()
    assert program("plugin", "install").code == 0
    assert not folder.is_symlink()
    assert (source / "plugin.yaml").is_file()
    assert program("plugin", "install", "--link").code == 0
    assert program("plugin", "uninstall").code == 0
    assert not folder.is_symlink()
    assert (source / "plugin.yaml").is_file()


def test_somebody_elses_plugin_is_left_alone(program: Any, sentence: Any, home: Path) -> None:
    write_other(home / "plugins" / "agent-ledger")
    assert "Somebody Else" in sentence(program("plugin", "install"), 4)
    sentence(program("plugin", "uninstall"), 4)
    assert "9.9" in (home / "plugins" / "agent-ledger" / "plugin.yaml").read_text()
    assert not (home / "config.yaml").exists()


def test_another_plugin_of_the_name_elsewhere_is_named(program: Any, home: Path) -> None:
    write_other(home / "plugins" / "old-ledger")
    write_other(home / "plugins" / "tools" / "ledger")
    assert program("plugin", "install").code == 0
    others = program("plugin", "status", "--json").json["others"]
    assert [Path(one["path"]).name for one in others] == ["old-ledger", "ledger"]


@pytest.mark.parametrize("text", ["plugins: {enabled: [a]}\n", "plugins:\n\tenabled: [a]\n"])
def test_a_config_that_cannot_be_changed_by_lines(program: Any, sentence: Any, home: Path, text: str) -> None:
    (home / "config.yaml").write_text(text)
    result = program("plugin", "install", env={"PATH": "/nowhere"})
    assert result.code == 4
    assert result.err.count("\n") == 1
    assert "hermes plugins enable agent-ledger" in result.err
    assert (home / "config.yaml").read_text() == text
    assert program("plugin", "status", "--json", env={"PATH": "/nowhere"}).json["enabled"] is None


def test_then_the_host_itself_enables_it(program: Any, home: Path, tmp_path: Path) -> None:
    text = "plugins: {enabled: [a]}  # mine\n"
    (home / "config.yaml").write_text(text)
    tool = tmp_path / "bin" / "hermes"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$@ in $HERMES_HOME" > "$HERMES_HOME/asked"\n')
    tool.chmod(0o755)
    result = program("plugin", "install", env={"PATH": f"{tool.parent}:/bin:/usr/bin"})
    assert result.code == 0, result
    assert (home / "asked").read_text() == f"--profile default plugins enable agent-ledger in {home}\n"
    assert (home / "config.yaml.bak-1").read_text() == text


def test_no_home(program: Any, sentence: Any) -> None:
    sentence(program("--hermes-home", "/nowhere/at/all", "plugin", "install"), 3)
    sentence(program("plugin", "nonsense"), 2)
    sentence(program("plugin"), 2)


def test_files_of_a_person_in_our_folder_survive(program: Any, home: Path) -> None:
    assert program("plugin", "install").code == 0
    folder = home / "plugins" / "agent-ledger"
    (folder / "my-notes.txt").write_text("mine")
    told = program("plugin", "install").out
    kept = home / "agent-ledger-plugin-kept-1"
    assert str(kept) in told
    assert (kept / "my-notes.txt").read_text() == "mine"
    assert not (folder / "my-notes.txt").exists()
    (folder / "policy.json").write_text("{}")
    assert str(home / "agent-ledger-plugin-kept-2") in program("plugin", "uninstall").out
    assert (home / "agent-ledger-plugin-kept-2" / "policy.json").read_text() == "{}"
    assert not folder.exists()


def test_what_python_leaves_is_nobody_s_file(program: Any, home: Path) -> None:
    assert program("plugin", "install").code == 0
    cache = home / "plugins" / "agent-ledger" / "engine" / "__pycache__"
    cache.mkdir()
    (cache / "queries.cpython-311.pyc").write_bytes(b"")
    assert program("plugin", "install").code == 0
    assert not list(home.glob("agent-ledger-plugin-kept-*"))


def test_a_copy_over_a_link_says_so(program: Any, home: Path) -> None:
    assert program("plugin", "install", "--link").code == 0
    assert "(before: a link to " in program("plugin", "install").out
    assert not (home / "plugins" / "agent-ledger").is_symlink()


def test_the_host_s_version_is_asked_for_and_else_read_in_the_ledger(program: Any, ledger: Any) -> None:
    nowhere = {"PATH": "/nowhere"}
    assert (
        "host     version unknown: no hermes command answers here; it is known once"
        in program("plugin", "status", env=nowhere).out
    )
    ledger.writer(4711, "12", host="0.22.2")
    assert program("plugin", "status", "--json", env=nowhere).json["host_version"] == "0.22.2"
