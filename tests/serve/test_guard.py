"""Which requests are refused, whatever they ask for."""

from __future__ import annotations

import pytest

from ledger_tui.serve.guard import FORBIDDEN, NOT_FOUND, Guard, headers

GUARD = Guard(8181, "the-secret")
PAGE = "/the-secret/"
OURS = "127.0.0.1:8181"


@pytest.mark.parametrize("host", [OURS, "localhost:8181", "LOCALHOST:8181", "[::1]:8181"])
def test_the_page_and_its_socket_under_each_name_of_this_machine(host: str) -> None:
    assert GUARD.refusal([host], [], PAGE, socket=False) is None
    assert GUARD.refusal([host], [f"http://{host}"], f"{PAGE}ws", socket=True) is None


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["evil.example"],
        ["evil.example:8181"],
        ["127.0.0.1"],
        ["127.0.0.1:8182"],
        ["127.0.0.1:8181.evil.example"],
        ["localhost.evil.example:8181"],
        ["0.0.0.0:8181"],
        ["127.0.0.2:8181"],
        [OURS, OURS],
        [OURS, "evil.example:8181"],
    ],
)
@pytest.mark.parametrize("path", [PAGE, "/", "/wrong/"])
def test_under_another_name_nobody_learns_whether_the_secret_was_right(hosts: list[str], path: str) -> None:
    assert GUARD.refusal(hosts, [], path, socket=False) == FORBIDDEN


@pytest.mark.parametrize(
    "path",
    ["/", "", "//the-secret/", "/the-secre/", "/the-secretx/", "/THE-SECRET/", "/ws", "/download/x", "/static/", "/ü/"],
)
def test_without_the_secret_there_is_nothing(path: str) -> None:
    assert GUARD.refusal([OURS], [], path, socket=False) == NOT_FOUND
    assert GUARD.refusal([OURS], [f"http://{OURS}"], path, socket=True) == NOT_FOUND


@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        [""],
        ["http://evil.example"],
        ["http://evil.example:8181"],
        [f"https://{OURS}"],
        ["http://127.0.0.1"],
        ["http://127.0.0.1:8182"],
        ["http://localhost:8181"],  # It is this machine, but not the page that was asked for.
        [f"http://{OURS}", f"http://{OURS}"],
    ],
)
def test_from_another_page_not_even_with_the_secret(origins: list[str]) -> None:
    assert GUARD.refusal([OURS], origins, PAGE, socket=False) == FORBIDDEN
    assert GUARD.refusal([OURS], origins, f"{PAGE}ws", socket=True) == FORBIDDEN


def test_a_socket_says_where_it_comes_from() -> None:
    assert GUARD.refusal([OURS], [], f"{PAGE}ws", socket=True) == FORBIDDEN


def test_on_port_80_a_browser_names_none() -> None:
    guard = Guard(80, "the-secret")
    assert guard.refusal(["localhost"], ["http://localhost"], PAGE, socket=True) is None
    assert guard.refusal(["localhost:80"], ["http://localhost:80"], PAGE, socket=True) is None
    assert guard.refusal(["evil.example"], [], PAGE, socket=False) == FORBIDDEN


def test_each_start_has_a_secret_of_its_own_that_nothing_prints_by_accident() -> None:
    one, other = Guard(8181), Guard(8181)
    assert one.secret != other.secret
    assert len(one.secret) == 43  # 32 bytes in base64.
    assert one.url == f"http://127.0.0.1:8181/{one.secret}/"
    assert one.secret not in repr(one)


def test_the_page_may_load_from_here_only_and_connect_to_here_only() -> None:
    rules = dict(
        part.strip().partition(" ")[::2] for part in headers("127.0.0.1:8181")["Content-Security-Policy"].split(";")
    )
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("connect-src") == "ws://127.0.0.1:8181"
    assert rules.pop("script-src") == "'self'"
    assert "allow-popups" not in rules.pop("sandbox")
    assert set(" ".join(rules.values()).split()) <= {"'none'", "'self'", "'unsafe-inline'", "data:"}
