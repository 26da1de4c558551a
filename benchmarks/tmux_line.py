"""How long does tmux wait for its status line? `ledger-tui status --tmux` against a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import time
from pathlib import Path

from benchmarks._homes import ROOT, environment, fill, home
from benchmarks._paired import Report, arguments, interleaved


def installed_script() -> Path:
    """`ledger-tui` beside the running interpreter, else in an environment made for this from the checkout."""
    beside = Path(sysconfig.get_path("scripts")) / "ledger-tui"
    if beside.exists():
        return beside
    constraints = str(ROOT / "constraints.txt")
    return environment("installed", str(ROOT), "--constraint", constraints).with_name("ledger-tui")


def timed(command: list[str], place: Path) -> float:
    env = {**os.environ, "HERMES_HOME": str(place), "LC_ALL": "C.UTF-8"}
    began = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    asked = arguments(
        __doc__ or "",
        runs=(60, "runs of each"),
        rows=(20_000, "settled calls in the ledger"),
        pending=(20, "open ones"),
    ).parse_args()
    script = installed_script()
    python = script.with_name("python")
    with home() as place:
        fill(place, asked.rows, pending=asked.pending)
        ours, bare = interleaved(
            asked.runs,
            5,
            lambda _: timed([str(script), "status", "--tmux"], place),
            lambda _: timed([str(python), "-c", "pass"], place),
        )
    report = Report(
        f"ledger-tui status --tmux, {asked.rows} calls and {asked.pending} open ones, {asked.runs} runs of each",
        "python -c pass, the same interpreter",
    )
    report.times("the installed command", ours, bare, unit="ms", bars=("at most 4x, and 200 ms", ""))
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
