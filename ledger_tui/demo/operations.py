"""Chats of people who run things: a harbour's servers, a night job, a shop's web site. All of it is invented."""

from __future__ import annotations

from dataclasses import replace

from ledger_tui.demo.making import cancelled, exits, failed, heard_late, lost, mcp, patch, read, refused, shell, write
from ledger_tui.demo.story import Call, Chat, Ending, Turn

MIN, HOUR = 60.0, 3600.0

OPS = Chat(
    name="ops",
    source="discord",
    title="#harbour-ops",
    user_id="5120001",
    chat_id="880012",
    chat_type="group",
    turns=(
        Turn(
            -22 * HOUR,
            "Disk on pier-3 is at 91 %. Clean up what is safe to clean up.",
            (
                shell("ssh pier-3 df -h /var", "/dev/sda2  91%"),
                shell("ssh pier-3 journalctl --vacuum-size=400M", "Vacuuming done, freed 3.1G", takes=9.0),
                refused(
                    shell("ssh pier-3 find /srv/archive -mtime +30 -exec shred {} +"),
                    "deleting below /srv/archive needs a person",
                ),
                shell("ssh pier-3 df -h /var", "/dev/sda2  74%"),
            ),
            "Down to 74 %. I was not allowed to touch /srv/archive.",
        ),
        Turn(
            -9.5 * HOUR,
            "Release tide-gauge 4.2 to staging.",
            (
                shell("git -C ~/tide-gauge tag -a v4.2 -m 'tide-gauge 4.2'"),
                shell("git -C ~/tide-gauge push origin main v4.2", "To git.harbour.example: main -> main", takes=4.0),
                exits(shell("make -C ~/tide-gauge deploy-staging", takes=48.0), 2, "migration 0042 failed: lock wait"),
            ),
            "The tag is pushed; the deployment stopped at migration 0042.",
        ),
        Turn(
            -9.3 * HOUR,
            "Try again.",
            (
                shell("git -C ~/tide-gauge push origin main v4.2", "Everything up-to-date", takes=2.0),
                shell("make -C ~/tide-gauge deploy-staging ATTEMPT=2", "staging runs v4.2", takes=61.0),
                shell(
                    "curl -fsS -X POST https://status.harbour.example/api/notes -H 'Authorization: Bearer "
                    "demo-not-a-real-key-0001' -d 'staging runs v4.2'",
                    '{"id": 311}',
                ),
            ),
            "Staging runs v4.2, and the status page says so.",
        ),
        Turn(
            -5.1 * HOUR,
            "Take a snapshot of the ledger volume before the maintenance.",
            tuple(
                replace(shell("zfs snapshot tank/harbour@before-maintenance", "ok"), takes=1.0 + place)
                for place in range(4)
            ),
            "The snapshot is there.",
        ),
        Turn(
            -4.9 * HOUR,
            "Rotate the metrics database password.",
            (
                shell("PGPASSWORD=not-a-real-one psql -h pier-4 -c 'ALTER ROLE metrics VALID UNTIL tomorrow'", "ALTER"),
                cancelled(shell("ansible-playbook rotate.yml --limit pier-4", takes=22.0)),
            ),
            "Stopped, as you asked. Only the expiry date has changed.",
        ),
        Turn(
            -41 * MIN,
            "Fail the night ferry's mooring sensor over to pier-5.",
            (
                failed(
                    mcp("moorings__failover", {"sensor": "night-ferry", "to": "pier-5"}, None, takes=6.0),
                    "PermissionError",
                    {"error": "role 'agent' may not move sensors"},
                ),
                heard_late(
                    mcp("pager__create_incident", {"title": "night-ferry sensor", "severity": 3}, {"id": "inc-90"}),
                    after=42.3 * MIN,  # While somebody watches.
                ),
            ),
            "I may not move that sensor. I have opened an incident.",
        ),
        Turn(
            -33 * MIN, "Which incident?", (), "I cannot tell: nothing confirms that it was opened. Look before relying."
        ),
        Turn(
            -52.0,
            "Rebuild the charts image and push it.",
            (
                shell(
                    "docker build -t registry.harbour.example/charts:4.2 . && docker push registry.harbour.example/"
                    "charts:4.2",
                    "pushed",
                    takes=88.0,
                ),
            ),
            "Built and pushed.",
        ),
    ),
    small_talk=(
        Turn(
            0,
            "Acknowledge alert {n}.",
            (
                mcp("pager__acknowledge", {"alert": "al-{n}"}, {"ok": True}),
                shell("logger -t ops 'alert {n} acknowledged'", takes=0.3),
            ),
            "Acknowledged.",
        ),
        Turn(
            0,
            "Restart the relay on pier-{n}.",
            (
                shell("ssh pier-{n} systemctl restart relay", takes=5.5),
                shell("ssh pier-{n} systemctl is-active relay", "active", takes=0.7),
            ),
            "It is active again.",
        ),
        Turn(
            0,
            "Reload the gateway rules, change {n}.",
            (exits(shell("nft -f /etc/harbour/rules-{n}.nft", takes=0.9), 1, "rules-{n}.nft:14: syntax error"),),
            "Line 14 has a syntax error; nothing was loaded.",
        ),
    ),
)


