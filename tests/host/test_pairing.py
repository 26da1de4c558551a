"""Every way in which a host announces and confirms calls, or fails to: what the row says afterwards.

One process of the host plays one conversation per situation.
"""

from __future__ import annotations

import json
import shlex
import stat

import pytest

from .conftest import MakeHome
from .environments import Host
from .home import HermesHome
from .model import Calls, call, text_of

pytestmark = pytest.mark.host

LOOK = """\
import json, sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = connection.execute("SELECT tool_name, status FROM ledger WHERE session_id = ? ORDER BY id", sys.argv[2:])
print("SEEN" + json.dumps(rows.fetchall()))
"""

STARTED = "Confirmed means started"


def cron_call(host: Host, arguments: dict[str, str]) -> Calls:
    """0.22 offers its cron tool on demand only, behind a tool that calls others, several at once."""
    if host.is_019:
        return call("cronjob", **arguments)
    return call("tool_call", calls=[{"name": "cronjob_manage", "arguments": arguments}])


@pytest.fixture(scope="module")
def played(host: Host, make_home: MakeHome) -> HermesHome:
    home = make_home("pairing")
    home.add_plugin("refuser")
    home.configure(plugins=["refuser"])
    work, model = home.work, home.model
    (work / "look.py").write_text(LOOK, encoding="utf-8")
    (work / "notes.txt").write_text("old\n", encoding="utf-8")
    look = shlex.join([str(home.python), "look.py", str(home.paths.ledger), "plain"])
    model.script("[plain]", call("write_file", path=str(work / "a.txt"), content="a\n"), call("terminal", command=look))
    model.script(
        "[reading]",
        call("read_file", path=str(work / "notes.txt")),
        call("search_files", pattern="old", path=str(work)),
        call("process", action="list"),
    )
    model.script("[failing]", call("terminal", command="exit 3"))
    missing = str(work / "missing.txt")
    model.script("[wrong]", call("patch", mode="replace", path=missing, old_string="a", new_string="b"))
    four = [("write_file", {"path": str(work / f"batch{n}.txt"), "content": f"{n}\n"}) for n in range(4)]
    model.script("[batch]", Calls(four))
    code = (
        "from hermes_tools import write_file, terminal\n"
        f"print(write_file(path={str(work / 'inner.txt')!r}, content='z'))\n"
        "print(terminal(command='echo inner >> inner.log'))\n"
    )
    model.script("[script]", call("execute_code", code=code))
    model.script("[refused]", call("write_file", path=str(work / "no.txt"), content="REFUSED-BY-TEST"))
    model.script("[garbled]", Calls([("terminal", '["a list"]')]), "sorry")
    model.script("[cut]", Calls([("terminal", '{"command": "make')]), "sorry")
    model.script("[stranger]", call("no_such_tool", x=1), "sorry")
    model.script("[boss]", call("delegate_task", goal="[child] write", tasks=[{"goal": "[child] write"}]))
    model.script("[child]", call("write_file", path=str(work / "child.txt"), content="c\n"), "child done")
    model.script("[background]", call("terminal", command="sleep 0.3; echo b > back.txt", background=True))
    job = {"name": "nightly", "schedule": "every 24h", "prompt": "look after the backups"}
    model.script(
        "[cron]", *[cron_call(host, {"action": what, **more}) for what, more in (("list", {}), ("create", job))]
    )
    coding = {"toolsets": ["file", "terminal", "code_execution"]}
    delegating = {"toolsets": ["file", "terminal", "delegation"]}
    chats = ["plain", "reading", "failing", "wrong", "batch", "refused", "garbled", "cut", "stranger", "background"]
    home.run(
        *[{"do": "turn", "chat": chat, "text": f"[{chat}] go"} for chat in chats],
        {"do": "turn", "chat": "script", "text": "[script] go", **coding},
        {"do": "turn", "chat": "cron", "text": "[cron] go", "toolsets": ["cronjob"]},
        {"do": "turn", "chat": "boss", "text": "[boss] go", **delegating},
        {"do": "wait", "file": str(work / "child.txt"), "seconds": 20},
        {"do": "wait", "file": str(work / "back.txt"), "seconds": 20},
        {"do": "wait", "seconds": 1},
        environment={"HERMES_INTERACTIVE": "1"},  # Cron jobs are offered to a person's own sessions only.
    )
    return home


def test_a_call_is_pending_on_disk_before_the_tool_runs(played: HermesHome) -> None:
    results = [m for m in played.model.requests_of("[plain]")[-1]["messages"] if m["role"] == "tool"]
    seen = json.loads(text_of(results[-1]))["output"].partition("SEEN")[2]
    assert json.loads(seen.splitlines()[0]) == [["write_file", "CONFIRMED"], ["terminal", "PENDING"]]


def test_a_confirmed_call_says_what_happened(played: HermesHome) -> None:
    write, look = played.rows("plain")
    assert (write["tool_name"], write["status"], write["state"], write["effect"]) == (
        "write_file",
        "CONFIRMED",
        "confirmed",
        "done",
    )
    assert write["args"] == {"path": str(played.work / "a.txt"), "content": "a\n"}
    assert write["remarks"] == []
    assert write["result_digest"].startswith('{"bytes_written": 2')
    assert write["turn_id"].startswith("plain:plain:")
    assert write["tool_call_id"].startswith("call_")
    assert (look["status"], look["exit_code"]) == ("CONFIRMED", 0)


