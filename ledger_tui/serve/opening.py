"""Opens the page in the person's browser, without its address in the list of processes."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

PREFIX = "ledger-tui-open-"

_PAGE = """<!doctype html>
<meta charset="utf-8" />
<meta name="referrer" content="no-referrer" />
<meta http-equiv="refresh" content="0; url={url}" />
<title>ledger-tui</title>
<a href="{url}">Open ledger-tui</a>
"""


@contextmanager
def leading_to(url: str) -> Iterator[str]:
    """The address of a file that leads there, as long as the `with` lasts.

    A browser is named its page as an argument, which every user of the machine may read; only the owner this file.
    Raises OSError.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        path = Path(folder, "open.html")
        path.touch(mode=0o600)
        path.write_text(_PAGE.format(url=escape(url)), encoding="utf-8")
        yield path.as_uri()


def show(address: str) -> bool:
    """Ask for a browser, which may hold this thread as long as it runs. False where there is none.

    Entries of PATH that are no absolute paths are left out: they would mean a folder where an agent may put programs.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    return webbrowser.open(address)
