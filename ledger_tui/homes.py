"""Which homes are meant where several are, and what each is called; imports nothing that takes time."""

import os

_OF_A_HOME = ("config.yaml", "state.db", ".env", os.path.join("plugin-data", "agent-ledger"))
"""What Hermes or the plugin leaves in a home. None of them could be the name of a profile."""


def profile_name(text: str) -> bool:
    """Is this a name that the host accepts for a profile? (So it is no path either.)"""
    letters = text.replace("-", "a").replace("_", "a")
    return letters.isascii() and letters.isalnum() and text == text.lower() and text[0] not in "-_" and len(text) <= 64


def profile_home(home: str, profile: str) -> str:
    """The home of a profile; `default` is the host's own name for the home itself."""
    return home if profile == "default" else os.path.join(home, "profiles", profile)


def in_profile(home: str) -> bool:
    """Is this the home of a profile, as the host tells by its folder?"""
    return os.path.basename(os.path.dirname(home)) == "profiles"


def with_profiles(home: str) -> list[str]:
    """A home and those of its profiles; for a folder that is no home but holds some, these."""
    if not _is_home(home):
        inside = [one for one in _folders(home) if _is_home(one)]
        if inside:
            return inside
    below = _folders(os.path.join(home, "profiles"))
    return [home, *(one for one in below if profile_name(os.path.basename(one)))]


def unlisted(home: str) -> str:
    """Why nobody can tell which profiles a home has, or which homes a folder; empty where that can be told, also where
    there are none."""
    folders = [os.path.join(home, "profiles")]
    if not _is_home(home) and os.path.isdir(home):
        folders.insert(0, home)
    for folder in folders:
        try:
            os.scandir(folder).close()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            return error.strerror or str(error)
    return ""


def distinct(homes: list[str]) -> list[str]:
    """Each folder once, under the first of its paths."""
    found: dict[str, str] = {}
    for one in homes:
        found.setdefault(os.path.realpath(one), one)
    return list(found.values())


def names(homes: list[str]) -> list[str]:
    """What people call each: no two alike, and no longer than it takes to tell them apart."""
    roots = {_root(one) for one in homes} - {""}
    whole = len(roots) == 1 and all(one in roots or _root(one) in roots for one in homes)
    choices = [_choices(one, default=whole and one in roots) for one in homes]
    taken: dict[str, int] = {}
    for name in (name for choice in choices for name in choice):
        taken[name] = taken.get(name, 0) + 1
    found = [next((name for name in choice if taken[name] == 1), choice[-1]) for choice in choices]
    return numbered(found)


def numbered(names: list[str]) -> list[str]:
    """The same, with numbers behind those that look alike: they differ in what is not shown of them."""
    return [
        name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})" for at, name in enumerate(names)
    ]


def _choices(home: str, *, default: bool) -> list[str]:
    """Names for a home, the shortest first; its path is the last. None stands there twice."""
    root, own = _root(home), os.path.basename(home)
    short = ["default"] if default else [own] if own else []
    longer = [f"{os.path.basename(root)}/{own}"] if root else []
    return [*short, *longer, home]


def _root(home: str) -> str:
    """The home whose profile this is; empty for what is no profile."""
    return os.path.dirname(os.path.dirname(home)) if in_profile(home) else ""


def _is_home(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in _OF_A_HOME)


def _folders(folder: str) -> list[str]:
    """The folders in a folder, by name; none in one that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            # Not `entry.is_dir()`: a link that leads round in a circle would end the list for all of them.
            return sorted(entry.path for entry in entries if os.path.isdir(entry.path))
    except OSError:
        return []
