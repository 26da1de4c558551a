"""Which home, ledger and session store a command is about, by the options before it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_ledger.engine.paths import DATA_FOLDER, Paths
from ledger_tui.commands.errors import unreadable, usage
from ledger_tui.commands.source import ONLY, Shipped
from ledger_tui.homes import in_profile, profile_home, profile_name
from ledger_tui.sources.small_files import read_text


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command looks. Nothing is opened or created by asking."""

    home: Path
    ledger: Path
    state: Path
    home_named: bool = False
    ledger_named: bool = False
    state_named: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Callable[[], float] = time.time
    mono_clock: Callable[[], float] = time.monotonic
    shipped: Shipped | None = None
    """Set where the ledger was shipped by another machine: then there is nothing else of its home."""
    name: str = ""
    """What people call it among several, inert; empty for a home that is alone."""

    @property
    def data(self) -> Path:
        """The folder of the ledger: policy modes, settings and the spool lie beside it."""
        return self.ledger.parent

    @property
    def ledger_name(self) -> str:
        """What a person is told the ledger is called."""
        return self.shipped.source.name if self.shipped is not None else str(self.ledger)

    @property
    def home_text(self) -> str:
        """The home in JSON: its path, or the name of a ledger that was shipped."""
        return self.shipped.source.name if self.shipped is not None else str(self.home)

    @property
    def paths(self) -> Paths:
        return Paths(self.home)

    @property
    def ledger_paths(self) -> Paths | None:
        """What lies around the ledger, its spool among it; None for a ledger that lies in no home."""
        home = self.data.parents[1] if len(self.data.parents) > 1 else self.data
        return Paths(home) if home / DATA_FOLDER == self.data else None

    def profile_used(self) -> str | None:
        """The profile that the host's commands and its gateway take instead of this home, by `hermes profile use`.

        None where they take this home, and for the home of a profile, which they take as it is named.
        """
        if in_profile(str(self.home)):
            return None
        try:
            name = read_text(self.home / "active_profile", 256).removeprefix("\ufeff").strip()
        except OSError:
            return None
        return name if name not in ("", "default") else None

    def home_is_there(self) -> bool:
        """False for a home named by option that does not exist, and for any that is no folder."""
        return self.home.is_dir() or not (self.home_named or os.path.lexists(self.home))

    def need_home(self) -> None:
        """Raises CommandError (3) where `home_is_there` says no. A default home may still be missing."""
        if not self.home_is_there():
            what = "is no folder" if os.path.lexists(self.home) else "does not exist"
            raise unreadable(f"The Hermes home {self.home} {what}; check --hermes-home, --profile or HERMES_HOME.")

    def ledger_exists(self) -> bool:
        """False where the default ledger is not there yet. Raises CommandError (3) for one named by option."""
        if self.shipped is not None:
            self.shipped.bring()
            return True
        if not self.ledger_named:
            self.need_home()
        return _exists(self.ledger, "ledger", "--ledger", self.ledger_named)

    def state_exists(self) -> bool:
        """The same for the session store."""
        if self.shipped is not None:
            raise usage(ONLY)
        if not self.state_named:
            self.need_home()
        return _exists(self.state, "session store", "--state", self.state_named)


def _exists(path: Path, what: str, option: str, named: bool) -> bool:
    try:
        there = os.path.lexists(path)
    except ValueError as error:
        raise usage(f"{option}: {path!r} is not a path") from error
    if not there and named:
        raise unreadable(f"The {what} {path} named by {option} does not exist; check the path.")
    return there


def place_of(
    hermes_home: str | None,
    profile: str | None,
    ledger: str | None,
    state: str | None,
    environ: Mapping[str, str],
) -> Place:
    """The place that these options name. Raises CommandError (2) for values that cannot be meant."""
    option = "--hermes-home" if hermes_home or not environ.get("HERMES_HOME") else "HERMES_HOME"
    home = path_of(hermes_home or environ.get("HERMES_HOME") or "~/.hermes", option)
    for option, value in (("--hermes-home", hermes_home), ("--ledger", ledger), ("--state", state)):
        if value == "":
            raise usage(f"{option} needs a path, but what it was given is empty.")
    if profile is not None:
        if not profile or not profile_name(profile):
            raise usage(f"--profile {profile!r} is no profile name: use small letters, digits, - and _, and no path.")
        home = Path(profile_home(str(home), profile))
    paths = Paths(home)
    return Place(
        home=home,
        ledger=path_of(ledger, "--ledger") if ledger else paths.ledger,
        state=path_of(state, "--state") if state else paths.state,
        home_named=hermes_home is not None or profile is not None,
        ledger_named=ledger is not None,
        state_named=state is not None,
        environ=environ,
    )


def path_of(text: str, option: str) -> Path:
    """The path that was typed for an option, from the root on. Raises CommandError (2) for what can be no path."""
    try:
        if "\0" in text:  # A file of settings may say so; where such a path is used, no two calls fail alike.
            raise ValueError
        typed = Path(text).expanduser().absolute()
    except (RuntimeError, ValueError, OSError) as error:  # The last where the working folder is gone.
        raise usage(f"{option}: the path {text!r} cannot be resolved; write it out in full.") from error
    short = os.path.abspath(typed)  # Without `..`, which behind a link leads elsewhere than it looks.
    return Path(short) if os.path.realpath(short) == os.path.realpath(typed) else typed


def place_of_shipped(shipped: Shipped, environ: Mapping[str, str]) -> Place:
    """The place of a ledger that another machine shipped. Nothing is opened or created by asking."""
    paths = Paths(shipped.home)
    return Place(shipped.home, paths.ledger, paths.state, environ=environ, shipped=shipped)
