"""One recorded call as the verifiers see it: raw, since a path made harmless for a terminal is another path."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..records import CONFIRMED, UNSETTLED, utc_seconds
from ..workplace import parted

COLUMNS = (
    "id", "ts", "tool_name", "args_json", "args_cut", "args_redacted", "value_hashes", "session_id", "turn_id",
    "tool_call_id", "task_id", "status", "effect", "settled_ts", "workplace", "repeat_of", "grace_s",
    "writer_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """Values as they stand in the ledger; nothing here is fit to be shown before `verdict.quoted`."""

    id: int
    at: float | None
    """Issued, seconds since 1970; None where the row holds no time."""
    tool_name: str
    args: Mapping[str, Any]
    """The arguments as far as they can be read; of a cut text those that stand in it whole."""
    args_cut: bool = False
    args_redacted: int = 0
    value_hashes: Mapping[str, str] = field(default_factory=dict)
    """Argument name to `fingerprint.value_hash`, for a call whose arguments are not stored as they were."""
    session_id: str = ""
    turn_id: str = ""
    tool_call_id: str = ""
    task_id: str = ""
    status: str = ""
    effect: str | None = None
    settled_at: float | None = None
    folder: str = ""
    """Where the host would have put relative paths at that moment; empty where it was not recorded."""
    backend: str = ""
    """Where the host's commands run ("local", "docker", "ssh" …); empty where it was not recorded."""
    repeat_of: int | None = None
    grace_s: float = 0.0
    writer_id: int | None = None
    args_text: str = ""
    """The stored arguments as they stand, cut or not."""

    @property
    def unsettled(self) -> bool:
        return self.status in UNSETTLED

    @property
    def confirmed(self) -> bool:
        return self.status == CONFIRMED

    def text(self, name: str) -> str | None:
        """An argument that is stored whole and unredacted, as text; None where it is not."""
        value = self.args.get(name)
        return value if isinstance(value, str) and self.whole(name) else None

    def whole(self, name: str) -> bool:
        """Is this argument stored as the agent gave it?

        Where something was cut or redacted, the keyed hash alone knows: see `Facts.is_value`.
        """
        return name in self.args and not self.args_redacted


def query(columns: Collection[str], where: str = "", params: Sequence[Any] = ()) -> tuple[str, tuple[Any, ...]]:
    """Rows for `from_row`. `columns` is what the file has; what it lacks is selected as NULL."""
    shown = ", ".join(name if name in columns else f"NULL AS {name}" for name in COLUMNS)
    return f"SELECT {shown} FROM ledger {where}", tuple(params)


def from_row(row: Sequence[Any]) -> Recorded:
    """A row of `query`. Never raises for a row by other software."""
    cells = dict(zip(COLUMNS, row, strict=True))
    text = _text(cells["args_json"])
    backend, folder = parted(_text(cells["workplace"]))
    cut = bool(cells["args_cut"])
    return Recorded(
        id=int(cells["id"]),
        at=utc_seconds(cells["ts"]),
        tool_name=_text(cells["tool_name"]),
        args=_args(text),
        args_cut=cut,
        args_redacted=cells["args_redacted"] if isinstance(cells["args_redacted"], int) else 0,
        value_hashes=_hashes(cells["value_hashes"]),
        session_id=_text(cells["session_id"]),
        turn_id=_text(cells["turn_id"]),
        tool_call_id=_text(cells["tool_call_id"]),
        task_id=_text(cells["task_id"]),
        status=_text(cells["status"]),
        effect=cells["effect"] if isinstance(cells["effect"], str) else None,
        settled_at=utc_seconds(cells["settled_ts"]),
        backend=backend,
        folder=folder,
        repeat_of=cells["repeat_of"] if isinstance(cells["repeat_of"], int) else None,
        grace_s=float(cells["grace_s"]) if isinstance(cells["grace_s"], (int, float)) else 0.0,
        writer_id=cells["writer_id"] if isinstance(cells["writer_id"], int) else None,
        args_text=text,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _hashes(value: object) -> dict[str, str]:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _args(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return members(text)
    return found if isinstance(found, dict) else {}


_DECODER = json.JSONDecoder()


def members(text: str) -> dict[str, Any]:
    """The members of a JSON object whose text was cut: those that stand in it whole."""
    found: dict[str, Any] = {}
    at = 1 if text.startswith("{") else len(text)
    while at < len(text):
        try:
            name, at = _DECODER.raw_decode(text, _blank(text, at))
            at = _blank(text, at)
            if not isinstance(name, str) or text[at : at + 1] != ":":
                break
            value, after = _DECODER.raw_decode(text, _blank(text, at + 1))
        except (ValueError, RecursionError):
            break
        at = _blank(text, after)
        if text[at : at + 1] not in (",", "}"):
            break  # A number or the like that ends with the text may go on behind the cut.
        found[name] = value
        at += 1
    return found


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\n", "\t", "\r") and at < len(text):
        at += 1
    return at
