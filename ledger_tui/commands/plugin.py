"""`plugin install|uninstall|status`: puts the ledger plugin into a home, and takes it out again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from agent_ledger.engine.inert import inert
from ledger_tui.commands import enabling, gateway, hosts, plugin_folder, reading
from ledger_tui.commands.errors import CommandError, unreadable
from ledger_tui.commands.output import print_json, say
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot
from ledger_tui.sources.guard import SourceError

RESTART = "Restart the gateway (hermes gateway restart) and open chats: a running host does not load new plugins."

group = typer.Typer(rich_markup_mode=None)


@group.callback()
def plugins() -> None:
    """The plugin in a home: in, out, how it is."""


@group.command("install")
def install(
    context: typer.Context,
    link: Annotated[bool, typer.Option("--link", help="Link to this program's own copy: updates follow it.")] = False,
) -> None:
    """Copy the plugin into the home and enable it; a plugin of that name by someone else is never overwritten."""
    place: Place = context.obj
    _need_home(place.home)
    before = plugin_folder.put(place.home, link=link)
    version = plugin_folder.own_manifest().version
    kind = "Linked" if link else "Installed"
    was = "" if before is None else f" (before: {'a link to ' if before.linked else ''}{inert(before.version)})"
    say(f"{kind} agent-ledger {version}{was} in {inert(str(plugin_folder.target(place.home)))}")
    if before is not None and before.kept is not None:
        say(_kept(before.kept))
    change = enabling.enable(place.home, place.environ)
    say(_told(change, "Enabled", "It was enabled already."))
    say(RESTART)
    other = place.profile_used()
    if other is not None and not place.home_named:
        say(f"Hermes was told to use the profile {inert(other)}; for that one, name it: {_FOR_PROFILE}")


_FOR_PROFILE = "ledger-tui --profile NAME plugin install"


@group.command("uninstall")
def uninstall(context: typer.Context) -> None:
    """Remove the plugin's folder and its entry in config.yaml. The recorded calls stay."""
    place: Place = context.obj
    _need_home(place.home)
    gone = plugin_folder.take_away(place.home)
    change = enabling.disable(place.home, place.environ)
    say("Removed the plugin's folder." if gone is not None else "There was no plugin folder to remove.")
    if gone is not None and gone.kept is not None:
        say(_kept(gone.kept))
    say(_told(change, "Disabled", "It was not enabled."))
    if place.paths.ledger.exists():
        say(f"The recorded calls stay in {inert(str(place.paths.ledger))}; delete that folder yourself to lose them.")
    if gone is not None:
        say(RESTART)


@group.command("status")
def status(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Is the plugin in this home, which version, is it enabled?"""
    place: Place = context.obj
    place.need_home()
    found = facts(place)
    if json:
        print_json(found)
        return
    if found["installed"]:
        linked = " (a link)" if found["linked"] else ""
        say(f"plugin   agent-ledger {inert(found['version'])}{linked}; this program brings {found['available']}")
    else:
        say("plugin   not in this home; ledger-tui plugin install puts it there")
    say(f"enabled  {_WORDS[found['enabled']]}")
    say(f"host     {inert(found['host_version'] or _HOST_UNKNOWN)}")
    say(f"gateway  {inert(found['gateway']['evidence'])}")
    for other in found["others"]:
        by = inert(other["author"] or "nobody named")
        say(f"another plugin of this name by {by} is in {inert(other['path'])}; see: ledger-tui doctor")


_HOST_UNKNOWN = "version unknown: no hermes command answers here; it is known once Hermes has recorded a call"

_WORDS = {True: "yes", False: "no", None: "unknown: config.yaml is written in a way that is not understood"}


def facts(place: Place) -> dict[str, Any]:
    """The shape of `plugin status --json`; `enabled` is None where it cannot be told."""
    found = plugin_folder.installed(place.home)
    ours = found is not None and found.manifest.ours
    running = gateway.probe(place.home)
    return {
        "home": str(place.home),
        "path": str(plugin_folder.target(place.home)),
        "installed": ours,
        "version": found.manifest.version if found is not None and ours else None,
        "available": plugin_folder.own_manifest().version,
        "linked": bool(found is not None and ours and found.linked),
        "enabled": enabling.is_enabled(place.home),
        "others": [
            {"path": str(one.path), "version": one.manifest.version, "author": one.manifest.author}
            for one in plugin_folder.others(place.home)
        ],
        "host_version": hosts.asked_version(place.home, place.environ) or _recorded_version(place),
        "gateway": {"running": running.running, "evidence": running.evidence},
    }


def _kept(folder: Path) -> str:
    return (
        f"Files that are not the plugin's own were in its folder; all of the former folder is now {inert(str(folder))}"
    )


def _recorded_version(place: Place) -> str | None:
    """The host's version as the newest writer of the ledger named it; None where there is none."""
    try:
        if place.ledger_exists():
            with snapshot.reading_ledger(place.ledger) as ledger:
                return reading.newest_host_version(ledger)
    except (CommandError, SourceError):
        pass  # What is wrong with the ledger is for doctor to say.
    return None


def _need_home(home: Path) -> None:
    if not home.is_dir():
        raise unreadable(f"There is no Hermes home at {home}; run hermes once, or name its home with --hermes-home.")


def _told(change: enabling.Change, done: str, nothing: str) -> str:
    if change.how == "none":
        return nothing
    by = "by hermes itself" if change.how == "hermes" else "in config.yaml"
    kept = f"; its former text is in {inert(change.backup.name)}" if change.backup is not None else ""
    return f"{done} {by}{kept}."


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="plugin")
