"""Makes the corpus with both hosts and packs it: `python -m tests.evidence.corpus.make [--only KIND] [--keep FOLDER]`.

Takes some ten minutes. The homes play at an invented root (`--root`), which must not exist and is removed again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.host.environments import HOSTS, Host

from .pack import PACKED, choose, pack
from .stage import play
from .stories import KINDS, batches
from .story import Scene

ROOT = Path("/srv/hermes")


def scene_of(root: Path, host: Host) -> Scene:
    return Scene(root / f"host-{host.name}", host.is_019)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=KINDS, help="these kinds alone (nothing is packed)")
    parser.add_argument("--host", action="append", choices=HOSTS, help="this host alone (nothing is packed)")
    parser.add_argument("--keep", type=Path, help="leave the unpacked homes in this folder")
    parser.add_argument("--root", type=Path, default=ROOT)
    given = parser.parse_args()
    if given.root.exists():
        sys.exit(f"{given.root} exists; name another --root")
    folder = given.keep or Path(tempfile.mkdtemp(prefix="corpus-"))
    started = time.monotonic()
    hosts = [HOSTS[name] for name in given.host or HOSTS]
    try:
        with ThreadPoolExecutor(len(hosts)) as pool:
            plays = {host: pool.submit(_play, host, given.root, given.only, folder) for host in hosts}
        made = {host: done.result() for host, done in plays.items()}
    finally:
        shutil.rmtree(given.root, ignore_errors=True)
    print(f"played in {time.monotonic() - started:.0f} s")
    choose(folder, [(host, scene_of(given.root, host), told) for host, told in made.items()])
    pack(folder)
    if not (given.only or given.host):
        shutil.copyfile(folder / PACKED.name, PACKED)
        print(f"{PACKED.name}: {PACKED.stat().st_size} bytes")
    if not given.keep:
        shutil.rmtree(folder)


def _play(host: Host, root: Path, kinds: list[str] | None, folder: Path) -> list[Any]:
    scene = scene_of(root, host)
    told = batches(scene, kinds)
    play(host, scene, told, folder / host.name)
    return told


if __name__ == "__main__":
    main()
