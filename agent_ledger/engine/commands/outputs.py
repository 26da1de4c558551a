"""What a command would print, where its words alone tell; and where its output comes from in any case."""

from __future__ import annotations

import base64
import binascii
import codecs
import re

from . import expand
from .finders import fd, found_by, is_narrow
from .names import names
from .places import is_secret, normal
from .run import Follower, Run, Stream
from .tree import unescape

DOWNLOADERS = names("curl wget fetch aria2c http https xh lwp-request GET nc ncat")
_UNPACKERS = names("gunzip zcat bunzip2 bzcat unxz xzcat gpg gpg2 openssl zstd uncompress uudecode")
_OUTPUT = re.compile(r"-[a-zA-Z]*o|--output")
_REMOTE_NAME = re.compile(r"-[a-zA-Z]*O[a-zA-Z]*|--remote-name")


def of(shell: Follower, run: Run) -> Stream:
    """The output of one plain command."""
    maker = _MAKERS.get(run.name)
    if maker is not None:
        return maker(shell, run)
    if run.name in DOWNLOADERS:
        return _download(shell, run)
    origins = run.stdin.origins - {"terminal", "here"}
    if run.name in _UNPACKERS:
        origins |= {"decoded"}
    return Stream(None, origins)


def _echo(shell: Follower, run: Run) -> Stream:
    return Stream(expand.echo(run.arguments), frozenset())


def _printf(shell: Follower, run: Run) -> Stream:
    return Stream(expand.printf(run.arguments))


def _cat(shell: Follower, run: Run) -> Stream:
    files = [word for word in run.arguments if not word.startswith("-") or word == "-"]
    if not files:
        return run.stdin
    streams = [run.stdin if word == "-" else shell.files.get(word, Stream()) for word in files]
    origins = frozenset[str]().union(*(stream.origins for stream in streams))
    if any(is_secret(run.path(word)) for word in files):
        origins |= {"secret"}
    if any(stream.text is None for stream in streams):
        return Stream(None, origins - {"terminal"})
    return Stream("".join(stream.text or "" for stream in streams), origins)


def _base64(shell: Follower, run: Run) -> Stream:
    origins = run.stdin.origins - {"terminal", "here"}
    source = next((shell.files.get(word) for word in run.arguments if word in shell.files), run.stdin) or run.stdin
    if not any(re.fullmatch(r"--decode|-[a-zA-Z]*[dD]\w*", word) for word in run.arguments):
        return Stream(None, origins)
    origins |= {"decoded"}
    if source.text is None:
        return Stream(None, origins)
    try:
        raw = "".join(source.text.split())
        data = base64.b64decode(raw + "=" * (-len(raw) % 4)) if run.name != "base32" else base64.b32decode(raw)
        return Stream(data.decode("utf-8", "replace")[: expand.LONGEST], origins)
    except (ValueError, binascii.Error):
        return Stream(None, origins)


def _xxd(shell: Follower, run: Run) -> Stream:
    if not any(re.fullmatch(r"-\w*r\w*", word) for word in run.arguments):
        return Stream(None, run.stdin.origins - {"terminal"})
    origins = run.stdin.origins - {"terminal", "here"} | {"decoded"}
    try:
        text = bytes.fromhex("".join((run.stdin.text or "zz").split())).decode("utf-8", "replace")
        return Stream(text, origins)
    except ValueError:
        return Stream(None, origins)


def _rev(shell: Follower, run: Run) -> Stream:
    if run.stdin.text is None:
        return Stream(None, run.stdin.origins - {"terminal"})
    return Stream("\n".join(line[::-1] for line in run.stdin.text.split("\n")), run.stdin.origins | {"decoded"})


def _tr(shell: Follower, run: Run) -> Stream:
    sets = [word for word in run.arguments if not word.startswith("-")]
    origins = run.stdin.origins - {"terminal"}
    if run.stdin.text is None or not sets:
        return Stream(None, origins)
    if len(sets) == 1:
        if "-d" in run.arguments:
            gone = set(_range(sets[0]))
            return Stream("".join(char for char in run.stdin.text if char not in gone), origins)
        return Stream(run.stdin.text, origins)
    old, new = _range(sets[0]), _range(sets[1])
    table = {ord(char): new[min(place, len(new) - 1)] for place, char in enumerate(old)} if new else {}
    return Stream(run.stdin.text.translate(table), origins)


def _range(text: str) -> str:
    """A set of `tr`: `a-z` becomes its letters."""

    def letters(match: re.Match[str]) -> str:
        first, last = ord(match[1]), ord(match[2])
        return "".join(map(chr, range(first, min(last, first + 255) + 1)))

    return re.sub(r"(.)-(.)", letters, unescape(text), flags=re.DOTALL)


