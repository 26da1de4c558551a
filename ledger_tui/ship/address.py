"""The address of an engine: what is taken, and how it is shown."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from agent_ledger.engine.inert import inert

SCHEMES = ("postgresql", "postgres")

NO_PASSWORD = (
    "A password has no place in the URL, where everybody can read it in the list of processes: put it into"
    " ~/.pgpass, or into the environment as PGPASSWORD or PGPASSFILE."
)

_SECRET = ("password", "sslpassword", "oauth_client_secret")


class AddressError(ValueError):
    """This is no address to use. The text is one sentence that repeats nothing secret."""


def checked(url: str) -> str:
    """The URL, where it may be used as it is. Raises AddressError."""
    try:
        parts = urlsplit(url)
        named = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError as error:
        raise AddressError("The URL cannot be read; write it as postgresql://USER@HOST/DATABASE.") from error
    if parts.scheme not in SCHEMES or not url.startswith(f"{parts.scheme}://"):
        raise AddressError("The URL must begin with postgresql://, as in postgresql://USER@HOST/DATABASE.")
    # As libpq reads it: whatever stands before an @ is who and with what password, also behind a # or a ?.
    before_host = url.partition("://")[2].partition("/")[0].rpartition("@")[0]
    if named.intersection(_SECRET) or ":" in unquote(before_host):
        raise AddressError(NO_PASSWORD)
    if "#" in url:
        raise AddressError("A # has no meaning in the URL, and what follows it would be read as more of it: write %23.")
    return url


def shown(url: str) -> str:
    """The same for a person: without options, and without whatever stands before the host."""
    parts = urlsplit(url)
    return inert(f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}")
