"""Several homes asked for at once: which they are, what they are called, and that none takes another along."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from ledger_tui import config, homes
from ledger_tui.commands import calls, fleet_status
from ledger_tui.commands.errors import UNREADABLE, USAGE, CommandError
from ledger_tui.commands.fleet import Fleet, Round, asked
from ledger_tui.commands.place import Place
from ledger_tui.sources.guard import SourceError

from .conftest import ROOT
from .fleets import broken, home_with, two_profiles


def called(*given: str, profiles: tuple[str, ...] = (), every: bool = False) -> list[tuple[str, str]]:
    """(name, path) of each home that options name."""
    found = asked(given, profiles, None, None, {"HERMES_HOME": "/srv/hermes"}, all_profiles=every)
    assert isinstance(found, Fleet)
    return [(place.name, str(place.home)) for place in found.places]


def fleet_of(*given: str) -> tuple[Place, ...]:
    found = asked(given, (), None, None, {})
    assert isinstance(found, Fleet)
    return found.places


def test_one_home_is_no_fleet() -> None:
    found = asked(("/srv/a",), (), None, None, {})
    assert isinstance(found, Place)
    assert (found.name, found.home, found.home_named) == ("", Path("/srv/a"), True)


def test_homes_are_called_by_their_folder() -> None:
    assert called("/srv/kim", "/srv/ada") == [("kim", "/srv/kim"), ("ada", "/srv/ada")]


def test_homes_of_one_name_are_told_apart_by_their_path() -> None:
    assert called("/srv/kim", "/mnt/kim", "/srv/ada") == [
        ("/srv/kim", "/srv/kim"), ("/mnt/kim", "/mnt/kim"), ("ada", "/srv/ada"),
    ]  # fmt: skip


def test_profiles_of_the_home_that_counts() -> None:
    assert called(profiles=("default", "work")) == [
        ("default", "/srv/hermes"), ("work", "/srv/hermes/profiles/work"),
    ]  # fmt: skip


def test_every_profile_of_each_home() -> None:
    assert called("/srv/kim", "/srv/ada", profiles=("work", "home")) == [
        ("kim/work", "/srv/kim/profiles/work"), ("kim/home", "/srv/kim/profiles/home"),
        ("ada/work", "/srv/ada/profiles/work"), ("ada/home", "/srv/ada/profiles/home"),
    ]  # fmt: skip


def test_all_profiles_of_a_home(tmp_path: Path) -> None:
    two_profiles(tmp_path)
    (tmp_path / "profiles" / "Not a profile").mkdir()
    (tmp_path / "profiles" / "notes").touch()
    below = tmp_path / "profiles"
    assert called(str(tmp_path), every=True) == [
        ("default", str(tmp_path)), ("idle", str(below / "idle")), ("work", str(below / "work")),
    ]  # fmt: skip


def test_a_folder_of_homes_stands_for_them(tmp_path: Path) -> None:
    two_profiles(tmp_path / "hermes")
    (tmp_path / "empty").mkdir()
    home_with(tmp_path / "other")
    assert called(str(tmp_path), every=True) == [
        ("hermes", str(tmp_path / "hermes")),
        ("other", str(tmp_path / "other")),
    ]
    assert called(str(tmp_path / "hermes" / "profiles"), every=True) == [
        ("work", str(tmp_path / "hermes" / "profiles" / "work"))
    ]


def test_a_home_is_shown_once(tmp_path: Path) -> None:
    home_with(tmp_path / "kim")
    (tmp_path / "again").symlink_to(tmp_path / "kim")
    assert called(str(tmp_path / "kim"), str(tmp_path / "again"), str(tmp_path / "kim")) == [
        ("kim", str(tmp_path / "kim"))
    ]


def test_a_link_in_a_circle_takes_no_profile_along(tmp_path: Path) -> None:
    two_profiles(tmp_path)
    (tmp_path / "profiles" / "circle").symlink_to("circle")
    assert [name for name, _ in called(str(tmp_path), every=True)] == ["default", "idle", "work"]


@pytest.mark.parametrize("profiles", ["circle", "missing", "file"])
def test_profiles_that_nobody_can_list_are_told(program: Any, sentence: Any, home: Path, profiles: str) -> None:
    home_with(home, {"status": "GHOST_REPORTED", "at": 300})
    if profiles == "circle":
        (home / "profiles").symlink_to("profiles")
    elif profiles == "file":
        (home / "profiles").touch()
    found = program("--all-profiles", "calls", "--json")
    line = program("--all-profiles", "status", "--tmux")
    assert [row["home"] for row in found.json] == [str(home)]
    if profiles == "circle":
        assert (found.code, line.code) == (3, 3)
        assert f"The profiles of {home} cannot be listed" in found.err
        assert "1 ghost" in line.out
        assert "1 unread" in line.out
    else:
        assert (found.code, found.err, line.code) == (0, "", 0)
        assert "unread" not in line.out


def test_a_folder_of_homes_that_nobody_can_list_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, however often it is named. A folder that may be entered and not listed looks empty otherwise."""
    home_with(tmp_path / "homes" / "one")
    scandir = os.scandir

    def refused(path: Any) -> Any:
        if Path(path) == tmp_path / "homes":
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    folder = str(tmp_path / "homes")
    found = asked([folder, folder], (), None, None, {}, all_profiles=True)
    assert isinstance(found, Fleet)
    assert len(found.unlisted) == 1
    assert Round(found).code == UNREADABLE
    assert (
        capsys.readouterr().err
        == f"The profiles of {folder} cannot be listed (Permission denied); they are left out.\n"
    )


