"""Signatures: what lives elsewhere and is deleted there, by the tools that run services, clusters and stores.

Such tools share one grammar: nouns, then a verb, then names. The verb is found by its meaning, whichever tool it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import names
from .removing import split_options
from .run import Found, Run

_TOOLS = names(
    """aws awslocal az gcloud gsutil bq gh glab hub vault bao op doppler infisical akeyless bw lpass pass
    heroku flyctl fly vercel now netlify railway render wrangler supabase firebase amplify serverless sls
    cdk sam copilot eb pulumi terraform tofu terragrunt cdktf kubectl oc k9s helm helmfile flux argocd argo
    istioctl linkerd eksctl kops minikube kind k3d velero restic borg borgmatic rclone duplicity duplicacy
    kopia wal-g pgbackrest barman nats rabbitmqctl rabbitmqadmin circleci gitlab-runner jenkins-cli
    jenkins-cli.jar travis buildkite-agent bk drone tkn doctl linode-cli hcloud scw oci ibmcloud aliyun
    tccli exo civo upctl vultr-cli openstack nova cinder swift ovhcloud mc s3cmd b2 s5cmd azcopy consul
    nomad boundary etcdctl zkCli.sh atlas pscale neonctl turso cockroach influx ccloud confluent rpk
    pulsar-admin auth0 okta stripe twilio ldcli launchdarkly sentry-cli newrelic datadog-ci pd cf
    cloudflared flarectl virsh VBoxManage vboxmanage multipass vagrant zfs zpool btrfs ceph rados rbd
    gluster lxc incus qm pct ansible-vault meilisearch algolia kcat kafkactl temporal tctl fastly akamai
    cfcli dnscontrol mongocli sfctl eas expo shopify contentful sanity planetscale convex clickhousectl snow
    databricks dbfs aptible platform upsun clever dokku caprover kamal rsc tower grafana-cli grafanactl
    logcli promtool amtool mkcert step podman docker nerdctl docker-compose podman-compose crictl buildah
    skopeo regctl crane oras"""
)
_KAFKA = re.compile(
    r"kafka-(?:topics|consumer-groups|acls|configs|delete-records|storage|streams-application-reset|dump-log)(?:\.sh)?"
)
_DESTROY = re.compile(
    r"(?:batch[-_])?(?:delete|destroy|purge|terminate|wipe|erase|drop|nuke|obliterate|destroy_?all|remove|rm|rb|del|rmdirs?"
    r"|deregister|unregister|unsubscribe|deprovision|decommission|teardown|uninstall|empty|flush|undeploy|forget|expunge"
    r"|unregistervm|undefine|schedule[-_](?:key|secret)[-_]deletion|clear|force[-_]reset|hard[-_]delete"
    r"|rimraf|unlist|revoke|disable|reset|prune|destroy-[\w-]+)(?:[-_:][\w-]+)*"
)
_DESTROYING_OPTION = re.compile(r"--(?:delete|remove|purge|destroy)(?:-all|-excluded|-before|-after)?")
_MILD = re.compile(r"(?:reset|clear)(?![-_])")
"""Verbs that set something back in most tools, and lose data only in those named beside them."""
_RESET_LOSES = names("rabbitmqctl algolia supabase heroku nats")
_REHEARSAL = names(
    "--dry-run --dryrun --help -h --what-if --noop --no-op help --dry-run=client --dry-run=server --preview --plan"
)


def service(run: Run) -> Iterator[Found]:
    """A verb that destroys, in its place among the first words."""
    arguments = run.arguments
    if any(word in _REHEARSAL for word in arguments):
        return
    name = run.name
    special = _SPECIAL.get(name)
    if special is not None:
        done = list(special(run))
        yield from done
        if done or name in _ONLY_SPECIAL:
            return
    nouns: list[str] = []
    for word in leading(arguments):
        if _DESTROY.fullmatch(word) and not word.endswith(("-protection", "-delete-disabled")):
            yield _severity(name, nouns, word, arguments)
            return
        nouns.append(word)
    if name not in ("qm", "pct") and any(_DESTROYING_OPTION.fullmatch(word) for word in arguments):
        yield "cloud-delete", "HIGH", f"has {name} delete or remove by an option", " ".join(nouns)


def leading(arguments: list[str], most: int = 5) -> list[str]:
    """The first words that are neither options nor, as far as their looks tell, values of options."""
    found: list[str] = []
    before = ""
    for word in arguments:
        if word.startswith("-"):
            before = (
                "" if "=" in word or word in ("--verbose", "-v", "--debug", "-y", "--yes", "-f", "--force") else word
            )
            continue
        if before and not _DESTROY.fullmatch(word):
            before = ""
            continue
        before = ""
        found.append(word)
        if len(found) >= most:
            break
    return found


def _severity(name: str, nouns: list[str], verb: str, arguments: list[str]) -> Found:
    target = " ".join([*nouns, *[word for word in arguments[-2:] if not word.startswith("-") and word not in nouns]])
    mild = (_MILD.match(verb) and name not in _RESET_LOSES) or (name in ("pct", "qm") and verb != "destroy")
    return (
        "cloud-delete",
        "MEDIUM" if mild else "HIGH",
        f"has {name} {verb} something that lives elsewhere",
        target.replace(verb, "").strip(),
    )


def _aws(run: Run) -> Iterator[Found]:
    words = leading(run.arguments)
    operation = words[1] if len(words) > 1 else ""
    if words[:1] == ["s3"]:
        deletes = "--delete" in run.arguments
        if (operation in ("rm", "rb", "mv") and (operation != "mv" or "--recursive" in run.arguments)) or (
            operation == "sync" and deletes
        ):
            yield (
                "cloud-delete",
                "HIGH",
                "deletes objects in a bucket",
                next((w for w in reversed(words) if w.startswith("s3:")), ""),
            )
    elif operation in ("put-secret-value", "update-secret"):
        yield "secret-overwrite", "HIGH", "overwrites a stored secret", ""
    elif operation in ("put-bucket-acl", "put-object-acl") and any("public" in word for word in run.arguments):
        yield "permissions-open", "HIGH", "opens a bucket to everybody", ""
    elif operation in ("stop-instances", "detach-volume", "modify-db-instance", "reboot-instances"):
        yield "cloud-change", "MEDIUM", "stops or changes something that runs elsewhere", ""


def _kubectl(run: Run) -> Iterator[Found]:
    words = leading(run.arguments)
    verb = words[0] if words else ""
    flags = set(run.arguments)
    if verb == "delete":
        small = len(words) > 1 and words[1].split("/")[0] in ("pod", "pods", "po", "job", "jobs", "event", "events")
        wide = flags & {"--all", "--force", "-A", "--all-namespaces", "--grace-period=0", "-l"} or "$" in " ".join(
            words
        )
        yield (
            "cloud-delete",
            "MEDIUM" if small and not wide else "HIGH",
            "deletes things of a cluster",
            " ".join(words[1:]),
        )
    elif verb == "drain" or (verb == "scale" and "--replicas=0" in flags):
        yield "cloud-change", "HIGH", "empties a node or a service of a cluster", " ".join(words[1:])
    elif verb == "replace" and "--force" in flags:
        yield "cloud-delete", "HIGH", "deletes things of a cluster and makes them anew", ""
    elif verb in ("cordon", "taint", "rollout") and words[1:2] != ["status"] and words[1:2] != ["history"]:
        yield "cloud-change", "LOW", "changes what a cluster runs", " ".join(words[1:])


def _terraform(run: Run) -> Iterator[Found]:
    words = leading(run.arguments)
    verb = words[0] if words else ""
    flags = {word.lstrip("-") for word in run.arguments}
    if verb == "destroy" or (verb == "apply" and "destroy" in flags) or (verb in ("run-all",) and "destroy" in words):
        yield "cloud-delete", "HIGH", "destroys everything that this folder describes", ""
    elif words[:2] in (["state", "rm"], ["workspace", "delete"], ["state", "push"]) or verb == "force-unlock":
        yield "cloud-delete", "HIGH", "removes what is known about things that run", " ".join(words[2:])
    elif verb == "apply" and "auto-approve" in flags:
        yield "cloud-change", "MEDIUM", "changes what runs without asking", ""


def _docker(run: Run) -> Iterator[Found]:
    words = leading(run.arguments)
    flags, _ = split_options(run.arguments)
    pair = tuple(words[:2])
    force = bool(flags & {"f", "--force"})
    every = any(word.startswith("$(") for word in run.arguments)
    if pair == ("system", "prune") or (
        pair[1:] == ("prune",) and pair[0] in ("volume", "builder") and (pair[0] == "volume" or "a" in flags)
    ):
        yield "cloud-delete", "HIGH", "deletes what containers left behind, data among it", " ".join(pair)
    elif pair in (("volume", "rm"), ("volume", "remove")):
        yield "cloud-delete", "HIGH", "deletes volumes with their data", " ".join(words[2:])
    elif "down" in words and flags & {"v", "--volumes"}:
        yield "cloud-delete", "HIGH", "deletes volumes with their data", " ".join(words)
    elif pair in (("swarm", "leave"), ("stack", "rm"), ("service", "rm"), ("secret", "rm"), ("machine", "rm")):
        yield "cloud-delete", "HIGH", "removes something that runs", " ".join(words)
    elif words[:1] in (["rm"], ["rmi"]) or pair in (("container", "rm"), ("image", "rm")) or pair[1:] == ("prune",):
        severe = ((force or every) and "rm" in words[:2]) or (pair[1:] == ("prune",) and flags & {"a", "--all"})
        yield "container-delete", "HIGH" if severe else "LOW", "removes containers or images", " ".join(words[1:])


_RCLONE = names("delete deletefile purge rmdir rmdirs move moveto sync bisync cleanup dedupe")
_BACKUP_VERBS = names("forget prune delete compact expire recreate cleanup remove-all-but-n-full")


def _rclone(run: Run) -> Iterator[Found]:
    words = leading(run.arguments, 3)
    asks = {"-n", "--interactive", "-i"} & set(run.arguments)
    if words and words[0] in _RCLONE and not asks:
        yield "cloud-delete", "HIGH", f"rclone {words[0]} deletes files", words[-1]


def _backups(run: Run) -> Iterator[Found]:
    words = leading(run.arguments, 3)
    if words and words[0] in _BACKUP_VERBS and "-n" not in run.arguments:
        yield "cloud-delete", "HIGH", "removes backups", words[-1]


def _vault(run: Run) -> Iterator[Found]:
    words = leading(run.arguments)
    if words[:1] == ["delete"] or set(words[:3]) & {
        "disable",
        "destroy",
        "delete",
        "revoke",
        "seal",
        "rekey",
        "step-down",
    }:
        yield "cloud-delete", "HIGH", "removes secrets, or the way to them", words[-1]


def _kafka(run: Run) -> Iterator[Found]:
    if any(
        word in ("--delete", "--remove", "--delete-config", "--reset-offsets", "--delete-offsets", "--force")
        for word in run.arguments
    ):
        if "--reset-offsets" not in run.arguments or "--execute" in run.arguments:
            yield "cloud-delete", "HIGH", "deletes topics, groups, rights or settings", ""
    elif run.name.startswith("kafka-delete-records"):
        yield "cloud-delete", "HIGH", "deletes records", ""


def _gh(run: Run) -> Iterator[Found]:
    words = leading(run.arguments)
    method = next((run.arguments[i + 1] for i, w in enumerate(run.arguments[:-1]) if w in ("-X", "--method")), "")
    if any(word in ("-XDELETE", "--method=DELETE") for word in run.arguments):
        method = "DELETE"
    if words[:1] == ["api"] and method.upper() == "DELETE":
        yield "cloud-delete", "HIGH", "deletes something by the service's interface", words[-1]
    elif words[:2] in (["repo", "archive"], ["auth", "token"]):
        yield "cloud-change", "MEDIUM", "archives a repository, or shows a token", words[-1]


def _heroku(run: Run) -> Iterator[Found]:
    verb = run.arguments[0] if run.arguments else ""
    if re.search(r":(?:destroy|delete|reset|remove|unset|clear|purge|rollback)$", verb):
        yield "cloud-delete", "HIGH", f"heroku {verb}", " ".join(run.arguments[1:3])


def _storage(run: Run) -> Iterator[Found]:
    """Volumes of this machine: their verbs are short, and nothing brings them back."""
    words = leading(run.arguments)
    if {"-h", "--help"} & set(run.arguments):
        return
    if run.name in ("zfs", "zpool") and words[:1] and words[0] in ("destroy", "rollback", "labelclear"):
        yield "disk-write", "CRITICAL", "destroys a file system or its snapshots", words[-1]
    elif run.name == "btrfs" and words[1:2] == ["delete"]:
        yield "disk-write", "HIGH", "deletes a subvolume", words[-1]
    elif run.name in ("lvremove", "vgremove", "pvremove"):
        # Without force they ask, and refuse what is in use.
        forced = any(re.fullmatch(r"-[a-z]*f[a-z]*|--force|-y|--yes", word) for word in run.arguments)
        forced = forced and (run.name != "pvremove" or any(word.count("f") > 1 for word in run.arguments))
        yield "disk-write", "CRITICAL" if forced else "MEDIUM", "removes a volume", words[-1] if words else ""
    elif run.name == "cryptsetup" and words[:1] and words[0] in ("luksFormat", "luksErase", "erase", "reencrypt"):
        yield "disk-write", "CRITICAL", "makes an encrypted volume unreadable", words[-1]
    elif run.name == "mdadm" and any(word in ("--zero-superblock", "--remove", "--stop") for word in run.arguments):
        yield "disk-write", "CRITICAL", "takes a disk array apart", words[-1] if words else ""
    elif run.name == "bcachefs" and words[:1] == ["format"] and words[-1].startswith("/dev/"):
        yield "disk-write", "CRITICAL", "puts a new file system over a disk", words[-1]
    elif (
        run.name == "diskutil"
        and words[:1]
        and words[0].lower() in ("erasedisk", "erasevolume", "partitiondisk", "zerodisk", "secureerase")
    ):
        yield "disk-write", "CRITICAL", "erases a disk", words[-1]


def _registries(run: Run) -> Iterator[Found]:
    """What others install from is taken away."""
    words = leading(run.arguments)
    if words[:1] and words[0] in ("unpublish", "yank", "deprecate"):
        yield "cloud-delete", "HIGH", "takes a published package away", words[-1]


def _java(run: Run) -> Iterator[Found]:
    """`java -jar jenkins-cli.jar … delete-job`."""
    jar = next((place for place, word in enumerate(run.arguments) if word.endswith("-cli.jar")), None)
    if jar is not None:
        yield from service(Run(run.arguments[jar].rpartition("/")[2], run.arguments[jar + 1 :], run.stdin, run.folder))


_SPECIAL = {
    "aws": _aws, "awslocal": _aws, "kubectl": _kubectl, "oc": _kubectl, "terraform": _terraform, "tofu": _terraform,
    "terragrunt": _terraform, "docker": _docker, "podman": _docker, "nerdctl": _docker, "docker-compose": _docker,
    "podman-compose": _docker, "rclone": _rclone, "restic": _backups, "borg": _backups, "duplicity": _backups,
    "kopia": _backups, "vault": _vault, "bao": _vault, "gh": _gh, "glab": _gh, "heroku": _heroku,
    "zfs": _storage, "zpool": _storage, "btrfs": _storage,
}  # fmt: skip
_ONLY_SPECIAL = names(
    "kubectl oc terraform tofu docker podman nerdctl docker-compose podman-compose rclone zfs zpool btrfs"
)

SIGNATURES = {
    **dict.fromkeys(_TOOLS, service), "java": _java, "npm": _registries, "cargo": _registries, "gem": _registries,
    "yarn": _registries, "pnpm": _registries,
    **dict.fromkeys(("lvremove", "vgremove", "pvremove", "cryptsetup", "mdadm", "bcachefs", "diskutil"), _storage),
}  # fmt: skip


def by_pattern(run: Run) -> Iterator[Found]:
    """Families of tools that share the start of their names."""
    if _KAFKA.fullmatch(run.name):
        yield from _kafka(run)
