"""Which calls are plain: words that say what they are, and none of them one that a rule looks at.

A million rows are scored in seconds only if most of them need no closer look. This may err on one side alone: what it
calls plain has no finding of its own; what it does not call plain is looked at in full.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from ..commands.builtins import SPECIAL
from ..commands.calls import COMMANDS
from ..commands.interpreters import LANGUAGES, SHELLS
from ..commands.outputs import DOWNLOADERS
from ..commands.places import SECRET_PIECES
from ..commands.quiet import Quiet, quiet
from ..commands.signatures import BY_NAME
from ..commands.wrappers import WRAPPERS
from .harmless import RISKY, is_harmless
from .rows import parsed

ALWAYS = frozenset(
    {
        "execute_code", "memory", "skill_manage", "delegate_task", "cronjob", "cronjob_manage", "manage_catalog",
        "manage_connections", "discord", "discord_admin", "yb_send_dm", "a2a_call", "a2a_orchestrate", "mqtt_publish",
        "mqtt_device_command", "process", "process_manage", "browser_navigate", "browser_exec", "browser_cdp",
        "browser_vault", "browser_console",
    }
)  # fmt: skip
"""Tools that are looked at whatever their arguments."""

FILES = frozenset({"write_file", "patch"})

_HEADS = """
    sh bash zsh dash ash ksh mksh fish csh tcsh rbash pwsh powershell cmd busybox toybox iex invoke eval exec source
    command builtin python python2 python3 pypy pypy3 perl ruby node nodejs deno bun tsx ts php lua luajit tclsh expect
    awk gawk mawk nawk osascript rscript julia groovy jshell scala ghci irb gdb vim vi ed ex emacs script flock entr env
    nohup setsid timeout time nice ionice stdbuf watch chrt taskset unshare nsenter chroot xargs parallel strace ltrace
    find fd fdfind rmdir unlink del erase rd deltree format diskpart vssadmin bcdedit badblocks hdparm nvme mkfs losetup
    wget aria2c fetch lynx ftp sftp tftp scp ssh sshpass telnet openssl mail mailx sendmail gpg base64 base32 xxd
    uudecode printf set unset export alias trap at batch cron systemd_run launchctl schtasks sc reg net icacls
    useradd groupmod visudo pip3 apt apt_get dpkg yum dnf rpm pacman brew snap pkill killall xkill taskkill
    modprobe insmod rmmod sysctl kexec mount umount sqlite sqlite3 pg_dump mysqldump flushall flushdb drop delete alter
    tar unzip cpio rename setfacl chattr watchexec make_filesystem begin do then else if while until for case function
    coproc fi done esac elif in select repeat not and or tee cat type runas wsl logrotate rsyslogd update_rc_d
"""
_ORDINARY = frozenset({"cd", "pushd", "cp", "ln", "mkdir", "sed", "cat"})
"""Known to `commands`, and judged by the places that they touch alone."""

_PLACES = """
    dev proc sys etc boot usr lib lib64 bin sbin root system32 id_rsa id_dsa id_ecdsa id_ed25519 ssh
    authorized_keys gnupg gpg aws azure gcloud kube kubeconfig credentials credential netrc pgpass npmrc pypirc env
    envrc secret secrets token tokens password passwords passwd shadow sudoers keychain keychains keyring keyrings pass
    kdbx vault pem key keys p12 pfx jks ppk keystore keytab wallet cookies cookie login logins history dockercfg
    config auth htpasswd boto s3cfg codex claude hermes plugin plugins skill skills mcp cron crontab cronjob systemd
    launchagents launchdaemons autostart init rc bashrc bash_profile zshrc zshenv zprofile profile bash_login
    bash_logout hooks hook githooks agent_ledger ledger policy policy_mode prompt_policy prompt_policy_mode settings
    gateway state soul agents memories gitconfig tcp udp verify amend force hard mirror prune drop
    truncate delete remove alter grant revoke update insert exec execdir remove_all dropdatabase account service key4
    op terraform cargo cmdline environ kcore mem sda nvme0n1 disk0 rdisk0
"""
PLACES = frozenset(_PLACES.split()) | SECRET_PIECES
"""Any of these words, anywhere, and a call is looked at: names of places, and verbs that destroy."""

_MARK = b"$"


def _table(blank: str) -> bytes:
    """What stays of each ASCII character: words in small letters, line ends between commands, and one mark.

    The mark stands for every character that can make a word say another than it shows. What is `blank` separates words.
    """
    table = []
    for char in map(chr, range(128)):
        if char in blank:
            table.append(" ")
        elif char.isalnum() or char in "_-./=":
            table.append(char.lower())
        elif char in "\\$`*?[{<>~!^%":
            table.append("$")
        else:
            table.append("\n" if char in '\n";&|()}' else " ")
    return "".join(table).encode() + bytes(range(128, 256))


_TABLE = _table("")
_WORDS = _table('-./=\n";&|()}')
"""The same without what stands between words and between commands."""


def _as_bytes(texts: Iterable[str]) -> frozenset[bytes]:
    """Comparing what was translated as bytes takes a third of the time."""
    return frozenset(text.encode() for text in texts)


KNOWN = frozenset({*BY_NAME, *WRAPPERS, *SPECIAL, *LANGUAGES, *SHELLS, *DOWNLOADERS}) - _ORDINARY
"""What `commands` knows by name, and what runs others."""

HEADS = frozenset(_HEADS.split()) | frozenset(name.lower().rpartition("/")[2] for name in KNOWN)
"""A command that begins with one of these is looked at."""

_READING = {
    head.encode(): _as_bytes(words.split())
    for head, words in (
        ("git", "status diff log show add fetch pull blame ls-files"),
        ("npm", "test start run ci ls"),
        ("docker", "ps logs images inspect version info"),
        ("kubectl", "get describe logs top version"),
        ("systemctl", "status is-active list-units"),
    )
}
"""Second words with which a known command is plain after all."""

_NAMES = _as_bytes(("command", "timeout", "script", "watch", "time", "type", "repeat", "format"))
"""Names of arguments. As a command without arguments each of them does nothing."""

_FIRST = frozenset((head.encode().translate(_WORDS).split() or [head.encode()])[0] for head in HEADS) - {
    b"command", b"timeout"
}  # fmt: skip
"""The first words of all heads: where none of them stands anywhere, nobody needs to know where commands begin.

