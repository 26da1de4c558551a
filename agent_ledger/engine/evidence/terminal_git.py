"""What `git` was to do, told by the references and logs of its repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .effects import Effect
from .facts import CannotTellError, Facts
from .files import numbers, span
from .git_store import Entry, Log, Repository, find, local_remote, packed, read_log, reference, since
from .located import look, missing, need_place, place_of
from .recorded import Recorded
from .touching import STILL_AT_WORK_S, ended, others, working
from .verdict import ABSENT, LANDED, UNKNOWN, Finding, quoted

AT_ONCE_S = 1.5
"""Git's logs keep whole seconds: what one says of so long after the call is the call's doing."""

PUSH_S = 5.0
"""A push waits for the other side."""

CLONE_S = 5.0

_NAME = re.compile(r"[\w][\w./+-]*")
_VALUED = frozenset(
    {"-m", "--message", "-F", "--file", "--author", "--date", "-C", "-c", "-u", "--set-upstream-to", "-t"}
)


def judge(call: Recorded, facts: Facts, effect: Effect) -> Finding:
    """What is to be seen of one git command. Raises CannotTellError."""
    assert call.at is not None
    verb, words = effect.words[0], list(effect.words[1:])
    folder = place_of(call, facts, effect.path) if effect.path else place_of(call, facts, ".")
    if verb == "init":
        return _init(call, facts, folder, words)
    if verb == "clone":
        return _clone(call, facts, folder, words)
    repository = find(facts, folder)
    rivals = _rivals(call, facts, effect, verb)
    if verb == "commit":
        log = read_log(facts, repository, "HEAD")
        if not log.entries and not log.whole:
            raise CannotTellError(f"The repository {quoted(folder)} keeps no log of its commits.")
        finding = judge_commit(call.at, log, subject(words), rivals)
        if finding[0] == ABSENT:
            need_place(call)
        return finding
    if verb == "tag":
        return _reference(call, facts, repository, "refs/tags", _one_name(words, "-a", "-s"), rivals)
    if verb == "branch":
        return _reference(call, facts, repository, "refs/heads", _one_name(words), rivals)
    if verb in ("checkout", "switch"):
        return _switch(call, facts, repository, words, rivals)
    if verb == "push":
        return _push(call, facts, repository, folder, words, rivals)
    return UNKNOWN, "What stands in the index of the repository is not looked into."


# -- gathering ---------------------------------------------------------------------------------------------------------


def _rivals(call: Recorded, facts: Facts, effect: Effect, verb: str) -> tuple[Recorded, ...]:
    """Other recorded commands that may have done the same in this repository."""
    if facts.ledger is None:
        return ()
    around = others(call, str(place_of(call, facts, effect.path or ".")), facts, facts.now)
    near = (*around.earlier, *around.later, *around.unclear)
    return tuple(one for one in near if verb in one.args_text and one.effect != "none")


def _beside(moment: float, rivals: Sequence[Recorded]) -> list[int]:
    """Ids of those that can have done something at `moment`, a whole second."""
    return [one.id for one in rivals if (one.at or 0.0) < moment + 1 and ended(one) >= moment - 1]


def subject(words: Sequence[str]) -> str | None:
    """The first line of a commit's message, where the words hold it."""
    for place, word in enumerate(words):
        short = re.fullmatch(r"-[a-ln-z]*m(.*)", word, re.DOTALL)
        if word == "--message" or (short and not short[1]):
            return _first_line(words[place + 1] if place + 1 < len(words) else "")
        if short or word.startswith("--message="):
            return _first_line(short[1] if short else word.removeprefix("--message="))
    return None


def _first_line(message: str) -> str:
    """As it stands in a log, where blanks in a row are one."""
    return " ".join(message.strip().split("\n")[0].split())


def _one_name(words: Sequence[str], *allowed: str) -> str:
    """The one plain word of a command. Raises CannotTellError for anything more involved."""
    plain, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in _VALUED:
            skip = True
        elif word.startswith("-") and word not in allowed:
            raise CannotTellError(f"The option {quoted(word, 20)} of git is not followed.")
        elif not word.startswith("-"):
            plain.append(word)
    if not 1 <= len(plain) <= 2 or not _NAME.fullmatch(plain[0]) or ".." in plain[0]:
        raise CannotTellError("The command does not name one reference.")
    return plain[0]


def _reference(
    call: Recorded, facts: Facts, repository: Repository, kind: str, name: str, rivals: Sequence[Recorded]
) -> Finding:
    assert call.at is not None
    spot = look(facts, repository.shared / kind / name)
    if not spot.place.exists:
        need_place(call)
        packed_away = bool(packed(facts, repository).get(f"{kind}/{name}"))
        pack = look(facts, repository.shared / "packed-refs")
        kept = spot.untouched_since(call.at) and (not pack.place.exists or pack.untouched_since(call.at))
        return judge_missing_reference(name, packed=packed_away, kept=kept)
    log = read_log(facts, repository, f"{kind}/{name}")
    born = log.entries[0] if log.entries else Entry("", spot.place.modified, "", exact=True)
    return judge_reference(call.at, name, born, beside=_beside(born.at, rivals))


