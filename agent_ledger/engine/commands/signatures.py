"""Every signature by the command's name: one plain command goes in, what it does comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import reading, removing
from .run import Found, Run

Signature = Callable[[Run], Iterator[Found]]

BY_NAME: dict[str, tuple[Signature, ...]] = {}
for _table in (removing.SIGNATURES,):
    for _name, _signature in _table.items():
        BY_NAME[_name] = (*BY_NAME.get(_name, ()), _signature)

_BY_START = (("mkfs.", removing.make_filesystem),)
_ALWAYS: tuple[Signature, ...] = (reading.secrets,)


def judge(run: Run) -> Iterator[Found]:
    """What this command does, as far as a signature knows it."""
    for signature in BY_NAME.get(run.name, ()):
        yield from signature(run)
    for start, signature in _BY_START:
        if run.name.startswith(start) or run.name == start.rstrip("."):
            yield from signature(run)
    for signature in _ALWAYS:
        yield from signature(run)
