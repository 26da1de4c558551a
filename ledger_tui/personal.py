"""A person's settings put to use in the app: which themes, actions and keys there are, and what of it is asked for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping

from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode

import screens
import widgets
from agent_ledger.engine.inert import inert
from ledger_tui.app import LedgerApp
from ledger_tui.config import Config, Loaded, load

_KEY = re.compile(r"(?:(?:ctrl|shift|alt|super)\+)*(?:[a-z0-9_]+|[A-Z]|[^\w\s,])")


def settle(app: LedgerApp) -> str:
    """Put the person's file to use before the app runs; what is wrong with it is returned in one sentence."""
    loaded = with_app(app, load())
    apply(app, loaded.config)
    app.first_word = inert(loaded.sentence())
    return loaded.sentence()


def apply(app: LedgerApp, config: Config) -> None:
    """Theme, keys and pace as asked for, before the app runs."""
    if config.theme:
        app.theme = config.theme
    app.set_keymap(_with_neighbours(config.keys))
    for home in app.homes:
        home.ledger_source.at_most_every(config.refresh["ledger_s"])
        home.state_source.at_most_every(config.refresh["sessions_s"])


def _with_neighbours(keys: Mapping[str, str]) -> dict[str, str]:
    """Also the actions that share a former key with one of them: Textual takes a key away as a whole."""
    if not keys:
        return {}  # Nothing to look for: the app starts the sooner.
    whole, known = dict(keys), default_keys()
    for bindings in _all_bindings().values():
        left = {binding.key for binding in bindings if binding.id in keys}
        shared = {binding.id for binding in bindings if binding.key in left and binding.id}
        whole = {name: known[name] for name in shared} | whole
    return whole


def problems(app: LedgerApp, loaded: Loaded) -> list[str]:
    """What is wrong with a file, also what only the app can tell: themes, actions, keys."""
    found = list(loaded.problems)
    if found:
        return found
    theme = loaded.config.theme
    if theme and theme not in app.available_themes:
        found.append(f"there is no theme {theme!r}; there are {', '.join(sorted(app.available_themes))}")
    return found + list(_about_keys(loaded.config.keys))


def with_app(app: LedgerApp, loaded: Loaded) -> Loaded:
    """The same file once the app has judged it too; what is wrong then leaves the defaults."""
    found = tuple(problems(app, loaded))
    return Loaded(loaded.path, loaded.exists, Config() if found else loaded.config, found)


def actions() -> dict[str, Binding]:
    """Every action in the app that has a name for `keys`."""
    return {binding.id: binding for bindings in _all_bindings().values() for binding in bindings if binding.id}


def default_keys() -> dict[str, str]:
    """The same with the keys that they have unless told."""
    keys: dict[str, list[str]] = {}
    for bindings in _all_bindings().values():
        for binding in bindings:
            if binding.id and binding.key not in keys.setdefault(binding.id, []):
                keys[binding.id].append(binding.key)
    return {name: ",".join(found) for name, found in sorted(keys.items())}


def _all_bindings() -> dict[str, list[Binding]]:
    """Of the app and of each class of ours that has any: one binding a key."""
    for package in (screens, widgets):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    found = {LedgerApp.__name__: list(BindingsMap(LedgerApp.BINDINGS).key_to_bindings.values())}
    for one in _below(DOMNode):
        if one.__module__.split(".")[0] in (screens.__name__, widgets.__name__) and one.__dict__.get("BINDINGS"):
            found[one.__name__] = list(BindingsMap(one.BINDINGS).key_to_bindings.values())
    return {name: [binding for bindings in lists for binding in bindings] for name, lists in found.items()}


def _below(one: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for sub in one.__subclasses__():
        yield sub
        yield from _below(sub)


def _about_keys(keys: Mapping[str, str]) -> Iterator[str]:
    known = default_keys() if keys else {}
    for name, asked in keys.items():
        if name not in known:
            yield f"there is no action {name!r} for a key; see: ledger-tui config show"
        wrong = [key for key in asked.split(",") if not _KEY.fullmatch(key)]
        if wrong:
            yield f"keys.{name} names no key by {wrong[0]!r}; write it as 'f', 'F', 'slash' or 'ctrl+f'"
    yield from _taken_twice({name: asked for name, asked in keys.items() if name in known}, known)


def _taken_twice(keys: Mapping[str, str], known: Mapping[str, str]) -> Iterator[str]:
    """New keys that already do something else in the same place, or everywhere."""
    if not keys:
        return
    everywhere = {binding.id for binding in _all_bindings()[LedgerApp.__name__] if binding.id}
    for bindings in _all_bindings().values():
        names = {binding.id for binding in bindings if binding.id}
        for name in sorted(names & set(keys)):
            others = {other: keys.get(other, known[other]) for other in sorted((names | everywhere) - {name})}
            new = set(_normal(keys[name])) - set(_normal(known[name]))
            for other, theirs in others.items():
                for key in sorted(new & set(_normal(theirs))):
                    yield f"keys.{name} takes {key!r}, which is the key of {other}"


def _normal(keys: str) -> list[str]:
    """Keys by Textual's names for them: `/` is `slash`."""
    return [key for (key, _) in BindingsMap([Binding(keys, "", "")])]
