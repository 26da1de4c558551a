"""Signatures: work and history that git would lose."""

from __future__ import annotations

from collections.abc import Iterator

from . import places
from .names import names
from .removing import split_options
from .run import Found, Run

_VALUED = names("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env")


def subcommand(arguments: list[str]) -> tuple[str, list[str]]:
    """git's own command and what follows it; options before it are skipped."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _VALUED else 1
    return (arguments[at], arguments[at + 1 :]) if at < len(arguments) else ("", [])


def git(run: Run) -> Iterator[Found]:
    """One git command."""
    command, rest = subcommand(run.arguments)
    flags, words = split_options(rest)
    judge = _COMMANDS.get(command)
    if judge is not None and not flags & {"--help", "h"}:
        yield from judge(flags, words, rest)


def _reset(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if flags & {"--hard", "--merge"}:
        yield "work-discard", "HIGH", "throws away changes that are not committed", ""


def _clean(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if flags & {"f", "--force"} and not flags & {"n", "--dry-run", "i", "--interactive"}:
        yield "work-discard", "HIGH", "deletes files that git does not know", ""


def _push(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if flags & {"n", "--dry-run"}:
        return
    target = " ".join(words)
    if flags & {"f", "--force", "--mirror"} or any(word.startswith("+") for word in words[1:]):
        yield "force-push", "HIGH", "overwrites the history of the other side", target
    elif flags & {"--force-with-lease", "--force-if-includes"}:
        yield "force-push", "MEDIUM", "overwrites the other side unless somebody pushed", target
    if flags & {"d", "--delete", "--prune"} or any(word.startswith(":") and len(word) > 1 for word in words[1:]):
        yield "branch-delete", "HIGH", "deletes a branch or tag on the other side", target


def _branch(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if "D" in flags or (flags & {"d", "--delete"} and flags & {"f", "--force"}):
        yield "branch-delete", "HIGH", "deletes a branch even if it is not merged", " ".join(words)


def _stash(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if words[:1] in (["drop"], ["clear"]):
        yield "work-discard", "HIGH", "deletes stashed changes", ""


def _checkout(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    paths = rest[rest.index("--") + 1 :] if "--" in rest else [word for word in words if word in (".", "./", ":/")]
    if paths or (flags & {"f", "--force"} and not flags & {"b", "B"}):
        yield "work-discard", "HIGH", "throws away changes in files", " ".join(paths)


def _restore(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if words and not (flags & {"S", "--staged"} and not flags & {"W", "--worktree"}):
        yield "work-discard", "HIGH", "throws away changes in files", " ".join(words)


def _switch(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if flags & {"f", "--force", "--discard-changes"}:
        yield "work-discard", "HIGH", "throws away changes that are not committed", ""


def _reflog(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if words[:1] in (["expire"], ["delete"]) and not flags & {"n", "--dry-run"}:
        yield "history-rewrite", "HIGH", "forgets where branches were", ""


def _gc(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if any(word in ("--prune=now", "--prune=all") for word in rest) or (
        flags & {"--aggressive"} and "--prune" in flags
    ):
        yield "history-rewrite", "HIGH", "removes commits that no branch holds", ""


def _rewrite(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if not flags & {"--analyze", "--dry-run"}:
        yield "history-rewrite", "HIGH", "rewrites the history", ""


def _worktree(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if words[:1] == ["remove"] and flags & {"f", "--force"}:
        yield "work-discard", "HIGH", "deletes a work tree with its changes", " ".join(words[1:])


def _update_ref(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if flags & {"d", "--delete", "--stdin"}:
        yield "branch-delete", "HIGH", "deletes a reference", " ".join(words)


def _submodule(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if words[:1] == ["deinit"] and flags & {"f", "--force"}:
        yield "work-discard", "HIGH", "deletes a submodule's work tree with its changes", " ".join(words[1:])


def _commit(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if "--no-verify" in flags or ("n" in flags and "--dry-run" not in flags):
        yield "checks-skipped", "LOW", "commits without the hooks that check it", ""


def _tag(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if flags & {"d", "--delete"}:
        yield "branch-delete", "LOW", "deletes a tag", " ".join(words)


def _remove(flags: set[str], words: list[str], rest: list[str]) -> Iterator[Found]:
    if "--cached" in flags or flags & {"n", "--dry-run"} or "r" not in flags:
        return
    if any(places.weight_of_loss(places.normal(word)) == "CRITICAL" for word in words):
        yield "work-discard", "HIGH", "deletes every file that git knows", " ".join(words)


_COMMANDS = {
    "reset": _reset, "clean": _clean, "push": _push, "branch": _branch, "stash": _stash, "checkout": _checkout,
    "restore": _restore, "switch": _switch, "reflog": _reflog, "gc": _gc, "prune": _rewrite, "worktree": _worktree,
    "filter-branch": _rewrite, "filter-repo": _rewrite, "update-ref": _update_ref, "submodule": _submodule,
    "commit": _commit, "tag": _tag, "rm": _remove,
}  # fmt: skip

SIGNATURES = {"git": git}
