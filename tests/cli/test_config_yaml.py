"""Enabling by lines: every comment stays, and what is not understood is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger_tui.commands import config_yaml
from ledger_tui.commands.config_yaml import ShapeError, disable, enable, read

NAME = "agent-ledger"

SHAPES = {
    "empty": ("", "plugins:\n  enabled:\n    - agent-ledger\n"),
    "comments only": ("# mine\n", "# mine\nplugins:\n  enabled:\n    - agent-ledger\n"),
    "no end of line": ("model: x", "model: x\nplugins:\n  enabled:\n    - agent-ledger\n"),
    "block list": (
        "# top\nplugins:\n  # allow\n  enabled:\n    - other  # mine\n    # tail\n\nmodel: x\n",
        "# top\nplugins:\n  # allow\n  enabled:\n    - other  # mine\n    - agent-ledger\n    # tail\n\nmodel: x\n",
    ),
    "list without indent": (
        "plugins:\n  enabled:\n  - a\n  - 'b'\n  disabled: []\n",
        "plugins:\n  enabled:\n  - a\n  - 'b'\n  - agent-ledger\n  disabled: []\n",
    ),
    "brackets": (
        'plugins:\n  enabled: [a, "b c"]  # two\n',
        'plugins:\n  enabled: [a, "b c", agent-ledger]  # two\n',
    ),
    "empty brackets": ("plugins:\n  enabled: [ ]\n", "plugins:\n  enabled: [agent-ledger]\n"),
    "null list": ("plugins:\n  enabled:\nx: 1\n", "plugins:\n  enabled:\n    - agent-ledger\nx: 1\n"),
    "null word": ("plugins:\n  enabled: null # none\n", "plugins:\n  enabled:  # none\n    - agent-ledger\n"),
    "empty section": ("plugins: {}  # later\nx: 1\n", "plugins:  # later\n  enabled:\n    - agent-ledger\nx: 1\n"),
    "section without list": (
        "plugins:\n    load_timeout_seconds: 5 # s\n",
        "plugins:\n    enabled:\n      - agent-ledger\n    load_timeout_seconds: 5 # s\n",
    ),
    "windows": (
        "model: x\r\nplugins:\r\n  enabled:\r\n    - a\r\n",
        "model: x\r\nplugins:\r\n  enabled:\r\n    - a\r\n    - agent-ledger\r\n",
    ),
    "disabled": (
        "plugins:\n  disabled:\n    - b\n    - agent-ledger # why\n  enabled: []\n",
        "plugins:\n  disabled:\n    - b\n  enabled: [agent-ledger]\n",
    ),
    "disabled alone": (
        "plugins:\n  disabled: [agent-ledger]\n",
        "plugins:\n  enabled:\n    - agent-ledger\n  disabled: []\n",
    ),
    "already": ("plugins: # x\n  enabled: [agent-ledger]\n", "plugins: # x\n  enabled: [agent-ledger]\n"),
    "document start": ("---\na: 1\n", "---\na: 1\nplugins:\n  enabled:\n    - agent-ledger\n"),
    "other lists at the margin": (
        "a:\n- 1\n- {b: c}\n",
        "a:\n- 1\n- {b: c}\nplugins:\n  enabled:\n    - agent-ledger\n",
    ),
    "block text elsewhere": (
        "a: |\n  plugins:\n    enabled: no\n",
        "a: |\n  plugins:\n    enabled: no\nplugins:\n  enabled:\n    - agent-ledger\n",
    ),
    "quoted keys": ("\"plugins\":\n  'enabled': [a]\n", "\"plugins\":\n  'enabled': [a, agent-ledger]\n"),
    "entries below": (
        "plugins:\n  entries:\n    x:\n      enabled: true\n  enabled:\n    - x\n",
        "plugins:\n  entries:\n    x:\n      enabled: true\n  enabled:\n    - x\n    - agent-ledger\n",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_enable_changes_only_what_it_must(shape: str) -> None:
    before, after = SHAPES[shape]
    assert enable(before, NAME) == after
    assert enable(after, NAME) == after
    assert NAME in (read(after).enabled or ())


@pytest.mark.parametrize("shape", SHAPES)
def test_disable_takes_it_out_again_and_keeps_every_comment(shape: str) -> None:
    after = SHAPES[shape][1]
    gone = disable(after, NAME)
    assert NAME not in (read(gone).enabled or ())
    assert [part for line in gone.splitlines() if (part := line.partition("#")[2])] == [
        part for line in after.splitlines() if (part := line.partition("#")[2])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "plugins:\n\tenabled:\n\t- a\n",
        "\tplugins: x\n",
        "plugins: {enabled: [a]}\n",
        "plugins: &p\n  enabled: [a]\n",
        "plugins: *p\n",
        "plugins:\n  <<: *base\n",
        "plugins:\n  enabled: [a,\n    b]\n",
        "plugins:\n  enabled: *list\n",
        "plugins:\n  enabled: yes\n",
        "plugins:\n  enabled:\n    - {a: b}\n",
        "plugins:\n  enabled:\n    - a\n      - b\n",
        "plugins:\n- a\n",
        "plugins:\n  enabled: [a]\nplugins:\n  enabled: [b]\n",
        "plugins:\n  enabled: [a]\n  enabled: [b]\n",
        "{plugins: {}}\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\n",
        "%YAML 1.1\n---\na: 1\n",
        "- a\n- b\n",
        "just words\n",
        "  plugins:\n    enabled: []\n",
        "a: |\n  text without an end",
        "plugins:\n    enabled: [a]\n  x: 1\n",
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ShapeError):
        enable(text, NAME)


def test_reading() -> None:
    assert read("").enabled is None
    assert read("plugins:\n  enabled:\n").enabled is None
    assert read("plugins:\n  enabled: []\n").enabled == ()
    assert read("plugins:\n  enabled: [a]\n  disabled:\n  - b\n") == config_yaml.PluginLists(("a",), ("b",))


@settings(max_examples=200)
@given(st.text(alphabet="plugins:enabled- []{}#'\"\n\r\t &*|>x", max_size=80))
def test_any_text_is_changed_rightly_or_refused(text: str) -> None:
    try:
        out = enable(text, NAME)
    except ShapeError:
        return
    assert NAME in (read(out).enabled or ())
    assert out.count("#") == text.count("#")