def test_reading_leaves_no_row(played: HermesHome) -> None:
    assert len(played.model.requests_of("[reading]")) == 4
    assert played.rows("reading") == []


def test_a_failing_exit_code_is_an_error_on_every_host(played: HermesHome) -> None:
    row = played.row("failing")
    assert (row["status"], row["exit_code"], row["effect"]) == ("ERROR:tool_error", 3, "unknown")
    assert "The command ended with exit code 3." in row["remarks"]


def test_a_failing_tool_leaves_its_effect_unknown(played: HermesHome) -> None:
    row = played.row("wrong")
    assert (row["tool_name"], row["status"], row["state"], row["effect"]) == (
        "patch",
        "ERROR:tool_error",
        "error",
        "unknown",
    )
    assert "Whether the effect happened is unknown: the call had been started." in row["remarks"]


def test_a_parallel_batch_is_settled_call_by_call(played: HermesHome) -> None:
    rows = played.rows("batch")
    assert [row["status"] for row in rows] == ["CONFIRMED"] * 4
    assert sorted(row["args"]["path"] for row in rows) == [str(played.work / f"batch{n}.txt") for n in range(4)]
    assert all(f'"bytes_written": {2}' in row["result_digest"] for row in rows)
    assert len({row["tool_call_id"] for row in rows}) == 4


def test_calls_inside_a_script_have_rows_of_their_own(host: Host, played: HermesHome) -> None:
    outer, write, command = played.rows("script")
    assert [row["tool_name"] for row in (outer, write, command)] == ["execute_code", "write_file", "terminal"]
    assert [row["status"] for row in (outer, write, command)] == ["CONFIRMED"] * 3
    assert [row["nested_in"] for row in (outer, write, command)] == [None, outer["id"], outer["id"]]
    assert any(f"script of call {outer['id']}" in remark for remark in write["remarks"])
    # On 0.22 the return of the tool is the only sign; on 0.19 a confirmation follows it.
    by_return = "seen where the tool returned"
    assert host.is_019 or any(by_return in remark for remark in write["remarks"])
    assert not any(by_return in remark for remark in outer["remarks"])
    assert (played.work / "inner.txt").read_text() == "z"


def test_a_call_refused_by_another_plugin_never_happened(played: HermesHome) -> None:
    row = played.row("refused")
    assert (row["status"], row["state"], row["effect"]) == ("ERROR:blocked", "error", "none")
    assert not (played.work / "no.txt").exists()
    assert not any("unknown" in remark for remark in row["remarks"])


def test_arguments_that_were_cut_off_leave_no_row(played: HermesHome) -> None:
    assert len(played.model.requests_of("[cut]")) >= 2
    assert played.rows("cut") == []


def test_arguments_that_are_no_object(host: Host, played: HermesHome) -> None:
    if host.is_019:  # This host refuses them without telling a plugin.
        assert played.rows("garbled") == []
        return
    row = played.row("garbled")
    assert (row["tool_name"], row["status"], row["effect"]) == ("terminal", "ERROR:invalid_tool_arguments", "none")
    assert "The host reported an outcome for a call that it never announced." in row["remarks"]


def test_a_tool_that_does_not_exist_leaves_no_row(played: HermesHome) -> None:
    assert len(played.model.requests_of("[stranger]")) >= 2
    assert played.rows("stranger") == []


def test_a_delegate_is_confirmed_as_started_and_its_own_calls_are_its_own(played: HermesHome) -> None:
    parent = played.row("boss")
    assert (parent["tool_name"], parent["status"], parent["effect"]) == ("delegate_task", "CONFIRMED", "done")
    assert any(remark.startswith(STARTED) for remark in parent["remarks"])
    (child,) = [row for row in played.rows(tool="write_file") if row["args"]["path"].endswith("child.txt")]
    assert child["status"] == "CONFIRMED"
    assert child["session_id"] not in ("boss", "", None)
    assert played.sessions()[child["session_id"]] == "boss"


def test_a_background_command_is_confirmed_as_started(played: HermesHome) -> None:
    row = played.row("background")
    assert (row["status"], row["effect"]) == ("CONFIRMED", "done")
    assert any(remark.startswith(STARTED) for remark in row["remarks"])
    assert (played.work / "back.txt").read_text() == "b\n"


def test_a_created_job_is_recorded_and_a_look_at_the_list_is_not(host: Host, played: HermesHome) -> None:
    row = played.row("cron")
    assert row["tool_name"] == ("cronjob" if host.is_019 else "cronjob_manage")
    assert (row["args"]["action"], row["status"], row["effect"]) == ("create", "CONFIRMED", "done")
    jobs = (played.home / "cron" / "jobs.json").read_text(encoding="utf-8")
    assert "nightly" in jobs


def test_nothing_is_left_pending_and_nothing_was_said(played: HermesHome) -> None:
    assert [row for row in played.rows() if row["state"] in ("pending", "overdue", "ghost")] == []
    said = [text for body in ("[plain]", "[script]", "[boss]") for text in played.model.user_messages(body)]
    assert not any("agent-ledger" in text for text in said)


def test_only_the_owner_may_read(played: HermesHome) -> None:
    assert stat.S_IMODE(played.paths.data.stat().st_mode) == 0o700
    files = [path for path in played.paths.data.rglob("*") if path.is_file()]
    assert played.paths.ledger in files
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in files} == {
        path.name: "0o600" for path in files
    }
