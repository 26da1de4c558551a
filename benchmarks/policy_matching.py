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

from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.load import load
from agent_ledger.engine.policy.rules import ToolPolicy

EXAMPLE = Path(__file__).parents[1] / "agent_ledger" / "policy.example.json"
LONG = 4_000
"""Characters of the longest argument that a ledger keeps, and that must be judged within 10 ms."""

HOST_SIDE = """\
import json, sys, time
from tools.approval_detection import detect_dangerous_command
took = []
for command in json.load(sys.stdin):
    begun = time.process_time()
    detect_dangerous_command(command)
    took.append(time.process_time() - begun)
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
    texts = {name: (part * LONG)[:LONG] for name, part in parts.items()}
    for name, head, part in (
        ("closers", "su -c '", ")]"),
        ("lines in texts", "sh -c 'for a in 1 2 3 4 5 6 7 8 9; do ", "f;"),
        ("a far shell", "ssh h '", "("),
    ):
        texts[name] = (head + part * LONG)[:LONG]
    return texts


def seconds(policy: ToolPolicy, text: str) -> float:
    """The best of three, each of a text that was not judged before."""
    return min(judged(policy, [{"tool": "terminal", "args": {"command": text[:-1] + last}}])[1][0] for last in "abc")


def judged(policy: ToolPolicy, rows: list[dict[str, Any]]) -> tuple[list[bool], list[float]]:
    """(blocked?, seconds) for each row."""
    blocked, took = [], []
    for row in rows:
        begun = time.process_time()
        decision = policy.decide(row["tool"], row["args"])
        took.append(time.process_time() - begun)
        blocked.append(decision.blocks)
    return blocked, took


def host_seconds(python: str, commands: list[str]) -> tuple[float, float]:
    """(median, total) seconds of the host's own detector over the same commands."""
    done = subprocess.run(
        [python, "-c", HOST_SIDE], input=json.dumps(commands), capture_output=True, text=True, check=True
    )
    median, total = json.loads(done.stdout.splitlines()[-1])
    return median, total


def measure_sets(policy: ToolPolicy, folder: Path) -> tuple[list[dict[str, Any]], list[float], list[str]]:
    """Figures for each set with what was not judged as wanted; seconds for every call; every command."""
    sets: list[dict[str, Any]] = []
    everything: list[float] = []
    commands: list[str] = []
    for path in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        blocked, took = judged(policy, rows)
        everything += took
        commands += [row["args"]["command"] for row in rows if "command" in row["args"]]
        other = [
            row["args"].get("command", row["args"])
            for row, block in zip(rows, blocked, strict=True)
            if block != (row["want"] == "block")
        ]
        median = statistics.median(took) * 1e3
        sets.append({"set": path.stem, "rows": len(rows), "blocked": sum(blocked), "median_ms": median, "other": other})
    return sets, everything, commands


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Everything that is printed."""
    policy = load(EXAMPLE)
    if isinstance(policy, PolicyError):
        raise SystemExit(str(policy))
    sets, everything, commands = measure_sets(policy, options.cases)
    if not everything:
        raise SystemExit(f"There are no cases in {options.cases}.")
    slow = {name: seconds(policy, text) * 1e3 for name, text in long_commands().items()}
    found: dict[str, Any] = {"sets": sets, "median_ms": statistics.median(everything) * 1e3, "long_ms": slow}
    found["slowest_ms"] = max(everything) * 1e3
    if options.host_python:
        median, total = host_seconds(options.host_python, commands)
        times = median / statistics.median(everything)
        found["host"] = {"median_ms": median * 1e3, "times": times, "in_total": total / sum(everything)}
    return found


def show(found: dict[str, Any], *, others: bool) -> None:
    """The figures for a person."""
    for one in found["sets"]:
        print(f"{one['set']:<24} {one['blocked']:>5} of {one['rows']:>5} blocked  median {one['median_ms']:.3f} ms")
        for command in one["other"] if others else []:
            print("    " + json.dumps(command))
    print(f"median over all {found['median_ms']:.3f} ms, slowest {found['slowest_ms']:.1f} ms")
    for name, took in found["long_ms"].items():
        print(f"4,000 characters of {name:<14} {took:.2f} ms")
    if "host" in found:
        host = found["host"]
        print(f"the host: median {host['median_ms']:.3f} ms, {host['times']:.1f} times as long;", end=" ")
        print(f"in total {host['in_total']:.1f} times")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--host-python", metavar="PYTHON")
    parser.add_argument("--show", action="store_true", help="print what is not judged as wanted")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    found = measure(options)
    if options.json:
        print(json.dumps(found))
    else:
        show(found, others=options.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
