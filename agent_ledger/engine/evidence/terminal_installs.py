"""Packages that a command was to install, where their folder is known: `npm`, and the `pip` of an environment."""

from __future__ import annotations

import re
from pathlib import Path

from .effects import Effect
from .facts import CannotTellError, Facts
from .files import numbers, span
from .located import look, missing, need_place, place_of
from .recorded import Recorded
from .touching import working
from .verdict import ABSENT, LANDED, UNKNOWN, Finding, quoted

_NPM = re.compile(r"((?:@[\w.-]+/)?[\w.-]+)(?:@[\w.^~<>=*-]+)?")
_PIP = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[\w,.-]*\])?(?:[=<>!~]=?[\w.*+!,<>=-]+)?")
_PLAIN = frozenset(
    {
        "-q", "--quiet", "-U", "--upgrade", "--no-input", "--no-cache-dir", "--no-deps", "--disable-pip-version-check",
        "-y", "--yes", "--save", "-S", "-D", "--save-dev", "--no-audit", "--no-fund", "-m", "--no-index",
        "--target", "-t",
    }
)  # fmt: skip
"""Options that leave name and place as they are."""

SOON_S = 5.0
"""Within so long of its call an installation is taken for its doing. Many take longer, but so does a person who saw the
agent die and types the command again."""


def judge(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    """One verdict for the packages that the command names. Raises CannotTellError."""
    assert call.at is not None
    program = effect.words[0].rpartition("/")[2]
    odd = [word for word in effect.words[1:] if word.startswith("-") and word not in _PLAIN]
    if odd:
        raise CannotTellError(f"The option {quoted(odd[0], 30)} of the installation is not followed.")
    words = [word for word in effect.words[1:] if not word.startswith("-")]
    if program == "npm":
        names = _names(words[1:], _NPM)
        begun = place_of(call, facts, effect.path or ".")
        folder = begun / "node_modules"
        above = any(facts.look(one / name).exists for one in begun.parents for name in ("package.json", "node_modules"))
        if above and not all(facts.look(folder / name).exists for name in names):
            raise CannotTellError("npm may have put the packages into a folder above, which holds some, too.")
        return _agree([_entry(call, facts, effect, folder / name / "package.json", name) for name in names])
    target = _target(effect.words)
    if target:
        names = _wheels(words[2:] if program.startswith("python") else words[1:], target)
        folder = place_of(call, facts, target if target.startswith("/") else f"{effect.path}/{target}")
        if not facts.look(folder).exists:
            return _entry(call, facts, effect, folder, names[0])
        return _agree([_distribution(call, facts, effect, folder, name) for name in names])
    if "/" not in effect.words[0]:
        raise CannotTellError("Into which environment packages were to be installed is not known.")
    names = _names(words[2:] if program.startswith("python") else words[1:], _PIP)
    place = place_of(
        call, facts, effect.words[0] if effect.words[0].startswith("/") else f"{effect.path}/{effect.words[0]}"
    )
    folder = _site_packages(facts, place.parent.parent)
    return _agree([_distribution(call, facts, effect, folder, name) for name in names])


def _target(words: tuple[str, ...]) -> str:
    """The folder after `--target`; empty without one."""
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word in ("--target", "-t")), "")


def _wheels(words: list[str], target: str) -> list[str]:
    """Names of packages from the names of their wheels (PEP 427), or as they are named."""
    plain = [word for word in words if word != target]
    names = [word.rpartition("/")[2].split("-")[0] for word in plain if word.endswith(".whl")]
    return names if names and len(names) == len(plain) else _names(plain, _PIP)


def _names(words: list[str], form: re.Pattern[str]) -> list[str]:
    found = [form.fullmatch(word) for word in words]
    files = any(word.startswith(".") or ("/" in word[1:] and word[0] != "@") for word in words)
    if not found or not all(found) or files:
        raise CannotTellError("The command names no packages by their names alone.")
    return [match[1] for match in found if match]


def _agree(found: list[Finding]) -> Finding:
    words = {word for word, _ in found}
    return found[0] if len(words) == 1 else (UNKNOWN, "Of the packages named, some are there and some are not.")


def _site_packages(facts: Facts, environment: Path) -> Path:
    library = environment / "lib"
    versions = [name for name in facts.names(library) if re.fullmatch(r"python3\.\d+", name)]
    if facts.look(environment / "pyvenv.cfg").kind != "file" or len(versions) != 1:
        raise CannotTellError(f"{quoted(environment)} is no environment whose packages lie in one place.")
    return library / versions[0] / "site-packages"


def _distribution(call: Recorded, facts: Facts, effect: Effect, folder: Path, name: str) -> Finding:
    wanted = re.sub(r"[-_.]+", "-", name).lower()
    for entry in facts.names(folder):
        found = re.fullmatch(r"(.+?)-[^-]+\.dist-info", entry)
        if found and re.sub(r"[-_.]+", "-", found[1]).lower() == wanted:
            return _entry(call, facts, effect, folder / entry / "RECORD", name)
    need_place(call)
    assert call.at is not None
    if facts.look(folder).touched_since(call.at):
        return UNKNOWN, f"{quoted(folder, 160)} holds no package {quoted(name, 60)}, but has changed since the call."
    return ABSENT, f"{quoted(folder, 160)} holds no package {quoted(name, 60)}, and has not changed since the call."


def _entry(call: Recorded, facts: Facts, effect: Effect, path: Path, name: str) -> Finding:
    assert call.at is not None
    spot = look(facts, path)
    if not spot.place.exists:
        return missing(call, spot)
    if spot.untouched_since(call.at):
        return UNKNOWN, f"The package {quoted(name, 60)} was there before the call."
    when = spot.place.changed - call.at
    begun = str(place_of(call, facts, effect.path or "."))
    if rivals := working(call, facts, begun, spot.place.changed, _target(effect.words) or name):
        return UNKNOWN, f"The package {quoted(name, 60)} came since, but call {numbers(rivals)} may have brought it."
    if when > SOON_S:
        return UNKNOWN, f"The package {quoted(name, 60)} came {span(when)} after the call: by whom is not known."
    return LANDED, f"The package {quoted(name, 60)} came into {quoted(path.parent, 160)} {span(when)} after the call."
