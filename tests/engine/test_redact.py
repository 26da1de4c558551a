"""Secrets are taken out before anything reaches the disk; what only looks like one stays."""

from __future__ import annotations

import json
import logging
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_ledger.engine import secret_shapes
from agent_ledger.engine.records import ARGS_LIMIT, DIGEST_LIMIT
from agent_ledger.engine.redact import MARK, may_hold_secret, redact_start, redact_text, redact_value
from agent_ledger.engine.secret_values import NAME_HINTS

from .homes import Home, LockHolder

SECRET = "Zq9hunter2Xw"
"""Stands in every text below where the secret is; no part of it may survive."""

HIDDEN = [
    f"curl -H 'Authorization: Bearer {SECRET}' https://api.example.com",
    f'{{"Authorization": "Basic {SECRET}"}}',
    f"Authorization: Negotiate {SECRET}",
    f"Proxy-Authorization: SSWS {SECRET}",
    f"the header was Bearer {SECRET}a1b2c3",
    f"sk-{SECRET}abcdefgh",
    f"sk-proj-{SECRET}_abc",
    f"ghp_{SECRET}aaaaaaaaaaaaaaaaaaaaaaaa",
    f"github_pat_{SECRET}aaaaaaaaaaaaaaa",
    f"glpat-{SECRET}aaaaaaaa",
    f"xoxb-123-{SECRET}",
    f"hf_{SECRET}aaaaaaaaaa",
    f"eyJhbGciOiJI.{SECRET}.{SECRET}",
    f"sk_live_{SECRET}",
    f"https://hooks.slack.com/services/T0/B0/{SECRET}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{SECRET} cut here",
    f"postgres://app:{SECRET}@db.example.com/app",
    f"postgres://app:p@{SECRET}@db.example.com/app",
    f"redis://:{SECRET}@cache:6379",
    f"https://{SECRET}aaaaaaaaaaaaaa@git.example.com/x.git",
    f"PASSWORD={SECRET}",
    f"PASSWORD=a,{SECRET}",
    f"export DB_PASSWORD='{SECRET} two words'",
    f'export DB_PASSWORD="{"a" * 2500}{SECRET}"',
    f'token = "with \\" a quote {SECRET}"',
    f'password: "before sk-aaaaaaaaaaaaaaaaaaaa {SECRET}"',
    f"PGPASSWORD={SECRET} psql",
    f"MYSQLPASS={SECRET}",
    f"userPassword: {SECRET}",
    f'{{"api_key": "{SECRET}"}}',
    f'{{\\"client_secret\\": \\"{SECRET}\\"}}',
    f'{{\\\\\\"password\\\\\\": \\\\\\"{SECRET}\\\\\\"}}',
    f"X-Api-Key: {SECRET}",
    f"AccountKey={SECRET}==",
    f"Cookie: sid={SECRET}; other={SECRET}",
    f"login --password {SECRET}",
    f"login --password '{SECRET} {SECRET}'",
    f"curl -u bob:{SECRET} https://example.com",
    f'curl -u "bob:{SECRET} {SECRET}" https://example.com',
    f"curl --user=bob:{SECRET}",
    f'curl -u \\"bob:{SECRET}\\" https://example.com',
    f"sshpass -p '{SECRET} {SECRET}' ssh host",
    f"mysql -uroot -p{SECRET} app",
    f"machine example.com login bob password {SECRET}",
    f"1234567890:AA{SECRET}aaaaaaaaaaaaaaaaaaaaaaaa",
]

