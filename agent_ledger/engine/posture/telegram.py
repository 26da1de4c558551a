"""A text to one Telegram chat, in as many messages as it takes. The bot's token appears in no text that leaves here.

Limits and answers: the public Bot API (`sendMessage`; 4,096 UTF-16 units a message; `description`, and
`parameters.retry_after` with status 429). Plain text without a parse mode, so that nothing in it can be markup.
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..inert import clip, inert

API = "https://api.telegram.org"
LIMIT = 4096
"""UTF-16 units of one message."""

TIMEOUT_S = 20.0
LONGEST_WAIT_S = 300.0
"""A `retry_after` beyond this is not waited for."""

_TOKEN = re.compile(r"[0-9]{3,20}:[A-Za-z0-9_-]{5,100}")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LONGEST_ANSWER = 65_536


class TelegramError(Exception):
    """Nothing was sent, or not all; the text is one plain sentence without the token."""


def units(text: str) -> int:
    """Length as Telegram counts it: a character beyond U+FFFF is two."""
    return len(text) + sum(char > "\uffff" for char in text)


def parts(lines: Sequence[str], limit: int = LIMIT) -> list[str]:
    """The lines in messages of at most `limit` units, broken between lines, and inside a line only where it must."""
    out: list[str] = []
    text = ""
    for piece in (piece for line in lines for piece in _pieces(line, limit)):
        joined = f"{text}\n{piece}" if text else piece
        if units(joined) <= limit:
            text = joined
        else:
            out.append(text)
            text = piece
    return [part for part in (*out, text) if part.strip()]


def _pieces(line: str, limit: int) -> Iterator[str]:
    while units(line) > limit:
        end = limit
        while units(line[:end]) > limit:
            end -= 1
        yield line[:end]
        line = line[end:]
    yield line


@dataclass(frozen=True, slots=True)
class Bot:
    """One bot and one chat. Raises TelegramError for values that cannot be meant."""

    token: str = field(repr=False)
    chat_id: str
    api: str = API

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.token):
            raise TelegramError("POSTURE_TELEGRAM_BOT_TOKEN does not look like a bot's token; copy it once more.")
        if not self.chat_id.strip():
            raise TelegramError("POSTURE_TELEGRAM_CHAT_ID is empty; name the chat that gets the report.")
        address = urllib.parse.urlsplit(self.api)
        if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _LOOPBACK):
            raise TelegramError("The address of the Bot API must begin with https:// (http only on this machine).")
        if "@" in address.netloc:
            raise TelegramError("The address of the Bot API takes no user or password: others can read arguments.")

    def send(self, messages: Sequence[str], sleep: Callable[[float], None]) -> None:
        """Every message in order. Raises TelegramError that names the first one which was not taken."""
        for number, text in enumerate(messages, 1):
            which = "The report" if len(messages) == 1 else f"Part {number} of {len(messages)} of the report"
            self._send_one(text, which, sleep)

    def _send_one(self, text: str, which: str, sleep: Callable[[float], None]) -> None:
        status, answer = self._post(text, which)
        wait = _retry_after(answer) if status == 429 else None
        if wait is not None and wait <= LONGEST_WAIT_S:
            sleep(wait)
            status, answer = self._post(text, which)
        if status == 200 and answer.get("ok") is True:
            return
        said = answer.get("description")
        reason = f"{status}: {self._clean(said)}" if isinstance(said, str) and said else f"status {status}"
        later = f"; it asks to wait {wait:.0f} s" if wait is not None else ""
        raise TelegramError(f"{which} was not taken by Telegram ({reason}{later}).")

    def _post(self, text: str, which: str) -> tuple[int, dict[str, Any]]:
        """(status, answer as an object). Raises TelegramError where no answer came."""
        body = {"chat_id": self.chat_id.strip(), "text": text, "link_preview_options": {"is_disabled": True}}
        request = urllib.request.Request(
            f"{self.api.rstrip('/')}/bot{self.token}/sendMessage",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with self._opener().open(request, timeout=TIMEOUT_S) as response:
                return response.status, _object(response.read(_LONGEST_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _object(_rest(error))
        except TimeoutError:
            reason = f"no answer within {TIMEOUT_S:.0f} s"
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = self._why(error)
        # Outside of the handler: no chained exception, whose text may hold the address and so the token.
        raise TelegramError(f"{which} could not be sent ({reason}); check the network.")

    def _opener(self) -> urllib.request.OpenerDirector:
        """Follows no redirect, which would carry the token elsewhere; asks no proxy about this machine."""
        local = urllib.parse.urlsplit(self.api).hostname in _LOOPBACK
        return urllib.request.build_opener(_NoRedirect, *([urllib.request.ProxyHandler({})] if local else []))

    def _why(self, error: BaseException) -> str:
        reason = getattr(error, "reason", None)
        if isinstance(reason, TimeoutError):
            return f"no answer within {TIMEOUT_S:.0f} s"
        return self._clean(str(getattr(reason, "strerror", None) or type(reason or error).__name__))

    def _clean(self, text: str) -> str:
        secret = self.token.partition(":")[2]
        return clip(inert(text.replace(self.token, "[token]").replace(secret, "[token]")), 200)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _rest(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(_LONGEST_ANSWER)
    except (OSError, http.client.HTTPException):
        return b""


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _retry_after(answer: dict[str, Any]) -> float | None:
    """Seconds that Telegram asks to wait, where it says so."""
    parameters = answer.get("parameters")
    value = parameters.get("retry_after") if isinstance(parameters, dict) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None
