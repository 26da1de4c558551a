"""Every way in which a value is given under the name of a secret, and every look-alike that must stay readable."""

from __future__ import annotations

import json

import pytest

from agent_ledger.engine.redact import MARK, redact_start, redact_text, redact_value

SECRET = "Tr0ub4dorQz9"

NAMES = [
    "password", "PASSWORD", "DB_PASSWORD", "passwd", "passphrase", "PGPASS", "pwd", "pw", "MY_PW", "secret",
    "client_secret", "SECRET_KEY", "secretKey", "S3_SECRET_KEY", "SECRET_KEY_BASE", "token", "access_token", "api_key",
    "apiKey", "creds", "credentials", "private_key", "signingKey", "MASTER_KEY", "APP_KEY",
]  # fmt: skip

GIVEN = [
    # shells and configuration
    "{}=@", "{}='@'", '{}="@"', "{}: @", "{} = @", "export {}=@", "{}=$'@'", "{}=a'@'", '  {}: "@"',
    # hashes and objects of every language
    "'{}' => '@'", '"{}" => "@"', ":{} => '@'", '"{}": "@"', "{{'{}': '@'}}", "{} := \"@\"", "{}=>'@'",
    # subscripts
    'os.environ["{}"] = "@"', "process.env['{}']='@'", 'cfg["{}"]="@"',
    # annotations
    '{}: str = "@"', "const {}: string = '@'", 'let {}?: string = "@"', "{}: Optional[str] = '@'", '{}:str="@"',
    'let {}: &str = "@";', "const {}: &'static str = \"@\";", "{}: Option<&'static str> = Some(\"@\")",
    'static {}: &[u8] = b"@";', "let {}: &mut str = '@'", '{}: ?string = "@"',
    # prefixes and triple quotes
    '{}=f"@"', 'f({}=r"@")', '{} = b"@"', '{} = rb"@"', '{} = """@"""', "{} = '''\n@\n'''", '{} = @"@"',
    # calls and brackets
    '{} = str("@")', '{} = ("@")', '{} = os.getenv("P", "@")', '{} = ["a1b2", "@"]', '{} = SecretStr(str("@"))',
    '{} = env["P"] or "@"', "{} = process.env['P'] || '@'", '{} = x("@").encode()', '{} = "a" + "@"',
    '{}=String::from("@")',
    # YAML
    '{}: !str "@"', "{}: !!str @", "{}: |\n  @", "{}: >-\n  @\n", "{}: |\n  first\n\n  @\nuser: x", "{}:\n  @",
    "{}:\n- @\n- b\n", "  {}: |2-\n      @",
    "{}: &anchor @", "- {}: @",
    # values that run to the end of their line
    "{}=p&@", "{}=p)@", "{}=p;@", "{}=correct horse @", "{}: correct horse @", "A=1\n{}=a b|@\nB=2",
    '{}=p"@', "{}: p'@ x",
    "cat > .env <<EOF\n{}=a b @\nEOF",
    # JSON in JSON
    '{{\\"{}\\": \\"@\\"}}', "A=1\\n{}=a b @\\nB=2",
    # options of commands
    "tool --{} @", "tool --{}=@", "tool --{} '@'", '["tool", "--{}", "@"]',
    # commands and calls that set a name
    "setx {} @", "set -x {} @", "aws configure set {} @", "gh secret set {} --body @", 'os.putenv("{}", "@")',
    'localStorage.setItem("{}", "@")',
    # pairs
    '{{"name": "{}", "value": "@"}}', "- name: {}\n  value: @", "- name: {}\n  value: '@'", '<add key="{}" value="@"/>',
    '{{"selector":"#{}","text":"@"}}',
    # elements
    "<{}>@</{}>", "<a:{} x='1'>@</a:{}>",
    # a mark that stands there already hides nothing behind it
    '{}="[redacted]@"', "{}=[redacted]@",
]  # fmt: skip


def pieces_of(text: str) -> set[str]:
    return {text[i : i + 5] for i in range(len(text) - 4)}


def filled(shape: str, name: str) -> str:
    """The shape with a name and the secret; C# writes an @ of its own before a text."""
    named = shape.replace("{}", name).replace("{{", "{").replace("}}", "}")
    return named.replace('@"@"', f'@"{SECRET}"') if '@"@"' in named else named.replace("@", SECRET)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", GIVEN)
def test_a_value_goes_however_it_is_given(shape: str, name: str) -> None:
    text = filled(shape, name)
    assert SECRET in text
    for inside in (text, json.dumps({"x": text}), json.dumps([json.dumps({"x": f"\n{text}\n"})])):
        out, count = redact_text(inside)
        assert not pieces_of(SECRET) & pieces_of(out), (inside, out)
        assert count >= 1


