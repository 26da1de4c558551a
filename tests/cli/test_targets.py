"""Where an export may go: never over a pipe, a device, a link, or what was no export before; UTF-8 in any locale."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.commands.errors import CommandError
from ledger_tui.commands.export import to_text
from ledger_tui.commands.target import target

EXPORT = ("export", "calls", "--format", "csv", "--force", "-o")


@pytest.mark.parametrize("force", [True, False])
def test_a_pipe_stays_a_pipe(six_states: Any, program: Any, sentence: Any, tmp_path: Path, force: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = [word for word in EXPORT if force or word != "--force"]
    assert "no plain file" in sentence(program(*arguments, str(pipe)), 4)
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode)


def test_a_link_is_not_replaced(six_states: Any, program: Any, sentence: Any, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to("/dev/null")
    assert "no plain file" in sentence(program(*EXPORT, str(link)), 4)
    assert os.readlink(link) == "/dev/null"


@pytest.mark.parametrize("name", ["hash.key", "settings.json", "ledger.lock", "new.csv", "spool/new.csv"])
def test_nothing_is_written_where_the_plugin_keeps_its_files(
    six_states: Any, program: Any, sentence: Any, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "other" / "plugin-data" / "agent-ledger"
    (folder / "spool").mkdir(parents=True)
    path = folder / name
    if not name.endswith("new.csv"):
        path.write_bytes(b"")
    assert "keeps its own files" in sentence(program(*EXPORT, str(path)), 4)
    assert not path.exists() or path.read_bytes() == b""


@pytest.mark.parametrize(
    "content", [b"plugins:\n  enabled: []\n", b'{"grace_seconds": {}}', b"\x00\x01\x02", b"note\n"]
)
def test_what_is_no_export_is_never_replaced(
    six_states: Any, program: Any, sentence: Any, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    assert "does not look like an earlier export" in sentence(program(*EXPORT, str(path)), 4)
    assert path.read_bytes() == content


def test_a_database_elsewhere_is_never_replaced(six_states: Any, program: Any, sentence: Any, tmp_path: Path) -> None:
    path = tmp_path / "any.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t(x)")
    connection.close()
    assert "does not look like an earlier export" in sentence(program(*EXPORT, str(path)), 4)
    assert path.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("kind", ["csv", "json", "md"])
@pytest.mark.parametrize("rows", [True, False])
def test_an_earlier_export_of_any_kind_is_replaced(
    six_states: Any, program: Any, tmp_path: Path, kind: str, rows: bool
) -> None:
    path = tmp_path / "week"
    some = [] if rows else ["--session", "nobody"]
    assert program("export", "calls", "--format", kind, *some, "-o", str(path)).code == 0
    assert path.stat().st_size
    assert program(*EXPORT, str(path)).code == 0
    assert path.read_text(encoding="utf-8").startswith("id,ts,session_id,")
    assert path.read_text(encoding="utf-8").count("\n") == 7


def test_an_empty_file_is_replaced(six_states: Any, program: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.touch()
    assert program(*EXPORT, str(path)).code == 0
    assert path.stat().st_size


@pytest.mark.parametrize(
    "env", [{"PYTHONIOENCODING": "latin1"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
@pytest.mark.parametrize("kind", ["csv", "md"])
def test_a_pipe_gets_utf8_in_every_locale(ledger: Any, program: Any, env: dict[str, str], kind: str) -> None:
    ledger.add(args_json='{"path":"Ωmega–日本.txt"}')
    done = program("export", "calls", "--format", kind, env=env)
    assert done.code == 0
    assert done.err == ""
    assert "Ωmega–日本" in done.out


def test_text_export_has_a_head_without_rows() -> None:
    assert to_text([], "csv").startswith("id,ts,")


def test_why_it_cannot_be_written_is_told_of_the_path_that_was_typed(
    six_states: Any, program: Any, sentence: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    for missing in (tmp_path / "gone" / "x.csv", tmp_path / "file" / "x.csv"):
        told = sentence(program(*EXPORT, str(missing)), 3)
        assert told.startswith(f"{missing} cannot be written (")
        assert told.endswith("; check that its folder exists.")


def test_no_path_at_all_is_not_standard_output(six_states: Any, program: Any, sentence: Any) -> None:
    """As when a script's variable is not set: it meant a file."""
    for command in (
        EXPORT,
        ("export", "posture", "--format", "md", "-o"),
        ("export", "sessions", "--format", "md", "-o"),
    ):
        assert sentence(program(*command, ""), 2) == "--output needs a path, but what it was given is empty."


def test_rights_are_not_called_a_missing_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ledger_tui.commands.target.os.open", denied)
    path = tmp_path / "x.csv"
    with pytest.raises(CommandError) as raised, target(path, force=False, keep=()):
        pass
    assert raised.value.text == f"{path} cannot be written (Permission denied); check the rights of its folder."
