"""Runs in the host's own interpreter: tool calls of several homes served by one process, in turns.

`python homes.py PLAN`; the plan's actions are `{home, name, args, ids}`. Each home loads its own plugins.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    import model_tools
    from hermes_cli.plugins import discover_plugins
    from hermes_constants import (
        reset_hermes_home_override,
        set_hermes_home_override,
    )

    with open(plan["report"], "a", encoding="utf-8") as report:
        for action in plan["actions"]:
            token = set_hermes_home_override(action["home"])
            discover_plugins()
            result = model_tools.handle_function_call(action["name"], action["args"], **action["ids"])
            reset_hermes_home_override(token)
            report.write(json.dumps({"home": action["home"], "result": str(result)}) + "\n")
    os._exit(0)


if __name__ == "__main__":
    main()