KEPT = [
    "git revert 0123456789abcdef0123456789abcdef01234567",
    '{"product_id": 3074185296, "token_count": 12345678}',
    "max_tokens=1234567 total_tokens: 55555555",
    "tokenizer: cl100k_base",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "version 1.2.3.4",
    "curl http://localhost:8080",
    "curl http://localhost:$PORT",
    "docker run -u 1000:1000 --user 1000:1000 image",
    "rsync -u host:/srv/data /x && sort -u file:1",
    "basic configuration-options and basic authentication/authorization",
    "a bearer token-based-authentication scheme",
    "compass: north, bypass: all, compass=west",
    "reset your password: click below",
    "PWD=/home/bob make && OLDPWD=~/x",
    "ASIAPACIFICREGION",
    "secretary: Bob Smith; keyboard: qwerty; monkey: banana",
    "primary_key: id, foreign key: user_id",
    "passed: yes; pass: 12",
    "PASSWORD=$PASSWORD TOKEN=${TOKEN} KEY=$(cat key)",
    "password: null, token: true, secret: <secret>",
    "git@git.example.com:team/app.git and mail bob@example.com",
    "https://example.com:8443/a@b?page=2",
    "task-runner-configuration-for-everyone",
    "see the cookie policy",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_secret_goes(text: str) -> None:
    out, count = redact_text(text)
    assert not pieces_of(SECRET) & pieces_of(out), out
    assert count >= 1


@pytest.mark.parametrize("text", HIDDEN)
def test_it_goes_as_a_value_in_a_list_and_as_json_in_json(text: str) -> None:
    for value in ({"x": text}, [[text]], {"x": json.dumps({"y": text})}, {"x": json.dumps(json.dumps({"y": text}))}):
        out, count = redact_value(value, 8000)
        assert not pieces_of(SECRET) & pieces_of(json.dumps(out)), out
        assert count >= 1


@pytest.mark.parametrize("text", KEPT)
def test_a_look_alike_stays(text: str) -> None:
    assert redact_text(text) == (text, 0)


def pieces_of(text: str) -> set[str]:
    """All runs of six characters: enough of a secret to count as leaked."""
    return {text[i : i + 6] for i in range(len(text) - 5)}


def test_under_the_name_of_a_secret_everything_goes() -> None:
    value = {
        "password": 12345678, "tokens": ["hunter2", "hunter3"], "credentials": {"prod": {"value": "hunter4"}},
        "api_key": b"hunter5", "max_tokens": 4096, "token": None, "secret": "",
    }  # fmt: skip
    out, count = redact_value(value, 8000)
    assert out == {
        "password": MARK, "tokens": [MARK, MARK], "credentials": {"prod": {"value": MARK}}, "api_key": MARK,
        "max_tokens": 4096, "token": None, "secret": "",
    }  # fmt: skip
    assert count == 5


def test_what_is_no_json_is_searched_as_its_text() -> None:
    class Odd:
        def __repr__(self) -> str:
            return f"Odd(password='{SECRET}')"

    for value in (Odd(), b"password=" + SECRET.encode(), {("a", f"token={SECRET}"): 1}, frozenset({f"token={SECRET}"})):
        out, count = redact_value({"x": value}, 8000)
        assert SECRET not in repr(out)
        assert count == 1


def test_something_that_cannot_even_be_shown_is_named_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert redact_value({"x": Broken()}, 8000) == ({"x": "<Broken that cannot be shown>"}, 0)


def test_arguments_nested_beyond_reason_are_one_text() -> None:
    value: object = f"password={SECRET}"
    for _ in range(3000):
        value = [value]
    out, _ = redact_value({"x": value}, 8000)
    assert SECRET not in repr(out)
    loop: dict[str, object] = {"password": SECRET}
    loop["self"] = loop
    out, _ = redact_value(loop, 8000)
    assert SECRET not in repr(out)


def test_no_more_is_read_than_can_be_stored() -> None:
    """A list of a thousand long texts must not cost a thousand searches."""
    out, _ = redact_value({"x": ["token " * 1000] * 1000}, 8000)
    assert 8000 < len(json.dumps(out)) < 40_000
    assert out["x"][-1] == "…"
    wide, _ = redact_value({str(n): "password=hunter2 " * 400 for n in range(1000)}, 8000)
    assert len(wide) < 20


@pytest.mark.parametrize("cut", [DIGEST_LIMIT, ARGS_LIMIT])
@pytest.mark.parametrize("offset", range(0, 40, 3))
@pytest.mark.parametrize("secret", ["sk-" + "Zq9hunter2" * 3, "ghp_" + "Zq9hunter2" * 3, "password='Zq9 hunter2 Xw9q'"])
def test_a_cut_through_a_secret_leaves_no_half_of_it(cut: int, offset: int, secret: str) -> None:
    text = "x " * ((cut - offset) // 2) + secret + " y" * 5000
    assert not pieces_of("Zq9hunter2 hunter2") & pieces_of(redact_start(text, cut))
    out, _ = redact_value(text, 2 * cut)
    assert not pieces_of("Zq9hunter2 hunter2") & pieces_of(out[:cut])


def test_a_secret_at_the_end_of_what_is_read_does_not_come_into_view_when_others_shrink() -> None:
    block = "-----BEGIN PRIVATE KEY-----" + "A" * 6000 + "-----END PRIVATE KEY----- "
    for fill in range(1900, 2000):
        text = block + "x " * (fill // 2) + "sk-Zq9hunter2Zq9hunter2" + " y" * 5000
        out, _ = redact_value(text, 8000)
        assert not pieces_of("Zq9hunter2") & pieces_of(out)


ALPHABET = string.ascii_letters + string.digits
HEAD, TAIL = "Q9zK7w", "W5xP2v"
secrets = st.text(ALPHABET, min_size=20, max_size=60).map(lambda text: HEAD + text + TAIL)
carriers = st.sampled_from(
    [
        "curl -H 'Authorization: Bearer {}'", "sk-{}", "ghp_{}", "PASSWORD={}", '{{"api_key": "{}"}}',
        "postgres://u:{}@h/x", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "--token {}",
        '{{\\"client_secret\\": \\"{}\\"}}',
    ]
)  # fmt: skip
around = st.text(st.characters(codec="utf-8"), max_size=60)


def on_disk(home: Home) -> bytes:
    """All that lies in the plugin's folder, but for the ledger, which only SQLite may open in this process."""
    others = (path for path in home.paths.data.rglob("*") if path.is_file() and not path.name.startswith("ledger.db"))
    return b"".join(path.read_bytes() for path in others)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(secret=secrets, carrier=carriers, before=around, after=around, fill=st.integers(0, 4100), spooled=st.booleans())
def test_no_planted_secret_survives_anywhere(
    home: Home, caplog: pytest.LogCaptureFixture, secret: str, carrier: str, before: str, after: str, fill: int,
    spooled: bool,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    text = f"{before}\n{'x ' * (fill // 2)}{carrier.format(secret)}\n{after}"
    args = {"command": text, "nested": [{"deep": text}], "json": json.dumps({"a": text})}
    home.merged()
    holder = LockHolder(home.paths) if spooled else None
    try:
        home.pre("terminal", args, call="c1")
        home.post("terminal", args, call="c1", result=text)
        home.post("terminal", args, call="other", result={"output": text})
        disk = on_disk(home)
        assert (b'"kind":"issue"' in disk) == spooled
    finally:
        if holder is not None:
            holder.release()
    home.pre("terminal", args, call="c2")
    rows = home.rows()
    home.clock.advance(2000)
    notice = home.turn()
    disk += on_disk(home)
    for end in (HEAD, TAIL):
        assert end not in repr(rows)
        assert end.encode() not in disk
        assert end not in notice + caplog.text


HINTS = sorted({hint for hints, _, _ in secret_shapes._RULES for hint in hints} | set(NAME_HINTS))
PIECES = sorted({hint[at : at + size] for hint in HINTS for size in (1, 2, 3, 4, 20) for at in range(len(hint))})


@pytest.mark.parametrize("hint", HINTS)
def test_a_hint_is_seen_wherever_it_stands(hint: str) -> None:
    assert all(may_hold_secret(text) for text in (hint, f"{hint} fan", f"fan {hint}", f"x{hint.upper()}x"))
    assert may_hold_secret(hint[0] + hint)
    assert not may_hold_secret("fan, 12 x 4 = 48")


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_quick_look_finds_what_looking_for_each_hint_finds(text: str) -> None:
    assert may_hold_secret(text) == any(hint in text.lower() for hint in HINTS)


def test_redaction_can_be_switched_off(home: Home) -> None:
    home.paths.data.mkdir(parents=True)
    home.paths.settings.write_text('{"redact": false}')
    home.pre("terminal", {"command": f"PASSWORD={SECRET}"})
    assert SECRET in home.only()["args_json"]
    assert home.only()["args_redacted"] == 0
