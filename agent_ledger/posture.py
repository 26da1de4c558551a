"""How risky do the recorded calls look? From the plugin's folder: `python3 posture.py`, `python3 -m posture PATH`.

Without a path the live ledger of the home is scored ($HERMES_HOME, else ~/.hermes). Standard library only; nothing is
written anywhere. Exit code 0; 2 for wrong usage; 3 when the ledger cannot be read.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

FOLDER = Path(__file__).resolve().parent
_ALONE = "agent_ledger_scripts_engine"
"""Name of the engine where this file is run as a script, from a folder of any name."""


def engine(module: str) -> ModuleType:
    """A module of the engine beside this file, whatever the folder is called and however this file was started."""
    if __package__:
        return importlib.import_module(f"{__package__}.engine.{module}")
    if _ALONE not in sys.modules:
        where = FOLDER / "engine"
        spec = importlib.util.spec_from_file_location(
            _ALONE, where / "__init__.py", submodule_search_locations=[str(where)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{where} holds no engine")
        sys.modules[_ALONE] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_ALONE}.{module}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(engine("inert").inert(message))


def parser(about: str) -> argparse.ArgumentParser:
    """The options that both scripts share."""
    options = _Parser(description=about)
    options.add_argument("ledger", nargs="?", metavar="PATH", help="a ledger.db; else the one of the Hermes home")
    options.add_argument("--since", metavar="WHEN", help="only calls from then on: 90m, 24h, 2d, or a day (UTC)")
    return options


class UnreadableError(Exception):
    """The text is one plain sentence."""


def score(asked: argparse.Namespace, now: float) -> tuple[Path, object]:
    """(the ledger, its posture). Raises UnreadableError, and ValueError for a `--since` that is no time."""
    named = asked.ledger is not None
    path = Path(os.path.expanduser(asked.ledger)) if named else _live_ledger()
    since = engine("posture.spans").since_seconds(asked.since, now) if asked.since else None
    reading = engine("posture.reading")
    if not named and not os.path.lexists(path):
        return path, engine("posture").Posture()
    try:
        return path, reading.scored_file(path, since=since)
    except reading.LedgerError as error:
        raise UnreadableError(str(error)) from error


def _live_ledger() -> Path:
    paths = engine("paths")
    ledger: Path = paths.Paths(paths.default_home(os.environ)).ledger
    return ledger


def say(text: str) -> None:
    """Text for a person; a character that the stream cannot show is written as an escape."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def complain(sentence: str) -> None:
    """One sentence on standard error; a path in it may hold anything."""
    sys.stderr.write(engine("inert").inert(sentence) + "\n")


def main(argv: Sequence[str] | None = None, clock: Callable[[], float] = time.time) -> int:
    options = parser(__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--json", action="store_true", help="one JSON document")
    asked = options.parse_args(argv)
    try:
        path, posture = score(asked, clock())
    except ValueError as error:
        options.error(str(error))
    except UnreadableError as error:
        complain(str(error))
        return 3
    report = engine("posture.report")
    if asked.json:
        sys.stdout.write(json.dumps(report.as_json(posture), indent=2) + "\n")
    else:
        for line in report.as_text(posture, str(path), there=os.path.lexists(path)):
            say(line)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # Whoever read this has had enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
