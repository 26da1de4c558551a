"""Which requests are answered: only those of our own page, by its secret address, on this machine.

Any web page that a browser shows can send requests to a port of this machine, and may get there by a name of its own
that it lets point here; so can every other user of the machine. What they all lack is the secret.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

FORBIDDEN, NOT_FOUND = 403, 404

_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Guard:
    """One server's secret and the port that it listens on."""

    port: int
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(_SECRET_BYTES), repr=False)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/{self.secret}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which this machine is meant: a browser writes the port unless it is 80."""
        names = ("127.0.0.1", "localhost", "[::1]")
        return frozenset(f"{name}:{self.port}" for name in names) | frozenset(names if self.port == 80 else ())

    def refusal(self, hosts: Sequence[str], origins: Sequence[str], path: str, *, socket: bool) -> int | None:
        """The status with which a request is refused; None for one that is answered.

        `hosts` and `origins` are the values of these headers. Whose name for this machine is wrong learns nothing
        about the secret. `socket`: a page must always say where it comes from to open one.
        """
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return FORBIDDEN
        if not self._knows(path):
            return NOT_FOUND
        if (socket or origins) and list(origins) != [f"http://{hosts[0]}"]:
            return FORBIDDEN
        return None

    def _knows(self, path: str) -> bool:
        given = path[1:].partition("/")[0]
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.secret.encode())


def headers(host: str) -> dict[str, str]:
    """What every answer says to the browser. `host` is the name under which it asked.

    Nothing comes from elsewhere, nothing leads elsewhere: the sandbox lets no window be opened, so what an agent wrote
    never becomes a link that leads out of the page.
    """
    policy = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # The terminal in the page makes its own rules of style.
        "font-src 'self'",
        "img-src data:",
        f"connect-src ws://{host}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox allow-scripts allow-same-origin",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Server": "ledger-tui",
    }
