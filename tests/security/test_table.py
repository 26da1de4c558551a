"""What every hook, command, repair and the app really touch is what docs/security.md says, no more and no less."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import journey as journeys
from .journey import Journey, Seen
from .table import ELSEWHERE, Row, below, plain, rows

ROWS = rows()

CHANGES = frozenset(
    {"write", "os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink", "os.chmod", "os.chown",
     "os.truncate", "os.utime", "os.setxattr", "os.mkfifo", "os.mknod"}
)  # fmt: skip

NAMES = (
    "demo", "hooks", "prompt hook", "hooks, fresh", "hooks, waiting", "hooks, blocked", "commands", "status --tmux",
    "watch", "serve", "posture.py", "posture_daily.py --dry-run", "daily", "selftest", "app", "verify", "export",
    "ship", "source", "prune", "repair", "ignore", "install", "commands, later", "uninstall",
)  # fmt: skip

IN_ITS_OWN_HOME = ("demo", "selftest", "source")
"""Programs that make a home of their own, and act as a whole host in it."""


def test_nothing_was_left_out(journey: Journey) -> None:
    assert set(journey.seen) == set(NAMES)
    assert {name: seen.code for name, seen in journey.seen.items() if seen.code} == {}
    assert not [event for seen in journey.seen.values() for event in seen.events if event["what"] == "unknown"]
    assert all(any(event["what"] == "read" for event in seen.events) for seen in journey.seen.values())


def touched(journey: Journey, seen: Seen) -> list[tuple[bool, str]]:
    """(is it written?, name) of everything below the home and the folder for temporary files."""
    found: list[tuple[bool, str]] = []
    for event in seen.events:
        what, path = event["what"], event["path"]
        if what == "database":
            path, _, question = path.removeprefix("file://").removeprefix("file:").partition("?")
            paths, written = [path], "mode=ro" not in question
        elif what in CHANGES:
            paths, written = [path, event.get("to") or path], True
        elif what == "read":
            paths, written = [path], False
        else:
            continue
        for one in paths:
            name = below(one, seen.home, journey.temporary)
            if name is not None:
                found.append((written, plain(name) + ("/" if Path(one).is_dir() else "")))
    return found


def row_of(name: str) -> Row | None:
    """The line that speaks of this file, or of this folder, which may be gone by now."""
    return next((row for row in ROWS if row.means(name)), None) or next(
        (row for row in ROWS if row.means(f"{name}/")), None
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IN_ITS_OWN_HOME])
def test_only_what_the_table_allows_is_touched(journey: Journey, name: str) -> None:
    seen = journey.seen[name]
    strange = []
    for written, file in touched(journey, seen):
        row = row_of(file)
        if written:
            allowed = row is not None and seen.actor in row.writers
        elif row is None:
            (anything,) = [row for row in ROWS if ELSEWHERE in row.names]
            allowed = seen.actor in anything.readers or file.endswith("/")  # A folder's names are looked through.
        else:
            allowed = row.everybody_reads or seen.actor in row.readers | row.writers or "Hermes" in row.mode
        if not allowed:
            strange.append(("written" if written else "read", file))
    assert sorted(set(strange)) == [], f"{seen.actor} touches what docs/security.md does not say of it"


def test_the_table_says_no_more_than_is_done(journey: Journey) -> None:
    done = {
        (seen.actor, row.names)
        for name, seen in journey.seen.items()
        if name not in IN_ITS_OWN_HOME
        for written, file in touched(journey, seen)
        if written and (row := row_of(file)) is not None
    }
    asked = {(writer, row.names) for row in ROWS for writer in row.writers if "FILE" not in row.names}
    # Folders and files that others of the journey had made already, and what only happens with an odd record.
    made_before = {("ignore", row.names) for row in ROWS} | {("repair", row.names) for row in ROWS}
    made_before |= {("app", row.names) for row in ROWS if row.names[0].endswith("/")}
    assert {pair for pair in asked - done if pair not in made_before or pair[1] == ("state.db",)} == set()
    for actor, file in (("ignore", "plugin-data/agent-ledger/ignored.json"), ("repair", "state.db")):
        row = row_of(file)
        assert row is not None
        assert (actor, row.names) in done


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_outside_of_the_home(journey: Journey, name: str) -> None:
    seen = journey.seen[name]
    outside = set()
    for event in seen.events:
        if event["what"] not in CHANGES:
            continue
        for path in (event["path"], event.get("to") or event["path"]):
            if not f"{path}/".startswith(f"{seen.home}/"):
                outside.add(path)
    outside -= {"/dev/null", "/dev/tty"}
    assert {path for path in outside if not _allowed_outside(journey, seen, path)} == set()


def _allowed_outside(journey: Journey, seen: Seen, path: str) -> bool:
    """The exceptions that the page names."""
    name = below(path, journey.home, journey.temporary)
    folder, _, last = path.rpartition("/")
    if seen.actor in ("export", "app") and folder == str(journey.root):
        return re.fullmatch(r"(\.?)(calls|sessions|posture|seen)\.\w+(\.[0-9a-f]{8}\.part)?", last) is not None
    if seen.actor == "hooks" and name is not None:
        return name.startswith("<tmp>/agent-ledger-<user>-<home>")
    if seen.actor == "selftest" and name is not None:
        return re.match(r"<tmp>/agent-ledger-selftest-[^/]+(/|$)", name) is not None or _tried_out(name)
    if seen.actor == "source" and name is not None:
        return re.match(r"<tmp>/ledger-tui-source-[0-9a-f]{16}(/|$)", name) is not None or _tried_out(name)
    # A file without a name, for what the simulated host says; and Python tries its folder out.
    return seen.actor == "demo" and (path == str(journey.temporary) or (name is not None and _tried_out(name)))


def _tried_out(name: str) -> bool:
    return re.fullmatch(r"<tmp>/[a-z0-9_]{8}", name) is not None


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("daily", "serve")])
def test_no_network(journey: Journey, name: str) -> None:
    assert [event for event in journey.seen[name].events if event["what"] == "network"] == []


def test_the_browser_s_server_listens_on_this_machine_and_asks_nobody(journey: Journey) -> None:
    said = [event["path"] for event in journey.seen["serve"].events if event["what"] == "network"]
    assert len(said) == 1
    assert "('127.0.0.1', 0)" in said[0]


def test_a_shipped_ledger_is_shown_without_a_look_at_the_home(journey: Journey) -> None:
    seen = journey.seen["source"]
    assert [event for event in seen.events if f"{journey.home}/" in event.get("path", "")] == []
    made = [event for event in seen.events if event["what"] == "os.mkdir" and "/ledger-tui-source-" in event["path"]]
    assert made
    assert {event["mode"] for event in made} == {0o700}
    assert not list(journey.temporary.glob("ledger-tui-source-*"))


def test_the_report_goes_to_its_server_and_nowhere_else(journey: Journey) -> None:
    said = [event["path"] for event in journey.seen["daily"].events if event["what"] == "network"]
    assert said
    assert all("127.0.0.1" in one for one in said)
    assert journey.asked == [f"/bot{journeys.TOKEN}/sendMessage"] * len(journey.asked)
    assert journey.asked


def test_what_is_started(journey: Journey) -> None:
    started: dict[str, set[str]] = {}
    for name, seen in journey.seen.items():
        for event in seen.events:
            if event["what"] == "program":
                started.setdefault(name, set()).add(Path(event["path"]).name)
    for name in ("demo", "serve"):  # Itself a second time.
        assert started.pop(name) == {Path(sys.executable).name}
    assert set(started) <= {"commands", "install"}
    assert set().union(*started.values()) == {"hermes"}


# Modes


def test_the_modes_are_those_of_the_table_from_the_moment_of_creation(journey: Journey) -> None:
    """Looked at after every step of the journey, whose umask takes nothing away."""
    seen: dict[tuple[str, ...], set[int]] = {}
    for home in (journey.home, journey.seen["hooks, fresh"].home):
        for path, mode in journey.modes.items():
            name = below(path, home, journey.temporary)
            if name is None:
                continue
            row = row_of(name if name.startswith("<tmp>/") else plain(name))
            if row is not None and row.mode.isdigit():
                seen.setdefault(row.names, set()).add(mode)
    assert seen
    for row in ROWS:
        if row.mode.isdigit() and "FILE" not in row.names:
            assert seen.get(row.names, set()) == {int(row.mode, 8)}, row.names
    for name in ("calls.csv", "sessions.json", "posture.md", "seen.csv"):
        assert stat.S_IMODE((journey.root / name).stat().st_mode) == 0o600


def test_what_is_made_is_made_private(journey: Journey) -> None:
    """A folder is never made wider than it is to be, and nothing is ever opened up afterwards."""
    for name, seen in journey.seen.items():
        if name == "demo":
            continue
        for event in seen.events:
            inside = below(event["path"], seen.home, journey.temporary)
            if inside is None or event["what"] not in ("os.mkdir", "os.chmod"):
                continue
            row = row_of(plain(inside) + ("/" if event["what"] == "os.mkdir" else ""))
            if row is not None and row.mode.isdigit():
                assert event["mode"] & ~int(row.mode, 8) == 0, (name, event)


def wide(path: Path) -> Iterator[str]:
    for one in (path, *path.rglob("*")):
        if not one.is_symlink() and one.stat().st_mode & 0o077:
            yield str(one)


def test_a_demonstration_is_nobody_else_s(journey: Journey) -> None:
    assert stat.S_IMODE(journey.home.stat().st_mode) == 0o700
    assert list(wide(journey.home / "workspace")) == []


def test_every_actor_of_the_table_is_in_the_journey(journey: Journey) -> None:
    actors = {seen.actor for seen in journey.seen.values()}
    assert {actor for row in ROWS for actor in row.writers | row.readers} - {"all"} <= actors


def events_of(seen: Seen, *kinds: str) -> list[dict[str, Any]]:
    return [event for event in seen.events if event["what"] in kinds]


def test_the_host_s_store_is_opened_for_writing_by_a_repair_only(journey: Journey) -> None:
    for name, seen in journey.seen.items():
        writing = [
            event["path"]
            for event in events_of(seen, "database")
            if "state.db" in event["path"] and not event["path"].endswith("?mode=ro")
        ]
        assert bool(writing) == (seen.actor in {"demo", "repair", "app"}), name
