"""`/ledger` and `hermes ledger` in real hosts: the gateway's own handler of messages, the TUI, the command line."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from typing import Any

import pytest

from .conftest import MakeHome
from .environments import Host
from .home import Action, HermesHome
from .model import call

pytestmark = pytest.mark.host

LONG = "one more word " * 1500
TURNS = 4
"""So many long ones are worth compacting."""

NOT_TOLD = "This host does not tell a plugin which chat is asking, so nothing is shown here;"
OPEN_DOOR = {"GATEWAY_ALLOW_ALL_USERS": "true"}

WRITTEN = "MEDIA:~/a.png ~/a.png ![a](https://x.test/a.png)"
"""Three ways in which a gateway finds something to send in a text."""

Answer = dict[str, Any]


def typed(chat: str, text: str, **more: Any) -> Action:
    return {"at": "gateway", "chat": chat, "text": text, **more}


class Played:
    """Two people in one gateway, and what each was answered."""

    def __init__(self, home: HermesHome) -> None:
        self.home = home
        home.configure(compression="  in_place: false\n")
        home.folder.joinpath("a.png").write_bytes(b"\x89PNG")
        for number in range(TURNS):
            home.model.script(f"[kim {number}]", call("terminal", command=f"echo kim {number}"))
        home.model.script("[kim again]", call("terminal", command="echo again"))
        home.model.script("[bo]", call("terminal", command="echo bo"))
        *_, bo, together, _, _, rotated, _, _, after_new = home.run(
            *(typed("11", f"[kim {number}] {LONG}") for number in range(TURNS)),
            typed("22", "[bo] go"),
            typed("11", "/ledger", **{"and": [typed("22", "/ledger"), typed("33", "/ledger")]}),
            typed("11", "/compress"),
            typed("11", "[kim again] go"),
            typed("11", "/ledger"),
            typed("22", "/new"),
            typed("22", "/approve"),
            typed("22", "/ledger"),
            script="chat.py",
            environment=OPEN_DOOR,
        )
        self.bo: str = bo["session_id"]
        self.together: list[str] = together["answers"]
        self.ids = together["session_id"], rotated["session_id"]
        self.rotated: str = rotated["answer"]
        self.after_new: str = after_new["answer"]
        self._lose_the_newest()
        self.ghosts, self.tui, self.cli, self.another = home.run(
            typed("11", "/ledger ghosts", plain=WRITTEN),
            {"at": "tui", "session": self.bo, "text": "/ledger"},
            {"at": "cli", "session": self.bo, "text": "/ledger"},
            {"at": "cli", "session": "another", "text": "/ledger"},
            script="chat.py",
            environment={**OPEN_DOOR, "HERMES_SESSION_ID": self.bo, "HERMES_SESSION_KEY": self.bo},
        )

    def _lose_the_newest(self) -> None:
        """Kim's last call becomes a ghost whose arguments a gateway could act upon."""
        with closing(sqlite3.connect(self.home.paths.ledger)) as ledger:
            ledger.execute(
                "UPDATE ledger SET status='GHOST_REPORTED', reported_ts=ts, args_json=? WHERE session_id=?",
                (json.dumps({"command": WRITTEN}), self.ids[1]),
            )
            ledger.commit()


@pytest.fixture(scope="module")
def played(make_home: MakeHome) -> Played:
    return Played(make_home("chat"))


def first_line(text: str) -> str:
    return text.splitlines()[0]


def test_two_chats_that_ask_at_once_see_their_own_calls(host: Host, played: Played) -> None:
    if host.is_019:
        assert {answer.partition(";")[0] + ";" for answer in played.together} == {NOT_TOLD}
        return
    kim, bo, nobody = played.together
    assert first_line(kim) == "4 calls recorded of this conversation: 4 confirmed."
    assert first_line(bo) == "1 call recorded of this conversation: 1 confirmed."
    assert nobody == "Hermes keeps no conversation with this chat in this home, so nothing is recorded of it here."


def test_a_compaction_that_changes_the_id_loses_nothing(host: Host, played: Played) -> None:
    assert played.ids[0] != played.ids[1]
    assert played.home.sessions()[played.ids[1]] == played.ids[0]
    if not host.is_019:
        assert first_line(played.rotated) == "5 calls recorded of this conversation: 5 confirmed."


def test_a_new_conversation_begins_with_nothing(host: Host, played: Played) -> None:
    if not host.is_019:
        assert played.after_new == "Nothing is recorded of this conversation."


def test_after_a_restart_the_chat_is_known_and_the_environment_is_not_asked(host: Host, played: Played) -> None:
    if host.is_019:
        assert played.ghosts["answer"].startswith(NOT_TOLD)
        return
    head, line = played.ghosts["answer"].splitlines()
    assert head == "1 call of this conversation never confirmed. Look at the real state first:"
    assert "`command: MEDIA :~/a.png ~/a.png ! [a](https://x.test/a.png)`" in line


def test_a_gateway_finds_nothing_to_send_in_an_answer(host: Host, played: Played) -> None:
    assert played.ghosts["sent"] == [0, 0, 0]
    assert played.ghosts["sent_plain"] == [1, 1, 1]


def test_the_tui_shows_its_own_session_where_the_host_names_it(host: Host, played: Played) -> None:
    expected = NOT_TOLD if host.is_019 else "1 call recorded of this conversation: 1 confirmed."
    assert played.tui["answer"].startswith(expected)


def test_the_command_line_shows_its_own_session(played: Played) -> None:
    assert first_line(played.cli["answer"]) == "1 call recorded of this conversation: 1 confirmed."
    assert played.another["answer"] == "Nothing is recorded of this conversation."


def hermes(home: HermesHome, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(home.python.with_name("hermes")), "ledger", *words],
        env=home.environment(),
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_the_hosts_command_line_has_the_ledger(played: Played) -> None:
    shape = json.loads(hermes(played.home, "status", "--json").stdout)
    assert (shape["home"], shape["ledger"]["rows"], shape["ledger"]["ghost"]) == (str(played.home.home), 6, 1)
    (ghost,) = json.loads(hermes(played.home, "ghosts", "--json").stdout)
    assert ghost["args"] == {"command": WRITTEN}


def test_its_exit_code_leaves_the_host(played: Played) -> None:
    done = hermes(played.home, "check")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Not whole. 12 records checked, 1 finding:")


def test_the_self_test_runs_from_there_and_leaves_the_home_alone(played: Played) -> None:
    before = played.home.paths.ledger.read_bytes()
    done = hermes(played.home, "selftest")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checked against Hermes" in done.stdout
    assert played.home.paths.ledger.read_bytes() == before
