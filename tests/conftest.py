"""Options of the test run: real hosts by default, left out on request and said so."""

from __future__ import annotations

import os
import signal

import pytest

from tests.host import environments

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background of a script is started so, and would hand it to every program that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-hosts",
        action="store_true",
        default=os.environ.get("LEDGER_TUI_NO_HOSTS", "") not in ("", "0"),
        help="leave out the tests that drive real Hermes hosts (also: LEDGER_TUI_NO_HOSTS=1)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Host tests come last: their environments are built while the others run."""
    hosted = [item for item in items if item.get_closest_marker("host")]
    others = [item for item in items if not item.get_closest_marker("host")]
    if config.getoption("--no-hosts"):
        config.stash[_LEFT_OUT] = len(hosted)
        config.hook.pytest_deselected(items=hosted)
        hosted = []
    items[:] = others + hosted


def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.config.option.collectonly and any(item.get_closest_marker("host") for item in session.items):
        environments.start_builds(list(environments.HOSTS.values()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, 0)
    if left_out:
        terminalreporter.section("real hosts were left out", sep="-")
        terminalreporter.line(f"{left_out} tests that drive a real Hermes did not run, because that was asked for.")
