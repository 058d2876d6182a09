"""The parser of the command line: help that fits the terminal, and errors in one sentence."""

import argparse
import re
import sys
from typing import Any, NoReturn

from app.cli.layout import wrapped
from app.cli.terminal import COLOR_CHOICES, USUAL_COLUMNS, columns
from app.cli.text import complain, in_line, say_raw
from app.core.messages import sentence

HELP_COLUMNS = 110


class _Help(argparse.HelpFormatter):
    """Fits the terminal, breaks lines only between words, and preserves the lines of examples."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(columns(sys.stdout) or USUAL_COLUMNS, HELP_COLUMNS))

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any) -> str:
        # The options are listed below, each with its description.
        needed = [action for action in actions if not action.option_strings or action.required]
        words = super()._format_usage(usage, needed, [], prefix).split()
        line = " ".join(words).replace(self._prog, f"{self._prog} [{sentence('help.options')}]", 1)
        return "\n".join(wrapped(line, self._width)) + "\n\n"

    def _expand_help(self, action: argparse.Action) -> str:
        return action.help or ""  # our texts have no placeholders, and may contain a folder with a percent sign

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(part for line in text.splitlines() for part in wrapped(indent + line, width))


class Parser(argparse.ArgumentParser):
    """Reports errors in one sentence, like the rest of the app, and exits with 2."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"formatter_class": _Help} | how)
        # Accepted before and after the command. It has no default, because the command's default would override an
        # earlier value.
        choices, text = COLOR_CHOICES, sentence("help.color")
        self.add_argument("--color", choices=choices, default=argparse.SUPPRESS, help=text)

    def error(self, message: str) -> NoReturn:
        """Print an error and exit."""
        # argparse joins our message to its subject with "argument ID: must be …".
        message = re.sub(r"^argument (\S+): (?=must |is )", r"\1 ", message)
        complain(sentence("cli.usage", problem=in_line(message), command=self.prog))
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse itself ignores errors when writing.
        if file is sys.stdout:
            say_raw(message, flush=True)
        else:
            complain(message.removesuffix("\n"))
