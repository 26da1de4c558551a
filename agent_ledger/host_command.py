"""`hermes ledger …`: the ledger on the host's own command line, for where `ledger-tui` is not installed. Only looks.

Standard library only. `--json` prints what `ledger-tui` prints for the same question; what only the full program works
out is null. Exit codes are its own: 0 done, 1 found broken or failed, 2 wrong usage, 3 cannot be read, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .engine import glance, spool
from .engine.chain import words
from .engine.chain.check import check_chain
from .engine.chain.report import Checked
from .engine.inert import clip, inert
from .engine.paths import Paths
from .engine.policy.mode import mode_of
from .engine.posture import Posture, report
from .engine.posture.reading import scored
from .engine.posture.spans import since_seconds
from .engine.queries import Filter
from .engine.records import STATES
from .progress import Tell, progress

DONE, FOUND, USAGE, UNREADABLE, INTERRUPTED = 0, 1, 2, 3, 130
MORE = (
    "The program `ledger-tui` does more: a live view, filters, verdicts, policies, exports, the repair of lost chats."
)

_SHOWN = 50
_EXCERPT = 60

Clock = Callable[[], float]


def set_up(parser: argparse.ArgumentParser) -> None:
    """Gives the host's parser of `hermes ledger` its commands and options."""
    parser.epilog = MORE
    commands = parser.add_subparsers(dest="ledger_command", metavar="COMMAND")
    for name, (_, about) in _COMMANDS.items():
        one = commands.add_parser(name, help=about, description=about)
        if name == "selftest":
            continue
        one.add_argument("--json", action="store_true", help="one JSON document")
        if name in ("calls", "ghosts"):
            one.add_argument("--limit", type=_positive, metavar="N", help=f"the newest N (people see {_SHOWN})")
        if name == "calls":
            one.add_argument("--state", choices=STATES, help="only this state")
            one.add_argument("--session", metavar="ID", help="only this session")
        if name in ("calls", "posture"):
            one.add_argument("--since", metavar="WHEN", help="90m, 24h, 2d ago, or a day such as 2026-01-02 (UTC)")


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < number < 2**53:
        raise argparse.ArgumentTypeError("it must be a number of at least 1")
    return number


def run(asked: argparse.Namespace, paths: Paths, clock: Clock = time.time, mono: Clock = time.monotonic) -> int:
    """Do what was asked on the command line; returns the exit code."""
    command = _COMMANDS[asked.ledger_command or "status"][0]
    try:
        question = _Question(asked, paths, clock(), mono)
    except ValueError as error:  # A `--since` that is no time.
        return _fail(str(error), USAGE)
    try:
        code = command(question)
        sys.stdout.flush()  # A reader that is gone shows here, and not where the host ends.
        return code
    except glance.GlanceError as error:
        return _fail(str(error), UNREADABLE)
    except BrokenPipeError:  # Whoever read this has had enough.
        _write_no_more()
        return DONE
    except OSError as error:  # A full disk, where the answer goes to a file.
        _write_no_more()
        return _fail(f"The answer could not be given in full ({error}).", UNREADABLE)
    except KeyboardInterrupt:
        return INTERRUPTED


