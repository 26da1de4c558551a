"""Signatures: the machine itself, its rights, its accounts, its services; and what would start again by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import places
from .names import names
from .removing import split_options, written
from .run import Found, Run

_SYSTEM = re.compile(r"/(?:etc|usr|bin|sbin|lib\w*|boot|var|opt|root|home|sys|srv)?(?:/|$)")
_OPEN_MODE = re.compile(r"0?[0-7]?[0-7]?[0-7][2367]|(?:[augo]*o[augo]*|a+|)[+=][rx]*w[rwx]*")
_SETUID = re.compile(r"[467][0-7]{3}|(?:[ugoa]*u[ugoa]*|a)?[+=][rwx]*s[rwx]*")
_GUARDS = names(
    "ssh sshd ufw firewalld iptables nftables auditd apparmor fail2ban networking NetworkManager systemd-networkd"
)
_STARTS = re.compile(
    r"authorized_keys\d?$|^/etc/cron|^/var/spool/cron|^/etc/(?:init\.d|rc\.local|systemd/system|profile\.d"
    r"|ld\.so\.preload|sudoers)"
    r"|Library/Launch(?:Agents|Daemons)/|\.config/(?:systemd/user|autostart)/"
)
_PROFILE = re.compile(
    r"/\.(?:bashrc|bash_profile|profile|zshrc|zprofile|zshenv|bash_login|config/fish/config\.fish)$"
    r"|^/etc/(?:profile|bash\.bashrc)$"
)


def chmod(run: Run) -> Iterator[Found]:
    """Rights for everybody, or a program that runs as its owner."""
    flags, words = split_options([word for word in run.arguments if not re.fullmatch(r"-[rwxst]+", word)])
    if len(words) < 2:
        return
    mode, targets = words[0], [run.path(word) for word in words[1:]]
    recursive = bool(flags & {"R", "--recursive"})
    for target in targets:
        if mode and _OPEN_MODE.fullmatch(mode) and not places.is_temporary(target):
            wide = recursive or (target.startswith("/") and _SYSTEM.match(target) is not None and target.count("/") < 3)
            every = bool(re.fullmatch(r"0?777|666|a\+rwx|\+rwx|o\+w|a\+w|ugo\+rwx|a=rwx", mode))
            yield "permissions-open", "HIGH" if wide and every else "MEDIUM", "lets everybody write", target
        elif _SETUID.fullmatch(mode) and not places.is_temporary(target):
            yield "privilege", "HIGH" if not recursive else "MEDIUM", "makes a program run as its owner", target
        elif (
            recursive
            and target.startswith("/")
            and places.weight_of_loss(target) == "CRITICAL"
            and target.count("/") < 2
        ):
            yield "permissions-open", "HIGH", "changes the rights of everything there", target


def chown(run: Run) -> Iterator[Found]:
    """A whole system or home handed to another owner."""
    flags, words = split_options(run.arguments)
    for word in words[1:]:
        path = run.path(word)
        top = path == "/" or path.rstrip("/*") in (
            "",
            "/etc",
            "/usr",
            "/var",
            "/bin",
            "/sbin",
            "/lib",
            "/boot",
            "/home",
            "/root",
            "/opt",
        )
        if flags & {"R", "--recursive"} and top:
            yield "permissions-open", "HIGH", "hands everything there to another owner", path


def crontab(run: Run) -> Iterator[Found]:
    """The table of timed jobs: removed, or replaced."""
    flags, words = split_options([word for word in run.arguments if word != "-"])
    if "r" in flags:
        yield "schedule-delete", "HIGH", "deletes every timed job", ""
    elif not flags & {"l", "e", "h", "V", "T"} and ("-" in run.arguments or words or run.stdin.text):
        yield "persistence", "MEDIUM", "replaces the timed jobs", ""


def systemctl(run: Run) -> Iterator[Found]:
    """Services that stop, or start by themselves from now on."""
    _, words = split_options(run.arguments)
    verb = words[0] if words else ""
    if run.name == "service" and len(words) > 1:
        verb, words = words[1], [words[1], words[0]]
    guard = any(word.removesuffix(".service") in _GUARDS for word in words[1:])
    if verb in ("poweroff", "reboot", "halt", "kexec", "emergency", "rescue"):
        yield "kill-host", "MEDIUM", "stops the machine", ""
    elif verb in ("disable", "mask", "stop", "kill"):
        yield (
            "service-stop",
            "HIGH" if guard else "MEDIUM" if verb != "kill" else "LOW",
            "stops a service",
            " ".join(words[1:]),
        )
    elif verb in ("enable", "link"):
        yield "persistence", "LOW", "has a service start by itself", " ".join(words[1:])


def kill(run: Run) -> Iterator[Found]:
    """A signal to everything."""
    words = run.arguments
    if words[:1] in (["-0"], ["-l"], ["-L"]):
        return
    numbers = [word for word in words if re.fullmatch(r"-?\d+", word)]
    signalled = bool(words) and (words[0] in ("-s", "-n") or re.fullmatch(r"-(?:\d+|[A-Z]+)", words[0]))
    targets = numbers[1:] if words and re.fullmatch(r"-\d+", words[0]) else numbers
    if "-1" in targets or ("--" in words and "-1" in words[words.index("--") :]) or (signalled and "1" in targets):
        yield "kill-host", "CRITICAL", "ends every process it may", ""


def power(run: Run) -> Iterator[Found]:
    """The machine stops."""
    words = run.arguments
    if any(word in ("--help", "-c", "--show", "--wtmp-only", "-w", "-k") for word in words):
        return
    if run.name in ("init", "telinit") and words[:1] not in (["0"], ["6"], ["1"]):
        return
    yield "kill-host", "MEDIUM", "stops the machine", ""


def firewall(run: Run) -> Iterator[Found]:
    """What guards the machine is taken down."""
    flags, words = split_options(run.arguments)
    down = {
        "ufw": {"disable", "reset"} & set(words),
        "setenforce": {"0", "Permissive"} & set(words),
        "iptables": flags & {"F", "X", "--flush"},
        "ip6tables": flags & {"F", "X", "--flush"},
        "nft": words[:2] == ["flush", "ruleset"],
        "auditctl": flags & {"D"},
    }.get(run.name)
    if down:
        yield "guard-down", "HIGH", "takes down what guards this machine", ""


_ROOTS_GROUP = re.compile(r"(?:.*,)?(?:sudo|wheel|admin|root|docker)(?:,.*)?")


def accounts(run: Run) -> Iterator[Found]:
    """Accounts that go, or gain rights."""
    flags, words = split_options(run.arguments)
    name = words[-1] if words else ""
    if run.name in ("userdel", "deluser"):
        home = flags & {"r", "--remove", "--remove-home", "--remove-all-files"}
        yield "account-delete", "MEDIUM" if home else "LOW", "deletes an account", name
    elif any(_ROOTS_GROUP.fullmatch(word) for word in words[:-1]):
        yield "privilege", "HIGH", "gives an account the rights of root", name
    elif run.name == "chpasswd" or (run.name == "passwd" and flags & {"d", "--delete"}):
        yield "privilege", "MEDIUM", "sets or removes passwords", name


def as_another(run: Run) -> Iterator[Found]:
    """Root's rights; with the password handed over by a pipe it is worse."""
    flags, _ = split_options(run.arguments[:3])
    if run.name == "sudo" and flags & {"S", "--stdin"} and run.stdin.text is not None:
        yield "privilege", "MEDIUM", "hands over a password by a pipe", ""
    else:
        yield "privilege", "LOW", "runs as another user", ""