def test_paths_that_look_alike_are_numbered() -> None:
    assert [name for name, _ in called("/srv/a\x1b", "/srv/a\\u001b", "/srv/b")] == [
        "/srv/a\\u001b (1)", "/srv/a\\u001b (2)", "b",
    ]  # fmt: skip


def test_a_home_in_settings_that_is_no_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('homes = ["/srv/a\\u0000b"]\n', encoding="utf-8")
    monkeypatch.setattr(config, "config_path", lambda: settings)
    with pytest.raises(CommandError, match="cannot be resolved") as error:
        asked((), (), None, None, {}, all_profiles=True)
    assert error.value.code == USAGE
    assert error.value.text.startswith(f"homes in {settings}: "), "what is to be mended is named"


def test_a_name_is_inert() -> None:
    assert called("/srv/a\x1b[31m", "/srv/b")[0][0] == "a\\u001b[31m"


def test_no_name_is_given_twice() -> None:
    paths = ["/a/profiles/x", "/b/a/profiles/x", "/x", "/a", "/", "/default", "/a/profiles/default"]
    found = homes.names(paths)
    assert len(set(found)) == len(paths)
    assert found[4] == "/"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"ledger": "/a.db"}, "--ledger and --state name files of one home"),
        ({"state": "/a.db"}, "--ledger and --state name files of one home"),
        ({"profiles": ("work",)}, "--all-profiles and --profile exclude each other"),
        ({"hermes_homes": ("/a", "")}, "--hermes-home needs a path"),
    ],
)
def test_what_cannot_be_meant(more: dict[str, Any], told: str) -> None:
    given = {"hermes_homes": ("/a", "/b"), "profiles": (), "ledger": None, "state": None, **more}
    with pytest.raises(CommandError, match=told) as error:
        asked(**given, environ={}, all_profiles=True)
    assert error.value.code == USAGE


@pytest.mark.parametrize(
    "command", [("verify",), ("export", "calls", "--format", "csv"), ("repair-routing",), ("prune", "--keep", "1")]
)
def test_what_works_on_one_home_says_so(program: Any, sentence: Any, home: Path, command: tuple[str, ...]) -> None:
    told = sentence(program("--all-profiles", *command), 2)
    assert "one home" in told
    assert "leave out --all-profiles" in told


def test_which_option_is_too_much(program: Any, sentence: Any, tmp_path: Path) -> None:
    homes_ = ("--hermes-home", str(tmp_path), "--hermes-home", "/srv")
    assert "give --hermes-home once only" in sentence(program(*homes_, "verify"), 2)
    both = (*homes_, "--profile", "a", "--profile", "b")
    assert "give --hermes-home and --profile once only" in sentence(program(*both, "verify"), 2)


def test_status_as_json(program: Any, home: Path) -> None:
    two_profiles(home)
    result = program("--all-profiles", "status", "--json")
    assert (result.code, result.err) == (0, "")
    found = {one["name"]: one for one in result.json}
    assert list(found) == ["default", "idle", "work"]
    assert {name: one["ledger"]["rows"] for name, one in found.items()} == {"default": 1, "idle": 0, "work": 2}
    assert found["work"]["home"] == str(home / "profiles" / "work")
    alone = program("--profile", "work", "status", "--json").json
    assert found["work"] == {"name": "work", **alone}


