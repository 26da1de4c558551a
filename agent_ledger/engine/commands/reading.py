"""Signatures: keys, passwords and tokens that are read, copied or sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import places
from .names import names
from .run import Found, Run

READERS = names(
    """cat pv head tail less more bat batcat tac nl od xxd hexdump strings base64 base32 cut awk gawk sed grep egrep
    fgrep rg ag sort uniq wc cp mv scp rsync tar zip gzip 7z curl wget nc ncat socat dd tee view
    jq yq python python3 perl ruby paste diff cmp column fold rev pr fmt openssl gpg sqlite3 install ln
    rclone xargs mail sendmail mutt ftp sftp tftp http https pbcopy xclip wl-copy clip.exe
    source ."""
)
_SENDERS = names("curl wget scp rsync nc ncat socat sftp ftp tftp http https rclone mail sendmail mutt")
_QUIET_VIEWS = names("wc source .")
_KEYS_IN_USE = {
    "curl": names("--key --cert --cacert -E --capath"),
    "wget": names("--private-key --certificate --ca-certificate"),
    "openssl": names("-key -cert -CAfile -inkey -signkey -CA -CAkey"),
    **dict.fromkeys(("scp", "sftp", "rsync"), names("-i -F -e -o")),
}
"""Options by which a key is used for what it is made for."""


def keyrings(run: Run) -> Iterator[Found]:
    """Keys and passwords that their own keeper hands out."""
    for word in run.arguments:
        if word.startswith("--export-secret") or re.fullmatch(
            r"find-(?:generic|internet)-password|dump-keychain", word
        ):
            yield "credential-read", "HIGH", "has keys or passwords handed out", word


SIGNATURES = dict.fromkeys(("gpg", "gpg2", "security"), keyrings)


def secrets(run: Run) -> Iterator[Found]:
    """A file of secrets among what a reading command is given, or fed into it."""
    if run.name not in READERS:
        fed = [path for operator, path in run.redirected if operator == "<" and places.is_secret(run.path(path))]
        for path in fed:
            yield "credential-read", "HIGH", "reads a file of secrets", run.path(path)
        return
    sends = run.name in _SENDERS
    for place, word in enumerate(run.arguments):
        before = run.arguments[place - 1] if place else ""
        if before in _KEYS_IN_USE.get(run.name, ()):
            continue
        yield from _word(run, word, sends, place)
    for operator, path in run.redirected:
        if operator == "<" and places.is_secret(run.path(path)):
            yield "credential-read", "HIGH", "reads a file of secrets", run.path(path)


_TAKES_TEXTS = names("rsync scp grep egrep fgrep rg ag sed awk gawk jq yq")
_COPIERS = names("cp mv install ln scp rsync")
_SENDS_OUT = names("curl wget nc ncat socat http https ftp tftp rclone mail mutt sendmail")


def _word(run: Run, word: str, sends: bool, place: int) -> Iterator[Found]:
    if word.startswith("-") and "=" not in word and "@" not in word and "/" not in word:
        return
    if " " in word and run.name in _TAKES_TEXTS:
        return
    if place == len(run.arguments) - 1 and place > 0 and not sends and run.name in _COPIERS:
        return
    if word.startswith(("--exclude", "--ignore")):
        return
    if word.startswith(("http://", "https://", "git@", "ssh://")):
        return
    candidate = (
        word.rpartition("@")[2]
        if word.startswith(("@", "-d@", "--data", "-F")) or "=@" in word
        else word.rpartition("=")[2]
    )
    if ":" in candidate and run.name in ("scp", "rsync") and not candidate.startswith("/"):
        candidate = candidate.partition(":")[2]
    path = run.path(candidate.removeprefix("file://"))
    if not places.is_secret(path):
        return
    if sends and run.name in _SENDS_OUT:
        yield "exfiltration", "CRITICAL", "sends a file of secrets out", path
    else:
        severity = (
            "CRITICAL"
            if path.rpartition("/")[2] in ("shadow", "gshadow")
            else "LOW"
            if run.name in _QUIET_VIEWS
            else "HIGH"
        )
        yield "credential-read", severity, "reads a file of secrets", path
