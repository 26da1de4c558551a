"""Ways in which a command ends other than well: one sentence for a person, one exit code for a script."""

DONE, FOUND, USAGE, UNREADABLE, REFUSED = range(5)
"""Exit codes: all well; what `--fail-on` names was found; wrong usage; cannot be read; refused for safety."""


class CommandError(Exception):
    """Ends a command. The text is one plain sentence: what, where, and what to do."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


def usage(text: str) -> CommandError:
    """The command was called wrongly."""
    return CommandError(text, USAGE)


def unreadable(text: str) -> CommandError:
    """A database or file cannot be read."""
    return CommandError(text, UNREADABLE)


def refused(text: str) -> CommandError:
    """Not done, for safety."""
    return CommandError(text, REFUSED)