def installers(run: Run) -> Iterator[Found]:
    """Software from somewhere else than an index, and plugins."""
    words = run.arguments
    if not {"install", "add", "i"} & set(words[:3]):
        return
    for word in words:
        if re.match(r"(?:git\+|https?://|git@|github:)", word):
            yield "supply-chain", "MEDIUM", "installs from a place of its own", word
    if run.name == "hermes":
        yield "supply-chain", "MEDIUM", "adds to what the agent itself runs", " ".join(words)


def hermes(run: Run) -> Iterator[Found]:
    """The agent's own host and this plugin."""
    words = [word for word in run.arguments if not word.startswith("-")]
    off = words[:1] == ["plugins"] and words[1:2] in (["disable"], ["remove"], ["uninstall"])
    if off and any("ledger" in word for word in words):
        yield "ledger-touch", "HIGH", "switches the ledger off", ""
    elif words[:2] in (["gateway", "stop"], ["gateway", "uninstall"]):
        yield "service-stop", "MEDIUM", "stops the agent's own gateway", ""


def history(run: Run) -> Iterator[Found]:
    """Traces that are wiped."""
    if "-c" in run.arguments or "-cw" in run.arguments:
        yield "log-wipe", "MEDIUM", "wipes the shell's history", ""


def journal(run: Run) -> Iterator[Found]:
    """Logs that are cut."""
    if any(word.startswith(("--vacuum", "--rotate")) for word in run.arguments):
        yield "log-wipe", "LOW", "cuts the journal", ""


