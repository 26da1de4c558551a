"""`release.py`: what is built is what stands here, and what must not be offered is refused."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_script", ROOT / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree whose three numbers agree."""
    root = tmp_path / "tree"
    (root / "agent_ledger").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n', encoding="utf-8")
    (root / "agent_ledger" / "plugin.yaml").write_text("name: x\nversion: 1.2.0\n", encoding="utf-8")
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0\n\nMore.\n\n## 1.1.0\n", encoding="utf-8")
    return root


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A plugin's folder with what Python and an editor leave in one."""
    folder = tmp_path / "agent_ledger"
    for name in ("plugin.yaml", "engine/one.py", "engine/__pycache__/one.cpython-311.pyc", ".swap", ".git/HEAD"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and sdist of this tree."""
    wheel, sdist = release.build(ROOT, tmp_path_factory.mktemp("built"))
    return wheel, sdist


def test_the_number_that_all_three_agree_on(tree: Path) -> None:
    assert release.version(tree) == "1.2.0"


@pytest.mark.parametrize(
    ("name", "was", "now", "said"),
    [
        ("agent_ledger/plugin.yaml", "1.2.0", "1.1.0", "pyproject.toml says 1.2.0, plugin.yaml 1.1.0."),
        ("agent_ledger/plugin.yaml", "version", "number", "pyproject.toml says 1.2.0, plugin.yaml nothing."),
        ("CHANGELOG.md", "## 1.2.0", "## 1.2.00", "CHANGELOG.md has no section 1.2.0"),
    ],
)
def test_numbers_that_differ_are_refused(tree: Path, name: str, was: str, now: str, said: str) -> None:
    path = tree / name
    path.write_text(path.read_text(encoding="utf-8").replace(was, now), encoding="utf-8")
    with pytest.raises(release.CheckError, match=said):
        release.version(tree)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_tree_with_changes_is_refused(tree: Path) -> None:
    def git(*words: str) -> None:
        names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *names, *words], cwd=tree, check=True, capture_output=True)

    with pytest.raises(release.CheckError, match="no git checkout"):
        release.need_committed(tree)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    release.need_committed(tree)
    (tree / "new.py").touch()
    with pytest.raises(release.CheckError, match="not committed"):
        release.need_committed(tree)


def test_archives_hold_the_folder_and_nothing_that_was_left_in_it(plugin: Path, tmp_path: Path) -> None:
    names = ["agent-ledger/engine/one.py", "agent-ledger/plugin.yaml"]
    with zipfile.ZipFile(release.pack_zip(plugin, tmp_path, "1.2.0")) as archive:
        assert archive.namelist() == names
        assert archive.read(names[0]) == b"engine/one.py"
    with tarfile.open(release.pack_tar(plugin, tmp_path, "1.2.0")) as packed:
        assert packed.getnames() == names
        assert {one.mode for one in packed.getmembers()} == {0o644}


def test_the_same_tree_gives_the_same_bytes(plugin: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    before = [pack(plugin, one, "1.2.0").read_bytes() for pack in (release.pack_zip, release.pack_tar)]
    os.utime(plugin / "plugin.yaml", (1_700_000_000, 1_700_000_000))
    assert [pack(plugin, two, "1.2.0").read_bytes() for pack in (release.pack_zip, release.pack_tar)] == before


def test_our_own_archive_passes_and_another_one_does_not(plugin: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    release.check_plugin(release.pack_zip(ROOT / "agent_ledger", tmp_path, "1.2.0"), "1.2.0", work, None)
    with pytest.raises(release.CheckError, match="does not hold the plugin"):
        release.check_plugin(release.pack_tar(plugin, tmp_path, "1.2.0"), "1.2.0", work, None)


def test_the_wheel_alone_is_the_program(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, _ = built
    place, home = tmp_path / "place", tmp_path / "home"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    around = {**os.environ, "PYTHONPATH": str(place), "HERMES_HOME": str(tmp_path / "none")}

    def program(*words: str) -> str:
        command = [sys.executable, "-m", "ledger_tui", *words]
        done = subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert program("--version") == f"ledger-tui {release.version(ROOT)}\n"
    program("demo", "--headless", "--home", str(home))
    assert len(program("--hermes-home", str(home), "calls", "--limit", "3").splitlines()) == 4
    styles = {
        path.relative_to(ROOT).as_posix() for part in ("screens", "widgets") for path in (ROOT / part).glob("*.tcss")
    }
    assert styles
    assert styles <= {path.relative_to(place).as_posix() for path in place.rglob("*.tcss")}


def test_the_sdist_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    release.check_sdist(sdist, wheel, tmp_path)


def test_a_wheel_that_lacks_something_is_found(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    less = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as full, zipfile.ZipFile(less, "w") as short:
        for name in full.namelist():
            if name != "ledger_tui/app.tcss":
                short.writestr(name, full.read(name))
    with pytest.raises(release.CheckError, match=r"differs .*ledger_tui/app\.tcss"):
        release.check_sdist(sdist, less, tmp_path)


def test_a_command_that_fails_is_named_with_its_last_line(tmp_path: Path) -> None:
    script = "import sys; print('first'); print('no room', file=sys.stderr); sys.exit(7)"
    with pytest.raises(release.CheckError, match="ended with 7: no room"):
        release.run([sys.executable, "-c", script], tmp_path)


def test_sums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"abc")
    text = release.sums([tmp_path / "a.whl"], tmp_path).read_text(encoding="ascii")
    assert text == f"{hashlib.sha256(b'abc').hexdigest()}  a.whl\n"


def test_a_release_replaces_an_older_one_and_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"new")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.whl").write_bytes(b"old")
    release.put(tmp_path / "a.whl", out)
    assert (out / "a.whl").read_bytes() == b"new"
    assert [path.name for path in out.iterdir()] == ["a.whl"]


def test_what_is_wrong_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(root: Path, target: Path) -> None:
        raise release.CheckError("The disk is full.", 3)

    monkeypatch.setattr(release, "build", fails)
    assert release.main(["--dirty", "--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err.splitlines()[-1] == "release.py: The disk is full."
    assert not (tmp_path / "out").exists()
