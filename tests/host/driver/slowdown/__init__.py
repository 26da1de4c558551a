"""A second plugin that makes some calls take longer than the host is ready to wait."""

import time
from typing import Any


def register(ctx: Any) -> None:
    def linger(next_call: Any, args: object = None, **_: object) -> object:
        if "SLOW-TO-START" in repr(args):
            time.sleep(4)
        result = next_call(args)
        if "SLOW-TO-END" in repr(args):
            time.sleep(4)
        return result

    ctx.register_middleware("tool_execution", linger)
