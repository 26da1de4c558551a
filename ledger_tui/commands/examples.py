"""What `--help` shows below the options: the command at work, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

Example = tuple[str, str]
"""What is typed after `ledger-tui`, and what comes of it."""

EXAMPLES: Mapping[str, Sequence[Example]] = {
    "": (
        ("", "open the app on ~/.hermes"),
        ("demo", "see it at work first, on a simulated agent"),
        ("--profile work calls --state ghost", "which calls of this profile were lost?"),
        ("--all-profiles status", "the home and all its profiles"),
        ("--source postgresql://db.example/fleet --host ada", "what another machine shipped, live"),
        ("--source postgresql://db.example/fleet --all-hosts status", "all that was shipped"),
        ("--plain", "what the app would show first, to be read aloud"),
        ("--ledger copy.db --state state.db status", "look at copies"),
    ),
    "status": (
        ("status", "one look at a home"),
        ("status --json | jq .ledger.ghost", "how many were lost, for a script"),
        ("status --fail-on ghost || echo lost", "do something where a call was lost"),
    ),
    "calls": (
        ("calls --since 24h", "what was done since yesterday"),
        ("calls --state ghost,overdue", "what never reported back"),
        ("calls --tool terminal --text 'git push'", "pushes, whoever made them"),
        ("calls --json | jq '.[-1]'", "the newest call in full"),
    ),
    "watch": (
        ("watch", "follow what happens; Ctrl-C ends it"),
        ("watch --json | jq -c 'select(.kind == \"ghost\")'", "only what was lost, for an alert"),
    ),
    "verify": (
        ("verify", "look for traces of everything unconfirmed"),
        ("verify 41 57", "of these two calls"),
    ),
    "sessions": (
        ("sessions --anomalies-only", "only what does not fit"),
        ("sessions --source telegram --limit 50", "the chats of one platform"),
        ("sessions --ignore 20260806_161836_04c1 orphan", "that one is known, do not mention it again"),
    ),
    "posture": (
        ("posture --since 7d", "the score of this week, finding by finding"),
        ("posture backup/ledger.db", "of another ledger"),
        ("posture --json | jq .score", "the number alone"),
    ),
    "ledger-check": (
        ("ledger-check", "is every recorded call as it was written?"),
        ('ledger-check --expect "$(cat noted-head)"', "is the head that you noted still part of it?"),
    ),
    "prune": (
        ("prune --keep 10000", "what would go?"),
        ("prune --keep 10000 --apply", "let it go"),
    ),
    "repair-routing": (
        ("repair-routing", "what is lost, and what would be written? Changes nothing"),
        ("repair-routing --apply --only ID", "bring this one conversation back"),
        ("repair-routing --choose LOST=OLDER --apply", "you know which one it continues"),
    ),
    "repair-undo": (
        ("repair-undo --list", "which repairs there were"),
        ("repair-undo", "take the newest one back"),
    ),
    "ship": (
        ("ship --to postgresql://db.example/ledgers", "send what is recorded to a server, until Ctrl-C"),
        ("ship --to postgresql://db.example/ledgers --once", "one round, for a timer"),
    ),
    "serve": (
        ("serve --open", "the app in your browser, until Ctrl-C"),
        ("--profile work serve --port 8181", "on a port that an SSH tunnel leads to"),
    ),
    "doctor": (
        ("doctor", "what is wrong here, and what to do about it"),
        ("doctor --json | jq '.[] | select(.state == \"fail\")'", "only what does not work"),
    ),
    "demo": (
        ("demo", "the app on a simulated agent"),
        ("demo --scenario lost-cron", "how a cron job gets lost"),
        ("demo --headless --home /tmp/demo", "only make its home, for other commands"),
    ),
    "completion": (
        ("completion zsh > ~/.zfunc/_ledger-tui", "once; new shells complete, if that folder is in fpath"),
        ("completion fish | source", "in this shell only"),
    ),
    "tmux": (
        ("tmux >> ~/.tmux.conf", "status bar, popup and layout, about ~/.hermes"),
        ("--profile work tmux", "the same about a profile, to look at first"),
    ),
    "config": (("config check", "is everything in your file understood?"),),
    "config show": (
        ("config show", "what counts now, with every action that may get a key"),
        ("config show > new.toml", "a file to start from"),
    ),
    "config path": (("config path", "where the file belongs"),),
    "config check": (("config check", "everything that is wrong, a line each"),),
    "policy": (("policy test 'rm -rf build'", "what would the rules say?"),),
    "policy report": (("policy report --since 7d", "what was refused, or would have been"),),
    "policy test": (
        ("policy test 'git push --force'", "one command"),
        ('policy test --tool write_file \'{"path": "/etc/hosts"}\'', "another tool, its arguments as JSON"),
        ("policy test --stdin < calls.jsonl", "many calls, a verdict a line"),
    ),
    "policy replay": (
        ("policy replay --since 30d", "what would this policy have refused last month?"),
        ("policy replay --policy stricter.json", "and what would that one?"),
    ),
    "policy lint": (("policy lint --policy new.json", "can this file be used? Mistakes come with their line"),),
    "prompt-policy": (("prompt-policy test 'my card is 4111 1111 1111 1111'", "would this be sent?"),),
    "prompt-policy test": (
        ("prompt-policy test 'my card is 4111 1111 1111 1111'", "one message"),
        ("prompt-policy test --stdin < messages.jsonl", "many messages, a verdict a line"),
    ),
    "prompt-policy lint": (("prompt-policy lint", "can the file in this home be used?"),),
    "export": (("export calls --format csv --since 7d -o week.csv", "a week for a spreadsheet"),),
    "export calls": (
        ("export calls --format csv --since 7d -o week.csv", "a week for a spreadsheet"),
        ("export calls --format md --state ghost", "what was lost, for a report"),
    ),
    "export posture": (("export posture --format md -o posture.md", "score and findings, for a report"),),
    "export sessions": (
        ("export sessions --format json --anomalies-only", "what does not fit, without any message in it"),
    ),
    "plugin": (
        ("plugin status", "is it there, and does the host load it?"),
        ("plugin install", "put it into ~/.hermes and enable it"),
    ),
    "plugin install": (
        ("plugin install", "a copy in ~/.hermes"),
        ("--profile work plugin install --link", "a link in a profile, which follows updates"),
    ),
    "plugin uninstall": (("plugin uninstall", "take it out; the recorded calls stay"),),
    "plugin status": (("plugin status --json | jq .enabled", "for a script"),),
}
"""By the words of the command; "" is the program itself."""

_CODES: Mapping[int, str] = {
    0: "done",
    1: "found what it was to look for",
    2: "wrong usage",
    3: "something cannot be read or written",
    4: "refused for safety",
    130: "interrupted",
}

_ALSO: Mapping[str, Mapping[int, str]] = {
    "status": {1: "what --fail-on names is there"},
    "watch": {0: "ended with Ctrl-C"},
    "serve": {0: "ended with Ctrl-C", 3: "the port cannot be listened on, or a file cannot be read"},
    "ledger-check": {1: "it is not whole, or lacks the head"},
    "config check": {1: "something in the file is wrong"},
    "repair-routing": {1: "done, but its proof does not hold", 4: "refused for safety"},
    "repair-undo": {1: "done, but its proof does not hold", 4: "refused for safety"},
    "prune": {4: "refused: this ledger is not ours to change"},
    "sessions": {4: "refused: what was set aside is not ours to change"},
    "demo": {4: "refused: that folder is no demo's"},
    "export calls": {4: "refused: the file is not to be replaced"},
    "export posture": {4: "refused: the file is not to be replaced"},
    "export sessions": {4: "refused: the file is not to be replaced"},
    "plugin install": {4: "refused: what is there is not ours"},
    "plugin uninstall": {4: "refused: what is there is not ours"},
    "": _CODES,
}
"""Exit codes beyond 0, 2 and 3, or with another meaning."""


def attach(app: typer.Typer) -> None:
    """Put examples and exit codes below the help of every command that `app` has by now."""
    app.info.epilog = epilog("")
    for command in app.registered_commands:
        command.epilog = epilog(command.name or "")
    for group in app.registered_groups:
        group.epilog = epilog(group.name or "")
        for command in group.typer_instance.registered_commands if group.typer_instance else ():
            command.epilog = epilog(f"{group.name} {command.name}")


def epilog(name: str) -> str:
    """The text below the options of a command. Lines after a backspace are left as they are by the formatter."""
    lines = [line for typed, meaning in EXAMPLES.get(name, ()) for line in (f"  $ {shown(typed)}", f"      {meaning}")]
    exits = [f"  {code:<4}{meaning}" for code, meaning in exit_codes(name).items()]
    examples = ["Examples:", *lines] if lines else []
    return "\n".join([*(["\b", *examples, ""] if examples else []), "\b", "Exit codes:", *exits])


def exit_codes(name: str) -> dict[int, str]:
    """How a command may end, in the order of the codes."""
    return dict(sorted(({code: _CODES[code] for code in (0, 2, 3)} | dict(_ALSO.get(name, {}))).items()))


def shown(typed: str) -> str:
    """The whole line that is typed."""
    return f"ledger-tui {typed}".rstrip()