SHAPES = [
    "bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0", "https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0/me",
    "7123456789:AFHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBFHdqTcvCH1vG",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nHdqTcvCH1vG\n-----END PGP PRIVATE KEY BLOCK-----",
    "gsk_HdqTcvCH1vGWJxfSeofSAs0K5PA", "xai-HdqTcvCH1vGWJxfSeofSAs0K5PA", "xapp-1-A0123-1234567890-HdqTcvCH1vG",
    "GOCSPX-HdqTcvCH1vGWJxfSeofSAs0", "whsec_HdqTcvCH1vGWJxfSeofSAs0", "hvs.HdqTcvCH1vGWJxfSeofSAs0K5PA",
    "dckr_pat_HdqTcvCH1vGWJxfSeofSAs0", "https://discord.com/api/webhooks/123456789/HdqTcvCH1vGWJxf-SeofSAs0K5PA",
    "redis-cli -h cache -a HdqTcvCH1vG ping", "docker login -u bob -p HdqTcvCH1vG registry.example.com",
    "podman login registry.example.com -p 'HdqTcvCH1vG'", "CREATE USER x WITH PASSWORD 'HdqTcvCH1vG'",
    "ALTER USER x PASSWORD 'HdqTcvCH1vG';", "create user x identified by 'HdqTcvCH1vG'",
    "machine h\n  login bob\n  password HdqTcvCH1vG", "API key: HdqTcvCH1vG", "Wifi password: HdqTcvCH1vG",
    '{"name": "Authorization", "value": "HdqTcvCH1vG"}',
]  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("before", ["", "x=1\n", "x=1\t"])
def test_it_goes_by_its_own_shape(text: str, before: str) -> None:
    for inside in (before + text, json.dumps({"x": before + text}), json.dumps(json.dumps([before + text]))):
        out, count = redact_text(inside)
        assert not {"HdqTc", "SeofS"} & pieces_of(out), (inside, out)
        assert count >= 1


READABLE = [
    "def login(user: str, password: str, token: Optional[str] = None) -> bool:",
    "check(password=password, token=token)", "self.token = token", "db_password = password",
    'password = os.getenv("DB_PASSWORD")', 'password = os.environ["DB_PASSWORD"]',
    "const token = process.env.API_TOKEN;",
    'const token = process.env["API_TOKEN"];', "token = get_token()", 'password = getpass.getpass("Password: ")',
    'token = request.headers.get("Authorization")', "let token = Token::new(kind)", 'if password == "":',
    "if (token != null) { return; }", "secret_key = settings.SECRET_KEY", "password: ${{ secrets.DB_PASSWORD }}",
    "password: !Ref DbPassword", "secrets: inherit", "Password: required for login", 'f"token={token}"', "password=%s",
    "env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: db\n        key: password\n",
    "set token limits for everyone", "docker login -u bob --password-stdin", "kubectl get secret db -o yaml",
    '{"properties": {"password": {"type": "string"}, "token": {"type": "string"}}}',
    "SELECT password FROM users WHERE token = ? AND secret = :secret AND pwd = $1",
    '<input type="password" name="password"><label>Password</label>', "use <token> or <password> here",
    "--token <token> --user <user>", '["password", "email"]', 'import { token } from "x"', "password_hash = bcrypt(x)",
    '{"token_type": "bearer", "expires_in": 3600}', 'echo "password:" && read p', 'print("token:", token)',
    'assert token, "no token"', 'password: "" # empty', "access_token: string; // the token", "TOKEN_FILE=/run/x",
    "name: password-reset\nvalue: 3", '{"name": "max_tokens", "value": 5}', "git config set user.name bob",
    "ssh -p 22 login@host.example.com", "redis-cli -h cache GET x", "docker run -p 80:80 login", "mysql -u root -p db",
    "ENV TOKEN=$TOKEN\nRUN make", "the password field must not be empty", "git hooks and webhooks",
    "12:30:AM and 1234567:Abc",
    "task_test_live and desk_live_show", "MOREPW and ipw: 2200", "xai-lab, hvs. and whsec",
]  # fmt: skip


@pytest.mark.parametrize("text", READABLE)
def test_a_look_alike_stays_readable(text: str) -> None:
    assert redact_text(text) == (text, 0)


AROUND = ("""sh -c "{}" && {}""", """sh -c '{}' && {}""", 'echo "{}"; {}', "{{'{}', '{}'}}", '{}"{}"', "{}'{}'")
"""Texts in which the quote behind one value may be another's, or that of a text around."""


@pytest.mark.parametrize("first", ["--token '@'", "TOKEN='@'", 'password: "@"', 'x["token"] = "@"', 'TOKEN="@"'])
@pytest.mark.parametrize("second", ['--token "%"', 'TOKEN="%" x', "password: '%'", "{'secret': '%'}", '"api_key": "%"'])
def test_a_quote_that_ends_a_text_around_a_value_takes_no_other_name_with_it(first: str, second: str) -> None:
    other = "Xk7wPq3vLm8s"
    for around in AROUND:
        text = around.format(first.replace("@", SECRET), second.replace("%", other))
        for inside in (text, json.dumps({"x": text})):
            for lines in (True, False):
                out, _ = redact_text(inside, lines=lines)
                assert [one for one in (SECRET, other) if one in out] == [], out


