"""Commands of which a short look tells that they do nothing worth judging, so that the full reading is left out.

A short look follows folders and asks the same signatures as the full reading. It gives up, and says so, wherever it
would have to know what flows from one command to another, what is kept for later, or what a text of its own would run.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from . import outputs, places, quick, wrappers
from .builtins import SPECIAL
from .interpreters import LANGUAGES, SHELLS, inline_code, versionless
from .machine import redirections
from .names import names
from .network import SENDERS, sockets
from .outputs import DOWNLOADERS
from .places import normal
from .reading import READERS, secrets
from .removing import makes_filesystem
from .run import NOTHING, Run
from .signatures import BY_NAME

LONGEST = 1_000
"""Characters of a command that is looked at in short."""

_FOLLOWED = names("timeout nohup nice stdbuf env ssh npx uv poetry pipenv bundle")
"""Of the commands that run another, those behind which the short look goes on."""

_VARIABLES = names("export declare typeset local readonly")
_EXECUTING = names("-exec -execdir -ok -okdir -delete -x -X --exec --exec-batch")
_GIT_RUNS = names("-c config rebase bisect submodule")
_FILTERS = names("sed tee python python3")
"""Commands with a signature that does not care what flows into them."""

_ODD = frozenset("?*[]$~!^%@:,= ")
"""Characters that no plain command's name holds."""

_KNOWN = frozenset({*BY_NAME, *wrappers.WRAPPERS, *SPECIAL, *LANGUAGES, *SHELLS, *DOWNLOADERS, *SENDERS, *READERS})

DEEPEST = 3
"""Texts in texts (`ssh HOST 'sh -c …'`) that are followed."""


class Quiet(NamedTuple):
    """All that there is to tell of a command without acts."""

    made: tuple[str, ...]
    """Paths of files that it writes or downloads, in normal form."""
    run: tuple[str, ...]
    """Paths of files that it executes, in normal form."""


def quiet(text: str) -> Quiet | None:
    """What a text for a shell makes or executes, where it does nothing that is an act; None where that is not certain.

    Agrees with `examine`, which knows more and takes longer. Never raises.
    """
    if len(text) > LONGEST:
        return None
    look = _Look("$" in text)
    if not look.text(text, False):
        return None
    if not look.written:
        return Quiet((), tuple(look.executed))
    if look.executed and not {_name(normal(path)) for path in look.written}.isdisjoint(map(_name, look.executed)):
        return None  # It may run what it has just written.
    made = (*(normal(path, look.folder) for path in look.written), *look.fetched)
    return Quiet(made, tuple(look.executed))


