"""Keyed hashes of whole argument values: they can be compared later, and nothing can be read from them.

The key belongs to one home and never leaves it (`hash.key`, mode 0600). BLAKE2b in keyed mode, RFC 7693.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from .paths import private_file, private_folder

KEY_BYTES = 32
HASH_BYTES = 16


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


def plain(value: Any) -> str:
    """What Python says of a value that is no JSON; never raises."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


dumps = json.JSONEncoder(ensure_ascii=False, default=plain).encode
"""JSON of arguments as it is stored: names in the agent's order."""

_dumps_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=plain).encode


def canonical(value: Any, text: str | None = None) -> str:
    """One text for equal values: names sorted. `text` is the value's own JSON where the caller has it already."""
    if text is not None and isinstance(value, dict) and _is_sorted(value):
        return text
    try:
        return _dumps_sorted(value)
    except (TypeError, ValueError, RecursionError):
        return plain(value)


def _is_sorted(value: dict[Any, Any]) -> bool:
    before = ""
    for name, item in value.items():
        if not isinstance(name, str) or name < before or isinstance(item, (dict, list, tuple)):
            return False
        before = name
    return True


@lru_cache(maxsize=64)
def _keyed(key: bytes, tool_name: str) -> blake2b:
    start = blake2b(key=key, digest_size=HASH_BYTES)
    start.update(f"{tool_name}\0".encode("utf-8", "surrogatepass"))
    return start


def call_hash(key: bytes, tool_name: str, canonical_args: str) -> bytes:
    """Equal for calls of one tool with equal arguments."""
    state = _keyed(key, tool_name).copy()
    state.update(canonical_args.encode("utf-8", "surrogatepass"))
    return state.digest()


def value_hash(key: bytes, value: Any) -> str:
    """Hash of one argument: of the text itself for a string (so a file's content compares), else of its JSON."""
    text = value if isinstance(value, str) else canonical(value)
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=HASH_BYTES).hexdigest()


def value_hashes(key: bytes, args: Mapping[str, Any]) -> str:
    """JSON object of argument name to `value_hash`, for arguments that are not stored as they are."""
    return json.dumps({str(name): value_hash(key, value) for name, value in args.items()}, separators=(",", ":"))
