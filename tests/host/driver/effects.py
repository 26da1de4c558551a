"""Runs in the host's own interpreter: tools called one by one, without an agent and without a model.

`python effects.py PLAN`, as `turns.py`. Actions, each an object with `do`:

tool     {name, args, as?}: one call. Its report holds `at` and `done` (seconds since 1970) and `result`. In the
         arguments `{"from": NAME, "key": KEY}` stands for a value in the result of an earlier call named by `as`.
pause    {seconds}: time passes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

RESULTS: dict[str, Any] = {}


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"from", "key"}:
            return RESULTS[value["from"]][value["key"]]
        return {name: _filled(item) for name, item in value.items()}
    return [_filled(item) for item in value] if isinstance(value, list) else value


def _call(memory: Any, registry: Any, name: str, args: dict[str, Any]) -> Any:
    if name == "memory":
        return memory.memory_tool(store=memory.load_on_disk_store(), **args)
    return registry.dispatch(name, args)


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    import model_tools  # noqa: F401 - importing it registers the tools
    import tools.memory_tool as memory
    from tools.registry import registry

    memory.load_on_disk_store()  # What a first use imports is no part of the call.

    with open(plan["report"], "a", encoding="utf-8") as report:
        for action in plan["actions"]:
            if action["do"] == "pause":
                time.sleep(action["seconds"])
                continue
            args = _filled(action["args"])
            at = time.time()
            result = _call(memory, registry, action["name"], args)
            done = time.time()
            RESULTS[action.get("as", "")] = json.loads(result) if isinstance(result, str) else result
            line = {"name": action["name"], "args": args, "at": at, "done": done, "result": result}
            report.write(json.dumps(line) + "\n")
            report.flush()


if __name__ == "__main__":
    main()