def _write_no_more() -> None:
    """What is still buffered would fail once more where the host ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Question:
    """One command: its options, the home, and the clocks in seconds."""

    def __init__(self, asked: argparse.Namespace, paths: Paths, now: float, mono: Clock) -> None:
        self.paths, self.now, self.mono, self.ticks = paths, now, mono(), mono
        self.json = bool(getattr(asked, "json", False))
        self.limit: int | None = getattr(asked, "limit", None)
        self.state: str | None = getattr(asked, "state", None)
        self.session: str | None = getattr(asked, "session", None)
        since = getattr(asked, "since", None)
        self.since = None if since is None else since_seconds(since, now)

    @property
    def rows(self) -> int | None:
        """How many rows to read: one more than a person sees tells whether there are more."""
        return self.limit or (None if self.json else _SHOWN + 1)

    def opened(self) -> Any:
        return glance.opened(self.paths.ledger, now=self.now, mono=self.mono)

    def progress(self, what: str) -> Any:
        """Says on a terminal how far a long command is; Ctrl-C ends it."""
        return progress(what, quiet=self.json, mono=self.ticks)


def _status(asked: _Question) -> int:
    with asked.opened() as ledger:
        counts = dict.fromkeys(("rows", *STATES), 0) if ledger is None else ledger.counts()
        merged = {} if ledger is None else ledger.merged()
    waiting = spool.waiting(asked.paths, merged).records
    modes = [_mode(path) for path in (asked.paths.policy_mode, asked.paths.prompt_policy_mode)]
    if asked.json:
        _document(_status_shape(asked.paths, ledger is not None, {**counts, "spooled": waiting}, modes))
        return DONE
    _say(f"home     {asked.paths.home}")
    states = ", ".join(f"{counts[name]:,} {name}" for name in STATES if counts[name])
    nothing = "" if ledger is not None else f" ({asked.paths.ledger} is not there yet)"
    _say(f"ledger   {counts['rows']:,} calls" + (f": {states}" if states else nothing))
    if waiting:
        _say(f"spool    {waiting:,} records wait to be written")
    _say(f"policy   {modes[0]}")
    _say(f"prompts  {modes[1]}")
    _say(MORE)
    return DONE


def _mode(path: Path) -> str:
    return mode_of(path).value


def _status_shape(paths: Paths, exists: bool, counts: Mapping[str, int], modes: list[str]) -> Mapping[str, Any]:
    unknown = dict.fromkeys(("total", "orphans", "adoptable", "zombies"))
    return {
        "home": str(paths.home),
        "ledger": {"path": str(paths.ledger), "exists": exists, **counts},
        "sessions": {"path": str(paths.state), "exists": paths.state.exists(), **unknown},
        "posture": {"score": None, "findings": None},
        "policy": {"mode": modes[0]},
        "prompt_policy": {"mode": modes[1], "enforced": None},
        "gateway": {"running": None, "evidence": "not asked here; ledger-tui status does"},
    }


def _ghosts(asked: _Question) -> int:
    with asked.opened() as ledger:
        rows = [] if ledger is None else ledger.unconfirmed(asked.rows)
    return _listed(asked, rows, "No call is lost: each was settled, or is within its time.")


def _calls(asked: _Question) -> int:
    wanted = Filter(
        session_id=asked.session, states=frozenset({asked.state}) if asked.state else None, since=asked.since
    )
    with asked.opened() as ledger:
        rows = [] if ledger is None else ledger.calls(wanted, limit=asked.rows)
    return _listed(asked, rows, "No such calls.")


def _listed(asked: _Question, rows: list[glance.Row], none: str) -> int:
    if asked.json:
        _document(rows)
        return DONE
    shown = rows if asked.limit else rows[-_SHOWN:]
    for row in shown:
        args = row["args"] if isinstance(row["args"], str) else json.dumps(row["args"], ensure_ascii=False)
        line = f"#{row['id']}  {str(row['ts'])[:19]}  {row['state']:<9}  {row['tool_name']}"
        _say(f"{line}  {clip(args, _EXCERPT)}")
    if not rows:
        _say(none)
    elif len(shown) < len(rows):
        _complain(f"Only the newest {_SHOWN} are shown; --limit N shows more, --json everything.")
    return DONE


def _posture(asked: _Question) -> int:
    with asked.opened() as ledger, asked.progress("scoring the calls") as tell:
        found = Posture() if ledger is None else _scored(ledger, asked.since, tell)
    if asked.json:
        _document(report.as_json(found))
    else:
        _say_all(report.as_text(found, str(asked.paths.ledger), there=ledger is not None))
    return DONE


def _scored(ledger: glance.Glance, since: float | None, tell: Tell) -> Posture:
    total = ledger.size()
    return scored(ledger.undecoded(), ledger.columns, since=since, tell=lambda rows: tell(rows, total))


def _check(asked: _Question) -> int:
    with asked.opened() as ledger, asked.progress("checking the calls") as tell:
        newer = ledger is not None and ledger.by_a_newer_plugin()
        found = Checked() if ledger is None or newer or not ledger.columns else _checked(ledger, tell)
    if newer:
        return _fail(f"{asked.paths.ledger} is by a newer plugin than this one.", UNREADABLE)
    if asked.json:
        _document({"ledger": str(asked.paths.ledger), **words.as_json(found)})
    elif found.state == "empty":
        _say("Nothing recorded yet.")
    else:
        _say_all([*words.as_text(found), "`ledger-tui ledger-check` also compares with a head that you noted."])
    return DONE if found.whole else FOUND


def _checked(ledger: glance.Glance, tell: Tell) -> Checked:
    total = ledger.size()
    tell(0, total)
    return check_chain(ledger.undecoded(), lambda rows: tell(rows, total))


def _selftest(asked: _Question) -> int:
    """In a process of its own: it works in a throwaway home, and this process has its home already."""
    script = Path(__file__).with_name("selftest.py")
    return FOUND if subprocess.run([sys.executable, str(script)], check=False).returncode else DONE


_COMMANDS: Mapping[str, tuple[Callable[[_Question], int], str]] = {
    "status": (_status, "how many calls are recorded, and in which state"),
    "ghosts": (_ghosts, "calls that were never confirmed"),
    "calls": (_calls, "the recorded calls, the newest last"),
    "posture": (_posture, "how risky the recorded calls look, with every finding"),
    "check": (_check, "is every record as it was written, and none missing?"),
    "selftest": (_selftest, "does the plugin work with this Hermes?"),
}


def _document(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        _say(line)


def _say(text: str) -> None:
    """A line for a person; a path in it may hold anything, and a stream may not show every character."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(inert(text).encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _complain(sentence: str) -> None:
    sys.stderr.write(inert(sentence) + "\n")


def _fail(sentence: str, code: int) -> int:
    _complain(sentence)
    return code
