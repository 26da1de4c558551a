"""Commands that run another command: what is left once they are taken away."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .names import names

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the command behind a wrapper's own options."""

    valued: str = ""
    """Options that take a value of their own, with blanks between them."""
    skip: int = 0
    """Words of its own that stand before the command (`timeout 5 COMMAND`)."""
    assignments: bool = False
    """`NAME=value` words may stand before the command."""
    joined: bool = False
    """The words after it are handed to a shell as one text (`ssh`, `watch`)."""
    script: str = ""
    """Options whose value is a text for a shell (`su -c`)."""
    asking: str = ""
    """Options with which it only asks (`command -v`)."""
    verbs: str = ""
    """Words of its own of which one comes first (`docker exec`)."""


IN_PLACE = frozenset(("sudo", "command", "nohup", "time", "builtin"))
"""Those that leave folder, files and variables of the command as they are."""

WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper("-u -g -h -p -C -r -t -T -U -D -R --user --group --prompt --chdir", assignments=True,
                    asking="-l -v -K -k -V"),
    "doas": Wrapper("-u -C -a"),
    "pkexec": Wrapper("--user"),
    "env": Wrapper("-u -C --unset --chdir", assignments=True, script="-S --split-string"),
    "nice": Wrapper("-n --adjustment"),
    "ionice": Wrapper("-c -n -t"),
    "chrt": Wrapper("-T -P -D", skip=1),
    "taskset": Wrapper(skip=1),
    "timeout": Wrapper("-s -k --signal --kill-after", skip=1),
    "gtimeout": Wrapper("-s -k --signal --kill-after", skip=1),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "time": Wrapper("-f -o --format --output"),
    "gtime": Wrapper("-f -o"),
    "command": Wrapper(asking="-v -V"),
    "builtin": Wrapper(),
    "exec": Wrapper("-a"),
    "coproc": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "stdbuf": Wrapper("-i -o -e"),
    "unbuffer": Wrapper(),
    "chronic": Wrapper(),
    "caffeinate": Wrapper("-t -w"),
    "fakeroot": Wrapper(),
    "proxychains": Wrapper("-f"),
    "proxychains4": Wrapper("-f"),
    "torsocks": Wrapper(),
    "firejail": Wrapper(),
    "chroot": Wrapper("--userspec --groups", skip=1),
    "unshare": Wrapper(),
    "nsenter": Wrapper("-t --target -S -G"),
    "strace": Wrapper("-e -o -p -s -u -E"),
    "ltrace": Wrapper("-e -o -p -s -u"),
    "systemd-run": Wrapper("-p -u --unit --property --on-active --on-calendar --slice --uid --gid"),
    "systemd-inhibit": Wrapper(),
    "watch": Wrapper("-n --interval", joined=True),
    "flock": Wrapper("-w -E --timeout", skip=1, script="-c --command"),
    "script": Wrapper("-T -I -O -B", skip=1, script="-c --command"),
    "su": Wrapper("-s -g -G -w --shell", skip=99, script="-c --command"),
    "runuser": Wrapper("-u -g -G -s", script="-c --command"),
    "ssh": Wrapper("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", skip=1, joined=True),
    "autossh": Wrapper("-M -i -p -l -o -L -R -D", skip=1, joined=True),
    "sshpass": Wrapper("-p -f -P"),
    "mosh": Wrapper("--ssh -p", skip=1),
    "docker": Wrapper("-e -u -w -v -p --env --user --workdir --name --network --volume --entrypoint --mount "
                      "--env-file --platform --publish -l --label --memory --cpus -m --hostname", skip=1,
                      verbs="exec run"),
    "kubectl": Wrapper("-c -n --container --namespace --context --kubeconfig", skip=1, verbs="exec"),
    "lxc": Wrapper("--user --cwd --env", skip=1, verbs="exec"),
    "incus": Wrapper("--user --cwd --env", skip=1, verbs="exec"),
    "crictl": Wrapper(skip=1, verbs="exec"),
    "vagrant": Wrapper(script="-c --command", verbs="ssh", skip=99),
    "npx": Wrapper("-p --package"),
    "uv": Wrapper("--with --python -p --extra --group", verbs="run"),
    "poetry": Wrapper(verbs="run"),
    "pipenv": Wrapper(verbs="run"),
    "pdm": Wrapper(verbs="run"),
    "hatch": Wrapper(verbs="run"),
    "conda": Wrapper("-n -p --name --prefix", verbs="run"),
    "mamba": Wrapper("-n -p --name --prefix", verbs="run"),
    "bundle": Wrapper(verbs="exec"),
    "direnv": Wrapper(verbs="exec", skip=1),
    "nix-shell": Wrapper("-p -A -I", script="--run --command", skip=99),
    "nix": Wrapper(verbs="develop shell", script="", valued="", asking=""),
    "doppler": Wrapper("-p -c --project --config", verbs="run"),
    "op": Wrapper("--env-file", verbs="run"),
    "aws-vault": Wrapper(verbs="exec", skip=1),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
    "tini": Wrapper(),
    "dumb-init": Wrapper(),
    "xvfb-run": Wrapper("-s -n -e"),
    "dbus-run-session": Wrapper(),
    "rlwrap": Wrapper(),
    "entr": Wrapper(),
    "nodemon": Wrapper("-w -e", script="-x --exec"),
}  # fmt: skip
WRAPPERS["podman"] = WRAPPERS["nerdctl"] = WRAPPERS["docker"]
WRAPPERS["oc"] = WRAPPERS["kubectl"]


