"""`export calls`: what comes out can be read back, is harmless, and overwrites nothing."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.commands.export import to_text

ROW = {
    "id": 1, "ts": "2026-01-01T00:00:00.000Z", "session_id": "s", "turn_id": None, "tool_call_id": "c",
    "tool_name": "patch", "status": "CONFIRMED", "state": "confirmed", "effect": "done", "age_s": 1.5, "grace_s": 120.0,
    "args": {"a": 1}, "args_truncated": False, "result_digest": "ok", "repeat_of": None, "verdict": None,
    "remarks": ["One.", "Two."], "checked_at": None, "evidence": [],
}  # fmt: skip


def test_csv_reads_back(six_states: Any, program: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(program("export", "calls", "--format", "csv").out)))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert rows[2]["state"] == "ghost"
    assert json.loads(rows[0]["args"]) == {"path": "notes.txt"}


def test_json_is_what_calls_prints(six_states: Any, program: Any) -> None:
    exported = program("export", "calls", "--format", "json", "--state", "error,revived").json
    listed = program("calls", "--json", "--state", "error,revived").json
    for row in exported + listed:
        del row["age_s"]
    assert exported == listed
    assert len(exported) == 2


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋"])
def test_no_cell_starts_a_formula(start: str) -> None:
    text = to_text([{**ROW, "tool_name": f"{start}cmd()", "args": f"{start}1", "session_id": f"{start}x"}], "csv")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["tool_name"] == f"'{start}cmd()"
    assert row["args"] == f"'{start}1"
    assert row["session_id"] == f"'{start}x"
    assert row["age_s"] == "1.5"


def test_csv_survives_quotes_commas_and_line_breaks() -> None:
    (row,) = csv.DictReader(io.StringIO(to_text([{**ROW, "result_digest": 'a,"b"\nc\x1b[0m'}], "csv")))
    assert row["result_digest"] == 'a,"b"\\nc\\u001b[0m'


def test_a_verdict_stands_with_its_time_and_evidence() -> None:
    looked = {"verdict": "landed", "checked_at": "2026-01-01T00:05:00.000Z", "evidence": ["It is there.", "Really."]}
    (row,) = csv.DictReader(io.StringIO(to_text([{**ROW, **looked}], "csv")))
    assert (row["verdict"], row["checked_at"]) == ("landed", "2026-01-01T00:05:00.000Z")
    assert row["evidence"] == "It is there. Really."
    assert "| landed |" in to_text([{**ROW, **looked}], "md").splitlines()[2]


def test_markdown_is_escaped() -> None:
    text = to_text([{**ROW, "tool_name": "a|b`c", "result_digest": "<script>&[x](y)\n# z"}], "md")
    line = text.splitlines()[2]
    assert len(text.splitlines()) == 3
    assert "a\\|b\\`c" in line
    assert "&lt;script\\>&amp;\\[x\\]\\(y\\)" in line


def test_secrets_are_hidden_again_and_counted(ledger: Any, program: Any) -> None:
    ledger.add(args_json='{"command": "curl -H \\"Authorization: Bearer [redacted]\\""}')
    assert program("export", "calls", "--format", "csv").err == ""
    ledger.add(args_json='{"password": "blue-teapot-42"}', result_digest="key ghp_0123456789abcdefghijklmnop done")
    for kind in ("csv", "json", "md"):
        result = program("export", "calls", "--format", kind)
        assert "teapot" not in result.out
        assert "ghp_0123" not in result.out
        assert result.err == "2 secret values were hidden in this export.\n"


def test_a_file_is_private_and_never_overwritten(six_states: Any, program: Any, sentence: Any, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    assert program("export", "calls", "--format", "json", "-o", str(target)).code == 0
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600
    assert len(json.loads(target.read_text())) == 6
    sentence(program("export", "calls", "--format", "csv", "-o", str(target)), 4)
    assert len(json.loads(target.read_text())) == 6
    assert program("export", "calls", "--format", "csv", "--force", "-o", str(target)).code == 0
    assert target.read_text().startswith("id,ts,")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.json"]


def test_the_ledger_itself_is_never_a_target(six_states: Any, program: Any, sentence: Any) -> None:
    before = six_states.path.read_bytes()
    sentence(program("export", "calls", "--format", "csv", "--force", "-o", str(six_states.path)), 4)
    assert six_states.path.read_bytes() == before


def test_wrong_usage_and_bad_targets(six_states: Any, program: Any, sentence: Any, tmp_path: Path) -> None:
    sentence(program("export", "calls", "--format", "xml"), 2)
    sentence(program("export", "calls"), 2)
    sentence(program("export", "calls", "--format", "csv", "--since", "soon"), 2)
    sentence(program("export", "calls", "--format", "csv", "-o", str(tmp_path / "no" / "where.csv")), 3)
    sentence(program("export", "calls", "--format", "csv", "--force", "-o", str(tmp_path)), 4)
    sentence(program("--ledger", str(tmp_path / "x.db"), "export", "calls", "--format", "csv", "-o", "y.csv"), 3)
    assert not (tmp_path / "y.csv").exists()


def test_an_empty_answer(program: Any) -> None:
    assert program("export", "calls", "--format", "json").out == "[]\n"
    assert program("export", "calls", "--format", "csv").out.startswith("id,ts,")


def test_a_reader_that_leaves_is_no_error(ledger: Any, tmp_path: Path) -> None:
    for _ in range(3000):
        ledger.add()
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        f"{sys.executable} -m ledger_tui --ledger {ledger.path} export calls --format json | head -1;"
        " echo ${PIPESTATUS[0]}",
        shell=True, executable="/bin/bash", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("form", ["csv", "json", "md"])
def test_a_ledger_that_cannot_be_read_is_no_half_export(ledger: Any, program: Any, sentence: Any, form: str) -> None:
    ledger.connection.close()
    ledger.path.write_bytes(b"no database" * 99)
    assert "no SQLite database" in sentence(program("export", "calls", "--format", form), 3)


def test_a_semicolon_ends_a_cell_for_some() -> None:
    """Where commas part decimals, spreadsheets part cells by semicolons: no formula may stand behind one."""
    rows = [{**ROW, "tool_name": "a;=1+1", "result_digest": 'b; "@x', "session_id": "c;d"}]
    (row,) = csv.DictReader(io.StringIO(to_text(rows, "csv")))
    assert (row["tool_name"], row["result_digest"], row["session_id"]) == ("a;'=1+1", "b;' \"@x", "c;d")


def test_markdown_makes_no_link_by_itself() -> None:
    line = to_text([{**ROW, "result_digest": "see https://a.example or mail@a.example"}], "md").splitlines()[-1]
    assert "see https\\://a\\.example or mail\\@a\\.example" in line
