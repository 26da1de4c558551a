"""Session stores with what Hermes 0.22.2 itself found and did on each: made with the host's own code, packed."""

from __future__ import annotations

import functools
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ORPHAN, DONOR = "20260806_161836_04c1d6c6", "20260803_120103_37976afb"
KEY = "agent:main:telegram:dm:5550001234"
"""In the case `incident-82616`: the row that was lost, the one that has its chat, and the key of that chat."""

_PACKED = Path(__file__).with_name("host_cases.tar.xz")


@dataclass(frozen=True)
class Case:
    name: str
    expected: dict[str, Any]
    store: bytes

    @property
    def owner(self) -> str | None:
        owner: str | None = self.expected["input"]["store_profile"]
        return owner

    def lay_out(self, folder: Path) -> tuple[Path, Path]:
        """(home, store): a copy of the file where a store of this owner lies."""
        home = folder / "home"
        place = {None: folder / "elsewhere", "default": home}.get(self.owner, home / "profiles" / (self.owner or ""))
        home.mkdir(parents=True, exist_ok=True)
        place.mkdir(parents=True, exist_ok=True)
        store = place / "state.db"
        store.write_bytes(self.store)
        return home, store


@functools.cache
def cases() -> tuple[Case, ...]:
    """All 41, in the order of their names."""
    with tarfile.open(_PACKED) as packed:
        files = {member.name: packed.extractfile(member) for member in packed.getmembers() if member.isfile()}
        content = {name: file.read() for name, file in files.items() if file is not None}
    names = sorted({name.split("/")[1] for name in content})
    return tuple(
        Case(name, json.loads(content[f"routing/{name}/expected.json"]), content[f"routing/{name}/state.db"])
        for name in names
    )


def case(name: str) -> Case:
    return next(one for one in cases() if one.name == name)