@dataclass(frozen=True, slots=True)
class Inner:
    """What a wrapper runs: words, or one text for a shell. `assigned`: variables it sets for it."""

    words: tuple[str, ...] = ()
    script: str = ""
    assigned: tuple[tuple[str, str], ...] = ()


def inner(name: str, arguments: list[str]) -> Inner | None:
    """What `name ARGUMENT…` runs; None where `name` is no wrapper, or does something else here."""
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    rest = _after_verb(arguments, wrapper) if wrapper.verbs else arguments
    return None if rest is None else _read(wrapper, rest)


def _after_verb(arguments: list[str], wrapper: Wrapper) -> list[str] | None:
    verbs = names(wrapper.verbs)
    rest = arguments[1:] if arguments[:1] in (["compose"], ["container"]) else arguments
    for place, word in enumerate(rest[:6]):
        if word in verbs:
            return rest[place + 1 :]
        if not word.startswith("-") and not (place and rest[place - 1].startswith("-")):
            return None
    return None


def _read(wrapper: Wrapper, arguments: list[str]) -> Inner | None:
    valued, scripts, asking = names(wrapper.valued), names(wrapper.script), names(wrapper.asking)
    assigned: list[tuple[str, str]] = []
    skip, at = wrapper.skip, 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            at += 1
            if wrapper.verbs and wrapper.skip == 1 and skip:
                skip = 0
            if skip < 99:
                break
            continue
        option = word.partition("=")[0]
        if option in scripts:
            value = word.partition("=")[2] if "=" in word else " ".join(arguments[at + 1 : at + 2])
            return Inner(
                script=" ".join([value, *arguments[at + 2 :]]) if option in ("-S", "--split-string") else value
            )
        if word.startswith("-") and len(word) > 1:
            if word in asking:
                return Inner()
            at += 2 if word in valued else 1
        elif wrapper.assignments and _ASSIGNMENT.match(word):
            variable, _, value = word.partition("=")
            assigned.append((variable, value))
            at += 1
        elif skip:
            skip -= 1
            at += 1
        else:
            break
    rest = arguments[at:]
    if skip and skip < 99:
        rest = rest[skip:]
    if wrapper.joined and rest:
        return Inner(script=" ".join(rest), assigned=tuple(assigned))
    return Inner(tuple(rest), assigned=tuple(assigned))
