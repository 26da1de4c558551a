"""The daily report, against a Bot API server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent_ledger import posture_daily
from agent_ledger.engine.posture import telegram

from .ledgers import BEGIN, CLOUD_KEY, WIPE, command, ledger, row

SECRET = "AAH_not-a-real-one_0123456789abcdef"
TOKEN = f"110201543:{SECRET}"
ENVIRON = {posture_daily.TOKEN: TOKEN, posture_daily.CHAT: "-100200300", "TELEGRAM_BOT_TOKEN": "1:the-agents-own"}

Answer = tuple[int, Any]


class BotApi:
    """Answers `sendMessage` with what the test says, and keeps what was sent."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                api.paths.append(self.path)
                api.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                status, answer = api.answers.pop(0) if api.answers else (200, {"ok": True, "result": {}})
                self.send_response(status)
                for name, value in api.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def api() -> Iterator[BotApi]:
    server = BotApi()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return ledger(tmp_path / "ledger.db", [command(1, WIPE), command(2, CLOUD_KEY)])


class Run:
    """One run of the script and what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *argv: str, environ: dict[str, str] | None = None) -> None:
        self.slept: list[float] = []
        self.code = posture_daily.main(
            list(argv), ENVIRON if environ is None else environ, lambda: BEGIN + 3600, self.slept.append
        )
        self.out, self.err = capsys.readouterr()
        assert SECRET not in self.out + self.err
        assert self.err.count("\n") == (1 if self.err else 0)


def test_one_message(api: BotApi, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(capsys, str(path), "--api", api.url)
    assert (run.code, run.out, run.err) == (0, "", "")
    assert api.paths == [f"/bot{TOKEN}/sendMessage"]
    (body,) = api.bodies
    assert body["chat_id"] == "-100200300"
    assert "parse_mode" not in body
    assert body["link_preview_options"] == {"is_disabled": True}
    assert "Score 60: 2 calls, 2 findings" in body["text"]
    assert "-25 = 75  ASI02 recursive-delete #1 terminal:" in body["text"]
    assert "-15 = 60  ASI03 credential-read #2 terminal:" in body["text"]
    assert "sign of tidy habits" in body["text"]


def test_a_long_report_comes_in_parts_that_telegram_takes(api: BotApi, tmp_path: Path, capsys: Any) -> None:
    rows = [row(n, f"mcp__\U0001f980_(`{n}`)__*drop*", {"command": f"{WIPE}/{n}"}, at=30.0 * n) for n in range(1, 101)]
    run = Run(capsys, str(ledger(tmp_path / "ledger.db", rows)), "--api", api.url)
    assert run.code == 0
    texts = [body["text"] for body in api.bodies]
    assert len(texts) > 3
    assert all(len(text.encode("utf-16-le")) // 2 <= 4096 for text in texts)
    assert all(f"#{n} mcp__\U0001f980_(`{n}`)__*drop*: " in "\n".join(texts) for n in range(1, 101))


def test_nothing_recorded_is_said_too(api: BotApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Run(capsys, str(ledger(tmp_path / "ledger.db")), "--api", api.url).code == 0
    assert "There is no score" in api.bodies[0]["text"]


def test_only_the_last_day_counts(api: BotApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ledger(tmp_path / "ledger.db", [command(1, WIPE, at=-90_000.0), command(2, CLOUD_KEY)])
    Run(capsys, str(path), "--api", api.url)
    assert "Score 85: 1 calls, 1 findings" in api.bodies[0]["text"]
    Run(capsys, str(path), "--since", "2d", "--api", api.url)
    assert "Score 60: 2 calls, 2 findings" in api.bodies[1]["text"]


def test_a_dry_run_needs_no_bot(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(capsys, str(path), "--dry-run", environ={})
    assert (run.code, run.err) == (0, "")
    assert "Score 60" in run.out


def test_missing_variables_are_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(capsys, str(path), environ={"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_CHAT_ID": "1"})
    assert (run.code, run.out) == (1, "")
    assert posture_daily.TOKEN in run.err
    assert posture_daily.CHAT in run.err


@pytest.mark.parametrize(
    "token", ["nonsense", f"110201543:{SECRET}\r\nHost: x", f"110201543:{SECRET}/../x", f"x:{SECRET}"]
)
def test_what_is_no_token_is_not_sent(api: BotApi, path: Path, token: str, capsys: Any) -> None:
    run = Run(capsys, str(path), "--api", api.url, environ={**ENVIRON, posture_daily.TOKEN: token})
    assert run.code == 1
    assert "does not look like" in run.err
    assert api.paths == []


def test_a_refusal_is_reported_with_its_description(api: BotApi, path: Path, capsys: Any) -> None:
    api.answers = [(400, {"ok": False, "description": f"Bad Request: chat not found {TOKEN}\n\x1b[2J"})]
    run = Run(capsys, str(path), "--api", api.url)
    assert run.code == 1
    assert "400: Bad Request: chat not found [token]" in run.err
    assert "\x1b" not in run.err


def test_the_part_that_failed_is_named(api: BotApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [command(n, f"{WIPE}/{n}", at=30.0 * n) for n in range(1, 101)]
    api.answers = [(200, {"ok": True}), (403, {"ok": False, "description": "Forbidden: bot was blocked by the user"})]
    run = Run(capsys, str(ledger(tmp_path / "ledger.db", rows)), "--api", api.url)
    assert run.code == 1
    assert run.err.startswith("Part 2 of ")
    assert len(api.paths) == 2


TOO_MANY = {"ok": False, "description": "Too Many Requests: retry after 7", "parameters": {"retry_after": 7}}


def test_asked_to_wait_it_waits_once(api: BotApi, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers = [(429, TOO_MANY)]
    run = Run(capsys, str(path), "--api", api.url)
    assert (run.code, run.slept, len(api.paths)) == (0, [7.0], 2)


def test_asked_twice_it_gives_up(api: BotApi, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers = [(429, TOO_MANY), (429, TOO_MANY)]
    run = Run(capsys, str(path), "--api", api.url)
    assert (run.code, run.slept, len(api.paths)) == (1, [7.0], 2)
    assert "429" in run.err


def test_it_does_not_wait_for_hours(api: BotApi, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers = [(429, {"ok": False, "parameters": {"retry_after": 7200}})]
    run = Run(capsys, str(path), "--api", api.url)
    assert (run.code, run.slept) == (1, [])
    assert "7200 s" in run.err


@pytest.mark.parametrize("answer", [(200, b"no json"), (200, {"ok": False}), (200, ["ok"]), (502, b"<html>")])
def test_odd_answers_are_failures(api: BotApi, path: Path, answer: Answer, capsys: Any) -> None:
    api.answers = [answer]
    run = Run(capsys, str(path), "--api", api.url)
    assert run.code == 1
    assert f"status {answer[0]}" in run.err


def test_a_redirect_is_not_followed(api: BotApi, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api.answers = [(302, {})]
    api.headers = {"Location": f"{api.url}/elsewhere"}
    assert Run(capsys, str(path), "--api", api.url).code == 1
    assert api.paths == [f"/bot{TOKEN}/sendMessage"]


def test_nobody_there(api: BotApi, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api.server.shutdown()
    api.server.server_close()
    run = Run(capsys, str(path), "--api", api.url)
    assert run.code == 1
    assert "could not be sent" in run.err


def test_no_answer_in_time(api: BotApi, path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telegram, "TIMEOUT_S", 0.05)
    hold = threading.Event()
    monkeypatch.setattr(api, "answers", Held(hold))
    run = Run(capsys, str(path), "--api", api.url)
    hold.set()
    assert run.code == 1
    assert "no answer within" in run.err


class Held(list[Answer]):
    """Answers that come when the test is over."""

    def __init__(self, until: threading.Event) -> None:
        super().__init__([(200, {"ok": True})])
        self.until = until

    def pop(self, *_: Any) -> Answer:
        self.until.wait(10)
        return 200, {"ok": True}


@pytest.mark.parametrize("url", ["http://bot.example", "ftp://127.0.0.1", "file:///x", "bot.example"])
def test_the_token_goes_only_over_tls_or_to_this_machine(path: Path, url: str, capsys: Any) -> None:
    run = Run(capsys, str(path), "--api", url)
    assert run.code == 1
    assert "https" in run.err


def test_a_ledger_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(capsys, str(tmp_path / "none.db"))
    assert run.code == 3
    assert "none.db" in run.err


def test_units_and_parts() -> None:
    assert telegram.units("a\U0001f980é") == 4
    assert telegram.parts(["ab", "cd", "ef"], limit=5) == ["ab\ncd", "ef"]
    assert telegram.parts(["\U0001f980" * 3], limit=5) == ["\U0001f980\U0001f980", "\U0001f980"]
    assert telegram.parts(["", "abcdefg", ""], limit=3) == ["abc", "def", "g\n"]
    assert "not-a-real-one" not in repr(telegram.Bot(TOKEN, "1"))
