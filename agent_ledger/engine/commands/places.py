"""What a path stands for: the root, a home, the system, a device, a secret, or something made to be thrown away."""

from __future__ import annotations

import re
from functools import lru_cache

from .names import names

_HOME = re.compile(r"(?:~[\w.-]*|\$HOME|\$\{HOME\}|/home/[^/]+|/root|/Users/[^/]+)(?=/|$)")

SYSTEM = names(
    """bin boot dev etc lib lib32 lib64 opt proc root run sbin srv sys usr var System Library Applications Windows"""
)
"""First folders under the root that hold the machine itself, or its data."""

_MADE_AGAIN = names(
    """build dist target out node_modules bower_components .venv venv .virtualenv virtualenv __pycache__
    .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .eggs .cache cache .next .nuxt .output .svelte-
    kit .parcel-cache .turbo .vite .angular .gradle .terraform .serverless .dart_tool .nyc_output coverage
    htmlcov .coverage _build _site site cmake-build-debug cmake-build-release DerivedData .ipynb_checkpoints
    .sass-cache tmp temp .tmp .temp test-results playwright-report storybook-static .docusaurus .expo .build obj
    debug release .eslintcache .stylelintcache"""
)
_MADE_AGAIN_NAME = re.compile(
    r"[\w.*-]*\.egg-info|\*\.py[co]|\*\.o|\*\.class|\*\.tmp|\*\.swp|\*~|\.DS_Store|(?:build|dist|cmake-build|bazel)-[\w.*-]+"
)
_TEMPORARY = re.compile(
    r"(?:/tmp|/var/tmp|/private/tmp|/dev/shm|/var/folders|\$TMPDIR|\$TMP|\$TEMP|\$RUNNER_TEMP)(?=/|$)"
)

_SAMPLES = ("example", "sample", "template", "dist", "defaults", "schema", "test", "pub")
_SECRET_NAMES = names(
    """id_rsa id_dsa id_ecdsa id_ed25519 .netrc _netrc .pgpass .my.cnf .npmrc .pypirc .git-credentials .vault-token
    shadow gshadow .htpasswd master.key wallet.dat key4.db logins.json cookies.sqlite
    application_default_credentials.json credentials.db access_tokens.db .dockercfg secrets.yml secrets.yaml
    secrets.json secrets.env .s3cfg .boto kubeconfig login.keychain login.keychain-db .bash_history_secret
    service-account.json service_account.json"""
)
_SECRET_PATH = re.compile(
    r"""(?:^|/)(?:\.aws/(?:credentials|config|sso|cli)|\.kube/config|\.docker/config\.json|\.config/gcloud
    |\.azure/|\.config/gh/hosts\.yml|\.hermes/(?:profiles/[^/]+/)?(?:\.env|auth\.json)|\.codex/auth\.json
    |\.claude/\.credentials\.json
    |\.gnupg|\.ssh/?$|\.ssh/\*|\.password-store|\.terraform\.d/credentials|etc/sudoers|proc/[^/]+/environ|etc/kubernetes/(?:admin\.conf|pki)
    |run/secrets(?:/|$)|\.local/share/keyrings|Library/Keychains|Login\ Data|\.config/op/|\.cargo/credentials)""",
    re.VERBOSE,
)
_SECRET_SUFFIX = re.compile(r"\.(?:key|ppk|p12|pfx|jks|kdbx?|keystore|keytab)$|(?:priv|key)[\w-]*\.pem$")
_LEDGER = re.compile(
    r"plugin-data/agent-ledger|(?:^|/)(?:policy\.json|policy_mode|prompt_policy\.json|prompt_policy_mode|ledger\.db)(?:-wal|-shm)?$"
)
_DEVICE = re.compile(
    r"/dev/(?:r?disk\d|[svhx]d[a-zA-Z]|nvme\d|mmcblk\d|mapper/|md\d|dm-|loop\d|disk/|mem$|kmem$|nbd|zvol)"
)