def test_status_for_a_person(program: Any, home: Path) -> None:
    two_profiles(home)
    result = program("--all-profiles", "status")
    lines = result.out.splitlines()
    assert [line.split() for line in lines[:5]] == [
        ["NAME", "CALLS", "PENDING", "OVERDUE", "GHOST", "ERROR", "LOST", "SESSIONS", "GATEWAY"],
        ["default", "1", "0", "0", "1", "0", "0", "not", "running"],
        ["idle", "0", "0", "0", "0", "0", "0", "not", "running"],
        ["work", "2", "0", "1", "0", "0", "0", "not", "running"],
        [],
    ]
    assert [line for line in lines if line.startswith(("name", "home"))] == [
        "name      default", f"home      {home}",
        "name      idle", f"home      {home / 'profiles' / 'idle'}",
        "name      work", f"home      {home / 'profiles' / 'work'}",
    ]  # fmt: skip


def test_status_read_aloud(program: Any, home: Path) -> None:
    two_profiles(home)
    first = program("--all-profiles", "--plain", "status").out.splitlines()[0]
    assert first == "default: 1 call, 0 pending, 0 overdue, 1 ghost, 0 error, 0 lost sessions, gateway not running."


def test_one_that_cannot_be_read_takes_no_other_along(program: Any, home: Path, tmp_path: Path) -> None:
    two_profiles(home)
    bad, away = broken(tmp_path / "bad"), tmp_path / "away"
    given = [word for path in (home, bad, away) for word in ("--hermes-home", str(path))]
    for command in (("status",), ("calls",)):
        text = program(*given, *command)
        assert text.code == 3
        assert [line.split(":")[0] for line in text.err.splitlines()] == ["bad", "away"]
        assert str(bad) in text.err
        assert f"{away} does not exist" in text.err
        assert "\nhome  1 " in text.out
        spoken = program(*given, *command, "--json")
        assert (spoken.code, spoken.err) == (3, text.err)
        assert [one["home"] for one in spoken.json] == [str(home)]
    assert program(*given, "status").out.splitlines()[2].split() == ["bad", *"???????"]


def test_fail_on_looks_everywhere(program: Any, home: Path, tmp_path: Path) -> None:
    two_profiles(home)
    assert program("--all-profiles", "status", "--fail-on", "ghost").code == 1
    quiet = home_with(tmp_path / "quiet", {})
    given = ("--hermes-home", str(quiet), "--hermes-home", str(home / "profiles" / "idle"))
    assert program(*given, "status", "--fail-on", "ghost").code == 0
    assert program(*given, "status", "--fail-on", "orphan").code == 0
    bad = ("--hermes-home", str(broken(tmp_path / "bad")))
    assert program(*given, *bad, "status", "--fail-on", "ghost").code == 3
    assert program(*given, *bad, "--hermes-home", str(home), "status", "--fail-on", "ghost").code == 1


def test_calls_of_all_homes_by_time(program: Any, home: Path) -> None:
    two_profiles(home)
    rows = program("--all-profiles", "calls", "--json").json
    work = str(home / "profiles" / "work")
    assert [(row["home"], row["id"], row["tool_name"]) for row in rows] == [
        (work, 1, "cronjob"), (str(home), 1, "terminal"), (work, 2, "write_file"),
    ]  # fmt: skip
    newest = program("--all-profiles", "calls", "--limit", "2", "--json").json
    assert newest == [{**row, "age_s": newest[at]["age_s"]} for at, row in enumerate(rows[1:])]
    lost = program("--all-profiles", "calls", "--state", "ghost,overdue", "--limit", "1").out.splitlines()
    assert [line.split()[:2] for line in lost] == [["HOME", "ID"], ["default", "1"]]
    spoken = program("--all-profiles", "--plain", "calls").out.splitlines()
    assert [line.split(", ")[0] for line in spoken] == ["work: Call 1", "default: Call 1", "work: Call 2"]


def test_calls_where_there_are_none(program: Any, home: Path) -> None:
    assert program("--all-profiles", "calls").out == "No such calls.\n"
    assert program("--all-profiles", "calls", "--json").json == []


def test_the_tmux_line_adds_up(program: Any, home: Path, tmp_path: Path) -> None:
    two_profiles(home)
    assert program("--all-profiles", "status", "--tmux").out == "▲1 overdue ◆1 ghost\n"
    bad = broken(tmp_path / "bad")
    given = ("--hermes-home", str(home), "--hermes-home", str(bad))
    assert program(*given, "status", "--tmux").out == "◆1 ghost ?1 unread\n"
    away = program(*given, "--hermes-home", str(tmp_path / "away"), "status", "--tmux")
    assert (away.code, away.out) == (3, "◆1 ghost ?2 unread\n")
    assert program(*given, "status", "--tmux", "--fail-on", "ghost").code == 1
    nothing = ("--hermes-home", str(tmp_path), "--hermes-home", str(home / "profiles" / "idle"))
    assert program(*nothing, "status", "--tmux").out == "no ledger yet\n"


