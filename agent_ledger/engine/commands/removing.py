"""Signatures: files and trees that are removed or overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import places
from .finders import found_by, is_narrow
from .run import Found, Run

_ORDER = ("", "LOW", "MEDIUM", "HIGH", "CRITICAL")


def rm(run: Run) -> Iterator[Found]:
    """`rm`, with its options wherever they stand; and `unlink`, which has none."""
    flags, targets = split_options(run.arguments)
    if flags & {"--help", "--version"}:
        return
    recursive = bool(flags & {"r", "R", "--recursive", "-Recurse"})
    asks = bool(flags & {"i", "I", "--interactive"}) and "f" not in flags
    yield from remove(run, targets, recursive=recursive, asks=asks, bare="--no-preserve-root" in flags)


def remove(run: Run, targets: list[str], *, recursive: bool, asks: bool = False, bare: bool = False) -> Iterator[Found]:
    """The loss of each target."""
    for target in targets:
        path = run.path(target)
        if not recursive and target in run.found:
            yield from _found_and_deleted(path, narrow=run.found[target], asks=asks)
            continue
        if not recursive:
            yield from _single(path)
            continue
        weight = places.weight_of_loss(path)
        if bare and path == "/":
            weight = "CRITICAL"
        if weight:
            yield "recursive-delete", "LOW" if asks else weight, f"deletes {path} with everything in it", path


def _single(path: str) -> Iterator[Found]:
    if places.is_ledger(path):
        yield "ledger-touch", "HIGH", "deletes a file of the ledger", path
    elif path.startswith(("/etc/", "/boot/")):
        yield "system-file", "HIGH", "deletes a file that the system needs", path
    elif places.is_device(path):
        yield "system-file", "MEDIUM", "deletes the name of a disk", path
    elif path.rpartition("/")[2] in ("*", "**", ".*") and not places.is_temporary(path):
        wide = places.weight_of_loss(path) == "CRITICAL" and path.startswith(("/", "~", "$HOME"))
        yield "bulk-delete", "HIGH" if wide else "MEDIUM", "deletes every file there", path


def split_options(arguments: list[str]) -> tuple[set[str], list[str]]:
    """Single letters and long options; and the words that are no options."""
    flags: set[str] = set()
    others: list[str] = []
    for place, word in enumerate(arguments):
        if word == "--":
            return flags, others + arguments[place + 1 :]
        if word.startswith("--"):
            flags.add(word.partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            flags.update(word[1:])
        else:
            others.append(word)
    return flags, others


def find(run: Run) -> Iterator[Found]:
    """`find … -delete`; what its `-exec` runs is judged by itself."""
    arguments = run.arguments
    if "-delete" not in arguments:
        return
    narrow = is_narrow(arguments)
    for pattern in found_by(run):
        yield from _found_and_deleted(run.path(pattern), narrow=narrow)


def _found_and_deleted(path: str, *, narrow: bool, asks: bool = False) -> Iterator[Found]:
    """The loss of everything that a finder names by one pattern."""
    root = path.partition("/**")[0] or "/"
    weight = places.weight_of_loss(root)
    if places.is_temporary(path) or not weight or places.weight_of_loss(path) == "":
        return
    outside = root == "/" or (weight == "CRITICAL" and root.startswith(("/", "~", "$HOME")))
    if narrow:
        weight = "HIGH" if outside else "MEDIUM"
    yield "recursive-delete", "LOW" if asks else weight, f"deletes what it finds below {root}", path


def shred(run: Run) -> Iterator[Found]:
    """`shred`, `srm`, `wipe`: contents that nobody brings back."""
    _, targets = split_options(run.arguments)
    for target in targets:
        path = run.path(target)
        if places.is_device(path):
            yield "disk-write", "CRITICAL", "overwrites a disk", path
        elif not target.isdigit() and not places.is_temporary(path) and not places.is_made_again(path):
            yield "overwrite", "HIGH", "overwrites a file beyond recovery", path


def dd(run: Run) -> Iterator[Found]:
    """`dd of=…` to a disk or over a file of the system."""
    for word in run.arguments:
        name, _, value = word.partition("=")
        if name == "of" and value:
            yield from written(run.path(value), "overwrites")


def written(path: str, how: str) -> Iterator[Found]:
    """A path that is written over."""
    if places.is_device(path):
        yield "disk-write", "CRITICAL", f"{how} a disk", path
    elif re.match(
        r"/(?:etc/(?:passwd|shadow|group|sudoers|fstab|hosts$|ssh/|pam\.d)|boot/|bin/|sbin/|lib(?:64)?/|usr/(?:s?bin|lib)/)",
        path,
    ):
        yield "system-file", "HIGH", f"{how} a file that the system needs", path


def makes_filesystem(name: str) -> bool:
    """A command of the family that makes file systems: `mk`, the kind, `fs`, or the kind behind a dot."""
    return name.startswith("mk") and name.partition(".")[0].endswith("fs")


def make_filesystem(run: Run) -> Iterator[Found]:
    """File system makers, `wipefs`, `mkswap`, partition tools: what was on the disk is gone."""
    flags, targets = split_options(run.arguments)
    if run.name == "wipefs" and not flags & {"a", "--all", "o", "--offset"}:
        return
    devices = [target for target in targets if target.startswith("/dev/") and not target.startswith("/dev/null")]
    if run.name in ("sfdisk", "parted", "sgdisk", "fdisk", "gdisk"):
        acting = flags & {"--delete", "Z", "--zap-all", "--zap", "o", "d", "--clear"} or {
            "mklabel",
            "mktable",
            "rm",
        } & set(targets)
        if not acting or flags & {"l", "--list"}:
            return
        if run.name == "sfdisk" or "rm" in targets:
            yield "disk-write", "MEDIUM", "takes a partition out of its table", devices[0] if devices else ""
            return
    if devices and "n" not in flags - {"l"}:
        yield "disk-write", "CRITICAL", "puts a new file system or partition table over a disk", devices[-1]


def truncate(run: Run) -> Iterator[Found]:
    """`truncate -s 0` of what should not be empty."""
    _, targets = split_options(run.arguments)
    for target in targets:
        path = run.path(target)
        if path.startswith(("/etc/", "/boot/", "/var/lib/")):
            yield "system-file", "HIGH", "empties a file that the system needs", path
        elif path.startswith("/var/log/"):
            yield "log-wipe", "MEDIUM", "empties a log", path
        elif path.endswith((".db", ".sqlite", ".sqlite3")):
            yield "overwrite", "HIGH", "empties a database", path


def move(run: Run) -> Iterator[Found]:
    """`mv` of a tree to nowhere, and over a system file."""
    _, words = split_options(run.arguments)
    if len(words) < 2:
        return
    target = run.path(words[-1])
    if target == "/dev/null" or places.is_device(target):
        yield "recursive-delete", "HIGH", f"moves {words[0]} to where nothing comes back from", run.path(words[0])
    for word in words[:-1]:
        path = run.path(word)
        if places.weight_of_loss(path) == "CRITICAL" and path.startswith("/") and path.count("/") == 1:
            yield "system-file", "HIGH", "moves a folder that the system needs", path
    yield from written(target, "overwrites")


def copy(run: Run) -> Iterator[Found]:
    """`cp` over a disk or a system file."""
    _, words = split_options(run.arguments)
    if len(words) > 1:
        target = words[-1]
        if run.name == "scp" and ":" in target:
            target = target.partition(":")[2]
        yield from written(run.path(target), "overwrites")


def sync(run: Run) -> Iterator[Found]:
    """`rsync --delete…`: what only the receiver has is gone."""
    options = [
        word
        for word in run.arguments
        if word.startswith("--delete") or word == "--del" or word == "--remove-source-files"
    ]
    flags, words = split_options([word for word in run.arguments if not word.startswith("--")])
    if options and words and "n" not in flags and "--dry-run" not in run.arguments:
        target = words[-1] if options[0] != "--remove-source-files" else words[0]
        path = run.path(target)
        if not (places.is_temporary(path) or places.is_made_again(path)):
            yield "mirror-delete", "HIGH", "deletes what the other side does not have", target


SIGNATURES = {
    "rm": rm, "grm": rm, "unlink": rm, "find": find, "shred": shred, "srm": shred, "wipe": shred, "gshred": shred,
    "dd": dd, "gdd": dd, "dcfldd": dd, "wipefs": make_filesystem, "mkswap": make_filesystem, "sfdisk": make_filesystem,
    "parted": make_filesystem, "sgdisk": make_filesystem, "fdisk": make_filesystem, "blkdiscard": make_filesystem,
    "truncate": truncate, "mv": move, "cp": copy, "scp": copy, "install": copy, "rsync": sync,
}  # fmt: skip
