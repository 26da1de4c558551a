"""Walks what a command would run, without running it, and hands every plain command to the signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..inert import clip, inert
from . import expand, outputs, quick, wrappers
from .act import Act
from .builtins import MOST_ROUNDS, SPECIAL
from .interpreters import LANGUAGES, SHELLS, inline_code, versionless
from .places import normal
from .run import NOTHING, SILENT, Found, Run, Stream, command_name, quote, shown, together
from .syntax import parse, parse_text
from .tree import UNREAD, Command, Compound, Pipeline, Redirection, Simple, UnreadableError

MOST_STEPS = 800
"""Commands, substitutions and words out of braces that are looked at in one call; what follows is unreadable."""

MOST_TEXT = 150_000
"""Characters of expanded words in one call; a variable that doubles itself would soon have more."""

MOST_SHOWN = 40
"""Plain commands whose normal form is kept for a policy's texts and patterns."""


class Shell:
    """One reading of one command line. `judge` is asked about every plain command."""

    def __init__(
        self, judge: Callable[[Run], Iterable[Found]], judge_code: Callable[[str, str], Iterable[Found]]
    ) -> None:
        self._judge, self._judge_code = judge, judge_code
        self.variables: dict[str, str] = {"IFS": " \t\n"}
        self.functions: dict[str, list[Pipeline]] = {}
        self.aliases: dict[str, str] = {}
        self.files: dict[str, Stream] = {}
        self.found: dict[str, bool] = {}
        self.folder = ""
        self.acts: dict[tuple[str, str, str], Act] = {}
        self.executed, self.fetched = list[str](), list[str]()
        self.at_exit: list[str] = []
        """Texts that `trap` keeps for later: they see the variables as they are then."""
        self.commands: list[list[str]] = []
        """The words of every plain command, as far as they are kept."""
        self._steps = self._depth = self._loops = self._volume = 0
        self._active: list[str] = []

    # -- what is found ---------------------------------------------------------------------------------------------

    def note(self, kind: str, severity: str, what: str, target: str, shown: str) -> None:
        """Keep one act; the same act is kept once."""
        key = kind, severity, inert(clip(target, 200))
        if key not in self.acts:
            self.acts[key] = Act(kind, severity, inert(clip(f"{what}: {shown}" if shown else what, 400)), key[2])

    def step(self, words: int = 0) -> None:
        self._steps += 1 + words // 40
        if self._steps > MOST_STEPS:
            raise UnreadableError("more commands than are looked at")

    def weigh(self, characters: int, more_words: int = 0) -> None:
        self._steps += more_words
        self._volume += characters
        if self._volume > MOST_TEXT:
            raise UnreadableError("more text than is looked at")

    # -- walking ---------------------------------------------------------------------------------------------------

    def script(self, text: str, stdin: Stream = NOTHING) -> Stream:
        """Follow a text that a shell would run."""
        self._depth += 1
        if self._depth > 1:  # A text in a text in a text is read again and again.
            self.weigh((1 if self._depth == 2 else 10) * len(text) + expand.PART * text.count("$"))
        try:
            pipes = quick.read(text) if self._depth <= quick.DEEPEST else None
            return self.walk(parse(text, self._depth), stdin) if pipes is None else self.follow(pipes, stdin)
        finally:
            self._depth -= 1

    def follow(self, pipes: list[quick.Pipe], stdin: Stream) -> Stream:
        """The same as `walk` for what was read without the parser."""
        printed = []
        for commands, background in pipes:
            flow = stdin
            for place, (words, redirected) in enumerate(commands):
                self.step()
                self.weigh(sum(map(len, words)))
                flow = self.run(words, flow, list(redirected), chained=background or place < len(commands) - 1)
                flow = self.write(flow, list(redirected), words[0])
            printed.append(flow)
        return together(printed)

    def finish(self) -> None:
        """Follow what was kept for the end."""
        while self.at_exit:
            self.step()
            self.script(self.at_exit.pop())

    def walk(self, pipelines: list[Pipeline], stdin: Stream = NOTHING) -> Stream:
        """Follow pipelines in order; what they print together."""
        printed: list[Stream] = []
        for pipeline in pipelines:
            flow = stdin
            for place, command in enumerate(pipeline.commands):
                self.step()
                flow = self.command(command, flow, chained=place < len(pipeline.commands) - 1 or pipeline.background)
            printed.append(flow)
        return together(printed)

    def command(self, command: Command, stdin: Stream, *, chained: bool) -> Stream:
        if isinstance(command, Simple):
            return self.simple(command, stdin, chained=chained)
        stdin, outputs_to = self.redirect(command.redirections, stdin)
        if outputs_to:
            self.judged(Run("", [], stdin, self.folder, tuple(outputs_to)), [f"{op} {path}" for op, path in outputs_to])
        printed = self.compound(command, stdin)
        return self.write(printed, outputs_to, command.kind)

    def compound(self, node: Compound, stdin: Stream) -> Stream:
        if node.kind == "function":
            self.functions[node.name] = node.bodies[0]
            return SILENT
        if node.kind == UNREAD:
            raise UnreadableError("more commands than are looked at")
        if node.kind == "for":
            return self.loop(node, stdin)
        if node.kind == "subshell":
            kept = dict(self.variables), self.folder
            try:
                return self.walk(node.bodies[0], stdin)
            finally:
                self.variables, self.folder = kept[0], kept[1]
        return together([self.walk(body, stdin) for body in node.bodies])

    def loop(self, node: Compound, stdin: Stream) -> Stream:
        rounds = max(1, MOST_ROUNDS // 3**self._loops)  # Loops in loops multiply.
        values = expand.fields(node.words, self.variables, self.substitute)[:rounds] if node.words else []
        printed: list[Stream] = []
        self._loops += 1
        for value in values or [f"${node.name}" if node.words or not node.name else "$@"]:
            if node.name:
                self.variables[node.name] = value
            printed += [self.walk(body, stdin) for body in node.bodies]
        self._loops -= 1
        return together(printed)

    def simple(self, node: Simple, stdin: Stream, *, chained: bool) -> Stream:
        for name, word in node.assignments:
            self.weigh(expand.PART * (len(word) - 1))
            value = expand.text_of(word, self.variables, self.substitute)
            if name.endswith("+"):
                name = name[:-1]
                value = (self.variables.get(name, "") + value)[: expand.LONGEST]
            self.weigh(len(value))
            self.variables[name] = value[: expand.LONGEST_VALUE]
        self.weigh(expand.PART * (sum(map(len, node.words)) - len(node.words)))
        words = expand.fields(node.words, self.variables, self.substitute)
        self.weigh(sum(map(len, words)), expand.more_words(node.words, words))
        stdin, outputs_to = self.redirect(node.redirections, stdin)
        if words:
            printed = self.run(words, stdin, outputs_to, chained=chained)
        else:
            printed = SILENT
            if outputs_to:
                self.judged(
                    Run("", [], stdin, self.folder, tuple(outputs_to)), [f"{op} {path}" for op, path in outputs_to]
                )
        return self.write(printed, outputs_to, words[0] if words else "")

    def substitute(self, body: list[Pipeline], direction: str) -> str:
        self.step()
        self._depth += 1
        if self._depth > 20:
            raise UnreadableError("substitutions nested too deeply")
        try:
            printed = self.walk(body)
        finally:
            self._depth -= 1
        if direction:
            name = f"/dev/fd/{len(self.files) + 10}"
            self.files[name] = printed
            return name
        if printed.text is None:
            if "network" in printed.origins:
                return "$(download)"
            return expand.UNKNOWN
        return printed.text.rstrip("\n")

    # -- redirections ----------------------------------------------------------------------------------------------

    def redirect(self, redirections: list[Redirection], stdin: Stream) -> tuple[Stream, list[tuple[str, str]]]:
        """What a command reads, and (operator, path) of what it reads and writes by redirection."""
        paths: list[tuple[str, str]] = []
        for one in redirections:
            if one.operator == "<<":
                body = one.body or ""
                if not one.literal and ("$" in body or "`" in body):
                    self.weigh(expand.PART * body.count("$"))
                    body = expand.text_of(parse_text(body), self.variables, self.substitute)
                stdin = Stream(body, frozenset({"here"}))
                continue
            target = expand.text_of(one.target, self.variables, self.substitute)
            if one.operator == "<<<":
                stdin = Stream(target + "\n", frozenset({"here"}))
            elif one.operator in ("<", "<>"):
                stdin = self.files.get(target, Stream())
                paths.append(("<", target))
            elif not (one.operator in (">&", "<&") and (target.isdigit() or target == "-")):
                paths.append((">>" if one.operator in (">>", "&>>") else ">", target))
        return stdin, paths

    def write(self, printed: Stream, paths: list[tuple[str, str]], name: str) -> Stream:
        written = [path for operator, path in paths if operator != "<"]
        for path in written:
            if len(self.files) < 200:
                self.files[path] = printed
        return SILENT if written else printed

    def run(
        self, words: list[str], stdin: Stream, redirected: list[tuple[str, str]], *, chained: bool = False
    ) -> Stream:
        """Take wrappers away until a plain command stands there; judge it; what it prints."""
        for _ in range(24):
            self.step(len(words))
            if not words:
                return Stream(None, stdin.origins)
            name, arguments = command_name(words[0]), words[1:]
            if words[0] in self.aliases and words[0] not in self._active:
                return self.alias(words[0], arguments, stdin)
            if words[0] in self.functions:
                return self.function(words[0], arguments, stdin, chained=chained)
            if name in SHELLS:
                if redirected:
                    self.judged(Run(name, arguments, stdin, self.folder, tuple(redirected)), words)
                return self.shell(name, arguments, stdin, words)
            found = wrappers.inner(name, arguments)
            if found is not None:
                self.variables.update(found.assigned)
                self.judged(Run(name, arguments, stdin, self.folder, (), chained, self.variables), words)
                if found.script:
                    return self.script(found.script, stdin)
                if not found.words:  # Bare `env` prints what programs are handed, tokens among it.
                    return Stream(None, frozenset({"secret"}) if name == "env" else stdin.origins)
                words = list(found.words)
                continue
            return self.plain(name, arguments, stdin, redirected, words, chained=chained)
        raise UnreadableError("wrapped too often")

    def judged(self, run: Run, words: list[str]) -> None:
        if len(self.commands) < MOST_SHOWN:
            self.commands.append(words)
        text = ""
        for one in self._judge(run):
            text = text or shown(words)
            self.note(*one, text)

    def plain(
        self, name: str, arguments: list[str], stdin: Stream, redirected: list[tuple[str, str]], words: list[str],
        *, chained: bool,
    ) -> Stream:  # fmt: skip
        special = SPECIAL.get(name)
        run = Run(name, arguments, stdin, self.folder, tuple(redirected), chained, self.variables, self.found)
        if special is not None:
            done = special(self, run, words)
            if done is not None:
                return done
        self.judged(run, words)
        language = LANGUAGES.get(versionless(name))
        if language:
            return self.interpreter(language, run, words)
        if "/" in words[0] or name.endswith((".sh", ".py")):
            self.execute_file(words[0], words)
        return outputs.of(self, run)

    def function(self, name: str, arguments: list[str], stdin: Stream, *, chained: bool) -> Stream:
        body = self.functions[name]
        mark = f"{name} {id(body)}"  # A function may be defined anew while it runs.
        if mark in self._active:
            if chained:
                self.note(
                    "kill-host", "CRITICAL", "a function that starts itself again and again (fork bomb)", name, name
                )
            return Stream()
        kept = {key: self.variables[key] for key in "@*#123456789" if key in self.variables}
        self.positional(arguments)
        try:
            return self.called(mark, lambda: self.walk(body, stdin))
        finally:
            for key in "@*#123456789":
                self.variables.pop(key, None)
            self.variables.update(kept)

    def alias(self, name: str, arguments: list[str], stdin: Stream) -> Stream:
        text = " ".join([self.aliases[name], *map(quote, arguments)])
        return self.called(name, lambda: self.script(text, stdin))

    def called(self, name: str, body: Callable[[], Stream]) -> Stream:
        self._active.append(name)
        try:
            return body()
        finally:
            self._active.pop()

    def positional(self, arguments: list[str], zero: str | None = None) -> None:
        self.variables["@"] = self.variables["*"] = " ".join(arguments)
        self.variables["#"] = str(len(arguments))
        self.variables.update((str(number), value) for number, value in enumerate(arguments[:9], 1))
        if zero is not None:
            self.variables["0"] = zero

    # -- shells and interpreters -----------------------------------------------------------------------------------

    def shell(self, name: str, arguments: list[str], stdin: Stream, words: list[str]) -> Stream:
        """`sh -c TEXT`, `sh FILE`, `… | sh`, `sh <<EOF`."""
        at, takes_text, from_input = 0, False, False
        while at < len(arguments) and arguments[at][:1] in ("-", "+") and len(arguments[at]) > 1:
            option = arguments[at]
            at += 1
            if option == "--":
                break
            if option in ("--rcfile", "--init-file", "-o", "+o", "-O", "+O"):
                at += 1
            elif option in ("--version", "--help", "-n"):  # With -n it only looks for mistakes.
                return Stream()
            elif not option.startswith("--"):
                takes_text = takes_text or "c" in option
                from_input = from_input or "s" in option
            elif option == "--command":
                takes_text = True
        rest = arguments[at:]
        if takes_text and rest:
            if len(rest) > 1:
                self.positional(rest[2:], rest[1])
            return self.fed(rest[0], name, words)
        if rest and not from_input and rest[0] != "-" and rest[0] != "/dev/stdin":
            self.positional(rest[1:])
            return self.execute_file(rest[0], words)
        self.positional(rest)
        return self.feed(stdin, name, words)

    def fed(self, text: str, name: str, words: list[str]) -> Stream:
        """A text handed to a shell as one word."""
        if text == "$(download)":
            self.note("pipe-to-shell", "CRITICAL", "runs what it downloads, unseen", "", shown(words))
        return self.script(text)

    def feed(self, stdin: Stream, name: str, words: list[str]) -> Stream:
        """What flows into a shell or an interpreter that runs it."""
        if "network" in stdin.origins and (stdin.text is None or "decoded" not in stdin.origins):
            self.note("pipe-to-shell", "CRITICAL", f"runs what it downloads, unseen, in {name}", "", shown(words))
        elif "decoded" in stdin.origins:
            self.note("decode-to-shell", "HIGH", f"decodes a text and runs it in {name}", "", shown(words))
        elif stdin.text is None and "terminal" not in stdin.origins:
            self.note("pipe-to-shell", "MEDIUM", f"runs in {name} what another command makes", "", shown(words))
        if stdin.text is None:
            return Stream(None, frozenset({"shell"}))
        if "here" in stdin.origins:
            self.note("heredoc-code", "LOW", f"hands a text of its own to {name}", "", shown(words))
        return self.script(stdin.text) if name in SHELLS else SILENT

    def execute_file(self, path: str, words: list[str]) -> Stream:
        """A file is run: seen through where this very command made it."""
        self.executed.append(normal(path, self.folder))
        content = self.files.get(path) or self.files.get(path.removeprefix("./")) or self.files.get("./" + path)
        if content is None:
            return Stream()
        if content.text is None and "network" not in content.origins and "decoded" not in content.origins:
            return Stream()
        return self.feed(content, "sh", words)

    def interpreter(self, language: str, run: Run, words: list[str]) -> Stream:
        """`python -c CODE`, `perl -e CODE`, `node FILE`, `… | python -`."""
        code, script = inline_code(language, run.arguments)
        if code is not None:
            self.note("inline-code", "LOW", f"runs {language} code given on the command line", "", shown(words))
            self.code(language, code, words)
        elif script is not None:
            self.executed.append(normal(script, self.folder))
            content = self.files.get(script)
            if content is not None and ("network" in content.origins or "decoded" in content.origins):
                self.feed(content, run.name, words)
            if content is not None and content.text:
                self.code(language, content.text, words)
        elif not run.arguments or run.arguments[0] in ("-", "/dev/stdin"):
            self.feed(run.stdin, run.name, words)
            if run.stdin.text:
                self.code(language, run.stdin.text, words)
        return Stream(None, run.stdin.origins - {"terminal"})

    def code(self, language: str, code: str, words: list[str]) -> None:
        self.weigh(2 * len(code) if self._depth else 0)
        for kind, severity, what, target in self._judge_code(language, code):
            if kind == "shell":
                self.script(target)
            else:
                self.note(kind, severity, what, target, shown(words))