NIGHTLY = Chat(
    name="nightly",
    source="cron",
    title="Nightly backup",
    turns=(
        Turn(
            -10.4 * HOUR,
            "Back up the photo archive and report.",
            (
                shell("restic -r /mnt/vault backup ~/photos", "added 412 files, 2.1 GiB", takes=340.0),
                shell("restic -r /mnt/vault forget --keep-daily 14 --prune", "removed 3 snapshots", takes=75.0),
                lost(shell("rsync -a --delete /mnt/vault/ backup@far-shelf.example:vault/", takes=900.0)),
            ),
            "",
        ),
    ),
    ends="cron_incomplete_no_output",
)


SITE = Chat(
    name="site",
    source="cli",
    title="Flower shop site",
    turns=(
        Turn(
            -7.5 * HOUR,
            "Make the opening hours a table, and let someone else cut the thumbnails.",
            (
                read("site/hours.html"),
                patch("site/hours.html", "<ul>", "<table>"),
                write("site/hours.css", "table { border-collapse: collapse }\n" * 3),
                Call(
                    "delegate_task",
                    {"goal": "Cut a 320 px thumbnail of every picture in site/img", "context": "Keep the originals."},
                    {"status": "dispatched", "subagent_id": "sa-0-4be1"},
                    1.1,
                ),
            ),
            "The hours are a table now; the thumbnails are being made.",
        ),
        Turn(
            -6.8 * HOUR,
            "Rename all product pages to lower case and fix the links.",
            (
                Call(
                    "execute_code",
                    {"code": "for page in pages:\n    rename(page)\nfix_links()\n"},
                    {"output": "31 pages renamed, 4 links fixed", "exit_code": 0},
                    24.0,
                    inside=(
                        shell("git mv site/Roses.html site/roses.html"),
                        write("site/roses.html", "<h1>Roses</h1>\n"),
                        write("site/redirects.map", "/Roses.html /roses.html;\n"),
                    ),
                ),
                shell("git commit -am 'Lower-case page names'", "[main 4fe0d1c] 31 files changed"),
            ),
            "Done, with redirects from the old names.",
        ),
        Turn(
            -6.1 * HOUR,
            "Write the whole price list into one page.",
            (
                write(
                    "site/prices.html",
                    "<table>\n"
                    + "".join(f"<tr><td>Bouquet no. {i}</td><td>{9 + i % 23}.50</td></tr>\n" for i in range(1, 160))
                    + "</table>\n",
                ),
                Call(
                    "patch",
                    {},
                    {"error": "the arguments are no JSON"},
                    0.1,
                    Ending("error", "invalid_tool_arguments"),
                    runs=False,
                    announced=0,
                ),
            ),
            "All 159 bouquets are on one page.",
        ),
    ),
    small_talk=(
        Turn(
            0,
            "Add bouquet {n} to the page of the week.",
            (
                read("site/week.html"),
                write("site/week/bouquet-{n}.html", "<h2>Bouquet no. {n}</h2>\n<p>Fresh today.</p>\n"),
                shell("git commit -qam 'Bouquet {n}'", takes=0.5),
            ),
            "It is on the page.",
        ),
        Turn(
            0,
            "Check the site, run {n}.",
            (shell("make -C site check RUN={n}", "checked 31 pages", takes=7.0),),
            "All links work.",
        ),
    ),
)


THUMBNAILS = Chat(
    name="thumbs",
    source="subagent",
    title=None,
    child_of="site",
    turns=(
        Turn(
            -7.48 * HOUR,
            "Cut a 320 px thumbnail of every picture in site/img. Keep the originals.",
            (
                shell("mkdir -p site/img/small"),
                shell("mogrify -path site/img/small -resize 320x site/img/*.jpg", takes=38.0),
                write("site/img/small/INDEX", "58 pictures\n"),
            ),
            "58 thumbnails are in site/img/small.",
        ),
    ),
    ends="cli_close",
)


OPERATIONS = (OPS, NIGHTLY, SITE, THUMBNAILS)
