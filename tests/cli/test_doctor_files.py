"""`doctor` on files and folders: each wrong mode, link, owner, disk and secret that is planted is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .sound_homes import SoundHome

SPOOLED = "spool/7-abc-000001.jsonl"
OURS = ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock", "hash.key"]
WITHIN = [SPOOLED, "spool/unreadable.txt", "repairs/20260102T120000Z-3fa2.json", "repairs/20260102T120000Z-3fa2.db"]
YOURS = ["settings.json", "policy.json", "policy_mode", "prompt_policy.json", "prompt_policy_mode"]
FOREIGN = 54_321
AS_ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text)
        path.chmod(0o600)
    return path


def test_a_home_as_it_should_be(sound: SoundHome) -> None:
    assert sound.troubles() == {}


def test_files_of_a_person_may_be_readable_in_a_closed_folder(sound: SoundHome) -> None:
    put(sound.data / "settings.json", "{}").chmod(0o644)
    (put(sound.folder / "kept.json", "{}")).chmod(0o644)
    (sound.data / "policy.json").symlink_to(sound.folder / "kept.json")
    assert not {"links", "owners", "file-modes"} & sound.troubles().keys()


@pytest.mark.parametrize("name", [*OURS, *WITHIN, "spool", "repairs", "ignored.json"])
def test_what_others_may_read(sound: SoundHome, name: str) -> None:
    path = sound.data / name
    if name in ("spool", "repairs"):
        path.mkdir(mode=0o700, exist_ok=True)
    put(path).chmod(0o755 if path.is_dir() else 0o640)
    found = sound.examined()["file-modes"]
    assert (found.state, name in found.text) == ("warn", True)
    assert found.remedy == f"Run: chmod -R go-rwx {sound.data}"


@pytest.mark.parametrize("name", YOURS)
@pytest.mark.parametrize(("folder", "mode"), [(0o700, 0o664), (0o755, 0o644)])
def test_what_a_person_wrote_is_told_where_others_can_change_or_read_it(
    sound: SoundHome, name: str, folder: int, mode: int
) -> None:
    put(sound.data / name).chmod(mode)
    sound.data.chmod(folder)
    found = sound.examined()
    assert (found["file-modes"].state, name in found["file-modes"].text) == ("warn", True)
    assert found["data-folder"].state == ("ok" if folder == 0o700 else "warn")


def test_a_folder_that_others_may_enter(sound: SoundHome) -> None:
    sound.data.chmod(0o750)
    found = sound.examined()["data-folder"]
    assert (found.state, found.remedy) == ("warn", f"Run: chmod 700 {sound.data}")


@pytest.mark.parametrize("name", [*OURS, *WITHIN, "spool", "repairs", "ignored.json", "ledger.db-journal"])
def test_a_link_where_a_file_of_ours_should_be(sound: SoundHome, tmp_path: Path, name: str) -> None:
    path = sound.data / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    aim = tmp_path / "elsewhere"
    if path.exists():
        path.rename(aim)
    elif name in ("spool", "repairs"):
        aim.mkdir(mode=0o700)
    else:
        put(aim)
    path.symlink_to(aim)
    found = sound.examined()["links"]
    assert (found.state, name in found.text, "remove a link" in found.remedy) == ("fail", True, True)


@pytest.mark.parametrize("leads", ["to a folder", "nowhere"])
def test_a_link_in_place_of_the_data_folder(sound: SoundHome, tmp_path: Path, leads: str) -> None:
    sound.data.rename(tmp_path / "moved")
    sound.data.symlink_to(tmp_path / ("moved" if leads == "to a folder" else "nothing"))
    found = sound.examined()["data-folder"]
    assert (found.state, "a link" in found.text) == ("fail", True)


@pytest.mark.parametrize(("what", "words"), [("link", "a link that leads to no folder"), ("file", "no folder")])
def test_nothing_can_be_made_where_the_folder_above_is_none(
    sound: SoundHome, tmp_path: Path, what: str, words: str
) -> None:
    """A disk that was not mounted leaves such a link."""
    above = sound.data.parent
    above.rename(tmp_path / "moved")
    if what == "link":
        above.symlink_to(tmp_path / "disk" / "plugin-data")
    else:
        above.write_text("")
    found = sound.examined()
    for name in ("data-folder", "writable"):
        assert (found[name].state, f"{above} is {words}, so " in found[name].text) == ("fail", True)
        assert "mounted" in found[name].remedy


@pytest.mark.parametrize("what", ["link", "file", "open folder", "open file", "link in it"])
def test_the_spool_in_the_temporary_folder(sound: SoundHome, tmp_path: Path, what: str) -> None:
    place = sound.paths.spool_elsewhere
    if what == "link":
        place.symlink_to(tmp_path)
    elif what == "file":
        place.touch(mode=0o600)
    else:
        place.mkdir(mode=0o700)
        if what == "open folder":
            place.chmod(0o777)
        elif what == "open file":
            put(place / "7-abc-000001.jsonl").chmod(0o644)
        else:
            (place / "7-abc-000001.jsonl").symlink_to(tmp_path / "x")
    found = sound.examined()
    name, state = ("file-modes", "warn") if what.startswith("open") else ("links", "fail")
    assert (found[name].state, str(place) in found[name].text) == (state, True)
    if what.startswith("open"):
        assert found[name].remedy == f"Run: chmod -R go-rwx {place}"


def test_something_else_under_our_names(sound: SoundHome) -> None:
    (sound.data / "spool").rmdir()
    (sound.data / "spool").write_text("a file where a folder should be")
    (sound.data / "ledger.lock").unlink()
    (sound.data / "ledger.lock").mkdir()
    found = sound.examined()["links"]
    assert (found.state, "ledger.lock, spool" in found.text) == ("fail", True)


@pytest.mark.parametrize("name", YOURS)
def test_what_stands_where_a_file_of_yours_should_be_is_not_said_to_be_made_anew(sound: SoundHome, name: str) -> None:
    (sound.data / name).mkdir(mode=0o700)
    found = sound.examined()["links"]
    assert (found.state, name in found.text) == ("fail", True)
    assert found.remedy == "Move it away; what the plugin needs there it makes anew."


@AS_ROOT
@pytest.mark.parametrize("name", [*OURS, *WITHIN, *YOURS, "spool"])
def test_files_of_another_user(sound: SoundHome, name: str) -> None:
    path = sound.data / name
    os.chown(put(path), FOREIGN, FOREIGN)
    found = sound.examined()["owners"]
    assert (found.state, name in found.text, str(FOREIGN) in found.text) == ("warn", True, True)


@AS_ROOT
def test_links_and_folders_of_another_user(sound: SoundHome, tmp_path: Path) -> None:
    os.chown(put(tmp_path / "policy"), FOREIGN, FOREIGN)
    (sound.data / "policy.json").symlink_to(tmp_path / "policy")
    assert "policy.json" in sound.examined()["links"].text
    os.lchown(sound.data / "policy.json", FOREIGN, FOREIGN)
    assert "policy.json" in sound.examined()["links"].text
    os.chown(sound.data, FOREIGN, FOREIGN)
    assert sound.troubles()["data-folder"] == "warn"
    above = sound.data.parent
    above.rename(tmp_path / "plugin-data")
    above.symlink_to(tmp_path / "plugin-data")
    os.lchown(above, FOREIGN, FOREIGN)
    found = sound.examined()["data-folder"]
    assert (found.state, f"user {FOREIGN}" in found.text) == ("fail", True)


def test_a_person_may_keep_the_folder_above_elsewhere(sound: SoundHome, tmp_path: Path) -> None:
    above = sound.data.parent
    above.rename(tmp_path / "plugin-data")
    above.symlink_to(tmp_path / "plugin-data")
    assert sound.troubles() == {}


def test_of_a_ledger_in_no_home_only_its_own_files_are_looked_at(sound: SoundHome, tmp_path: Path) -> None:
    copy = tmp_path / "copies" / "old.db"
    copy.parent.mkdir(mode=0o755)
    shutil.copy(sound.paths.ledger, copy)
    copy.chmod(0o644)
    (tmp_path / "copies" / "letter.txt").touch(mode=0o644)
    found = sound.examined(ledger=copy, ledger_named=True)
    assert (found["data-folder"].state, found["links"].state) == ("ok", "ok")
    assert found["file-modes"].remedy == f"Run: chmod go-rwx {copy}"
    assert "letter" not in found["file-modes"].text


# -- the disk ---------------------------------------------------------------------------------------------------------


def a_disk(monkeypatch: pytest.MonkeyPatch, *, free: int = 10**10, read_only: bool = False, numbers: int = 5) -> None:
    status = SimpleNamespace(f_flag=os.ST_RDONLY if read_only else 0, f_files=100, f_favail=numbers)
    monkeypatch.setattr(os, "statvfs", lambda _: status)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))


@pytest.mark.parametrize(
    ("kind", "state", "words"),
    [
        ({}, "ok", "can be written"),
        ({"free": 12_000_000}, "warn", "Only 12 MB are free"),
        ({"free": 4_000}, "fail", "is full: it takes only 4 kB more"),
        ({"numbers": 0}, "fail", "is full: it takes no more files"),
        ({"read_only": True}, "fail", "mounted read-only"),
    ],
)
def test_disks(sound: SoundHome, monkeypatch: pytest.MonkeyPatch, kind: dict[str, Any], state: str, words: str) -> None:
    a_disk(monkeypatch, **kind)
    found = sound.examined()["writable"]
    assert (found.state, words in found.text) == (state, True)


def test_a_full_disk_is_told_before_anything_was_recorded(sound: SoundHome, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(sound.data.parent)
    a_disk(monkeypatch, free=4_000)
    assert sound.troubles() == {"writable": "fail"}


@pytest.mark.parametrize("what", ["folder", "file"])
def test_without_rights(sound: SoundHome, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    closed = sound.data if what == "folder" else sound.paths.ledger
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != closed)
    found = sound.examined()["writable"]
    assert (found.state, str(closed) in found.text) == ("fail", True)


# -- the temporary folder ---------------------------------------------------------------------------------------------


def test_a_temporary_folder_that_is_none(sound: SoundHome, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path / "nowhere")}
    found = sound.examined(environ=environ)["temporary"]
    assert (found.state, "TMPDIR names" in found.text, "TMPDIR" in found.remedy) == ("warn", True, True)


def test_a_temporary_folder_in_which_others_may_remove_things(sound: SoundHome) -> None:
    sound.temporary.chmod(0o777)
    found = sound.examined()["temporary"]
    assert (found.state, "chmod +t" in found.remedy) == ("warn", True)
    sound.temporary.chmod(0o1777)
    assert sound.examined()["temporary"].state == "ok"


def test_records_that_wait_where_nobody_looks(sound: SoundHome, tmp_path: Path) -> None:
    other = tmp_path / "other"
    put(other / sound.paths.spool_elsewhere.name / "7-abc-000001.jsonl")
    environ = {"HOME": str(tmp_path), "TMPDIR": str(sound.temporary), "TMP": str(other)}
    found = sound.examined(environ=environ)["spool-elsewhere"]
    assert (found.state, "1 file of records waits" in found.text) == ("warn", True)
    assert f"TMPDIR={other}" in found.remedy


# -- what is secret ---------------------------------------------------------------------------------------------------


def test_the_key_is_gone(sound: SoundHome) -> None:
    (sound.data / "hash.key").unlink()
    found = sound.examined()["hash-key"]
    assert (found.state, "is gone" in found.text, "backup" in found.remedy) == ("warn", True, True)
    for file in sound.data.glob("ledger.db*"):
        file.unlink()
    assert sound.examined()["hash-key"].state == "ok"


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_a_wrong_size(sound: SoundHome, size: int) -> None:
    (sound.data / "hash.key").write_bytes(b"k" * size)
    found = sound.examined()["hash-key"]
    assert (found.state, f"holds {size} bytes instead of 32" in found.text) == ("fail", True)


TOKEN = "POSTURE_TELEGRAM_BOT_TOKEN"


@pytest.mark.parametrize(
    "where", [".config/posture.conf", ".config/systemd/user/posture.service", "kept/bot.conf", "home/posture.conf"]
)
def test_credentials_of_the_daily_report(sound: SoundHome, tmp_path: Path, where: str) -> None:
    unit = put(tmp_path / ".config" / "systemd" / "user" / "posture.service", "[Service]\nExecStart=posture_daily.py\n")
    unit.chmod(0o644)
    file = put(tmp_path / where)
    if file == unit:
        unit.write_text(f"[Service]\nEnvironment={TOKEN}=12:ab\n")
    elif where.startswith("kept"):
        unit.write_text("[Service]\nExecStart=posture_daily.py\nEnvironmentFile=-%h/kept/bot.conf\n")
    file.chmod(0o644)
    found = sound.examined()["report"]
    assert (found.state, str(file) in found.text, "BotFather" in found.remedy) == ("warn", True, True)
    file.chmod(0o600)
    found = sound.examined()["report"]
    assert found.state == ("warn" if where.startswith("home/") else "ok")


def test_a_unit_without_credentials_may_be_read(sound: SoundHome, tmp_path: Path) -> None:
    put(tmp_path / ".config" / "systemd" / "user" / "a.service", f"[Service]\nPassEnvironment={TOKEN}\n").chmod(0o644)
    assert sound.examined()["report"].state == "ok"


# -- what may not be looked into --------------------------------------------------------------------------------------

AS_NOBODY = pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may look into all")


@AS_NOBODY
@pytest.mark.parametrize("what", ["home", "data folder"])
def test_a_folder_that_may_not_be_entered(sound: SoundHome, program: Any, what: str) -> None:
    closed = sound.folder if what == "home" else sound.data
    closed.chmod(0o000)
    try:
        done = program("doctor", "--json", env={"TMPDIR": str(sound.temporary)})
    finally:
        closed.chmod(0o700)
    assert done.code == 0, done
    found = {one["check"]: one["state"] for one in done.json}
    assert (found["ledger"], found["writable"], found["settings"]) == ("fail", "fail", "fail")
    assert (found["spool"], found["set-aside"], found["repairs"]) == ("unknown", "unknown", "unknown")
    assert (found["home"] == "fail") is (what == "home")


@AS_NOBODY
@pytest.mark.parametrize(
    ("name", "check", "state"),
    [
        ("ledger.db", "ledger", "fail"), ("settings.json", "settings", "fail"), ("policy_mode", "policy-mode", "warn"),
        ("policy.json", "policy", "warn"), (SPOOLED, "spool", "unknown"), ("spool", "spool", "unknown"),
        ("spool/unreadable.txt", "set-aside", "unknown"), (WITHIN[2], "repairs", "warn"),
    ],
)  # fmt: skip
def test_a_file_that_may_not_be_read(sound: SoundHome, name: str, check: str, state: str) -> None:
    put(sound.data / name).chmod(0o000)
    try:
        found = sound.examined()[check]
    finally:
        (sound.data / name).chmod(0o700)
    assert (found.state, name.partition("/")[0] in found.text) == (state, True)


@AS_NOBODY
def test_a_ledger_that_may_not_be_written(sound: SoundHome) -> None:
    sound.paths.ledger.chmod(0o400)
    found = sound.examined()["writable"]
    assert (found.state, str(sound.paths.ledger) in found.text) == ("fail", True)
