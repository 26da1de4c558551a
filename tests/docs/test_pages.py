"""What the other pages say of the app, the notice, settings, redaction and pictures is so."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from types import ModuleType

import pytest
from textual.binding import Binding

from agent_ledger.engine import notice, reconcile, tools
from agent_ledger.engine.fingerprint import HASHED_NAMES, ID_LIMIT, NAME_LIMIT
from agent_ledger.engine.redact import MARK, redact_text, redact_value
from agent_ledger.engine.settings import Settings, parse
from agent_ledger.engine.spool import MEMORY_LIMIT
from agent_ledger.engine.store import CHECKPOINT_WRITES
from ledger_tui.app import ENTRIES, LedgerApp
from ledger_tui.sources.health import DEGRADED, OK
from screens.calls import CallsScreen
from screens.filter_terms import TERMS
from widgets.look import GLYPHS, HEALTH_GLYPHS, HEALTH_WORDS

from .pages import ROOT, code, page, quotes, sections, table

CALLS = sections(page("calls.md"))


# The notice


def test_the_headings_of_the_notice_are_quoted_word_for_word() -> None:
    assert quotes(page("notice.md")) == [heading for _, heading in notice._SECTIONS]


def test_the_numbers_of_the_notice() -> None:
    text = " ".join(page("notice.md").split())
    assert (notice.ITEMS, notice.LIMIT, notice._EXCERPT) == (10, 1200, 72)
    assert "Ten lines and 1,200 characters at most" in text
    assert "one line of 72 characters at most" in text
    assert (reconcile.DONE_ITEMS, reconcile.HINTS_A_SESSION) == (4, 5)
    assert "The four newest different calls" in text
    assert "five repeated calls at most" in text


def test_the_example_of_the_notice_is_what_the_plugin_writes() -> None:
    begin = page("notice.md").index("\n" + notice.HEAD) + 1
    shown = page("notice.md")[begin:].split("\n```")[0]
    items = [
        notice.Item(
            "ghost", 9, "2026-11-29T18:45:28.000Z", "terminal", '{"command": "git -C thesis push origin ch3"}',
            age_s=46 * 60, verdict="landed",
            evidence='The log of "origin/ch3" says that it was pushed 2 s after the call.',
        ),
        notice.Item(
            "done", 7, "2026-11-29T18:43:05.000Z", "terminal",
            '{"command": "python3 figures/fig7.py --data buoys/2030.csv"}',
        ),
        notice.Item(
            "done", 8, "2026-11-29T18:45:26.000Z", "write_file",
            r'{"path": "thesis/ch3.tex", "content": "\\includegraphics{fig7.pdf}\n"}',
        ),
    ]  # fmt: skip
    assert shown == notice.compose(1, items)


# The screen


def test_marks_and_states_of_the_screen() -> None:
    rows = table(CALLS["The parts"])
    assert {state: mark for mark, state, _ in rows} == dict(GLYPHS)


def test_the_words_at_the_top_right_are_those_of_the_screen() -> None:
    shown = {code(row[0])[0] for row in table(CALLS["What the word at the top right means"])}
    assert shown == {f"{glyph} {HEALTH_WORDS.get(state, state)}" for state, glyph in HEALTH_GLYPHS.items()}
    assert {OK, DEGRADED} <= set(HEALTH_GLYPHS)


def test_every_key_of_the_screen_is_on_the_page() -> None:
    named = {word for row in table(CALLS["Keys"]) for cell in row for word in code(cell)} - {".csv", ".json"}
    bindings = [one for one in (*CallsScreen.BINDINGS, *LedgerApp.BINDINGS) if isinstance(one, Binding)]
    keys = {key for binding in bindings for key in binding.key.split(",")}
    names = {"slash": "/", "question_mark": "?"}
    wanted = {names.get(key, key) for key in keys} - {"left", "right"}
    wanted |= {entry.key for entry in ENTRIES} | {"j", "k", "g", "G", "enter"}
    assert named == wanted


def test_the_terms_of_the_filter() -> None:
    words = [word.rstrip(":") for row in table(CALLS["Filter"]) for word in code(row[0])]
    assert words == ["tool", "state", "status", "verdict", "session", "since", "until"]
    assert set(words) == {*TERMS, "status"}


# Settings


def test_the_settings_and_their_defaults() -> None:
    rows = table(sections(page("privacy.md"))["settings.json"])
    shown = {code(row[0])[0]: code(row[1])[0] for row in rows}
    text = "{" + ", ".join(f'"{name}": {value}' for name, value in shown.items()) + "}"
    settings, plain = parse(text), Settings()
    assert settings.problems == ()
    assert set(shown) == {field.name for field in fields(Settings)} - {"problems"}
    assert settings.grace_seconds == {"default": tools.DEFAULT_GRACE_S, **tools.GRACE_S}
    for name in ("redact", "durability", "repeat_window_seconds"):
        assert getattr(settings, name) == getattr(plain, name)


@pytest.mark.parametrize("name", ["rows.md", "privacy.md"])
def test_settings_in_examples_are_understood(name: str) -> None:
    examples = re.findall(r'\{"(?:grace_seconds|redact)".*\}', page(name))
    assert examples
    for example in examples:
        if not example.startswith('{"default"'):
            assert parse(example.split("`")[0]).problems == ()


# Secrets


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc123def456ghi", "Cookie: sid=99abcdef", "DB_PASSWORD=hunter2", "--token abcd9",
        "postgres://bo:s3cret@db.example/x", "curl -u kim:geheim https://a.example", "sshpass -p letmein ssh h",
        "mysql -uroot -pgeheim db", '"api_key": "zzz9"',
        "redis-cli -a geheim9 ping", "docker login -p geheim9", "ALTER USER x PASSWORD 'geheim9'", "SECRET_KEY=geheim9",
        "x identified by 'geheim9'", "creds: geheim9", "-----BEGIN PGP PRIVATE KEY BLOCK-----\ngeheim9",
        "'password' => 'geheim9'", 'password: str = "geheim9"', 'os.environ["API_KEY"] = "geheim9"',
        "process.env['TOKEN'] = 'geheim9'", 'token=f"geheim9"', 'token = """geheim9"""', 'token = str("geheim9")',
        'token = ["geheim9", "x9"]', 'token: !str "geheim9"', 'password = os.getenv("NAME", "geheim9")',
        "DB_PASSWORD=a&b geheim9", "password: correct geheim9", "password: |\n  geheim9", "setx API_KEY geheim9",
        "aws configure set aws_secret_access_key geheim9", '{"name": "DB_PASSWORD", "value": "geheim9"}',
        '{"selector": "#password", "text": "geheim9"}', "<password>geheim9</password>",
    ],
)  # fmt: skip
def test_what_the_page_says_is_taken_out(text: str) -> None:
    clean, found = redact_text(text)
    assert MARK in clean
    assert "geheim" not in clean
    assert found >= 1


@pytest.mark.parametrize("text", ["x $TOKEN", 'token = os.environ["API_KEY"]', "f(token=token)", "--token <token>"])
def test_what_the_page_says_stays_readable(text: str) -> None:
    assert redact_text(text) == (text, 0)


def test_the_numbers_of_what_is_kept() -> None:
    assert (ID_LIMIT, HASHED_NAMES, NAME_LIMIT) == (400, 50, 64)
    text = " ".join(page("privacy.md").split())
    assert "more than 400 characters" in text
    assert "the first 50 whose names have 64 characters at most" in text


def test_a_whole_argument_with_such_a_name_is_taken_out() -> None:
    assert redact_value({"api_key": "zzz"}, 100) == ({"api_key": MARK}, 1)


@pytest.mark.parametrize(
    "text",
    [
        "my password is hunter2", "echo c2VjcmV0 | base64 -d", "PIN 4711", "4111 1111 1111 1111", "kim@example.org",
        "echo hunter2 | gh secret set API_KEY", "zip -P hunter2 a.zip b", "Passwort: hunter2", 'auth=("bo", "hunter2")',
    ],
)  # fmt: skip
def test_what_the_page_says_is_missed(text: str) -> None:
    assert redact_text(text) == (text, 0)


# Trouble


def test_the_numbers_of_the_trouble_page() -> None:
    assert MEMORY_LIMIT == 20_000
    assert "up to 20,000 records" in page("trouble.md")
    assert CHECKPOINT_WRITES == 1000
    assert "(some 1,000 writes)" in page("trouble.md")


# Pictures


def picture_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures_make", ROOT / "docs" / "pictures" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", picture_maker().NAMES)
def test_the_pictures_are_the_reviewed_snapshots(name: str) -> None:
    shown = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    assert shown == picture_maker().picture(name), "run: python docs/pictures/make.py"
    assert "url(http" not in shown
    assert "@font-face" not in shown


# Installing


def test_the_checks_that_the_self_test_prints_are_those_on_the_page() -> None:
    script = (ROOT / "agent_ledger" / "selftest.py").read_text(encoding="utf-8")
    checks = re.findall(r"^ok    (.+)$", page("install.md"), re.M)
    joined = re.sub(r'"\s+"', "", script)
    assert len(checks) == 9
    assert [check for check in checks if check not in joined] == []
