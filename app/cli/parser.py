"""The command line's argument parser, with help that fits the terminal and one-sentence errors."""

import argparse
import re
import sys
from collections.abc import Generator
from difflib import get_close_matches
from typing import Any, NoReturn

from app.cli.layout import wrapped
from app.cli.terminal import USUAL_COLUMNS, columns
from app.cli.text import complain, say_raw
from app.cli.values import SHOWN_CHARS
from app.core.messages import sentence
from app.core.plain_text import one_line, short_words

HELP_COLUMNS = 110
USUAL_VERBS = ("run", "compare", "results", "suite", "doctor")  # the others are only named in the help
_ERROR_LIMIT = 400


class _Help(argparse.HelpFormatter):
    """Fits help to the terminal, breaks lines only between words, and keeps the lines of examples unchanged."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(columns(sys.stdout) or USUAL_COLUMNS, HELP_COLUMNS))

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any) -> str:
        # Options are listed below, with their descriptions.
        needed = [action for action in actions if not action.option_strings or action.required]
        words = super()._format_usage(usage, needed, [], prefix).split()
        line = " ".join(words).replace(self._prog, f"{self._prog} [{sentence('help.options')}]", 1)
        if any(isinstance(action, argparse._SubParsersAction) and not action.required for action in needed):
            line = re.sub(r"(\S+ \.\.\.)$", r"[\1]", line)
        return "\n".join(wrapped(line, self._width)) + "\n\n"

    def _iter_indented_subactions(self, action: argparse.Action) -> Generator[argparse.Action, None, None]:
        listed = super()._iter_indented_subactions(action)
        return (each for each in listed if action.metavar != "VERB" or each.dest in USUAL_VERBS)

    def _expand_help(self, action: argparse.Action) -> str:
        return action.help or ""  # our texts contain no placeholders, and may contain a path with a percent sign

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(part for line in text.splitlines() for part in wrapped(indent + line, width))


class Parser(argparse.ArgumentParser):
    """Reports errors in one sentence, like the rest of the app, and exits with code 2."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"formatter_class": _Help} | how)

    def error(self, message: str) -> NoReturn:
        # argparse puts "argument ID: " before our message; the message already starts with "must" or "is".
        message = re.sub(r"^argument (\S+): (?=must |is )", r"\1 ", message)
        if mistyped := re.match(r"argument (?:VERB|ACTION): invalid choice: '(.*?)' \(choose from (.*)", message):
            verb, verbs = mistyped[1], re.findall(r"[\w-]+", mistyped[2])
            near = get_close_matches(verb, verbs, n=1, cutoff=0.5)
            message = sentence("cli.unknown_verb", verb=verb)
            message = sentence("cli.unknown_verb_near", verb=verb, near=near[0]) if near else message
        complain(
            sentence(
                "cli.usage", problem=one_line(short_words(message, SHOWN_CHARS), _ERROR_LIMIT), command=self.prog
            )
        )
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores output errors.
        if file is sys.stdout:
            say_raw(message, flush=True)
        else:
            complain(message.removesuffix("\n"))
