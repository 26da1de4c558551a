"""What `find` and `fd` would name, as patterns, and what they run on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .names import names
from .run import Run

_FOUND_NAME = ("-name", "-iname", "-path", "-wholename", "-ipath")
_NARROWING = names(
    """-name -iname -path -ipath -wholename -regex -iregex -mtime -mmin -ctime -cmin -atime -amin -size -empty
    -newer -inum -samefile -perm -user -group -maxdepth -links -nouser -nogroup -newermt"""
)


def is_narrow(arguments: list[str]) -> bool:
    """Does a `find` ask for more than everything that is there?"""
    return not _NARROWING.isdisjoint(arguments)


def found_by(run: Run) -> list[str]:
    """What `find` would name, as patterns: its folders with the names it asks for."""
    roots: list[str] = []
    for word in run.arguments:
        if word.startswith("-") or word in ("(", ")", "!", ","):
            if word in ("-H", "-L", "-P", "-E", "-X"):
                continue
            break
        roots.append(word)
    arguments = run.arguments
    names = [
        arguments[i + 1]
        for i, word in enumerate(arguments[:-1])
        if word in _FOUND_NAME and (not i or arguments[i - 1] not in ("!", "-not"))
    ]
    names = [name for name in names if name.strip("*?./")] or ["**"]
    if (
        "-delete" not in arguments
        and "-type" not in arguments
        and len(names) == 1
        and "-mindepth" not in arguments
        and names == ["**"]
    ):
        return (roots or ["."])[:8]
    return [
        f"{root.rstrip('/') or '/'}/**/{name}".replace("//", "/") for root in (roots or ["."])[:8] for name in names[:8]
    ]


# `fd [OPTION…] [PATTERN] [FOLDER…] [-x COMMAND…]`: https://github.com/sharkdp/fd

_FD_EXECUTING = names("-x --exec -X --exec-batch")
_FD_VALUED = names(
    """-e --extension -E --exclude -d --max-depth --min-depth --exact-depth -t --type -S --size -c --color -j --threads
    -o --owner --changed-within --changed-before --newer --older --base-directory --search-path --ignore-file --format
    --batch-size --max-results --path-separator --and"""
)
_FD_NARROWING = names(
    """-e --extension -d --max-depth --exact-depth -S --size -o --owner --changed-within --changed-before --newer
    --older --max-results --and"""
)
_NAME = re.compile(r"[\w.*?-]+")


@dataclass(frozen=True, slots=True)
class Looking:
    """What one `fd` would name, whether it asks for more than everything, and the command it runs on that."""

    patterns: list[str]
    narrow: bool
    command: list[str]


def fd(arguments: list[str]) -> Looking:
    """Reads the arguments of `fd`."""
    at = next((place for place, word in enumerate(arguments) if word in _FD_EXECUTING), len(arguments))
    options, others, endings = set(), [], []
    place = 0
    while place < at:
        word = arguments[place]
        if word.startswith("-") and len(word) > 1:
            option, _, value = word.partition("=")
            options.add(option)
            if option in _FD_VALUED and "=" not in word:
                place += 1
                value = arguments[place] if place < at else ""
            if option in ("-e", "--extension"):
                endings.append(f"*.{value.lstrip('.')}")
        else:
            others.append(word)
        place += 1
    wanted = others[0] if others and others[0] not in (".", "", "*", ".*", "^") else ""
    named = endings or [_named(wanted)]
    patterns = [f"{root.rstrip('/')}/**/{name}" for root in (others[1:] or ["."])[:8] for name in named[:8]]
    narrow = bool(wanted) or not options.isdisjoint(_FD_NARROWING)
    end = next((n for n in range(at + 1, len(arguments)) if arguments[n] == ";"), len(arguments))
    return Looking(patterns, narrow, arguments[at + 1 : end])


def _named(wanted: str) -> str:
    """A simple regular expression as a pattern for names; what is not simple may name anything."""
    name = wanted.removesuffix("$").replace("\\.", ".")
    name = name[1:] if name.startswith("^") else "*" + name if name.startswith(".") else name
    return name if _NAME.fullmatch(name) and name.strip("*?.") else "**"
