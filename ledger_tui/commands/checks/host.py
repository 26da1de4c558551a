"""Checks of the host around the ledger: is the plugin in it, loaded, alone, and what its log says."""

from __future__ import annotations

import os
import re
from pathlib import Path

from agent_ledger.engine.process import is_dead
from agent_ledger.engine.records import Writer
from ledger_tui.commands import enabling, gateway, plugin_folder
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
from ledger_tui.commands.errors import CommandError
from ledger_tui.commands.gateway import Gateway
from ledger_tui.commands.place import Place
from ledger_tui.homes import profile_home, profile_name
from ledger_tui.sources import snapshot
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.small_files import read_tail

_TAIL = 262_144
_FTS = re.compile(rb"disk=0\b[^\n]*possible FTS write corruption|possible FTS write corruption[^\n]*disk=0\b")
_LOGS = ("agent.log", "errors.log", "gateway.log")


def profile(place: Place) -> Check:
    """Does Hermes itself use this home, or a profile of it?"""
    name = place.profile_used()
    if name is None:
        return Check("profile", OK, "Hermes has not been told to use another profile.")
    text = f"By `hermes profile use`, Hermes' commands and its gateway use the profile {name}"
    if not profile_name(name) or not os.path.isdir(profile_home(str(place.home), name)):
        return Check(
            "profile", FAIL, f"{text}, which is not there; they do not start.",
            "Run: hermes --profile default profile use default",
        )  # fmt: skip
    if place.home_named or place.name:
        return Check("profile", OK, f"{text}; what follows is about the home that you named.")
    text += ", and what follows is about the default one."
    return Check("profile", WARN, text, f"Add --profile {name} to commands here.")


def plugin(place: Place) -> list[Check]:
    found = plugin_folder.installed(place.home)
    running = gateway.probe(place.home)
    return [_installed(place.home, found), _enabled(place.home, found), *_twice(place.home), _loaded(place, running)]


def _installed(home: Path, found: plugin_folder.Found | None) -> Check:
    if found is None:
        return Check(
            "plugin",
            WARN,
            "The plugin is not in this home, so nothing is recorded here.",
            "Run: ledger-tui plugin install",
        )
    if not found.manifest.ours:
        author = found.manifest.author or "nobody named"
        return Check(
            "plugin",
            FAIL,
            f"{found.path} holds another plugin of this name, by {author}, which uses the same data folder.",
            "Disable it, move its folder away, then run: ledger-tui plugin install",
        )
    ours = plugin_folder.own_manifest().version
    if found.manifest.version != ours:
        return Check(
            "plugin",
            WARN,
            f"The home has plugin version {found.manifest.version}, this program brings {ours}.",
            "Run: ledger-tui plugin install",
        )
    return Check("plugin", OK, f"The plugin is in this home, version {ours}.")


def _enabled(home: Path, found: plugin_folder.Found | None) -> Check:
    enabled = enabling.is_enabled(home)
    if enabled is None:
        return Check(
            "plugin-enabled",
            UNKNOWN,
            f"Whether the plugin is enabled cannot be told: {enabling.config_path(home)} has a shape unknown here.",
            "Run: hermes plugins list",
        )
    if enabled or found is None:
        text = "The plugin is enabled." if enabled else "There is no plugin to enable."
        return Check("plugin-enabled", OK, text)
    return Check(
        "plugin-enabled",
        WARN,
        "The plugin is in this home but not enabled, so the host does not load it.",
        "Run: hermes plugins enable agent-ledger, or ledger-tui plugin install",
    )


def _twice(home: Path) -> list[Check]:
    """The older plugin of the same name, by somebody else, also where it lies in another folder."""
    own = plugin_folder.target(home)
    checks = []
    for other in plugin_folder.others(home):
        if other.path == own:
            continue  # Told already.
        author = other.manifest.author or "nobody named"
        # The host enables by folder or by the manifest's name: our own entry in the list loads the other one too.
        both = enabling.is_enabled(home) is not False or enabling.is_enabled(home, other.key) is not False
        checks.append(
            Check(
                "other-plugin",
                FAIL if both else WARN,
                f"Another plugin named agent-ledger, by {author}, lies in {other.path}"
                + (" and is loaded beside this one; both write to the same data folder." if both else ", not enabled."),
                f"Move {other.path} out of the plugins folder, then restart the gateway.",
            )
        )
    return checks


def _loaded(place: Place, running: Gateway) -> Check:
    """Has a running gateway loaded the plugin since it was installed?"""
    if running.running is not True:
        state = OK if running.running is False else UNKNOWN
        return Check("gateway", state, running.evidence)
    if running.pid is not None and any(writer.pid == running.pid for writer in _living_writers(place)):
        return Check("gateway", OK, f"{running.evidence} It has written to this ledger.")
    changed = _changed(place.home) if plugin_folder.installed(place.home) is not None else None
    if running.started is not None and changed is not None and changed > running.started:
        return Check(
            "gateway",
            WARN,
            "The gateway has been running since before the plugin was installed or enabled, and has not loaded it.",
            "Restart it: hermes gateway restart",
        )
    return Check("gateway", OK, running.evidence)


def _living_writers(place: Place) -> list[Writer]:
    try:
        if not place.ledger_exists():
            return []
        with snapshot.reading_ledger(place.ledger) as reading:
            return [writer for writer in snapshot.read_writers(reading).values() if is_dead(writer) is False]
    except (SourceError, CommandError):
        return []


def _changed(home: Path) -> float | None:
    """When the plugin's folder or `config.yaml` last changed, in seconds since 1970."""
    times = []
    for path in (plugin_folder.target(home), enabling.config_path(home)):
        try:
            times.append(os.lstat(path).st_ctime)
        except OSError:
            continue
    return max(times, default=None)


def misleading_log(place: Place) -> Check:
    """Does the host's log hold the line that sends people looking for damage that is not there?"""
    named = [name for name in _LOGS if _FTS.search(_tail(place.home / "logs" / name))]
    if not named:
        return Check("host-log", OK, "The host's logs hold no line that needs explaining.")
    return Check(
        "host-log",
        WARN,
        f"logs/{named[0]} says 'possible FTS write corruption' with disk=0. The store is not damaged by that: the host"
        " looked for the transcript under an old session id and found none (hermes-agent #82616).",
        "Do not rebuild the store. Before you restart the gateway, run: ledger-tui sessions --anomalies-only",
    )


def _tail(path: Path) -> bytes:
    try:
        return read_tail(path, _TAIL)
    except OSError:
        return b""
