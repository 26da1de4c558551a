"""Every signature by the command's name: one plain command goes in, what it does comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import databases, machine, network, reading, removing, services, versions
from .run import Found, Run

Signature = Callable[[Run], Iterator[Found]]

BY_NAME: dict[str, tuple[Signature, ...]] = {}
for _table in (
    removing.SIGNATURES,
    reading.SIGNATURES,
    versions.SIGNATURES,
    services.SIGNATURES,
    databases.SIGNATURES,
    machine.SIGNATURES,
    machine.AS_ANOTHER,
    machine.INSTALLERS,
    network.SIGNATURES,
):
    for _name, _signature in _table.items():
        BY_NAME[_name] = (*BY_NAME.get(_name, ()), _signature)


def judge(run: Run) -> Iterator[Found]:
    """What this command does, as far as a signature knows it."""
    for signature in BY_NAME.get(run.name, ()):
        yield from signature(run)
    if removing.makes_filesystem(run.name):
        yield from removing.make_filesystem(run)
    elif run.name.startswith("kafka-"):
        yield from services.by_pattern(run)
    if run.redirected:
        yield from machine.redirections(run)
        yield from network.sockets(run)
    if run.redirected or run.name in reading.READERS:
        yield from reading.secrets(run)
    if run.name in network.SENDERS:
        yield from network.leaving(run)
