"""Several homes asked for at once: which, by the options before the command, and how a command goes through them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import typer

from agent_ledger.engine.inert import inert
from ledger_tui import homes
from ledger_tui.commands.errors import DONE, UNREADABLE, CommandError, usage
from ledger_tui.commands.output import say, warn
from ledger_tui.commands.place import Place, path_of, place_of
from ledger_tui.config import load
from ledger_tui.sources.guard import SourceError

COMMANDS = ("status", "calls", "watch", "sessions", "posture", "doctor", "tmux")
"""What answers about several homes at once."""

_FILES, _FILES_EACH = 256, 12
"""Files that may have to be open at once: by the program, and of each home (two connections to each of its databases,
each with the file, its log and what they share)."""

_T = TypeVar("_T")


class Fleet:
    """Several homes, each with a name of its own: inert, and as short as it can be. One where only one was found."""

    def __init__(self, find: Callable[[], Iterable[Place]], *, unlisted: Sequence[str] = ()) -> None:
        """`find` is asked once, when a command wants to know them: `--help` does not."""
        self._find = find
        self.unlisted = unlisted
        """A sentence about each home of which nobody can tell which profiles there are. They are said already."""

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """In the order in which they were asked for. Raises CommandError where they cannot be found."""
        found = tuple(self._find())
        _make_room(len(found))
        return found


@dataclass(slots=True)
class Round:
    """A command's way through the homes of a fleet: one that cannot be read is told of and does not stop the others."""

    fleet: Fleet
    failed: set[Path] = field(default_factory=set)
    """Those that cannot be read."""

    def each(self, ask: Callable[[Place], _T]) -> Iterator[tuple[Place, _T]]:
        """Every home with its answer, but for those that cannot be read. Raises CommandError for wrong usage only."""
        for place in self.fleet.places:
            if place.home not in self.failed:
                for answer in self.kept(place, _lazily(ask, place)):
                    yield place, answer

    def kept(self, place: Place, answers: Iterable[_T]) -> Iterator[_T]:
        """What comes of one home, up to where it cannot be read."""
        try:
            yield from answers
        except CommandError as error:
            if error.code != UNREADABLE:
                raise
            self.told(place, error.text)
        except SourceError as error:
            self.told(place, str(error))
        except BrokenPipeError:
            raise  # Nobody reads the output any more; that is no home's fault.
        except OSError as error:
            self.told(place, f"{error.filename or place.home} cannot be read ({error.strerror or error}).")

    def told(self, place: Place, problem: str) -> None:
        """Say what is wrong with one home."""
        self.failed.add(place.home)
        warn(f"{place.name}: {problem}")

    @property
    def code(self) -> int:
        """How the command ends for all that."""
        return UNREADABLE if self.failed or self.fleet.unlisted else DONE


def say_in_turn(parts: Iterable[tuple[Place, Iterable[str]]]) -> None:
    """What is said of each home under its name, with an empty line between two."""
    for number, (place, lines) in enumerate(parts):
        for line in (*([""] if number else []), f"{place.name}: {inert(place.home_text)}", *lines):
            say(line)


def _make_room(homes: int) -> None:
    """Several homes keep more files open than many systems allow a program unless it asks for more."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _FILES + homes * _FILES_EACH
    wanted = needed if most == resource.RLIM_INFINITY else min(needed, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        with contextlib.suppress(OSError, ValueError):  # Then as many homes are read as there is room for.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _lazily(ask: Callable[[Place], _T], place: Place) -> Iterator[_T]:
    yield ask(place)


def asked(
    hermes_homes: Sequence[str],
    profiles: Sequence[str],
    ledger: str | None,
    state: str | None,
    environ: Mapping[str, str],
    *,
    all_profiles: bool = False,
) -> Place | Fleet:
    """The place that these options name, or the fleet where they name several. Raises CommandError (2)."""
    if not (all_profiles or len(hermes_homes) > 1 or len(profiles) > 1):
        home, profile = (next(iter(given), None) for given in (hermes_homes, profiles))
        return place_of(home, profile, ledger, state, environ)
    if ledger is not None or state is not None:
        raise usage("--ledger and --state name files of one home; leave them out where several homes are asked for.")
    if all_profiles and profiles:
        raise usage("--all-profiles and --profile exclude each other; choose one.")
    given: Sequence[str | None] = hermes_homes or (_of_settings() if all_profiles else ()) or (None,)
    inside: Sequence[str | None] = profiles or (None,)
    named = [place_of(home, profile, None, None, environ) for home in given for profile in inside]
    found: dict[str, Place] = {}
    for place in named:
        for path in homes.with_profiles(str(place.home)) if all_profiles else [str(place.home)]:
            itself = path == str(place.home)
            found.setdefault(path, place if itself else place_of(path, None, None, None, environ))
    paths = homes.distinct(list(found))
    called = zip(paths, homes.names([inert(path) for path in paths]), strict=True)
    places = [replace(found[path], name=name) for path, name in called]
    return Fleet(lambda: places, unlisted=_unlisted(named) if all_profiles else ())


def _of_settings() -> list[str]:
    """The homes that a person's settings name. Raises CommandError (2) for what can be no path."""
    found = load()
    return [str(path_of(home, f"homes in {found.path}")) for home in found.config.homes]


def _unlisted(named: Sequence[Place]) -> list[str]:
    """Says it where nobody can tell which profiles a home has, and returns what it said."""
    asked_for = {place.home: homes.unlisted(str(place.home)) for place in named}
    told = [
        f"The profiles of {home} cannot be listed ({why}); they are left out." for home, why in asked_for.items() if why
    ]
    for sentence in told:
        warn(sentence)
    return told


def places_of(context: typer.Context) -> tuple[Place, ...]:
    """The homes that were asked for, one or several."""
    return context.obj.places if isinstance(context.obj, Fleet) else (context.obj,)


def one_home(context: typer.Context, what: str = "") -> Place:
    """The home, for what works on one only: `what` names it. Raises CommandError (2) where several were asked for."""
    if not isinstance(context.obj, Fleet):
        place: Place = context.obj
        return place
    asked_for = context.find_root().params
    leave = _leave_out(asked_for)
    who = what or f"ledger-tui {context.invoked_subcommand or context.info_name}"
    raise usage(f"{who} works on one home at a time; {leave}.")


def _leave_out(asked_for: Mapping[str, object]) -> str:
    if asked_for.get("all_profiles"):
        return "leave out --all-profiles, and name a profile with --profile"
    if asked_for.get("all_hosts"):
        return "leave out --all-hosts, and name a host with --host"
    several = [f"--{name.replace('_', '-')}" for name in ("hermes_home", "profile") if _many(asked_for.get(name))]
    return f"give {' and '.join(several)} once only"


def _many(given: object) -> bool:
    return isinstance(given, (list, tuple)) and len(given) > 1
