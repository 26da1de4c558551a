"""Which commands run a language, the shell's or another, and where in their arguments the code or the script stands."""

from __future__ import annotations

from .names import names

SHELLS = names("sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash osh")
LANGUAGES = {
    "python": "python", "pypy": "python", "ipython": "python", "perl": "perl", "ruby": "ruby", "node": "node",
    "nodejs": "node", "deno": "node", "bun": "node", "php": "php", "lua": "lua", "osascript": "osascript",
    "pwsh": "powershell", "powershell": "powershell", "Rscript": "r", "awk": "awk", "gawk": "awk", "mawk": "awk",
}  # fmt: skip
_CODE_OPTIONS = {
    "python": ("-c",), "perl": ("-e", "-E"), "ruby": ("-e",), "node": ("-e", "--eval", "-p", "--print", "eval"),
    "php": ("-r",), "lua": ("-e",), "osascript": ("-e",), "r": ("-e",), "awk": (),
    "powershell": ("-c", "-Command", "-command", "-EncodedCommand", "-enc"),
}  # fmt: skip
_VALUED = {"-W", "-X", "-m", "-I", "-r", "--require", "-M", "-F", "-v", "-f", "-d"}


def inline_code(language: str, arguments: list[str]) -> tuple[str | None, str | None]:
    """(code given on the command line, or None; script that is run, or None)."""
    codes, at = [], 0
    options = _CODE_OPTIONS[language]
    while at < len(arguments):
        word = arguments[at]
        if word in options or (
            len(word) > 2 and word[0] == "-" and word[1] != "-" and word[-2:] and "-" + word[-1] in options
            and word[1:].isalpha()
        ):  # fmt: skip
            codes.append(" ".join(arguments[at + 1 : at + 2]))
            at += 2
            if language == "python":
                break
        elif language in ("python", "perl", "ruby") and word[:2] in options and len(word) > 2:
            codes.append(word[2:])
            at += 1
        elif word == "-m":
            return None, None if not codes else ""
        elif word in _VALUED:
            at += 2
        elif word.startswith("-") and len(word) > 1:
            at += 1
        else:
            break
    if codes:
        return "\n".join(codes), None
    rest = arguments[at:]
    if language == "awk":
        return (rest[0], None) if rest else (None, None)
    if language == "node" and rest[:1] == ["run"]:
        rest = rest[1:]
    return None, rest[0] if rest and rest[0] not in ("-", "/dev/stdin") else None


def versionless(name: str) -> str:
    return name.rstrip("0123456789.") or name
