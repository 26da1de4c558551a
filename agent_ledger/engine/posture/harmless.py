"""Commands that one pattern clears: well-known programs with words that make them do nothing worth judging.

The pattern is a part of `plain.is_plain`, and relies on what is ruled out there: names of secrets and of the system's
places, and verbs that destroy, stand nowhere in the text. Files that are run are `plain.runs_a_path`'s affair.
"""

from __future__ import annotations

import re

from ..commands.names import names
from ..commands.quick import SOUND

RISKY = names(
    """
    ok okdir down reset fresh refresh wipe purge seed schema flush sqlflush reset_db rm rmi leave unpublish deprecate
    yank rebase bisect foreach submodule alias ifs
    """
)
"""Words that mean something to one of the programs below. With any of them the pattern is not asked."""

_PROGRAMS = "|".join(
    names(
        """
        ls grep egrep rg head tail wc sort uniq cut tr jq cat diff cmp stat du df date pwd which file tree mkdir touch
        test sleep true cd make pytest sed find tar psql sqlite3 echo nl basename dirname realpath id whoami hostname
        uname uptime free ps ruff mypy black
        """
    )
)
"""Programs that may be given any words."""

_SINGLE = r"""'[^'"\\]*+'"""
_DOUBLE = r"""\\"(?:[^"\\$`]|\$(?=\\"))*+\\\""""
_WORD = rf"(?![12]?>)(?:[\w./=:,@%+*?\[\]^~-]|{_SINGLE}|{_DOUBLE})++"
_NAME = r"(?![12]?>)[\w./][\w./-]*+"
_WORDS = rf"(?: {_WORD})*+"
_NAMES = rf"(?: {_NAME})*+"

_CURL_OPTION = r"-[sSfLIikv]++|--silent|--fail|--location|(?:-m|--max-time) \d++|-H '[^'\"\\$`]*+'"
_GIT = (
    rf"(?:status|log|diff|show|add|fetch|pull|blame|ls-files|rev-parse|remote|merge)\b{_WORDS}",
    rf"push(?: -u)?{_NAMES}",
    r"checkout(?: -b)? [\w/][\w./-]++",
    rf"commit(?: -a| -m| -am)+ (?:{_SINGLE}|{_DOUBLE})",
    r"branch(?: -a| -v| --show-current)?",
)
_HARMLESS = {
    _PROGRAMS: _WORDS,
    "curl": rf"(?: (?:{_CURL_OPTION}))*+ [\w/][\w./:?=-]*+",
    "git": rf"(?: -C {_NAME})?+ (?:{'|'.join(_GIT)})",
    "python3?": rf"(?!.*(?:db|database)_) (?:-m )?+{_NAME}{_WORDS}",
    r"source|\.|sh|bash|node": rf" {_NAME}{_WORDS}",
    "pip3?": rf"(?!.*://) (?:install|list|show|freeze)(?: -[qrUe]+| --upgrade| --quiet| {_NAME})*+",
    "npm|pnpm|yarn": rf"(?!.*(?:git\+|git@|github:|://)) (?:run|test|start|ci|ls|install|i)\b{_WORDS}",
    "docker": rf" (?:compose )?(?:ps|logs|images|inspect|build|pull|version|info|up)\b{_WORDS}",
    "kubectl": rf"(?: -n {_NAME})?+ (?:get|describe|logs|top|version)\b{_WORDS}",
    "rm": rf"(?: -f)?(?: {_NAME})++",
    "chmod": rf" (?:\+x|644|600|700|755){_NAMES}",
}
"""Of each program, the words with which it is harmless."""

_BEFORE = r"(?:(?:env )?+(?:[A-Za-z_]\w*+=[\w./:,-]*+ )++)?+(?:timeout \d++ )?+"
_ONE = "|".join(rf'(?:{program})(?![^ \\"&|;]){words}' for program, words in _HARMLESS.items())
_SILENTLY = r"(?: 2>&1| ?[12&]?>/dev/null| 2> /dev/null| > /dev/null)*+"
_COMMAND = rf"{_BEFORE}(?:{_ONE}){_SILENTLY}"
_NEXT = r" ?(?:&&|\|\|?|;) ?"

_TITLE = r"""(?<=echo) \\"[^"\\`$]*+\$\w++\\\""""
_EACH = rf"""(?:{_PROGRAMS})(?: (?:{_WORD}|\$\w++|\\"\$\w++\\")|{_TITLE})*+{_SILENTLY}"""
_LOOP = rf"for \w++ in{_WORDS} ?; do {_EACH}(?:{_NEXT}{_EACH})*+ ?; done{_SILENTLY}"

_PATTERN = re.compile(
    rf'\{{"command": "(?:{_LOOP}|{_COMMAND})(?:{_NEXT}{_COMMAND})*+'
    r'(?: #[^"\\]*+)?"(?:, "\w++": (?:[\w.]++|"[^"\\]*+"))*+\}',
    re.ASCII,
)


def is_harmless(args_text: str) -> bool:
    """Are these arguments of a terminal call (JSON text) such commands and nothing else?"""
    return SOUND and _PATTERN.fullmatch(args_text) is not None
