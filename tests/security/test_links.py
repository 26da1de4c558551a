"""Where somebody could have put a link or a file of his own, nothing is written and nothing of his is taken."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine import place, spool
from agent_ledger.engine.paths import Paths, UnsafePathError, private_folder
from ledger_tui.demo import policies
from ledger_tui.routing.ignored import IgnoredFile
from ledger_tui.routing.repair import journal
from ledger_tui.routing.repair.refused import RefusedError
from screens.export import ExportError, export_shapes
from tests.engine.homes import Home, until

from .programs import run

SOMEBODY = 54_321
"""A user id that is not ours."""

AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the administrator can give a file to somebody else"
)


@pytest.fixture
def bait(tmp_path: Path) -> Path:
    """What a link leads to: it must never be written."""
    folder = tmp_path / "elsewhere"
    folder.mkdir(mode=0o755)
    (folder / "file").write_bytes(b"untouched")
    return folder


def untouched(bait: Path) -> None:
    assert [entry.name for entry in bait.iterdir()] == ["file"]
    assert (bait / "file").read_bytes() == b"untouched"


FILES = ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("dangling", [False, True], ids=["to a file", "to nothing"])
def test_a_link_in_place_of_a_file_of_the_ledger(home: Home, bait: Path, name: str, dangling: bool) -> None:
    home.paths.data.mkdir(parents=True, mode=0o700)
    os.symlink(bait / ("nothing" if dangling else "file"), home.paths.data / name)
    home.pre(call="c1")
    home.post(call="c1")
    keeper = home.recorder.keeper
    keeper.close()
    keeper._spool.let_go()
    untouched(bait)
    (home.paths.data / name).unlink(missing_ok=True)  # Beside an empty file SQLite itself takes a log away.
    home.restart()
    home.start()
    until(lambda: not spool.files(home.paths), "what waited is merged")
    assert home.statuses() == ["CONFIRMED"], "and what waited is in the ledger as soon as the link is gone"


def test_a_link_in_place_of_the_key(home: Home, bait: Path) -> None:
    home.paths.data.mkdir(parents=True, mode=0o700)
    (bait / "file").write_bytes(b"k" * 32)
    os.symlink(bait / "file", home.paths.key)
    home.pre(call="c1")
    assert home.only()["args_hash"] is None, "nobody else's key is used"
    assert (bait / "file").read_bytes() == b"k" * 32


@pytest.mark.parametrize("which", ["data", "spool", "spool_elsewhere"])
def test_a_link_in_place_of_a_folder(home: Home, bait: Path, which: str) -> None:
    folder: Path = getattr(home.paths, which)
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if which != "data":  # A spool is needed.
        home.paths.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.paths.ledger.mkdir()
    if which == "spool_elsewhere":
        home.paths.spool.write_text("no folder")
    os.symlink(bait, folder)
    home.pre(call="c1")
    untouched(bait)
    folder.unlink()
    if which != "data":
        home.paths.ledger.rmdir()
    assert home.statuses() == ["PENDING"]


@AS_ROOT
@pytest.mark.parametrize("name", ["ledger.db", "ledger.lock", "hash.key"])
def test_a_file_of_somebody_else_is_not_written(home: Home, name: str) -> None:
    home.paths.data.mkdir(parents=True, mode=0o700)
    planted = home.paths.data / name
    planted.write_bytes(b"")
    os.chown(planted, SOMEBODY, SOMEBODY)
    home.pre(call="c1")
    home.recorder.keeper.close()
    assert (planted.read_bytes(), planted.stat().st_uid) == (b"", SOMEBODY)


@AS_ROOT
@pytest.mark.parametrize("which", ["data", "spool", "spool_elsewhere"])
def test_a_folder_of_somebody_else_is_not_used(home: Home, which: str) -> None:
    folder: Path = getattr(home.paths, which)
    folder.mkdir(parents=True, mode=0o777)
    os.chown(folder, SOMEBODY, SOMEBODY)
    if which != "data":
        home.paths.ledger.mkdir(parents=True)
    if which == "spool_elsewhere":
        home.paths.spool.write_text("no folder")
    home.pre(call="c1")
    home.recorder.keeper.close()
    assert list(folder.iterdir()) == []


@AS_ROOT
def test_a_ledger_of_somebody_else_is_refused_as_such(paths: Paths) -> None:
    private_folder(paths.data)
    paths.ledger.write_bytes(b"")
    os.chown(paths.ledger, SOMEBODY, SOMEBODY)
    with pytest.raises(UnsafePathError, match="of this user"):
        place.private_ledger(paths.ledger)


@AS_ROOT
def test_a_link_of_somebody_else_above_our_folder_is_refused(paths: Paths, bait: Path) -> None:
    os.symlink(bait, paths.data.parent)
    os.lchown(paths.data.parent, SOMEBODY, SOMEBODY)
    with pytest.raises(UnsafePathError, match="a link of another user"):
        private_folder(paths.data)
    untouched(bait)


def test_a_person_may_keep_the_folder_above_ours_elsewhere(home: Home, bait: Path) -> None:
    os.symlink(bait, home.paths.data.parent)
    home.pre(call="c1")
    assert home.statuses() == ["PENDING"]
    assert (bait / "agent-ledger" / "ledger.db").is_file()


@pytest.mark.parametrize("lure", ["link", pytest.param("folder", marks=AS_ROOT)])
def test_records_are_not_taken_out_of_a_foreign_temporary_folder(home: Home, tmp_path: Path, lure: str) -> None:
    """Under the name that our folder would have, anybody may put something first."""
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    line = {"kind": "issue", "tool_call_id": "planted", "ts": "2026-01-01T00:00:00.000Z", "tool_name": "terminal"}
    planted = other / "1-aaaaaaaaaaaa-000001.jsonl"
    planted.write_text(json.dumps(line) + "\n")
    planted.chmod(0o600)
    if lure == "link":
        os.symlink(other, home.paths.spool_elsewhere)
    else:
        other.rename(home.paths.spool_elsewhere)
        os.chown(home.paths.spool_elsewhere, SOMEBODY, SOMEBODY)
        planted = home.paths.spool_elsewhere / planted.name
    assert spool.files(home.paths) == []
    home.pre(call="c1")
    assert [row["tool_call_id"] for row in home.rows()] == ["c1"]
    assert planted.exists()


def test_the_temporary_folder_is_not_tried_out_by_writing(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise AssertionError("it writes a file")

    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile.gettempdir", none)
    assert paths.spool_elsewhere.parent == Path(os.environ["TMPDIR"])
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    monkeypatch.setenv("TEMP", str(paths.home))
    assert paths.spool_elsewhere.parent == paths.home


# Repairs, what was set aside, exports, the demonstration


def _repairs_link(paths: Paths, bait: Path) -> None:
    private_folder(paths.data)
    os.symlink(bait, journal.folder(paths.home))


def _lock_link(paths: Paths, bait: Path) -> None:
    private_folder(paths.data)
    private_folder(journal.folder(paths.home))
    os.symlink(bait / "file", journal.folder(paths.home) / "lock")


@pytest.mark.parametrize("plant", [_repairs_link, _lock_link])
def test_a_repair_writes_through_no_link(paths: Paths, bait: Path, plant: Callable[[Paths, Path], None]) -> None:
    plant(paths, bait)
    with pytest.raises(RefusedError), journal.alone(paths.home):
        raise AssertionError("it would have begun")
    untouched(bait)


def test_a_linked_journal_is_none(paths: Paths, bait: Path) -> None:
    private_folder(paths.data)
    private_folder(journal.folder(paths.home))
    link = journal.folder(paths.home) / "20260102T120000Z-3fa2.json"
    os.symlink(bait / "file", link)
    assert journal.read_all(paths.home) == ()
    assert journal.unreadable(paths.home) == (link,)


def test_a_link_in_place_of_what_was_set_aside_is_replaced(paths: Paths, bait: Path) -> None:
    private_folder(paths.data)
    (bait / "file").write_text('{"ignored": []}')
    os.symlink(bait / "file", paths.data / "ignored.json")
    IgnoredFile(paths.data).add("s1", "orphan")
    assert (bait / "file").read_text() == '{"ignored": []}'
    assert not (paths.data / "ignored.json").is_symlink()


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "forced"])
def test_an_export_writes_through_no_link(home: Home, bait: Path, tmp_path: Path, force: tuple[str, ...]) -> None:
    home.pre(call="c1")
    home.rows()
    os.symlink(bait / "file", tmp_path / "out.csv")
    os.symlink(bait / "new", tmp_path / "dangling.csv")
    for name in ("out.csv", "dangling.csv"):
        done = run(home.folder, "export", "calls", "--format", "csv", *force, "-o", str(tmp_path / name))
        assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
        with pytest.raises(ExportError):
            export_shapes(str(tmp_path / name), [{"id": 1}])
    untouched(bait)


def test_the_app_exports_nothing_into_our_own_folder(paths: Paths) -> None:
    private_folder(paths.data)
    for name in ("policy.json", "repairs/x.json"):
        with pytest.raises(ExportError, match="its own files"):
            export_shapes(str(paths.data / name), [{"id": 1}])
    assert list(paths.data.iterdir()) == []


def test_a_demonstration_writes_its_policies_through_no_link(paths: Paths, bait: Path) -> None:
    private_folder(paths.data)
    os.symlink(bait / "file", paths.policy)
    with pytest.raises(UnsafePathError):
        policies.put(paths)
    untouched(bait)


def test_what_a_person_sets_up_is_read_through_a_link(home: Home, bait: Path) -> None:
    """Such files are often kept together elsewhere; whoever can put a link there, could put the file itself."""
    home.paths.data.mkdir(parents=True, mode=0o700)
    (bait / "file").write_text('{"redact": false}')
    os.symlink(bait / "file", home.paths.settings)
    home.pre(args={"password": "blue-teapot-42"}, call="c1")
    assert "blue-teapot-42" in home.only()["args_json"]


def test_the_ledger_is_read_through_a_link(home: Home, tmp_path: Path) -> None:
    """Reading changes nothing, and SQLite finds the log beside the file itself."""
    home.pre(call="c1")
    home.rows()
    os.symlink(home.paths.ledger, tmp_path / "link.db")
    done = run(home.folder, "--ledger", str(tmp_path / "link.db"), "calls", "--json")
    assert [row["tool_call_id"] for row in json.loads(done.out)] == ["c1"]


@pytest.mark.parametrize("link", ["ledger", "lock", "data"])
@pytest.mark.parametrize(
    ("command", "code"), [(("prune", "--keep", "1", "--apply"), 4), (("verify",), 0)], ids=["prune", "verify"]
)
def test_the_commands_that_write_to_the_ledger_write_through_no_link(
    home: Home, tmp_path: Path, command: tuple[str, ...], code: int, link: str
) -> None:
    for number in range(3):
        home.pre(call=f"c{number}")
        home.post(call=f"c{number}")
    home.pre(call="open")
    home.rows()
    home.recorder.keeper.close()
    with closing(sqlite3.connect(home.paths.ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    place = {"ledger": home.paths.ledger, "lock": home.paths.turnstile, "data": home.paths.data}[link]
    real = tmp_path / "real"
    os.rename(place, real)
    os.symlink(real, place)
    ledger = Path(os.path.realpath(home.paths.ledger))
    before = ledger.read_bytes()
    done = run(home.folder, *command)
    assert done.code == code
    assert ("Nothing was dropped: " if command[0] == "prune" else "The verdicts were not stored: ") in done.err
    assert ledger.read_bytes() == before
    assert [log for log in ledger.parent.glob(f"{ledger.name}-wal") if log.stat().st_size] == []
