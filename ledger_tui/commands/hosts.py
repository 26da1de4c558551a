"""Which Hermes serves a home, and what that version can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agent_ledger.engine.prompts.host import enforced
from ledger_tui.sources.small_files import read_text

_SECONDS = 20.0


def honours_prompt_block(version: str | None) -> bool | None:
    """Does this host stop a turn that a prompt policy blocks? None where its version is not known."""
    return enforced(version)


def executable(environ: Mapping[str, str]) -> str | None:
    """The `hermes` command, if there is one on the path.

    Entries that are no absolute paths are left out: they would mean a folder in which an agent may have put one.
    """
    folders = [folder for folder in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which("hermes", path=os.pathsep.join(folders)) if folders else None


def run_hermes(arguments: list[str], home: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str] | None:
    """Run the host's own command for `home`, without a terminal. None where there is none or it does not answer."""
    command = executable(environ)
    if command is None:
        return None
    try:
        return subprocess.run(
            [command, *_this_home(home), *arguments],
            env={**environ, "HERMES_HOME": str(home), "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            cwd=home if os.path.isdir(home) else None,
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _this_home(home: Path) -> list[str]:
    """What keeps the host's command from going to the profile that `hermes profile use` chose."""
    return [] if in_profile(home) else ["--profile", "default"]


def in_profile(home: Path) -> bool:
    """Is this the home of a profile, as the host tells by its folder?"""
    return home.parent.name == "profiles"


def chosen_profile(home: Path) -> str | None:
    """The profile that the host's commands and its gateway take instead of this home, by `hermes profile use`.

    None where they take this home, and for the home of a profile, which they take as it is named.
    """
    if in_profile(home):
        return None
    try:
        name = read_text(home / "active_profile", 256).removeprefix("\ufeff").strip()
    except OSError:
        return None
    return name if name not in ("", "default") else None


def asked_version(home: Path, environ: Mapping[str, str]) -> str | None:
    """The version that `hermes --version` names; None where it cannot be asked."""
    answer = run_hermes(["--version"], home, environ)
    found = re.search(r"v?(\d+\.\d+\.\d+(?:[.\w+-]*\w)?)", answer.stdout) if answer is not None else None
    return found[1] if found else None