@pytest.mark.parametrize("inner", range(4))
@pytest.mark.parametrize("outer", range(4))
@pytest.mark.parametrize("value", ['--token "@"', 'TOKEN="@"', 'x["token"] = "@"', "--token '@'", 'a: String = "@"'])
def test_one_value_may_stand_deeper_in_json_than_the_next(value: str, inner: int, outer: int) -> None:
    def wrapped(text: str, times: int) -> str:
        for _ in range(times):
            text = json.dumps({"token": text})
        return text

    other = "Xk7wPq3vLm8s"
    value = value.replace("a:", "token:")
    first, second = wrapped(value.replace("@", SECRET), inner), wrapped(value.replace("@", other), outer)
    for inside in range(3):
        out, _ = redact_text(wrapped(f"{first}, {second}", inside), lines=False)
        assert [one for one in (SECRET, other) if one in out] == [], out


@pytest.mark.parametrize("text", GIVEN + SHAPES)
def test_what_was_taken_out_once_is_left_alone_the_second_time(text: str) -> None:
    once, _ = redact_text(filled(text, "DB_PASSWORD") if text in GIVEN else text)
    assert redact_text(once)[0] == once


def test_in_a_command_only_the_value_goes_and_what_it_does_stays() -> None:
    for name in ("command", "cmd", "script"):
        shown, count = redact_value({name: f"DB_PASSWORD={SECRET} ./deploy.sh --prod; rm -rf build"}, 8000)
        assert shown == {name: f"DB_PASSWORD={MARK} ./deploy.sh --prod; rm -rf build"}
        assert count == 1
    code, _ = redact_value({"code": f'token = "{SECRET}"; import os\nos.remove("a")'}, 8000)
    assert code == {"code": f'token = "{MARK}"; import os\nos.remove("a")'}
    shown, _ = redact_value({"command": f"cat > .env <<EOF\nDB_PASSWORD=a {SECRET}\nEOF\nmake"}, 8000)
    assert shown == {"command": f"cat > .env <<EOF\nDB_PASSWORD={MARK}\nEOF\nmake"}


def test_the_rest_of_a_file_stays() -> None:
    content = f"DEBUG=1\nDB_PASSWORD=a&{SECRET}\nPORT=80\npassword: |\n  {SECRET}\n  {SECRET}\nuser: bob\n"
    shown, count = redact_value({"path": ".env", "content": content}, 8000)
    assert shown["content"] == f"DEBUG=1\nDB_PASSWORD={MARK}\nPORT=80\npassword: |\n  {MARK}\nuser: bob\n"
    assert count == 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"name": "DB_PASSWORD", "value": SECRET}, {"name": "DB_PASSWORD", "value": MARK}),
        ({"value": SECRET, "key": "api_key"}, {"value": MARK, "key": "api_key"}),
        ({"selector": "#password", "text": SECRET}, {"selector": "#password", "text": MARK}),
        ({"selector": 'input[name="token"]', "text": SECRET}, {"selector": 'input[name="token"]', "text": MARK}),
        ({"headers": [["Authorization", SECRET]]}, {"headers": [["Authorization", MARK]]}),
        ([{"name": "Cookie", "value": SECRET}], [{"name": "Cookie", "value": MARK}]),
        (["mysql", "--password", SECRET, "-h", "db"], ["mysql", "--password", MARK, "-h", "db"]),
        (["DB_PASSWORD", SECRET], ["DB_PASSWORD", MARK]),
        ({"secretKey": SECRET}, {"secretKey": MARK}), ({"creds": SECRET}, {"creds": MARK}),
        ({"pw": SECRET}, {"pw": MARK}),
        ({"api key": SECRET}, {"api key": MARK}), ({"SECRET_KEY_BASE": SECRET}, {"SECRET_KEY_BASE": MARK}),
        # look-alikes
        ({"name": "report", "value": SECRET}, None), ({"key": "Enter", "text": "x1"}, None),
        ({"selector": "#search", "text": SECRET}, None), (["password", "email"], None), (["token", "secret"], None),
        ({"name": "Token report", "text": "x1"}, None), (["ls", "--color", SECRET], None),
    ],
)  # fmt: skip
def test_pairs_of_name_and_value(value: object, shown: object) -> None:
    assert redact_value(value, 8000) == ((value, 0) if shown is None else (shown, 1))


def test_names_of_arguments_are_searched_too() -> None:
    for name in (f"https://bob:{SECRET}@h.example/x", "pw=Tr0ub4dorQz9", f"DB_PASSWORD={SECRET}", "ghp_" + SECRET * 3):
        out, _ = redact_value({name: 1}, 8000)
        assert not pieces_of(SECRET) & pieces_of(repr(out)), out


def test_a_result_that_shows_a_file_line_by_line() -> None:
    result = json.dumps({"output": f"A=1\nDB_PASSWORD=correct horse {SECRET}\nghp_{SECRET * 3}\nB=2\n", "exit_code": 0})
    out = redact_start(result, 300)
    assert json.loads(out)["output"] == f"A=1\nDB_PASSWORD={MARK}\n{MARK}\nB=2\n"
