"""`completion`: a script by which bash, zsh or fish completes this program's words without starting it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from agent_ledger.engine.records import STATES
from ledger_tui.commands.command_tree import Command, commands
from ledger_tui.commands.errors import usage
from ledger_tui.commands.export import FORMATS
from ledger_tui.commands.output import say
from ledger_tui.commands.status import FAIL_ON

SHELLS = ("bash", "zsh", "fish")

FOLDER, FILE, ANYTHING = "/", ".", "+"
"""How the scripts mark a value that is no word of ours. (`echo -` says nothing in zsh.)"""

_VALUES = {
    "STATE": " ".join(STATES),
    "WHAT": " ".join(FAIL_ON),
    "FORMAT": " ".join(FORMATS),
    "SHELL": " ".join(SHELLS),
    "DIR": FOLDER,
    **dict.fromkeys(("PATH", "FILE", "LEDGER"), FILE),
}
"""What may stand for each word in capitals of the help."""


def printed(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SHELLS)}.")],
) -> None:
    """Print the script by which a shell completes commands, options and their values."""
    if shell not in SHELLS:
        raise usage(f"No completion for {shell!r}; there is one for {', '.join(SHELLS)}.")
    say(script(shell, commands(context)))


def script(shell: str, all_commands: Sequence[Command]) -> str:
    """The script for one of `SHELLS`, without its last line break."""
    return _fish(all_commands) if shell == "fish" else _posix(all_commands) + {"bash": _BASH, "zsh": _ZSH}[shell]


def _values(command: Command) -> Iterator[tuple[str, str]]:
    """(option or `*` for what stands by its place, what may follow) of whatever takes a value."""
    for option in command.options:
        if option.takes:
            value = " ".join(_scenarios()) if "--scenario" in option.names else _VALUES.get(option.takes, ANYTHING)
            yield from ((name, value) for name in option.names)
    for argument in command.arguments[:1]:
        yield "*", _VALUES.get(argument.takes.strip("[].…"), ANYTHING)


def _scenarios() -> list[str]:
    from ledger_tui.demo.scenarios import SCENARIOS  # Only here: no other command needs the stories.

    return sorted(SCENARIOS)


def _words(command: Command) -> str:
    named = sorted(name for option in command.options for name in option.names)
    return " ".join((*command.below, *named, "--help"))


def _posix(all_commands: Sequence[Command]) -> str:
    """Two questions as shell functions that bash and zsh both understand."""
    words = [f"        {shlex.quote(one.name)}) echo {shlex.quote(_words(one))} ;;" for one in all_commands]
    values = [
        f"        {shlex.quote(f'{one.name} {option}')}) echo {shlex.quote(value)} ;;"
        for one in all_commands
        for option, value in _values(one)
    ]
    names = "|".join(shlex.quote(one.name) for one in all_commands if one.name)
    return "\n".join(
        (
            "#compdef ledger-tui",
            "# Made by: ledger-tui completion",
            "_ledger_tui_words() {",
            '    case "$1" in',
            *words,
            "    esac",
            "}",
            "_ledger_tui_value() {",
            '    case "$1 $2" in',
            *values,
            "    esac",
            "}",
            "_ledger_tui_is_command() {",
            f'    case "$1" in {names}) return 0 ;; esac',
            "    return 1",
            "}",
            "",
        )
    )


_BASH = """\
_ledger_tui() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= skip= word value i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then skip=1; continue; fi
        if [[ $skip ]]; then skip=; continue; fi
        if [[ $word == -* ]]; then
            [[ $(_ledger_tui_value "$path" "$word") ]] && skip=1
        elif _ledger_tui_is_command "${path:+$path }$word"; then
            path="${path:+$path }$word"
        fi
    done
    if [[ $current == = ]]; then current=; fi
    if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
    value=
    if [[ $before == -* ]]; then value=$(_ledger_tui_value "$path" "$before"); fi
    if [[ ! $value && $current != -* ]]; then value=$(_ledger_tui_value "$path" '*'); fi
    COMPREPLY=()
    case $value in
        /) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
        .) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        +) ;;
        '') mapfile -t COMPREPLY < <(compgen -W "$(_ledger_tui_words "$path")" -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$value" -- "$current") ;;
    esac
}
complete -F _ledger_tui ledger-tui"""

_ZSH = """\
_ledger_tui() {
    local current=${words[CURRENT]} before=${words[CURRENT-1]} at= skip= word value i
    for ((i = 2; i < CURRENT; i++)); do
        word=${words[i]}
        if [[ -n $skip ]]; then skip=; continue; fi
        if [[ $word == -* ]]; then
            [[ -n $(_ledger_tui_value "$at" "$word") ]] && skip=1
        elif _ledger_tui_is_command "${at:+$at }$word"; then
            at="${at:+$at }$word"
        fi
    done
    if [[ $current == --*=* ]] && compset -P '*='; then before=${current%%=*}; current=${current#*=}; fi
    value=
    if [[ $before == -* ]]; then value=$(_ledger_tui_value "$at" "$before"); fi
    if [[ -z $value && $current != -* ]]; then value=$(_ledger_tui_value "$at" '*'); fi
    case $value in
        /) _files -/ ;;
        .) _files ;;
        +) ;;
        '') compadd -- ${=$(_ledger_tui_words "$at")} ;;
        *) compadd -- ${=value} ;;
    esac
}
if [[ ${funcstack[1]} == _ledger-tui ]]; then _ledger_tui "$@"; else compdef _ledger_tui ledger-tui; fi"""


def _fish(all_commands: Sequence[Command]) -> str:
    skipped = [f"{one.name} {option}" for one in all_commands for option, _ in _values(one) if option != "*"]
    lines = [
        f"set -g __ledger_tui_commands {' '.join(shlex.quote(one.name) for one in all_commands if one.name)}",
        f"set -g __ledger_tui_valued {' '.join(map(shlex.quote, skipped))}",
        _FISH,
        "complete -c ledger-tui -f",
    ]
    abouts = {one.name: _first_sentence(one.about) for one in all_commands}
    for one in all_commands:
        start = f"complete -c ledger-tui -n {_fish_text(f'__ledger_tui_at {_fish_text(one.name)}')}"
        for word in one.below:
            about = abouts[f"{one.name} {word}".strip()]
            lines.append(f"{start} -a {shlex.quote(word)} -d {_fish_text(about)}")
        values = dict(_values(one))
        if "*" in values:
            lines.append(f"{start} {_fish_value(values['*']).removeprefix('-x ').removeprefix('-r ')}")
        for option in one.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" {_fish_value(values[option.names[0]])}" if option.takes else ""
            lines.append(f"{start} {names}{value} -d {_fish_text(_first_sentence(option.help))}")
        lines.append(f"{start} -s h -l help -d 'Show its help'")
    return "\n".join(lines)


_FISH = """\
function __ledger_tui_at
    set -l at ''
    set -l skip ''
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip ''
        else if string match -q -- '-*' $word
            contains -- "$at $word" $__ledger_tui_valued; and set skip 1
        else if contains -- (string trim -- "$at $word") $__ledger_tui_commands
            set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end"""


def _fish_value(value: str) -> str:
    if value == FILE:
        return "-r -F"
    offered = {FOLDER: " -a '(__fish_complete_directories)'", ANYTHING: ""}
    return "-x" + offered.get(value, f" -a {_fish_text(value)}")


def _fish_text(text: str) -> str:
    """In single quotes, in which fish knows two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")


def register(app: typer.Typer) -> None:
    app.command("completion")(printed)
