"""The posture of the last day to a Telegram chat, started by your own scheduler: `python3 posture_daily.py`.

Two variables of the environment and nothing else: POSTURE_TELEGRAM_BOT_TOKEN (a bot of your own for this) and
POSTURE_TELEGRAM_CHAT_ID. No file with credentials is read, and the agent's own bot is not used. Exit code 0; 1 when
the report was not sent; 2 for wrong usage; 3 when the ledger cannot be read.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

if __package__:
    from . import posture as script
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # Python leaves it out when told to be careful.
    import posture as script  # type: ignore[no-redef,import-not-found]  # as a script

TOKEN = "POSTURE_TELEGRAM_BOT_TOKEN"
CHAT = "POSTURE_TELEGRAM_CHAT_ID"
SINCE = "24h"


def main(
    argv: Sequence[str] | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    options = script.parser(__doc__.splitlines()[0] if __doc__ else "")
    options.set_defaults(since=SINCE)
    options.add_argument("--dry-run", action="store_true", help="print the messages; send nothing, need no bot")
    options.add_argument("--api", metavar="URL", help="another Bot API server: https, or http on this machine")
    asked = options.parse_args(argv)
    try:
        path, found = script.score(asked, clock())
    except ValueError as error:
        options.error(str(error))
    except script.UnreadableError as error:
        return _fail(str(error), 3)
    telegram = script.engine("posture.telegram")
    report = script.engine("posture.report")
    messages = telegram.parts(report.as_message(found, str(path), asked.since, there=os.path.lexists(path)))
    if asked.dry_run:
        script.say("\n-- next message --\n".join(messages))
        return 0
    missing = [name for name in (TOKEN, CHAT) if not environ.get(name)]
    if missing:
        return _fail(f"{' and '.join(missing)} must be set in the environment; --dry-run shows the report without.", 1)
    try:
        bot = telegram.Bot(environ[TOKEN].strip(), environ[CHAT], asked.api or telegram.API)
        bot.send(messages, sleep)
    except telegram.TelegramError as error:
        return _fail(str(error), 1)
    return 0


def _fail(sentence: str, code: int) -> int:
    script.complain(sentence)
    return code


if __name__ == "__main__":
    sys.exit(main())
