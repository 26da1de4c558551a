"""A tool as the host's MCP client would register it; its server keeps what it is told outside the home."""

from __future__ import annotations

import json
import os
from typing import Any

_TEXT = {"type": "string"}
SCHEMA = {
    "name": "mcp__notes__add",
    "description": "Add a note.",
    "parameters": {"type": "object", "properties": {"text": _TEXT, "tags": {"type": "array"}, "fail": {}}},
}


def register(ctx: Any) -> None:
    ctx.register_tool(name=SCHEMA["name"], toolset="notes", schema=SCHEMA, handler=_add)


def _add(args: dict[str, Any], **_: Any) -> str:
    if args.get("fail"):
        return json.dumps({"error": "the server is full"})
    with open(os.environ["NOTES_FILE"], "a", encoding="utf-8") as notes:
        notes.write(json.dumps(args) + "\n")
    return json.dumps({"result": "added"})
