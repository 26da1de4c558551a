"""Makes the pictures of the documentation from the reviewed snapshots of screens: `python docs/pictures/make.py`."""

from __future__ import annotations

import re
from pathlib import Path

PICTURES = Path(__file__).resolve().parent
SNAPSHOTS = PICTURES.parents[1] / "snapshots"
NAMES = {
    "calls.svg": "test_looks/test_picture_of_calls.svg",
    "details.svg": "test_looks/test_picture_of_details.svg",
    "verdicts.svg": "test_looks/test_picture_of_verdicts.svg",
    "landed.svg": "test_looks/test_picture_of_landed.svg",
    "posture.svg": "test_posture_looks/test_picture_of_posture.svg",
    "policy.svg": "test_policy_looks/test_picture_of_policy.svg",
    "lineage.svg": "test_lineage_looks/test_picture_of_lineage.svg",
    "homes.svg": "test_homes_looks/test_picture_of_homes.svg",
    "change.svg": "test_lineage_looks/test_picture_of_change.svg",
}

_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.S)


def picture(name: str) -> str:
    """The SVG of a picture. It names no font on the web: whoever opens the page asks no other site for anything."""
    return _WEB_FONT.sub("", (SNAPSHOTS / NAMES[name]).read_text(encoding="utf-8"))


def main() -> None:
    for name in NAMES:
        (PICTURES / name).write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
