"""The arithmetic of the chain: over what a record is hashed, and how the result is kept.

A record is one of three: a call was issued, a call was settled, or something else about a row changed (an amendment).
All of them form one chain in the order in which they were written, which is the order of the change counter:

    link = SHA-256(link of the record before + JSON of [kind, number, row, change counter, values…] in UTF-8)

The JSON is an array without spaces, characters beyond ASCII as they are (RFC 8259), bytes as hexadecimal digits,
NULLs at its end left out. The link before the first record is 32 zero bytes. There is no key: whoever has the file
can check it with any tool, and whoever can write the file can also compute a new chain (see docs/security.md).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ..compact_json import encoder

ISSUE_COLUMNS = (
    "ts", "session_id", "turn_id", "tool_call_id", "task_id", "request_id", "tool_name", "args_json", "args_cut",
    "args_redacted", "args_hash", "value_hashes", "status", "grace_s", "mono", "writer_id", "nested_in", "repeat_of",
    "workplace",
)  # fmt: skip
"""What is hashed when a call is issued; a later column is added at the end. `status` is PENDING then."""

SETTLE_COLUMNS = ("status", "effect", "result_digest", "settled_ts", "duration_ms", "exit_code", "closed_by")
"""What is hashed when it is settled."""

HASH_AT = ISSUE_COLUMNS.index("args_hash")
STATUS_AT = ISSUE_COLUMNS.index("status")

LINK_BYTES = 32
FIRST = bytes(LINK_BYTES)
"""What stands for the record before the first."""

_PACKED = struct.Struct(f">qq{LINK_BYTES}s{LINK_BYTES}s")
LARGEST = 2**63 - 1


def _refused(value: Any) -> Any:
    raise TypeError(f"a cell of the kind {type(value).__name__}")


_json = encoder(default=lambda value: value.hex(), separators=(",", ":"))
_strict_json = encoder(default=_refused, separators=(",", ":"))


class Seal(NamedTuple):
    """A record's place in the chain."""

    number: int
    """1 for the first record, 2 for the next: what is missing can be counted."""
    changed: int
    """The change counter when it was written."""
    previous: bytes
    link: bytes


def pack(seal: Seal) -> bytes:
    """80 bytes: number and change counter (big-endian), the link of the record before, the record's own link."""
    return _PACKED.pack(*seal)


def unpack(data: object) -> Seal | None:
    """The seal back from its bytes; None for anything that is none."""
    if not isinstance(data, bytes) or len(data) != _PACKED.size:
        return None
    return Seal(*_PACKED.unpack(data))


def link_of(previous: bytes, kind: str, number: int, call_id: int | None, changed: int, values: Sequence[Any]) -> bytes:
    """The link of one record. `values` as they are written."""
    return _hashed(previous, [kind, number, call_id, changed], values, _json)


def link_again(
    previous: bytes, kind: str, number: int, call_id: int | None, changed: int, values: Sequence[Any]
) -> bytes:
    """The same from what stands in the file, bytes as text already. Raises TypeError where bytes are left: they would
    count as the text of their digits."""
    return _hashed(previous, [kind, number, call_id, changed], values, _strict_json)


def as_text(column: str, value: Any) -> Any:
    """A cell as it stands in a record. Raises TypeError for one of a kind that nobody wrote."""
    if column == "args_hash":
        if isinstance(value, str):
            raise TypeError("the hash of arguments is text")
        return value.hex() if isinstance(value, bytes) else value
    if isinstance(value, bytes):
        raise TypeError(f"{column} holds bytes")
    return value


def _hashed(previous: bytes, place: list[Any], values: Sequence[Any], encode: Callable[[Any], str]) -> bytes:
    end = len(values)
    while end and values[end - 1] is None:
        end -= 1
    return sha256(previous + encode([*place, *values[:end]]).encode("utf-8", "surrogatepass")).digest()
