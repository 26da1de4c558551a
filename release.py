"""Builds what is released: wheel, sdist and the plugin's folder as archives, and tries each before it is offered.

`.venv/bin/python release.py [--out DIR] [--host PYTHON]`: run.py makes that environment. `--host`: the interpreter of
a Hermes of 0.22 or newer, whose own install scan must call the plugin safe. Exit codes: 0 built and checked, 1 a check
failed, 2 wrong usage, 3 something that this needs is missing. Files appear in DIR whole, once every check has passed;
`SHA256SUMS` is the last of them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PLUGIN = "agent-ledger"
SUMS = "SHA256SUMS"

_NEVER = re.compile(r"(^|/)(__pycache__|\.[^/]+)(/|$)|\.pyc$")
_DAY = (2020, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same tree gives the same bytes."""
_SECONDS = 1_577_836_800
_FOREIGN = {"HERMES_HOME", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "XDG_CONFIG_HOME"}

_SCAN = """
import sys
from pathlib import Path
from tools.plugin_guard import scan_plugin
found = scan_plugin(Path(sys.argv[1]))
print(found.verdict, *(f"{one.severity}:{one.pattern_id}:{one.file}" for one in found.findings))
"""


class CheckError(Exception):
    """A release that must not be offered, or cannot be made; one sentence. `code`: exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def main(arguments: Sequence[str]) -> int:
    asked = argparse.ArgumentParser(prog="release.py", description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder of the release; else dist/")
    asked.add_argument("--host", type=Path, help="the Python of a Hermes whose install scan is asked, too")
    asked.add_argument("--dirty", action="store_true", help="take the tree as it is, with what is not committed")
    options = asked.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="ledger-tui-release-") as folder:
            made = release(Path(folder), host=options.host, dirty=options.dirty)
            for path in made:
                put(path, options.out)
                print(options.out / path.name)
    except CheckError as problem:
        print(f"release.py: {problem}", file=sys.stderr)
        return problem.code
    return 0


def release(work: Path, *, host: Path | None = None, dirty: bool = False) -> list[Path]:
    """Everything that is released, built below `work` and checked; the sums are the last. Raises CheckError."""
    number = version(ROOT)
    if not dirty:
        need_committed(ROOT)
    built = work / "built"
    built.mkdir()
    say(f"building {number}")
    wheel, sdist = build(ROOT, built)
    archives = [pack_zip(ROOT / "agent_ledger", built, number), pack_tar(ROOT / "agent_ledger", built, number)]
    say("trying the wheel in an environment of its own")
    check_wheel(wheel, number, work)
    say("building the sdist once more, from itself")
    check_sdist(sdist, wheel, work)
    for archive in archives:
        say(f"unpacking {archive.name}")
        check_plugin(archive, number, work, host)
    made = [wheel, sdist, *archives]
    return [*made, sums(made, built)]


def say(text: str) -> None:
    print(f"release.py: {text} …", file=sys.stderr, flush=True)


def version(root: Path) -> str:
    """The number that package, plugin and changelog agree on. Raises CheckError where they do not."""
    number = str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    plugin = re.search(r"^version: *(\S+)", (root / "agent_ledger" / "plugin.yaml").read_text(encoding="utf-8"), re.M)
    if plugin is None or plugin[1] != number:
        raise CheckError(f"pyproject.toml says {number}, plugin.yaml {plugin[1] if plugin else 'nothing'}.")
    if not re.search(rf"^## {re.escape(number)}\b", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M):
        raise CheckError(f"CHANGELOG.md has no section {number}; write what is new in it.")
    return number


def need_committed(root: Path) -> None:
    """Raises CheckError where the tree holds what no commit does."""
    if shutil.which("git") is None or not (root / ".git").exists():
        raise CheckError("This is no git checkout, so nobody could tell what was released; --dirty takes it as it is.")
    if run(["git", "status", "--porcelain"], root).strip():
        raise CheckError("The tree holds changes that are not committed; commit them, or say --dirty.")


def build(root: Path, target: Path) -> tuple[Path, Path]:
    """Wheel and sdist of a tree. Raises CheckError."""
    try:
        import hatchling  # noqa: F401 - asked here, for a sentence instead of a traceback
    except ModuleNotFoundError as error:
        raise CheckError(
            "hatchling is not installed here; run .venv/bin/python release.py after run.py test.", 3
        ) from error
    run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], root)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


def plugin_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names below the plugin's folder and what is in them, sorted; nothing that Python or an editor left behind."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not _NEVER.search(name):
            yield f"{PLUGIN}/{name}", path.read_bytes()


def pack_zip(folder: Path, target: Path, number: str) -> Path:
    """The plugin's folder as a .zip: the same tree, the same bytes."""
    path = target / f"{PLUGIN}-{number}.zip"
    with zipfile.ZipFile(path, "x") as archive:
        for name, data in plugin_files(folder):
            info = zipfile.ZipInfo(name, _DAY)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def pack_tar(folder: Path, target: Path, number: str) -> Path:
    """The same as a .tar.gz."""
    path = target / f"{PLUGIN}-{number}.tar.gz"
    with (
        open(path, "xb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=_SECONDS) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in plugin_files(folder):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(data), _SECONDS, 0o644
            archive.addfile(info, io.BytesIO(data))
    return path


def check_wheel(wheel: Path, number: str, work: Path) -> None:
    """Installed alone it must name its version, make a demo's home, and find that home sound. Raises CheckError."""
    place = work / "fresh"
    python = environment(place)
    run([str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", str(wheel),
         "--constraint", str(ROOT / "constraints.txt")], work)  # fmt: skip
    program, home = str(python.with_name(f"ledger-tui{python.suffix}")), str(work / "home")
    said = run([program, "--version"], work).strip()
    if said != f"ledger-tui {number}":
        raise CheckError(f"The installed program calls itself {said!r}, not ledger-tui {number}.")
    run([program, "demo", "--headless", "--home", home], work)
    run([program, "--hermes-home", home, "doctor"], work)
    calls = run([program, "--hermes-home", home, "calls", "--limit", "1"], work)
    if len(calls.splitlines()) < 2:
        raise CheckError("The demo of the installed program recorded no call.")


def environment(place: Path) -> Path:
    """A new virtual environment with pip; its interpreter. Raises CheckError."""
    try:
        venv.create(place, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CheckError(f"A virtual environment cannot be made here ({error}).", 3) from error
    windows = os.name == "nt"
    return place / ("Scripts" if windows else "bin") / ("python.exe" if windows else "python")


def check_sdist(sdist: Path, wheel: Path, work: Path) -> None:
    """A wheel built from the sdist must hold what the released one does. Raises CheckError."""
    tree, again = work / "sdist", work / "again"
    unpack(sdist, tree)
    (root,) = tree.iterdir()
    again.mkdir()
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(again)], root)
    (second,) = again.glob("*.whl")
    other = contents(wheel).items() ^ contents(second).items()
    if other:
        raise CheckError(
            f"A wheel from the sdist differs from the one from the tree: {sorted({n for n, _ in other})[:5]}."
        )


def contents(wheel: Path) -> dict[str, str]:
    """Every file of a wheel with its hash, without the list of those hashes."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: hashlib.sha256(archive.read(name)).hexdigest()
            for name in archive.namelist()
            if not name.endswith(".dist-info/RECORD")
        }


def check_plugin(archive: Path, number: str, work: Path, host: Path | None) -> None:
    """The unpacked folder is the plugin as it stands here, and the host calls it safe. Raises CheckError."""
    place = work / archive.name.replace(".", "-")
    unpack(archive, place)
    folder = place / PLUGIN
    if dict(plugin_files(folder)) != dict(plugin_files(ROOT / "agent_ledger")):
        raise CheckError(f"{archive.name} does not hold the plugin as it stands here.")
    done = run([sys.executable, "-I", "-B", str(folder / "posture.py"), "--help"], work)
    if "usage" not in done.lower():
        raise CheckError(f"A script of {archive.name} does not run by itself.")
    if host is not None:
        verdict, *findings = run([str(host), "-c", _SCAN, str(folder)], work).split()
        if verdict != "safe":
            raise CheckError(f"The host's install scan calls {archive.name} {verdict}: {' '.join(findings[:5])}")


def unpack(archive: Path, place: Path) -> None:
    """A .zip or .tar.gz into a new folder."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(place)
        return
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(place, filter="data")
        else:  # The first releases of Python 3.11.
            tar.extractall(place)


def sums(made: Sequence[Path], target: Path) -> Path:
    """A file that `sha256sum --check` reads."""
    path = target / SUMS
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in made]
    path.write_text("".join(lines), encoding="ascii")
    return path


def put(path: Path, folder: Path) -> None:
    """Into the folder of the release, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{path.name}.part"
    try:
        shutil.copyfile(path, part)
        os.replace(part, folder / path.name)
    finally:
        part.unlink(missing_ok=True)


def run(command: Sequence[str], folder: Path) -> str:
    """What a command says on standard output. Raises CheckError with its last line where it fails."""
    around = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    done = subprocess.run(command, cwd=folder, env={**around, "HERMES_HOME": str(folder / "no-home")},
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise CheckError(
            f"`{' '.join(command[-4:])}` ended with {done.returncode}: {lines[-1] if lines else 'no word'}"
        )
    return done.stdout


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