def redirections(run: Run) -> Iterator[Found]:
    """What is written by redirection."""
    for operator, word in run.redirected:
        if operator != "<":
            yield from write(run.path(word), operator == ">", run.name not in ("", ":", "true"))


def write(path: str, whole: bool, content: bool = True) -> Iterator[Found]:
    """A path that is written: `whole` where what it held is gone."""
    if whole:
        yield from written(path, "overwrites")
    if places.is_ledger(path):
        yield "ledger-touch", "HIGH", "writes to a file of the ledger or of its policies", path
    elif _STARTS.search(path):
        yield "persistence", "HIGH", "has something run or let in from now on", path
    elif _PROFILE.search(path):
        yield "persistence", "HIGH" if whole else "LOW", "changes what each new shell runs", path
    elif whole and not content and path.startswith("/var/log/"):
        yield "log-wipe", "MEDIUM", "empties a log", path


def writers(run: Run) -> Iterator[Found]:
    """`tee`, `cp`, `mv`, `install`, `ln`, `sed -i`: their last words are written."""
    flags, words = split_options(run.arguments)
    if run.name == "tee":
        for word in words:
            yield from write(run.path(word), "a" not in flags)
        return
    targets = words[-1:] if len(words) > 1 else []
    if run.name == "sed":
        targets = words[1:] if "i" in flags or "--in-place" in flags else []
    for word in targets:
        yield from (found for found in write(run.path(word), False) if found[1] == "HIGH")


SIGNATURES = {
    "chmod": chmod, "chown": chown, "chgrp": chown, "crontab": crontab, "systemctl": systemctl, "service": systemctl,
    "kill": kill, "killall5": power, "shutdown": power, "reboot": power, "halt": power, "poweroff": power,
    "init": power, "telinit": power, "ufw": firewall, "iptables": firewall, "ip6tables": firewall,
    "nft": firewall, "setenforce": firewall, "auditctl": firewall, "userdel": accounts, "deluser": accounts,
    "usermod": accounts, "adduser": accounts, "gpasswd": accounts, "chpasswd": accounts, "passwd": accounts,
    "hermes": hermes, "history": history, "journalctl": journal, "tee": writers, "cp": writers, "mv": writers,
    "install": writers, "ln": writers, "sed": writers,
}  # fmt: skip
AS_ANOTHER = dict.fromkeys(("sudo", "doas", "pkexec", "su"), as_another)
INSTALLERS = dict.fromkeys(
    ("pip", "pip3", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "cargo", "gem", "hermes", "claude", "go"), installers
)
