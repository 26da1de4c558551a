"""Enabling the plugin in a home's `config.yaml`: by lines first, which keeps every comment, else by the host itself."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ledger_tui.commands import config_yaml, hosts
from ledger_tui.commands.config_yaml import PluginLists, ShapeError
from ledger_tui.commands.errors import refused, unreadable
from ledger_tui.commands.plugin_folder import NAME
from ledger_tui.sources.small_files import read_bytes, read_text

_LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to `config.yaml`: how (`lines`, `hermes`, `none`), and where its former text is."""

    how: str
    backup: Path | None = None


def config_path(home: Path) -> Path:
    return home / "config.yaml"


def lists(home: Path) -> PluginLists | None:
    """What `config.yaml` enables and disables; None where it cannot be told for certain."""
    try:
        return config_yaml.read(_text(config_path(home)))
    except (OSError, ValueError):
        return None


def is_enabled(home: Path, key: str = NAME) -> bool | None:
    """Would the host load plugin `key` at its next start? None where that cannot be told."""
    found = lists(home)
    if found is None:
        return None
    return key in (found.enabled or ()) and key not in found.disabled


def enable(home: Path, environ: Mapping[str, str]) -> Change:
    """Enables the plugin. Raises CommandError (4) where neither a line nor the host's own command can do it."""
    return _change(home, environ, config_yaml.enable, "enable")


def disable(home: Path, environ: Mapping[str, str]) -> Change:
    """Takes the plugin off the enabled ones."""
    if not config_path(home).exists():
        return Change("none")
    return _change(home, environ, config_yaml.disable, "disable")


def _change(home: Path, environ: Mapping[str, str], edit: Callable[[str, str], str], verb: str) -> Change:
    path = config_path(home)
    try:
        before = _text(path)
        after = edit(before, NAME)
    except ShapeError as error:
        return _by_host(home, environ, verb, str(error))
    except UnicodeDecodeError:
        return _by_host(home, environ, verb, "it is not UTF-8")
    except OSError as error:
        raise unreadable(f"{path} cannot be read ({error.strerror}); check its rights.") from error
    if after == before:
        return Change("none")
    try:
        return Change("lines", _write(path, after))
    except OSError as error:
        raise unreadable(f"{path} cannot be written ({error.strerror}); check the rights of its folder.") from error


def _by_host(home: Path, environ: Mapping[str, str], verb: str, why: str) -> Change:
    """The host rewrites the whole file, and some versions drop its comments: the former text is kept beside it."""
    path = config_path(home)
    if hosts.executable(environ) is not None:
        backup = _backup(path)
        answer = hosts.run_hermes(["plugins", verb, NAME], home, environ)
        if answer is not None and answer.returncode == 0:
            return Change("hermes", backup)
    raise refused(
        f"{path} was left as it is, for {why}; run `hermes plugins {verb} {NAME}`, or edit plugins.enabled by hand."
    )


def _text(path: Path) -> str:
    """The file's text, its line ends as they are; empty where there is no file."""
    try:
        return read_text(path, _LIMIT, errors="strict")
    except FileNotFoundError:
        return ""


def _backup(path: Path) -> Path | None:
    """A copy beside the file under the first free name, with its mode; None where there is no file."""
    try:
        data, info = read_bytes(path), path.stat()
    except FileNotFoundError:
        return None
    number = 1
    while True:
        copy = path.with_name(f"{path.name}.bak-{number}")
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(info.st_mode))
        except FileExistsError:
            number += 1
            continue
        with open(descriptor, "wb") as file:
            _like(descriptor, info)
            file.write(data)
        return copy


def _write(path: Path, text: str) -> Path | None:
    """Replaces the file whole; mode and owner stay, a link stays a link. Returns the backup."""
    backup = _backup(path)
    real = path.resolve()
    part = real.with_name(f".{real.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            if real.exists():
                _like(descriptor, real.stat())
        os.replace(part, real)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
    return backup


def _like(descriptor: int, info: os.stat_result) -> None:
    """Mode and owner of an open file. Not by its name: for root, somebody might put a link there meanwhile."""
    if not hasattr(os, "fchown"):
        return
    if os.geteuid() == 0:
        os.fchown(descriptor, info.st_uid, info.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(info.st_mode))
