"""Sentences and labels are made in the catalogue alone: other code of the app has none of its own.

Declarations stay where they are: titles and summaries of workloads, descriptions of their parameters, labels and
descriptions of the run settings (all under workloads/, which is not looked at here).
"""

import ast
import re
from collections.abc import Iterator

from tests.our_code import nodes_of, trees

# A label or a sentence: a capital and more than one word, or the mark that ends a sentence.
_LABEL = re.compile(r"[A-Z][^\s]* .*[a-z]", re.DOTALL)
_SENTENCE = re.compile(r"[A-Z].*[a-z].*[\w)%\ufffc][.?!…]|[A-Z].*\w …", re.DOTALL)
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|ATTACH|WITH|FROM|WHERE) ")
_LOGGING = {"debug", "info", "warning", "error", "exception"}
# What these say is for programmers.
_FAULTS = {"ValueError", "TypeError", "KeyError", "RuntimeError", "AssertionError", "ImportError", "OSError"}
# Their texts aren't for people, or are names that systems, makers and files gave.
NAMES = {
    "app/core/hardware": "names of systems, parts and keys",
    "app/core/logs.py": "beginnings of lines that engines print",
    "app/core/metrics.py": "names of numbers with their units, a catalogue of its own",
    "app/core/privacy.py": "patterns",
    "app/core/doctor/scrubbing.py": "patterns",
    "app/core/storage/schema.py": "SQL",
    "app/gui/style": "style sheets and names of fonts",
}


def test_sentences_and_labels_are_made_in_the_catalogue_alone() -> None:
    passed_over = ("app/core/messages/english/", *(name if name.endswith(".py") else f"{name}/" for name in NAMES))
    outside = [
        f"{path}:{line}: {text}"
        for path, tree in trees("app/").items()
        if not path.startswith(passed_over)
        for line, text in literals(tree)
    ]
    assert not outside, "\n".join(outside)


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    passed_over = set(skipped(tree))
    for node in nodes_of(tree):
        if id(node) in passed_over:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "\ufffc" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if not _SQL.match(text) and (_LABEL.fullmatch(text) or _SENTENCE.fullmatch(text)):
            yield node.lineno, text


def skipped(tree: ast.AST) -> Iterator[int]:
    """Yield the literals that never appear on a screen."""
    for node in nodes_of(tree):
        parts: list[ast.AST] = []
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                parts = [docstring]
            case ast.JoinedStr(values=values):
                parts = [
                    inner for value in values if not isinstance(value, ast.FormattedValue) for inner in [value]
                ]
                parts += [
                    value.format_spec
                    for value in values
                    if isinstance(value, ast.FormattedValue) and value.format_spec
                ]
            case ast.arg(annotation=ast.AST() as annotation) | ast.AnnAssign(annotation=annotation):
                parts = [annotation]
            case ast.FunctionDef(returns=ast.AST() as annotation):
                parts = [annotation]
            case ast.Call(func=ast.Attribute(attr=name)) if name in _LOGGING or name in ("compile", "execute"):
                parts = [*node.args]
            case ast.Call(func=ast.Name(id=name)) if name in _FAULTS:
                parts = [*node.args]
        yield from (id(inner) for part in parts for inner in ast.walk(part))
