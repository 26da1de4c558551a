"""Prints what the tool policy makes of sets of commands, how long it takes, and how much faster that is than the host.

`python -m benchmarks.policy_matching --cases FOLDER [--host-python PYTHON] [--show]`. FOLDER holds files of one JSON
object a line: `{"tool": …, "args": …, "want": "block"|"allow"|"mostly-benign"}`. `--host-python` names the interpreter
of an installed Hermes, whose own detector of dangerous commands reads the same commands in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agent_ledger.engine.policy.load import PolicyError, load
from agent_ledger.engine.policy.rules import ToolPolicy

EXAMPLE = Path(__file__).parents[1] / "agent_ledger" / "policy.example.json"
LONG = 4_000
"""Characters of the longest argument that a ledger keeps, and that must be judged within 10 ms."""

HOST_SIDE = """\
import json, sys, time
from tools.approval_detection import detect_dangerous_command
took = []
for command in json.load(sys.stdin):
    begun = time.perf_counter()
    detect_dangerous_command(command)
    took.append(time.perf_counter() - begun)
took.sort()
print(json.dumps([took[len(took) // 2], sum(took)]))
"""


def long_commands() -> dict[str, str]:
    """Commands of 4,000 characters that are hard to read: many parts, much nesting, quotes without an end."""
    loops = "".join(f"for {name} in 1 2 3 4 5 6 7 8 9; do " for name in "abc")
    parts = {
        "words": "echo word-after-word ",
        "list": "ls -la /srv; ",
        "pipes": "cat a | sort | uniq -c | ",
        "quotes": "'\"$(",
        "substitutions": "$(echo $(echo x)) ",
        "variables": "A=$A$A; ",
        "braces": "{a,b}",
        "open": "((((",
        "heredocs": "cat <<E\nx\nE\n",
        "functions": "f() { f | f; }; f; ",
        "nested loops": loops + "git push -f; find /x -exec rm -r {} + ; " * 10 + "done; " * 3,
        "inline code": "python3 -c 'import json; print(json.dumps([1, 2]))'; ",
        "backticks": "`",
        "finds": "find . -name a -exec rm {} + ; ",
    }
    return {name: (part * (LONG // len(part) + 1))[:LONG] for name, part in parts.items()}


def judged(policy: ToolPolicy, rows: list[dict[str, Any]]) -> tuple[list[bool], list[float]]:
    """(blocked?, seconds) for each row."""
    blocked, took = [], []
    for row in rows:
        begun = time.perf_counter()
        decision = policy.decide(row["tool"], row["args"])
        took.append(time.perf_counter() - begun)
        blocked.append(decision.blocks)
    return blocked, took


def host_seconds(python: str, commands: list[str]) -> tuple[float, float]:
    """(median, total) seconds of the host's own detector over the same commands."""
    done = subprocess.run(
        [python, "-c", HOST_SIDE], input=json.dumps(commands), capture_output=True, text=True, check=True
    )
    median, total = json.loads(done.stdout.splitlines()[-1])
    return median, total


def measure_sets(policy: ToolPolicy, folder: Path, *, show: bool) -> tuple[list[float], list[str]]:
    """Print each set's figures; (seconds for every call, every command)."""
    everything: list[float] = []
    commands: list[str] = []
    for path in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        blocked, took = judged(policy, rows)
        everything += took
        commands += [row["args"]["command"] for row in rows if "command" in row["args"]]
        counts = f"{sum(blocked):>5} of {len(rows):>5} blocked"
        print(f"{path.stem:<24} {counts}  median {statistics.median(took) * 1e3:.3f} ms")
        for row, block in zip(rows, blocked, strict=True):
            if show and block != (row["want"] == "block"):
                print("    " + json.dumps(row["args"].get("command", row["args"])))
    return everything, commands


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--host-python", metavar="PYTHON")
    parser.add_argument("--show", action="store_true", help="print what is not judged as wanted")
    options = parser.parse_args()
    policy = load(EXAMPLE)
    if isinstance(policy, PolicyError):
        raise SystemExit(str(policy))
    everything, commands = measure_sets(policy, options.cases, show=options.show)
    if not everything:
        raise SystemExit(f"There are no cases in {options.cases}.")
    ours = statistics.median(everything)
    print(f"median over all {ours * 1e3:.3f} ms, slowest {max(everything) * 1e3:.1f} ms")
    for name, command in long_commands().items():
        best = min(judged(policy, [{"tool": "terminal", "args": {"command": command}}])[1][0] for _ in range(3))
        print(f"4,000 characters of {name:<14} {best * 1e3:.2f} ms")
    if options.host_python:
        median, total = host_seconds(options.host_python, commands)
        times, in_total = median / ours, total / sum(everything)
        print(f"the host: median {median * 1e3:.3f} ms, {times:.1f} times as long; in total {in_total:.1f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