def test_what_goes_wrong_with_one_home(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of any kind are told with its name; that nobody reads the output is no error of a home."""
    fleet = asked(("/srv/kim", "/srv/ada", "/srv/bea"), (), None, None, {})
    assert isinstance(fleet, Fleet)
    errors: dict[str, Exception] = {
        "kim": PermissionError(errno.EACCES, "Permission denied", "/srv/kim"),
        "ada": SourceError(Path("/srv/ada/ledger.db"), "is no database", "name another"),
    }

    def ask(place: Place) -> str:
        if place.name in errors:
            raise errors[place.name]
        return place.name

    going = Round(fleet)
    assert [answer for _, answer in going.each(ask)] == ["bea"]
    assert (going.code, going.failed) == (3, {Path("/srv/kim"), Path("/srv/ada")})
    kim, ada = capsys.readouterr().err.splitlines()
    assert kim == "kim: /srv/kim cannot be read (Permission denied)."
    assert ada.startswith("ada: /srv/ada/ledger.db is no database")
    errors["bea"] = BrokenPipeError()
    with pytest.raises(BrokenPipeError):
        list(going.each(ask))


SHAPE = {
    "ledger": {"rows": 41_000, "pending": 12, "overdue": 3, "ghost": 40, "error": 900},
    "sessions": {"orphans": 7, "set_aside": 2},
    "gateway": {"running": True},
}


def test_the_table_leaves_out_what_does_not_fit() -> None:
    kim, ada = fleet_of("/srv/kim", "/srv/" + "ada" * 20)
    found = [(kim, SHAPE), (ada, None)]
    assert fleet_status.overview(found, width=70)[:2] == [
        "NAME              CALLS  PENDING  OVERDUE  GHOST  ERROR  LOST SESSIONS",
        "kim               41000  12       3        40     900    5",
    ]
    assert fleet_status.overview([(kim, SHAPE)], width=75) == [
        "NAME  CALLS  PENDING  OVERDUE  GHOST  ERROR  LOST SESSIONS  GATEWAY",
        "kim   41000  12       3        40     900    5              running",
    ]
    for width in (60, 80, 120):
        assert all(cell_len(line) <= width for line in fleet_status.overview(found, width=width))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_calls_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(calls, "terminal_width", lambda: width)
    row = {
        "id": 123_456, "ts": "2026-01-02T11:58:00.000Z", "state": "confirmed", "status": "CONFIRMED", "age_s": 120.0,
        "session_id": "chat_" + "5" * 60, "tool_name": "mcp__五月の予算__" + "x" * 60, "args": {"n": "五" * 90},
    }  # fmt: skip
    lines = calls.in_columns([row], ["五月の予算の家" * 3])
    assert lines[0].startswith("HOME ")
    assert all(cell_len(line) <= width for line in lines)


def test_the_browser_view_is_for_several_too(program: Any, sentence: Any, home: Path) -> None:
    """It gets as far as the port, which is taken."""
    two_profiles(home)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"Port {port} " in sentence(program("--all-profiles", "serve", "--port", port), 3)


def test_more_homes_than_a_program_may_open_files_unasked(tmp_path: Path) -> None:
    for number in range(30):
        home_with(tmp_path / f"home{number}", {"at": number})
    listing = [sys.executable, "-m", "ledger_tui", "--hermes-home", str(tmp_path), "--all-profiles", "calls", "--json"]
    started = ["sh", "-c", 'ulimit -Sn 64; exec "$@"', "sh", *listing]
    done = subprocess.run(started, cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr, len(json.loads(done.stdout))) == (0, "", 30)


def test_more_homes_than_a_program_may_open_files_at_all(tmp_path: Path) -> None:
    """Those for which there is room are shown, and of the others it is said what is short."""
    for number in range(40):
        home_with(tmp_path / f"home{number:02}", {"at": 40 - number})
    listing = [sys.executable, "-m", "ledger_tui", "--hermes-home", str(tmp_path), "--all-profiles", "calls", "--json"]
    started = ["sh", "-c", 'ulimit -n 32; exec "$@"', "sh", *listing]
    done = subprocess.run(started, cwd=ROOT, timeout=60, capture_output=True, text=True)
    shown, told = json.loads(done.stdout), done.stderr.splitlines()
    assert done.returncode == 3
    assert 0 < len(shown) < 40
    assert len(shown) + len(told) == 40
    assert all("as many files open as it may: ask for fewer homes at once" in line for line in told)
