"""What goes elsewhere: exports, the report to a chat, the agent's notice, the watcher, the scripts of the plugin."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import agent_ledger as door
from agent_ledger import posture, posture_daily
from agent_ledger.engine.paths import Paths
from screens.export import export_shapes
from tests.engine.homes import ROOT, Home, until
from tests.posture.test_daily import ENVIRON, BotApi
from tests.posture.test_daily import api as api

from .conftest import Planted
from .corpus import RAW, SAMPLES
from .homes import CHAT, TEXTS
from .judging import hazards

FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
WHAT = ("calls", "posture", "sessions")


class Tags(HTMLParser):
    """Which tags a page has, and where its links go."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)


@pytest.mark.parametrize("what", WHAT)
def test_no_cell_of_a_spreadsheet_is_a_formula(what: str, home: Any, command: Any) -> None:
    """Whatever the spreadsheet takes for the border of a cell: comma, semicolon or tab."""
    home("planted")
    out = command("export", what, "--format", "csv").out
    rows = list(csv.reader(io.StringIO(out)))
    assert len(rows) > 50
    assert {len(row) for row in rows} == {len(rows[0])}
    texts = [cell for row in rows for cell in row if not re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", cell)]
    assert [cell for cell in texts if FORMULA.match(cell)] == []
    for border in (";", "\t"):
        cells = [cell.strip(' "') for line in out.split("\n") for cell in line.split(border)[1:]]
        assert [cell for cell in cells if FORMULA.match(cell)] == []


@pytest.mark.parametrize("what", WHAT)
def test_nothing_in_a_table_of_markdown_is_markup(what: str, home: Any, command: Any) -> None:
    home("planted")
    out = command("export", what, "--format", "md").out
    page = MarkdownIt("gfm-like", {"html": True}).render(out)
    shown = {"table", "thead", "tbody", "tr", "th", "td"}
    shown |= {"h1", "p", "ul", "li"} if what == "posture" else set()
    assert Tags(page).tags == shown
    assert page.count("<table>") == 1
    rows = [re.split(r"(?<!\\)\|", line) for line in out.split("\n") if line.startswith("| ")]
    assert len(rows) > 50
    assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("what", WHAT)
def test_a_file_holds_the_same(what: str, home: Any, command: Any, tmp_path: Path) -> None:
    home("planted")
    for form in ("csv", "json", "md"):
        said = command("export", what, "--format", form, "-o", str(tmp_path / f"out.{form}"))
        written = (tmp_path / f"out.{form}").read_text("utf-8")
        assert hazards(written + said.out + said.err) == []
        assert [sample.name for sample in SAMPLES if sample.first in written or sample.last in written]
    assert json.loads((tmp_path / "out.json").read_text("ascii"))


def test_what_the_app_writes_to_a_file(home: Any, command: Any, tmp_path: Path) -> None:
    """As inert as what the commands write, with the same values in it; halves of characters are no obstacle."""
    home("planted")
    shapes = command("calls", "--json").json
    names = {key for shape in shapes for key in shape}
    shapes = [{**dict.fromkeys(sorted(names)), **shape} for shape in shapes]
    for form in ("csv", "json"):
        export_shapes(str(tmp_path / f"app.{form}"), shapes)
        assert hazards((tmp_path / f"app.{form}").read_text("utf-8")) == []
    assert json.loads((tmp_path / "app.json").read_text("ascii")) == shapes
    rows = list(csv.reader(io.StringIO((tmp_path / "app.csv").read_text("utf-8"))))
    assert [cell for row in rows for cell in row if re.match(r"[=+@\t\r＝＋－＠]|-[^0-9]", cell)] == []
    assert any("\\u001b]52;c;" in cell for row in rows for cell in row)


def test_a_report_to_a_chat(planted: Planted, api: BotApi, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = str(planted.folder / "planted" / "plugin-data" / "agent-ledger" / "ledger.db")
    assert posture_daily.main([ledger, "--api", api.url], ENVIRON) == 0
    texts = [body["text"] for body in api.bodies]
    assert len(texts) > 3
    assert [name for text in texts for name in hazards(text)] == []
    assert sum(sample.first in "".join(texts) for sample in SAMPLES) > 20
    assert {name for body in api.bodies for name in body} == {"chat_id", "text", "link_preview_options"}
    api.answers = [(400, {"ok": False, "description": RAW})]
    assert posture_daily.main([ledger, "--api", api.url], ENVIRON) == 1
    assert posture_daily.main([ledger, "--dry-run"], {}) == 0
    said = capsys.readouterr()
    assert hazards(said.out + said.err) == []
    assert SAMPLES[1].first in said.err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_posture_as_a_script(planted: Planted, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name, code in (("planted", 0), ("spoilt", 3)):
        ledger = planted.folder / name / "plugin-data" / "agent-ledger" / "ledger.db"
        assert posture.main([str(ledger), *more]) == code
        said = capsys.readouterr()
        assert hazards(said.out + said.err) == []


@pytest.mark.parametrize("main", [posture.main, posture_daily.main])
def test_scripts_name_a_hostile_path(main: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = tmp_path / f"x\x1b]0;hostile-title\x07\u202e\n{chr(0xDCE9)}.db"
    assert main([str(hostile)]) == 3
    hostile.write_bytes(b"no database" * 99)
    assert main([str(hostile)]) == 3
    said = capsys.readouterr()
    assert hazards(said.err) == []
    assert said.err.count("\n") == 2
    assert said.err.count("\\u001b]0;hostile-title") == 2
    with pytest.raises(SystemExit):
        main(["--since", "\x1b[2J"])
    with pytest.raises(SystemExit):
        main(["--\x1b[2J"])
    assert hazards(capsys.readouterr().err) == []


def test_what_the_agent_is_told(planted: Planted) -> None:
    """One line for each call, each of ours; what stands in quotes holds no line break and no hidden character."""
    assert len(planted.notices) > 20
    for notice in planted.notices:
        assert hazards(notice) == []
        first, *others = notice.split("\n")
        assert re.match(r"\[agent-ledger notice \d+\] Record of this conversation", first)
        assert not [line for line in others if not re.match(r"- #\d+ [^ ]+ \"|and \d+ more |[A-Z][^\"]*:$", line)]
    assert sum(sample.first in "".join(planted.notices) for sample in SAMPLES) > 30


def test_what_a_policy_answers(home: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The refusal, and what the host's log gets to read of it all."""
    folder = home("planted")
    (Paths(folder).policy_mode).write_text("enforce")
    here = Home(folder)
    try:
        for number, text in enumerate(TEXTS):
            payload = here._payload("terminal", {"command": f"rm -rf ~/{text}"}, f"p{number}", {"session_id": text})
            answer = getattr(door, "pre_tool_call")(**payload)  # noqa: B009 - mypy knows it as a hook without an answer
            assert answer["action"] == "block"
            getattr(door, "pre_llm_call")(session_id=text, turn_id=text, user_message=text)  # noqa: B009 - the same
            assert hazards(answer["message"].partition(": ")[2]) == []  # Before it: the name of a person's own rule.
    finally:
        here.close()
    assert [name for record in caplog.records for name in hazards(record.getMessage())] == []


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_what_is_seen_while_it_happens(home: Any, more: tuple[str, ...], tmp_path: Path) -> None:
    folder = home("planted")
    shutil.rmtree(Paths(folder).spool)
    environ = {**os.environ, "HERMES_HOME": str(folder), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    watching = subprocess.Popen(
        [sys.executable, "-m", "ledger_tui", "watch", *more], env=environ, stdout=subprocess.PIPE, cwd=tmp_path
    )
    seen: list[bytes] = []
    assert watching.stdout is not None
    reader = threading.Thread(target=lambda: seen.extend(watching.stdout or ()), daemon=True)
    reader.start()
    here = Home(folder)
    try:
        knocks = iter(range(100_000))

        def awake() -> bool:
            here.pre("terminal", {"command": f"knock {next(knocks)}"}, f"k{next(knocks)}", session_id=CHAT)
            return bool(seen)

        until(awake, "a first line")
        for number, text in enumerate(TEXTS):
            here.pre(text, {"command": text}, f"w{number}", session_id=text)
            here.post(text, {"command": text}, f"w{number}", session_id=text, status="error", error_type=text)
        here.pre("terminal", {"command": "the last"}, "last", session_id=CHAT)
        until(lambda: any(b"the last" in line for line in seen), "the last line")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
        reader.join(30)
    finally:
        watching.kill()
        watching.wait()
        here.close()
    out = b"".join(seen).decode()
    assert hazards(out) == []
    assert not any(line.startswith(("ok    ledger", "0 orphans")) for line in out.split("\n"))
    assert sum(sample.first in out for sample in SAMPLES) == len(SAMPLES)
    if more:
        assert all(json.loads(line) for line in out.splitlines())
