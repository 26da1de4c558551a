"""Which Hermes serves a home, and what that version can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agent_ledger.engine.prompts.host import enforced
from ledger_tui.homes import in_profile

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
    return [] if in_profile(str(home)) else ["--profile", "default"]


def asked_version(home: Path, environ: Mapping[str, str]) -> str | None:
    """The version that `hermes --version` names; None where it cannot be asked."""
    answer = run_hermes(["--version"], home, environ)
    found = re.search(r"v?(\d+\.\d+\.\d+(?:[.\w+-]*\w)?)", answer.stdout) if answer is not None else None
    return found[1] if found else None
