"""Keyed hashes of whole argument values: they can be compared later, and nothing can be read from them.

The key belongs to one home and never leaves it (`hash.key`, mode 0600). BLAKE2b in keyed mode, RFC 7693.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from . import compact_json
from .paths import private_file, private_folder

KEY_BYTES = 32
HASH_BYTES = 16

ID_LIMIT = 400
"""Characters of an id or of a tool's name that are kept."""

HASHED_NAMES = 50
NAME_LIMIT = 64
"""Arguments of one call that get a hash each, and characters of the name under which it is kept."""


def load_key(path: Path) -> bytes:
    """The home's key, made on first use. Of several processes that make it at once, one wins. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        return _read_key(path)
    private_folder(path.parent)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = private_file(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
    finally:
        os.close(descriptor)
    try:
        _put_in_place(draft, path)
    finally:
        os.unlink(draft)
    return _read_key(path)


def _put_in_place(draft: Path, path: Path) -> None:
    """Give the whole key its name unless another process was first."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:
        # A file system without hard links. A process that reads the key while it is written finds it too short
        # and asks again at its next call.
        with contextlib.suppress(FileExistsError):
            descriptor = private_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                os.write(descriptor, draft.read_bytes())
            finally:
                os.close(descriptor)


def _read_key(path: Path) -> bytes:
    descriptor = private_file(path, os.O_RDONLY)
    try:
        key = os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
    if len(key) != KEY_BYTES:
        raise OSError(f"{path} holds {len(key)} bytes instead of {KEY_BYTES}")
    return key


def bounded(text: str) -> str:
    """An id of any length at a length that can be kept: of a longer one the start and a checksum, so that it still
    differs from others and is the same wherever it is met."""
    if len(text) <= ID_LIMIT:
        return text
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).hexdigest()
    return f"{text[: ID_LIMIT - len(mark) - 1]}~{mark}"


def plain(value: Any) -> str:
    """What Python says of a value that is no JSON; never raises."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


dumps = compact_json.encoder(default=plain)
"""JSON of arguments as it is stored: names in the agent's order."""

_dumps_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=repr).encode


def canonical(value: Any, text: str | None = None) -> str | None:
    """One text for equal values: names sorted. None for what cannot be shown: two such values need not be equal.

    `text` is the value's own JSON where the caller has it already.
    """
    if text is not None and isinstance(value, dict) and _is_sorted(value):
        return text
    try:
        return _dumps_sorted(value)
    except Exception:  # No JSON, nested without end, or an object whose own text fails in its own way.
        return _shown(value)


def _shown(value: Any) -> str | None:
    try:
        return repr(value)
    except Exception:
        return None


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _is_sorted(value: dict[Any, Any]) -> bool:
    before = ""
    for name, item in value.items():
        if not isinstance(name, str) or name < before or type(item) not in _SCALARS:
            return False
        before = name
    return True


@lru_cache(maxsize=64)
def _keyed(key: bytes, tool_name: str) -> blake2b:
    start = blake2b(key=key, digest_size=HASH_BYTES)
    start.update(f"{tool_name}\0".encode("utf-8", "surrogatepass"))
    return start


def call_hash(key: bytes, tool_name: str, canonical_args: str | None) -> bytes | None:
    """Equal for calls of one tool with equal arguments; None, which equals nothing, where they cannot be shown."""
    if canonical_args is None:
        return None
    state = _keyed(key, tool_name).copy()
    state.update(canonical_args.encode("utf-8", "surrogatepass"))
    return state.digest()


def value_hash(key: bytes, value: Any) -> str | None:
    """Hash of one argument: of the text itself for a string (so a file's content compares), else of its JSON.

    None where the value cannot be shown.
    """
    text = value if isinstance(value, str) else canonical(value)
    if text is None:
        return None
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=HASH_BYTES).hexdigest()


def value_hashes(key: bytes, args: Mapping[str, Any], shown_as: Callable[[str], str]) -> str:
    """JSON object of argument name to `value_hash`, for arguments that are not stored as they are.

    `shown_as` gives the name as it may be stored. Of more arguments than `HASHED_NAMES` the first are kept; one with
    a longer name than `NAME_LIMIT` is known by the hash of the whole call only.
    """
    hashes: dict[str, str] = {}
    for name, value in islice(args.items(), HASHED_NAMES):
        shown = shown_as(str(name)) if len(str(name)) <= NAME_LIMIT else ""
        found = value_hash(key, value) if 0 < len(shown) <= NAME_LIMIT and shown not in hashes else None
        if found is not None:
            hashes[shown] = found
    return json.dumps(hashes, separators=(",", ":"))


MOST_HASHED = 50_000_000
"""Bytes that `part_with_hash` hashes before it gives up."""


def part_with_hash(key: bytes, wanted: str, text: str) -> str | None:
    """The part of `text` whose `value_hash` is `wanted`, if it begins and ends with a line; None where there is none.

    A part may end before the line break of its last line.
    """
    lines = text.splitlines(keepends=True)
    encoded = [(line.encode("utf-8", "surrogatepass"), line.endswith("\n")) for line in lines]
    left = MOST_HASHED
    for first in range(len(encoded)):
        state = blake2b(key=key, digest_size=HASH_BYTES)
        for last in range(first, len(encoded)):
            line, broken = encoded[last]
            left -= len(line)
            if left < 0:
                return None
            if broken:
                state.update(line[:-1])
                if state.hexdigest() == wanted:
                    return "".join(lines[first : last + 1])[:-1]
                state.update(line[-1:])
            else:
                state.update(line)
            if state.hexdigest() == wanted:
                return "".join(lines[first : last + 1])
    return None
