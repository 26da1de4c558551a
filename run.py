"""From a bare checkout to a running demo or a full test run, with nothing but Python 3.11 or newer.

`python3 run.py demo [ARGS…]` opens the app on a simulated host; `python3 run.py test [ARGS…]` runs every check.
Both make `.venv` first and skip what is already there. This file must be readable by an old Python, so that
it can say that the Python is too old.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
STAMP = VENV / "ledger-tui-stamp.json"
OLDEST = (3, 11)

USAGE = "usage: python3 run.py demo [ARGS…] | python3 run.py test [ARGS…]"


class SetupError(Exception):
    """Something this machine lacks, in one sentence."""


def main(arguments: Sequence[str]) -> int:
    """Exit code: 2 for wrong usage, 3 when the environment cannot be made, else what the last step gave."""
    if not arguments or arguments[0] not in ("demo", "test"):
        print(USAGE, file=sys.stderr)
        return 2
    what, rest = arguments[0], list(arguments[1:])
    try:
        with _one_at_a_time():
            prepare(what)
    except SetupError as problem:
        print(f"run.py: {problem}", file=sys.stderr)
        return 3
    if what == "demo":
        return subprocess.call([str(_tool("ledger-tui")), "demo", *rest])
    return check(rest)


def check(pytest_arguments: Sequence[str]) -> int:
    """Every check in order; the first that fails ends the run with its exit code and a last line that names it."""
    os.chdir(ROOT)
    steps = [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy"],
        ["lint-imports", "--cache-dir", str(CACHE / "import-linter")],
        ["pytest", *pytest_arguments],
    ]
    for step in steps:
        print(f"run.py: {' '.join(step)}", flush=True)
        code = subprocess.call([str(_tool(step[0])), *step[1:]])
        if code:
            print(f"run.py: stopped, `{step[0]}` ended with exit code {code}.", flush=True)
            return code if 0 < code < 256 else 1
    print("run.py: all checks passed.", flush=True)
    return 0


def prepare(what: str) -> None:
    """Make `.venv` and install the project into it, or do nothing when that was done for this very state.

    Raises SetupError.
    """
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        raise SetupError(f"Python {'.'.join(map(str, OLDEST))} or newer is needed, this is {found} ({sys.executable}).")
    # A venv belongs to one interpreter and one place: its scripts name both.
    venv = {"python": sys.version, "base": sys.base_prefix, "root": str(ROOT)}
    want = {**venv, "state": _state()}
    have = _read_stamp()
    usable = _tool("python").exists() and all(have.get(name) == value for name, value in venv.items())
    if usable and have.get("state") == want["state"] and (what == "demo" or have.get("for") == "test"):
        return
    if not usable:
        _make_venv()
    print("run.py: installing into .venv (a minute the first time) …", file=sys.stderr, flush=True)
    STAMP.unlink(missing_ok=True)
    _pip("install", "--editable", ".[dev]" if what == "test" else ".", "--constraint", "constraints.txt")
    STAMP.write_text(json.dumps({**want, "for": what}), encoding="utf-8")


def _make_venv() -> None:
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        raise SetupError(
            f"this Python ({sys.executable}) came without `venv` and `ensurepip`;"
            " install them (on Debian and Ubuntu: the package python3-venv) and run this again."
        )
    print("run.py: making .venv …", file=sys.stderr, flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True)
    if made.returncode:
        raise SetupError(f"`python3 -m venv .venv` failed: {_last_line(made.stdout + made.stderr)}")


def _pip(*arguments: str) -> None:
    command = [str(_tool("python")), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments, "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr, end="")
        raise SetupError("pip could not install the project; its own message stands above.")


def _tool(name: str) -> Path:
    windows = os.name == "nt"
    return VENV / ("Scripts" if windows else "bin") / (name + (".exe" if windows else ""))


def _state() -> str:
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _read_stamp() -> dict[str, str]:
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two runs in one checkout must not install over each other."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing to take turns with, and nobody runs both at once by habit.
        yield
        return
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "setup.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
