"""Which calls are plain: words that say what they are, and none of them one that a rule looks at.

A million rows are scored in seconds only if most of them need no closer look. This may err on one side alone: what it
calls plain has no finding of its own; what it does not call plain is looked at in full.
"""

from __future__ import annotations

import re

from ..commands.signatures import BY_NAME

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

_WORDS = """
    rm rmdir unlink shred srm wipe truncate dd mkfs mke2fs mkswap fdisk gdisk cfdisk sfdisk parted wipefs blkdiscard
    badblocks hdparm nvme lvremove vgremove pvremove zpool zfs btrfs cryptsetup mdadm dmsetup losetup format
    diskpart
    cipher del erase rd deltree vssadmin wbadmin bcdedit mv rsync fd fdfind xargs parallel tar cpio rename
    chmod chown chgrp chattr setfacl setcap umask icacls takeown cacls attrib
    git gh glab hg svn jj
    sh bash zsh dash ash ksh fish csh tcsh rbash pwsh powershell cmd busybox toybox iex invoke eval exec source
    python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh expect awk gawk mawk nawk
    sed
    osascript rscript julia groovy jshell scala ghci irb gdb vim vi ed ex emacs nvim less more man env
    unshare nsenter chroot script flock entr
    curl wget aria2c http https httpie xh fetch lynx w3m ftp sftp tftp scp ssh sshpass telnet nc ncat netcat socat
    openssl
    rclone restic borg mail mailx sendmail mutt swaks msmtp gpg base64 base32 xxd hexdump uudecode od printf tr rev
    dev tcp udp
    sudo doas su pkexec runuser visudo sudoers usermod useradd userdel adduser deluser groupmod groupadd gpasswd
    passwd
    chpasswd shadow dscl net reg regedit schtasks sc wmic netsh runas role roles iam sts assume
    id_rsa id_dsa id_ecdsa id_ed25519 ssh authorized_keys known_hosts gnupg aws azure gcloud kube kubeconfig
    credentials
    credential netrc pgpass npmrc pypirc env envrc secrets secret token tokens password passwords keychain keyring
    pass
    kdbx vault pem key keys p12 pfx keystore jks wallet cookies cookie login history docker dockercfg config auth
    pip pip3 pipx uv uvx npm npx pnpm yarn bunx dlx gem cpan luarocks brew apt apt_get dpkg yum dnf rpm pacman apk
    snap
    flatpak conda mamba poetry hermes plugin plugins skill skills mcp install clawhub
    crontab cron cronjob at batch systemctl systemd launchctl launchd launchagents launchdaemons service init rc
    autostart
    bashrc bash_profile zshrc zshenv zprofile profile bash_login bash_logout hooks hook githooks pre_commit
    no_verify
    kill pkill killall killall5 xkill taskkill reboot shutdown poweroff halt telinit logrotate journalctl auditctl
    auditd
    rsyslog history unset export set alias trap sysctl modprobe insmod rmmod kexec iptables ip6tables nft ufw
    setenforce
    firewall_cmd mount umount swapoff fallocate fork ulimit logs log agent_ledger ledger policy policy_mode
    prompt_policy
    settings selftest gateway state db sqlite sqlite3
    drop truncate delete alter update grant revoke dropdatabase flushall flushdb drop_database remove_all mongosh
    mongo
    redis redis_cli mysql mysqladmin mariadb psql dropdb pg_restore mysqldump cqlsh influx etcdctl clickhouse bq
    snowsql
    terraform tofu pulumi cdk cdktf serverless sls ansible helm kubectl oc k9s kustomize k3s docker_compose podman
    nerdctl
    az gsutil s3 s3api s3cmd mc doctl linode vultr hcloud flyctl fly heroku vercel netlify wrangler supabase
    firebase
    vagrant virsh qm pct lxc lxd multipass ecs eks gke aks argocd flux nomad consul packer eksctl kops oci ibmcloud
    exo
    soul agents claude cursorrules memories mailto post put publish deploy destroy purge prune force remove
    uninstall
    reset clean checkout restore stash filter_branch filter_repo rebase push
"""
_MARK = "$"


def _table() -> dict[int, str]:
    """What stays of each ASCII character: words in small letters, one mark for what can make a word say another."""
    table = {}
    for code in range(128):
        char = chr(code)
        if char.isalnum() or char == "_":
            table[code] = char.lower()
        elif char in "\\$`*?[{>~!^%":
            table[code] = _MARK
        else:
            table[code] = " "
    return table


_TABLE = str.maketrans({chr(code): char for code, char in _table().items()})

SENSITIVE = frozenset(_WORDS.split()) | {name.translate(_TABLE).split()[0] for name in BY_NAME if name.isascii()}
"""Any of these words, anywhere, and a call is looked at: whatever `commands` knows by name, and names of places."""

_PATH = re.compile(r'"path":\s*"([^"\\]*)"')
_STARTS_WITH_PATH = re.compile(r'["(;&|]\s*(?:\w+=\S*\s+)*\.{0,2}/')


def is_plain(args_text: str) -> bool:
    """May a call with these arguments (JSON text) go by without a closer look?"""
    text = args_text[1:].replace('\\"', "").replace('"', "").replace("'", "").translate(_TABLE)
    return _MARK not in text and SENSITIVE.isdisjoint(text.split())


def plain_file(args_text: str) -> str | None:
    """The path that a writing call names, if nothing about that path asks for a closer look, else None."""
    match = _PATH.search(args_text)
    return match[1] if match and is_plain("{" + match[1]) else None


def runs_a_path(args_text: str) -> bool:
    """Does a command begin with a path, and not with the name of a program?"""
    return _STARTS_WITH_PATH.search(args_text) is not None
