"""A second plugin that refuses some calls, as a policy plugin by somebody else would."""

from typing import Any


def register(ctx: Any) -> None:
    def refuse(args: object = None, **_: object) -> dict[str, str] | None:
        if "REFUSED-BY-TEST" in repr(args):
            return {"action": "block", "message": "not here"}
        return None

    ctx.register_hook("pre_tool_call", refuse)
