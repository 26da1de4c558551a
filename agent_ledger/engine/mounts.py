"""Is a file on a mount where SQLite's write-ahead log cannot work? (sqlite.org/wal.html: all on one machine)"""

from __future__ import annotations

import os
import re
from pathlib import Path

_NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "fuse.sshfs", "fuse.gcsfuse", "fuse.s3fs",
        "fuse.rclone", "afs", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "lustre", "drvfs", "vboxsf",
        "fuse.vmhgfs-fuse", "prl_fs", "ncpfs",
    }
)  # fmt: skip

_MOUNT_TABLE = Path("/etc/mtab")
"""One mount a line: device, mount point, type (fstab(5))."""


def network_mount(path: Path, table: Path = _MOUNT_TABLE) -> str | None:
    """`type on mount point` when `path` lies on a network or shared mount; None when not, or when it cannot be told."""
    points = _points(table)
    real = os.path.realpath(path) if points else ""
    best = ("", "")
    for point, kind in points:
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return f"{best[1]} on {best[0]}" if best[1] in _NETWORK else None


def network_points(table: Path = _MOUNT_TABLE) -> list[tuple[str, str]]:
    """(mount point, type) of every network or shared mount, told without touching one of them."""
    return [(point, kind) for point, kind in _points(table) if kind in _NETWORK]


def _points(table: Path) -> list[tuple[str, str]]:
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = (line.split() for line in lines)
    # White space in a mount point stands as an octal escape.
    return [
        (re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), fields[1]), fields[2])
        for fields in found
        if len(fields) >= 3
    ]
