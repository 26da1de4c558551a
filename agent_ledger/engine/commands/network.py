"""Signatures: shells that answer to the network, secrets that leave, and requests that delete."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import names
from .run import Found, Run

_DELETING_PATH = re.compile(
    r"/(?:_?(?:do)?(?:delete|destroy|purge|wipe|drop|truncate)(?:[-_]\w+|ByQuery)*|remove|clear|_close|flush(?:all|db)?|doWipeOutWorkspace)"
    r"(?:[/?#]|$)",
    re.IGNORECASE,
)
_SHELL_WORD = re.compile(r"(?:^|[/:,])(?:ba|z|da|k)?sh(?:$|[,:])|cmd\.exe|powershell", re.IGNORECASE)
SENDERS = names("nc ncat netcat socat telnet curl wget openssl ftp tftp http https mail mutt sendmail scp rsync")


def request(run: Run) -> Iterator[Found]:
    """An HTTP request that deletes: by its method, or by its path."""
    method, url = "", ""
    words = run.arguments
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word in ("-X", "--request", "--method"):
            method = following.upper()
        elif word.startswith(("-X", "--request=", "--method=")):
            method = word.removeprefix("-X").rpartition("=")[2].upper()
        elif run.name in ("http", "https", "xh") and word.isupper():
            method = word
        elif "://" in word or (not url and re.match(r"(?:localhost|[\w.-]+\.\w+)[:/]", word)):
            url = url or word
        elif word.startswith(("-d", "--data", "--json", "-F")) and not method:
            method = "POST"
    if method in ("DELETE", "PURGE") or (method in ("POST", "PUT", "PATCH") and _DELETING_PATH.search(url)):
        yield "remote-delete", "HIGH", "asks a server to delete something", url


def netcat(run: Run) -> Iterator[Found]:
    """A shell at the other end of a connection."""
    words = run.arguments
    for place, word in enumerate(words):
        if (
            re.fullmatch(r"-[a-z]*[ec]|--exec|--sh-exec", word)
            and place + 1 < len(words)
            and _SHELL_WORD.search(words[place + 1])
        ) or (re.match(r"(?:exec|system):", word, re.IGNORECASE) and _SHELL_WORD.search(word)):
            yield "reverse-shell", "CRITICAL", "opens a shell to the network", ""


def leaving(run: Run) -> Iterator[Found]:
    """What flows into a command that sends."""
    if run.name not in SENDERS:
        return
    if "shell" in run.stdin.origins:
        yield "reverse-shell", "CRITICAL", "opens a shell to the network", ""
    if "secret" in run.stdin.origins:
        yield "exfiltration", "CRITICAL", "sends secrets out", next((w for w in run.arguments if "." in w), "")


def sockets(run: Run) -> Iterator[Found]:
    """`/dev/tcp`: a shell of which input or output is a connection."""
    for _, word in run.redirected:
        if word.startswith(("/dev/tcp/", "/dev/udp/")):
            shell = run.name in ("sh", "bash", "zsh", "exec", "ksh", "dash")
            yield "reverse-shell", "CRITICAL" if shell else "MEDIUM", "connects a command to the network", word


SIGNATURES = {
    **dict.fromkeys(("curl", "wget", "http", "https", "xh"), request),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat"), netcat),
}  # fmt: skip