def _pass(shell: Follower, run: Run) -> Stream:
    """Commands that hand on (a part of) what they read: without files of their own it stays known."""
    if any(not word.startswith("-") and not word.isdigit() for word in run.arguments):
        return Stream(None, run.stdin.origins - {"terminal"})
    return run.stdin


def _tee(shell: Follower, run: Run) -> Stream:
    return run.stdin


def _find(shell: Follower, run: Run) -> Stream:
    return _names(shell, found_by(run), is_narrow(run.arguments))


def _fd(shell: Follower, run: Run) -> Stream:
    looking = fd(run.arguments)
    return _names(shell, looking.patterns, looking.narrow)


def _names(shell: Follower, patterns: list[str], narrow: bool) -> Stream:
    """What a finder prints. Whoever removes one of these names removes all that it stands for."""
    shell.found.update(dict.fromkeys(patterns, narrow))
    return Stream("\n".join(patterns) + "\n", frozenset({"names"}))


def _which(shell: Follower, run: Run) -> Stream:
    words = [word for word in run.arguments if not word.startswith("-")]
    return Stream(f"/usr/bin/{words[0]}\n" if words else "")


def _mktemp(shell: Follower, run: Run) -> Stream:
    return Stream("/tmp/tmp.made-by-mktemp\n")


def _pwd(shell: Follower, run: Run) -> Stream:
    return Stream((shell.folder or "$PWD") + "\n")


def _basename(shell: Follower, run: Run) -> Stream:
    word = next((word for word in run.arguments if not word.startswith("-")), "")
    if "$" in word:
        return Stream()
    name = word.rstrip("/")
    return Stream((name.rpartition("/")[2] if run.name == "basename" else name.rpartition("/")[0] or ".") + "\n")


def _realpath(shell: Follower, run: Run) -> Stream:
    word = next((word for word in run.arguments if not word.startswith("-")), "")
    return Stream(normal(word, shell.folder) + "\n")


def _rot13(shell: Follower, run: Run) -> Stream:
    return Stream(codecs.encode(run.stdin.text, "rot13") if run.stdin.text else None, run.stdin.origins | {"decoded"})


def _environment(shell: Follower, run: Run) -> Stream:
    return Stream(None, frozenset() if run.arguments else frozenset({"secret"}))


def _ls(shell: Follower, run: Run) -> Stream:
    return Stream(None, frozenset({"names"}))


def _download(shell: Follower, run: Run) -> Stream:
    """To a file where it says so, else to its output."""
    path = download_to(run.name, run.arguments)
    got = Stream(None, frozenset({"network"}))
    if path:
        shell.files[path] = got
        shell.fetched.append(run.path(path))
        return Stream("")
    return got


def download_to(name: str, arguments: list[str]) -> str:
    """The file that a download is written to; empty where it goes to the output."""
    path = ""
    url = next(
        (word for word in arguments if "://" in word or ("." in word and "/" in word and not word.startswith("-"))), ""
    )
    for place, word in enumerate(arguments):
        if name in ("curl", "aria2c"):
            if _OUTPUT.fullmatch(word) and place + 1 < len(arguments):
                path = arguments[place + 1]
            elif _REMOTE_NAME.fullmatch(word) or name == "aria2c":
                path = path or url.rpartition("/")[2]
        elif name == "wget":
            if re.fullmatch(r"-[a-zA-Z]*O|--output-document", word) and place + 1 < len(arguments):
                path = arguments[place + 1]
            elif word.startswith("--output-document="):
                path = word.partition("=")[2]
            elif re.fullmatch(r"-[a-zA-Z]*O-", word):
                path = "-"
    if name == "wget" and not path:
        path = url.rpartition("/")[2]
    return "" if path in ("-", "/dev/stdout") else path


_MAKERS = {
    "echo": _echo, "printf": _printf, "cat": _cat, "base64": _base64, "base32": _base64, "gbase64": _base64,
    "xxd": _xxd, "rev": _rev, "tr": _tr, "head": _pass, "tail": _pass, "sort": _pass, "uniq": _pass, "tac": _pass,
    "tee": _tee, "find": _find, "fd": _fd, "fdfind": _fd, "which": _which, "mktemp": _mktemp, "pwd": _pwd,
    "basename": _basename, "dirname": _basename, "realpath": _realpath, "readlink": _realpath, "rot13": _rot13,
    "ls": _ls,
    "printenv": _environment,
}  # fmt: skip
