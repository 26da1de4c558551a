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
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    best = ("", "")
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        # White space in a mount point stands as an octal escape.
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), fields[1])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, fields[2])
    return f"{best[1]} on {best[0]}" if best[1] in _NETWORK else None
