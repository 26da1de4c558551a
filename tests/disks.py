"""A file system of so many bytes, for the tests of full disks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """A new file system at this folder, which is made. The test is left out where this user may not mount one."""
    folder.mkdir()
    options = f"size={mebibytes}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
