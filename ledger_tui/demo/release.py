"""The version of the simulated host, told the way in which every host tells it: by the metadata of its package."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import metadata
from os import PathLike
from pathlib import Path

PACKAGE = "hermes-agent"
VERSION = "0.22.6+simulation"
"""First release that ends a turn where a prompt policy says block, which is what the simulated host does."""


class _Package(metadata.Distribution):
    """What the plugin reads of an installed package."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | PathLike[str]) -> Path:
        raise FileNotFoundError(path)


_EVERY_PACKAGE = metadata.DistributionFinder.Context()


class _Finder(metadata.DistributionFinder):
    """Finds that package and nothing else."""

    def find_spec(self, *_: object) -> None:
        """No module is imported from it."""

    def find_distributions(
        self, context: metadata.DistributionFinder.Context = _EVERY_PACKAGE
    ) -> Iterable[metadata.Distribution]:
        return [_Package()] if context.name == PACKAGE else []


def announce() -> None:
    """Make this process a host of that version, whichever one may be installed beside it."""
    sys.meta_path.insert(0, _Finder())