class _Look:
    """What one short look knows on its way: the folder, files written and run, whether variables or secrets occur."""

    __slots__ = ("depth", "executed", "fetched", "folder", "read", "variables", "written")

    def __init__(self, variables: bool) -> None:
        self.folder = ""
        self.executed: list[str] = []
        self.written: list[str] = []
        """As they are named."""
        self.fetched: list[str] = []
        """Those of `written` that come from the network, in normal form."""
        self.variables = variables
        self.read: list[list[quick.Pipe]] = []
        self.depth = 0

    def text(self, text: str, fed: bool) -> bool:
        """Is it certain that no command in this text is an act? `fed`: another command flows into the first."""
        pipes = quick.read(_without_document(text) if "<<" in text else text, variables=True)
        self.depth += 1
        if pipes is None or self.depth > DEEPEST:
            return False
        self.read.append(pipes)
        for commands, _ in pipes:
            flows = fed
            for words, redirected in commands:
                if redirected and not self.redirections(words[0], redirected):
                    return False
                if not self.command(words, flows):
                    return False
                flows = True
        return True

    def redirections(self, name: str, redirected: tuple[tuple[str, str], ...]) -> bool:
        """The same of what is written by redirection."""
        paths = [path for _, path in redirected if path != "/dev/null"]
        if paths:
            run = Run(name, [], NOTHING, self.folder, redirected)
            if any(True for _ in redirections(run)) or any(True for _ in sockets(run)):
                return False
            self.written += paths
        return not any(path.startswith("/dev/") for path in paths)

    def command(self, words: list[str], fed: bool) -> bool:
        """The same of one command."""
        for _ in range(4):
            head = words[0]
            if not _ODD.isdisjoint(head):
                return False
            name = head.rpartition("/")[2] if "/" in head else head
            if name in wrappers.WRAPPERS:
                arguments = words[1:]
                inner = wrappers.inner(name, arguments)
                if inner is not None:
                    if name not in _FOLLOWED or (inner.assigned and self.variables) or self.judged(name, arguments):
                        return False
                    if inner.script:
                        return self.text(inner.script, fed)
                    if not inner.words:
                        return False
                    words = list(inner.words)
                    continue
            return self.plain(name, words, fed)
        return False

    def plain(self, name: str, words: list[str], fed: bool) -> bool:
        """The same of a command that runs no other."""
        if name not in _KNOWN:
            if name[-1:].isdigit() or "." in name or name[:2] == "mk" or name[:6] == "kafka-":
                return self.odd_name(name, words[0])
            return "/" not in words[0] or self.runs(words[0])
        if fed and (name in BY_NAME or name in SENDERS) and name not in _FILTERS:
            return False
        arguments = words[1:]
        if name in SPECIAL:
            done = self.special(name, arguments)
            if done is not None:
                return done
        elif name in SHELLS:
            return self.shell(arguments, fed)
        elif name in DOWNLOADERS:
            path = outputs.download_to(name, arguments)
            if path:
                self.written.append(path)
                self.fetched.append(normal(path, self.folder))
        language = LANGUAGES.get(versionless(name))
        if language and not self.interpreter(language, arguments):
            return False
        if self.judged(name, arguments):
            return False
        if language:
            return True
        return self.runs(words[0]) if "/" in words[0] or name.endswith((".sh", ".py")) else True

    def odd_name(self, name: str, word: str) -> bool:
        """The same of a command that is not known, whose name could yet mean something."""
        if versionless(name) in LANGUAGES or makes_filesystem(name) or name[:6] == "kafka-" or name.endswith(".exe"):
            return False
        return self.runs(word) if "/" in word or name.endswith((".sh", ".py")) else True

    def special(self, name: str, arguments: list[str]) -> bool | None:
        """The same of what the shell itself carries out; None where the signatures are to be asked."""
        if name == "cd":
            target = next((word for word in arguments if not word.startswith("-") or word == "-"), "$HOME")
            self.folder = "" if target == "-" else normal(target, self.folder)
            return True
        if name == "git":
            runs = not _GIT_RUNS.isdisjoint(arguments) or any(word.startswith("alias.") for word in arguments)
            return False if runs else None
        if name in ("find", "fd", "fdfind"):
            return None if _EXECUTING.isdisjoint(arguments) else False
        if name == "tee":
            self.written += [word for word in arguments if not word.startswith("-")]
            return False if any(word.startswith("/dev/") for word in arguments) else None
        if name in ("source", "."):
            return bool(arguments) and self.runs(arguments[0])
        return name == "set" or (name in _VARIABLES and not self.variables)

    def shell(self, arguments: list[str], fed: bool) -> bool:
        """The same of `sh FILE` and `sh -c TEXT`."""
        if len(arguments) > 1 and arguments[0] in ("-c", "-lc"):
            return arguments[1][:1] not in ("-", "+") and self.text(arguments[1], fed)
        return bool(arguments) and arguments[0][:1] not in ("-", "+", "") and self.runs(arguments[0])

    def interpreter(self, language: str, arguments: list[str]) -> bool:
        """The same of `python3 FILE` and `python3 -m MODULE`."""
        code, script = inline_code(language, arguments)
        if code is not None:
            return False
        if script is not None:
            return self.runs(script)
        return bool(arguments) and arguments[0] not in ("-", "/dev/stdin")

    def runs(self, path: str) -> bool:
        """Keep a file that is run. What lies in a device is known to the full reading alone."""
        self.executed.append(normal(path, self.folder))
        return not path.startswith("/dev/")

    def names_secret(self) -> bool:
        """May any of the words that were read name a secret?"""
        words = (" ".join(words) for pipes in self.read for commands, _ in pipes for words, _ in commands)
        return places.may_hold_secret(" ".join(words))

    def judged(self, name: str, arguments: list[str]) -> bool:
        """Does a signature find something?"""
        signatures = BY_NAME.get(name, ())
        asks = name in READERS and self.names_secret()
        if not signatures and not asks:
            return False
        run = Run(name, arguments, NOTHING, self.folder)
        for signature in signatures:
            for _ in signature(run):
                return True
        return asks and any(True for _ in secrets(run))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


_DOCUMENT = re.compile(r"(?:^|[;&|\n]) *cat\b[^;&|\n'\"<]*(<< *'(\w+)')[^\n<]*(?=\n)")


def _without_document(text: str) -> str:
    """`text` without a here-document that `cat` puts into a file as it stands. One that is not sure stays."""
    match = _DOCUMENT.search(text)
    if match is None or "\r" in text:
        return text
    closer = f"\n{match[2]}\n"
    end = (text + "\n").find(closer, match.end())
    return (
        text if end < 0 else text[: match.start(1)] + text[match.end(1) : match.end()] + text[end + len(closer) - 1 :]
    )