def _switch(
    call: Recorded, facts: Facts, repository: Repository, words: list[str], rivals: Sequence[Recorded]
) -> Finding:
    assert call.at is not None
    if words[:1] in (["-b"], ["-c"]) and len(words) >= 2:
        name = _one_name(words[1:])
        if not look(facts, repository.shared / "refs" / "heads" / name).place.exists:
            return _gone_to(call, facts, repository, name, rivals)
        return _reference(call, facts, repository, "refs/heads", name, rivals)
    name = _one_name(words)
    if not reference(facts, repository, f"refs/heads/{name}"):
        raise CannotTellError(f"{quoted(name, 60)} is no branch of the repository.")
    return _gone_to(call, facts, repository, name, rivals)


def _gone_to(call: Recorded, facts: Facts, repository: Repository, name: str, rivals: Sequence[Recorded]) -> Finding:
    """Did HEAD go to a branch? Its log keeps that, also when the branch is gone."""
    assert call.at is not None
    log = read_log(facts, repository, "HEAD")
    need_place(call)
    hits = since([one for one in log.entries if _goes_to(one.action, name)], call.at)
    if hits and hits[0].since(call.at) and not _beside(hits[0].at, rivals) and hits[0].at <= call.at + AT_ONCE_S:
        when = span(hits[0].at - call.at)
        return LANDED, f"The log of HEAD says that it went to {quoted(name, 60)} {when} after the call."
    if hits or not log.reaches(call.at):
        return UNKNOWN, f"Whether this call went to {quoted(name, 60)} the log of HEAD does not tell."
    return ABSENT, f"The log of HEAD, which is whole, knows of no way to {quoted(name, 60)} since the call."


def _goes_to(action: str, name: str) -> bool:
    return action.startswith("checkout: moving from ") and action.endswith(f" to {name}")


def _init(call: Recorded, facts: Facts, folder: Path, words: list[str]) -> Finding:
    assert call.at is not None
    plain = [word for word in words if not word.startswith("-")]
    if len(plain) > 1 or set(words) - set(plain) - {"-q", "--quiet"}:
        raise CannotTellError("The options of git init are not followed.")
    there = place_of(call, facts, str(folder / plain[0])) if plain else folder
    spot = look(facts, there / ".git" / "description")
    if not spot.place.exists:
        return missing(call, spot)
    if spot.untouched_since(call.at):
        return UNKNOWN, f"The repository was there before the call: {spot.shown} is older."
    if rivals := working(call, facts, str(folder), spot.place.modified, "init"):
        return UNKNOWN, f"The repository was made since, but call {numbers(rivals)} may have made it."
    if spot.place.modified > call.at + AT_ONCE_S:
        return UNKNOWN, f"The repository came long after the call: {spot.shown} is newer."
    return LANDED, f"{spot.shown} was made {span(spot.place.modified - call.at)} after the call."


