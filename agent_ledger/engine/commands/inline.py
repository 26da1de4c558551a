"""Signatures: what code in another language does, as far as its calls and constant texts tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from . import places
from .run import Found

_TEXT = r"""(?:[rbuf]{0,2}"((?:[^"\\]|\\.){0,2000})"|[rbuf]{0,2}'((?:[^'\\]|\\.){0,2000})')"""
_SHELL_CALL = re.compile(
    r"(?:\bsystem|\bpopen|\bexec|\bexecSync|\bexecFile|\bspawn|\bspawnSync|\bshell_exec|\bpassthru|\bgetoutput|\bgetstatusoutput|\bcall"
    r"|\bcheck_call|\bcheck_output|\bPopen|\brun|\bdo shell script|\bos\.execute"
    r"|\bqx|\btask)\s*\(?\s*(\[[^\]]{0,2000}\]|" + _TEXT + ")"
)
_TEXTS = re.compile(_TEXT)
_BACKTICKS = re.compile(r"`([^`]{1,2000})`|\bqx\s*[{(/|]([^})/|]{1,2000})|%x[{(\[]([^})\]]{1,2000})")
_TREE_CALL = re.compile(
    r"\b(?:rmtree|rm_rf|rm_r|remove_entry(?:_secure)?|remove_tree|rmSync|rmdirSync|rimraf(?:\.sync)?|removeSync|emptyDirSync|Remove-Item|RemoveAll|removedirs)"
    r"\b!?\s*\(?\s*([^;\n]{0,300})"
)
_BRACED_TEXT = re.compile(r"\b[qQ]q?\{([^{}'\n]{0,2000})\}")
_NODE_RM = re.compile(r"\b(?:fs\w*|promises)\.rm\s*\(\s*([^;\n]{0,300}recursive[^;\n]{0,80})")
_OPEN = re.compile(
    r"\b(?:open|read_text|readFile|readFileSync|File\.read|File\.open|file_get_contents|Path|readlines|slurp)\s*\(?\s*"
    + _TEXT
)
_SOCKET_SHELL = re.compile(r"socket|TCPSocket|fsockopen|net\.connect|IO::Socket", re.IGNORECASE)
_DUP = re.compile(r"dup2|pty\.spawn|/bin/(?:ba|z|da)?sh|\bexec\b|child_process|subprocess")
_REMOTE_EVAL = re.compile(
    r"\b(?:exec|eval)\s*\(\s*[^)]{0,200}?(?:urlopen|requests\.get|urllib|b64decode|fromhex|unhexlify|decompress|codecs\.decode|atob|fetch)"
)


REMEMBERED, SHORT = 16, 4_096
"""Codes that are remembered, since loops run the same ones again; and the longest of them."""


def judge(language: str, code: str) -> tuple[Found, ...]:
    """What `code` does. A find of the kind "shell" carries in its target a text that the code gives to a shell."""
    return _judged_short(language, code) if len(code) <= SHORT else _judged(language, code)


def _judged(language: str, code: str) -> tuple[Found, ...]:
    return tuple(_found(language, code[:65_536]))


_judged_short = lru_cache(maxsize=REMEMBERED)(_judged)


def _found(language: str, code: str) -> Iterator[Found]:
    if language in ("perl", "ruby"):
        code = _BRACED_TEXT.sub(r"'\1'", code)
    yield from _shell_outs(language, code)
    for pattern in (_TREE_CALL, _NODE_RM):
        for match in pattern.finditer(code):
            yield from _tree(match[1] or "")
    for match in _OPEN.finditer(code):
        path = match[1] or match[2] or ""
        if places.is_secret(path):
            yield "credential-read", "HIGH", "reads a file of secrets", path
    if _SOCKET_SHELL.search(code) and _DUP.search(code) and re.search(r"dup2|pty\.spawn|exec|spawn|popen|fdopen", code):
        yield "reverse-shell", "CRITICAL", "opens a shell to the network", ""
    if _REMOTE_EVAL.search(code):
        yield "decode-to-shell", "HIGH", "runs code that it decodes or downloads", ""


def _shell_outs(language: str, code: str) -> Iterator[Found]:
    for match in _SHELL_CALL.finditer(code):
        if match[1].startswith("["):
            words = [found[0] or found[1] for found in _TEXTS.findall(match[1])]
            if words:
                yield "shell", "LOW", "", " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        else:
            text = match[2] or match[3] or ""
            rest = re.match(
                r"\s*,\s*(\[[^\]]{0,2000}\]|" + _TEXT + r"(?:\s*,\s*" + _TEXT + r"){0,20})",
                code[match.end() : match.end() + 2000],
            )
            more = [found[0] or found[1] for found in _TEXTS.findall(rest[1])] if rest else []
            yield "shell", "LOW", "", " ".join([_unslash(text), *more])
    if language in ("perl", "ruby", "php"):
        for match in _BACKTICKS.finditer(code):
            yield "shell", "LOW", "", next(filter(None, match.groups()), "")


def _tree(argument: str) -> Iterator[Found]:
    texts = [found[0] or found[1] for found in _TEXTS.findall(argument)]
    if not texts:
        if re.search(r"tmp|temp|mkdtemp|cache|build|dist", argument, re.IGNORECASE):
            return
        yield (
            "recursive-delete",
            "HIGH",
            "deletes a tree that only running the code could name",
            argument.strip(" ()")[:80],
        )
        return
    for text in texts[:8]:
        path = places.normal(text)
        weight = places.weight_of_loss(path)
        if weight and not text.startswith(("recursive", "force")):
            yield "recursive-delete", weight, f"deletes {path} with everything in it", path


def _unslash(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)