def normal(path: str, folder: str = "") -> str:
    """`path` without detours, under `folder` where it is relative and `folder` is known."""
    path = path.replace("${HOME}", "$HOME")
    if folder and path[:1] not in ("/", "~", "$"):
        path = f"{folder.rstrip('/')}/{path}"
    absolute = path.startswith("/")
    kept: list[str] = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == ".." and kept and kept[-1] != ".." and not kept[-1].startswith(("$", "~")):
            kept.pop()
        elif name != ".." or not absolute:
            kept.append(name)
    return ("/" if absolute else "") + "/".join(kept) or ("/" if absolute else ".")


def is_device(path: str) -> bool:
    """A disk, or memory: writing there destroys what it holds."""
    return _DEVICE.match(path) is not None


def is_ledger(path: str) -> bool:
    """A file of this ledger or of its policies."""
    return _LEDGER.search(path) is not None


def is_secret(path: str) -> bool:
    """Does this file hold keys, passwords or tokens, going by where it lies and how it is called?"""
    if "/" not in path and "." not in path and "_" not in path and path != "shadow":
        return False
    name = path.rstrip("/").rpartition("/")[2]
    lowered = name.lower()
    if lowered == ".env" or lowered == ".envrc" or lowered.startswith(".env."):
        return not any(word in lowered for word in _SAMPLES)
    if name in ("shadow", "gshadow"):
        return path.startswith("/etc/")
    if name in _SECRET_NAMES or _SECRET_PATH.search(path):
        return True
    return _SECRET_SUFFIX.search(lowered) is not None and not any(word in lowered for word in _SAMPLES)


_PIECE = str.maketrans({char: char.lower() if char.isalnum() else " " for char in map(chr, range(128)) if char != "_"})
SECRET_PIECES = names(
    """env envrc shadow gshadow aws kube azure hosts hermes codex claude ssh password terraform etc proc
    kubernetes secrets share library login config cargo key ppk p12 pfx jks kdb kdbx keystore keytab pem"""
) | {max(name.lower().translate(_PIECE).split(), key=len) for name in _SECRET_NAMES}
"""Of every path that `is_secret` knows, one piece between dots, slashes and the like; `.gnupg` has none."""


def may_hold_secret(text: str) -> bool:
    """False where no path in `text` (ASCII) can be one of which `is_secret` is true: quicker than asking for each."""
    return "gnupg" in text or not SECRET_PIECES.isdisjoint(text.translate(_PIECE).split())


def is_temporary(path: str) -> bool:
    """Below a folder for temporary files, and not that folder itself."""
    match = _TEMPORARY.match(path)
    return match is not None and len(path) > match.end() + 1


def is_made_again(path: str) -> bool:
    """A build's output, a cache, an environment: the next build makes it again. Never right under the root."""
    names = path.split("/")
    last = names[-1] or (names[-2] if len(names) > 1 else "")
    if path.startswith("/"):
        if len(names) < 3 or (names[1] in SYSTEM and not _HOME.match(path) and names[1] not in ("srv", "opt", "var")):
            return False
        if names[1] in ("srv", "opt", "var") and len(names) < 4:
            return False
    home = _HOME.match(path)
    if home and path[home.end() :].startswith("/.cache/"):
        return True
    if home and path[home.end() :].count("/") < 2:
        return False
    if last in ("*", "**", ".*") and len(names) > 1:
        last = names[-2]
    return any(name in ("node_modules", "__pycache__") for name in names) or _again(last)


def _again(name: str) -> bool:
    return name in _MADE_AGAIN or _MADE_AGAIN_NAME.fullmatch(name) is not None


@lru_cache(maxsize=256)
def weight_of_loss(path: str) -> str:
    """How bad is it to lose this tree: "", "LOW", "MEDIUM", "HIGH" or "CRITICAL"; `path` in normal form."""
    if is_temporary(path) or is_made_again(path):
        return ""
    bare = path.rstrip("/*") if path not in ("*", "**") else "."
    if bare in ("", ".", "..", "./.", ".git") or path in ("*", "**", ".*") or set(bare) <= set("./"):
        return "CRITICAL"
    home = _HOME.match(path)
    if home and len(bare) <= home.end():
        return "CRITICAL"
    if path.startswith("/"):
        first = bare.split("/")[1]
        if home:
            return "HIGH"
        if first in SYSTEM or bare.count("/") == 1:
            return "CRITICAL"
    return "HIGH"