def _clone(call: Recorded, facts: Facts, folder: Path, words: list[str]) -> Finding:
    """A clone names its own beginning in the log of HEAD."""
    assert call.at is not None
    plain = [word for word in words if word not in ("-q", "--quiet")]
    if not 1 <= len(plain) <= 2 or any(word.startswith("-") for word in plain):
        raise CannotTellError("The options of this clone are not followed.")
    name = plain[1] if len(plain) == 2 else plain[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
    if name in ("", ".", "..") or ":" in name:
        raise CannotTellError("Into which folder was to be cloned its words do not say plainly.")
    spot = look(facts, place_of(call, facts, str(folder / name)))
    if not spot.place.exists:
        return missing(call, spot)
    log = read_log(facts, find(facts, spot.place.path), "HEAD")
    if log.entries and log.entries[0].action.startswith("clone: from"):
        when = log.entries[0].at - call.at
        if rivals := working(call, facts, str(folder), log.entries[0].at, plain[-1]):
            return UNKNOWN, f"{spot.shown} was cloned since, but call {numbers(rivals)} may have done it."
        if log.entries[0].since(call.at) and when <= CLONE_S:
            return LANDED, f"{spot.shown} says of itself that it was cloned {span(when)} after the call."
    return UNKNOWN, f"{spot.shown} is there, but whether this call made it its files do not tell."


def _push(
    call: Recorded, facts: Facts, repository: Repository, folder: Path, words: list[str], rivals: Sequence[Recorded]
) -> Finding:
    assert call.at is not None
    plain = [word for word in words if word not in ("-u", "--set-upstream", "-q", "--quiet")]
    if len(plain) != 2 or not all(_NAME.fullmatch(word) and ".." not in word for word in plain):
        raise CannotTellError("Which branch was to be pushed to where is not named by the command alone.")
    remote, branch = plain
    shown = quoted(f"{remote}/{branch}", 80)
    log = read_log(facts, repository, f"refs/remotes/{remote}/{branch}")
    hits = since([one for one in log.entries if one.action == "update by push"], call.at)
    if hits:
        beside = _beside(hits[0].at, rivals)
        if hits[0].since(call.at) and not beside and hits[0].at <= call.at + PUSH_S:
            when = span(hits[0].at - call.at)
            return LANDED, f"The log of {shown} says that it was pushed {when} after the call."
        return UNKNOWN, f"{shown} was pushed since, perhaps by another call."
    if not reference(facts, repository, f"refs/heads/{branch}"):
        raise CannotTellError(f"{quoted(branch, 60)} is no branch here: what was to be pushed is not known.")
    there = local_remote(facts, repository, folder, remote)
    if there is None:
        return (
            UNKNOWN,
            f"Nothing here says that {quoted(branch, 60)} was pushed; {quoted(remote, 60)} itself is not asked.",
        )
    return _held(call, facts, repository, there, branch)


def _held(call: Recorded, facts: Facts, repository: Repository, there: Repository, branch: str) -> Finding:
    """What a remote on this very machine holds. It was not asked for by git, but its files are read."""
    assert call.at is not None
    need_place(call)
    mine, theirs = (reference(facts, one, f"refs/heads/{branch}") for one in (repository, there))
    spot = look(facts, there.shared / "refs" / "heads" / branch)
    pack = look(facts, there.shared / "packed-refs")
    if not theirs and spot.untouched_since(call.at) and (not pack.place.exists or pack.untouched_since(call.at)):
        return (
            ABSENT,
            f"The remote, a folder of this machine, holds no branch {quoted(branch, 60)}, and lost none since.",
        )
    if mine and mine != theirs and spot.place.exists and spot.untouched_since(call.at):
        return ABSENT, f"The remote's {quoted(branch, 60)} was last moved before the call, and is not what is here."
    return UNKNOWN, f"What became of {quoted(branch, 60)} in the remote since the call cannot be told."


# -- judging -----------------------------------------------------------------------------------------------------------


def judge_commit(at: float, log: Log, message: str | None, rivals: Sequence[Recorded] = ()) -> Finding:
    """Pure: a commit was to be made. The log of HEAD keeps every one, with its second."""
    made = since([one for one in log.entries if one.action.startswith("commit")], at)
    hits = [one for one in made if message is not None and one.action.partition(": ")[2] == message]
    if hits:
        if not hits[0].since(at):
            return UNKNOWN, f"A commit {quoted(message)} was made in the very second of the call."
        if _beside(hits[0].at, rivals) or hits[0].at > at + AT_ONCE_S:
            return UNKNOWN, f"A commit {quoted(message)} was made since, but perhaps by another call."
        when = span(hits[0].at - at)
        return LANDED, f"The log of HEAD holds the commit {quoted(message)}, made {when} after the call."
    if not log.reaches(at):
        return UNKNOWN, "The log of HEAD is not whole, so a commit may lack in it."
    if made and message is None:
        return UNKNOWN, "Commits were made since, and which message this one was to have is not in the command."
    if any(one.at <= at + STILL_AT_WORK_S and not _beside(one.at, rivals) for one in made):
        return UNKNOWN, "A commit with another message was made then: a hook of the repository may have worded it anew."
    return ABSENT, "The log of HEAD, which is whole, holds no such commit since the call."


def judge_reference(at: float, name: str, born: Entry, *, beside: Sequence[int]) -> Finding:
    """Pure: a tag or a branch was to be made and is there. `born`: when."""
    if not born.since(at):
        when = "in the very second of" if born.since(at) is None else "before"
        return UNKNOWN, f"{quoted(name, 60)} was made {when} the call."
    if beside or born.at > at + AT_ONCE_S:
        return UNKNOWN, f"{quoted(name, 60)} was made since, but perhaps by another call."
    return LANDED, f"{quoted(name, 60)} was made {span(born.at - at)} after the call."


def judge_missing_reference(name: str, *, packed: bool, kept: bool) -> Finding:
    """Pure: a tag or a branch was to be made and has no file of its own. `kept`: was none removed since the call?"""
    if packed:
        return UNKNOWN, f"{quoted(name, 60)} is there, but packed away with others, which took its time from it."
    if not kept:
        return UNKNOWN, f"{quoted(name, 60)} is not there, but its like came or went since: it may have been removed."
    return ABSENT, f"The repository holds no {quoted(name, 60)}, and none came or went since before the call."