The two left out only run other commands, and are names of arguments in nearly every call.
"""

_HEADS_RAW, _PLACES_RAW, _RISKY_RAW = _as_bytes(HEADS), _as_bytes(PLACES), _as_bytes(RISKY)
_OTHER_COMMANDS = frozenset(COMMANDS) - {"command"}

_SETTING = re.compile(r'"env (?=[A-Za-z_]\w*=)')
"""`env` that only sets a variable for a command. By itself it prints them all."""

_CODE = re.compile(r'"command": ?"(?:awk|python3? -c|perl -n?e|node -e|ruby -e) ')
"""Code on the command line is no quiet call; where it begins the command, nobody needs a look to tell."""

_PATH = re.compile(r'"path":\s*"([^"\\]*)"')
_PARTS = re.compile(r"""[^\s"/;&|()=]+""")
_STARTS_WITH_PATH = re.compile(
    r"""["(;&|)}](?:(?<=[+@]\()|\s*+(?:'|[^\s"'/.=]*+[/.=]"""
    r"""|(?:command|timeout|env|source|python\d?|node|sh|bash|fi|done|esac|elif|in)\s))"""
)
_QUOTED = re.compile(r"""'(?:[^'"\\]|\\.)*+'|\\"(?:[^"\\]|\\[^"])*+\\\"""")
"""A quoted piece of a command inside a JSON text."""

_QUOTED_NAME = re.compile(r"""["();&|{}]\s*+[^\s"();&|{}\x01]*+\x01""")
"""The name of a command in which something is quoted; \\x01 stands for a quoted piece."""


def is_plain(args_text: str) -> bool:
    """May a call with these arguments (JSON text) go by without a closer look?"""
    text = args_text[1:]
    if '"env ' in text:
        text = _SETTING.sub('"', text)
    if "/dev/null" in text or "venv/bin/" in text:
        text = text.replace("/dev/null", "").replace("venv/bin/", "")
    if "\\" in text or "'" in text:
        if _is_quoted_oddly(text):
            return False
        text = text.replace('\\"', "").replace("'", "")
    raw = text.encode("ascii", "replace")
    words = (shown := raw.translate(_WORDS)).split()
    if not _PLACES_RAW.isdisjoint(words) or b"gnupg" in shown:
        return False
    if _MARK in shown:
        return _RISKY_RAW.isdisjoint(words) and is_harmless(args_text)
    if _FIRST.isdisjoint(words) or not any(map(_known, raw.translate(_TABLE).split(b"\n"))):
        return True
    return _RISKY_RAW.isdisjoint(words) and is_harmless(args_text)


def _known(command: bytes) -> bool:
    """Does this piece of text begin like a command that has to be judged?"""
    words = command.split(None, 2)
    if not words:
        return False
    if b"=" in words[0]:
        return True  # A variable is set for what follows.
    head = words[0].rpartition(b"/")[2]
    if head not in _HEADS_RAW and head.partition(b".")[0] not in _HEADS_RAW:
        return False
    if len(words) < 2:
        return head not in _NAMES
    return words[1] not in _READING.get(head, ())


@lru_cache(maxsize=1024)
def quiet_call(args_text: str) -> Quiet | None:
    """What a terminal call makes or runs, where a short look tells that it does nothing else; else None."""
    if _CODE.search(args_text):
        return None
    args = parsed(args_text) if args_text.isascii() and args_text.isprintable() else None
    if args is None or not _OTHER_COMMANDS.isdisjoint(args):
        return None
    text = args.get("command")
    return quiet(text) if type(text) is str else None


def plain_file(args_text: str) -> str | None:
    """The path that a writing call names, if nothing about that path asks for a closer look, else None."""
    match = _PATH.search(args_text)
    return match[1] if match and is_plain("{" + match[1]) else None


def runs_a_path(args_text: str) -> bool:
    """May a command begin with a path or a script's name (or a dot, which reads a file), and not with a program?"""
    return _STARTS_WITH_PATH.search(args_text) is not None


def _is_quoted_oddly(args_text: str) -> bool:
    """Has a quote no end, or does a command's name stand in quotes? Nobody knows here which commands it runs."""
    rest = _QUOTED.sub("\x01", args_text)
    return "'" in rest or "\\" in rest or _QUOTED_NAME.search(rest) is not None


def names_one_of(args_text: str, names: Collection[str]) -> bool:
    """May a word of these arguments, or a part of a path among them, be one of these names of files?"""
    quoted = "'" in args_text or "\\" in args_text
    if quoted:
        args_text = args_text.replace('\\"', "").replace("'", "")  # Pieces of a name may be quoted one by one.
        if "\\" in args_text:
            return True
        names = [name.replace('"', "").replace("'", "") for name in names]
    for name in names:
        if name in args_text:
            return quoted or any(part in names for part in _PARTS.findall(args_text))
    return False
