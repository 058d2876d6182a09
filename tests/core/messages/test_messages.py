"""The catalogue and the code that uses it: every message has its sentence, and every sentence its message."""

import ast
import re
import string
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.messages import COMMANDS, ENGLISH, FORMATS, Message, message, text
from tests.core.messages.families import FAMILIES, members
from tests.our_code import nodes_of, trees

MAKERS = {"message", "sentence", "Message", "bad_parameters"}
OURS = ("app/", "workloads/")


@cache
def uses() -> tuple[tuple[str, str, set[str] | None], ...]:
    return tuple(found_uses())


def found_uses() -> Iterator[tuple[str, str, set[str] | None]]:
    """Where, code and names of arguments of each message in the code; None for arguments known only at run time.

    A code that is put together ("verdict.{code}") is given with a star: as a family.
    """
    for path, tree in trees(*OURS).items():
        for node in nodes_of(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name not in MAKERS:
                continue
            where = f"{path}:{node.lineno}"
            for code in codes(node.args[0]):
                told: set[str] | None = {word.arg for word in node.keywords if word.arg is not None}
                if any(word.arg is None for word in node.keywords) or len(node.args) > 1:
                    told = None
                yield where, code, told


def codes(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return codes(node.body) + codes(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)]
    return []


def families() -> dict[str, str]:
    """The families of codes in the code, with a place of each: in calls, or texts that begin like a code."""
    found = {code: where for where, code, _ in uses() if "*" in code}
    spaces = {code.partition(".")[0] for code in ENGLISH}
    for path, tree in trees(*OURS).items():
        for node in nodes_of(tree):
            if not isinstance(node, ast.JoinedStr):
                continue
            for code in codes(node):
                if re.fullmatch(r"[a-z_]+\.[a-z_.*]*", code) and code.partition(".")[0] in spaces:
                    found[code] = f"{path}:{node.lineno}"
    return found


# The name of a module.
NO_FAMILIES = {"workloads.engines.*"}


def test_every_family_is_declared_and_its_codes_have_sentences() -> None:
    declared = {pattern.removeprefix("?") for pattern in FAMILIES}
    assert {code: where for code, where in families().items() if code not in declared | NO_FAMILIES} == {}
    assert declared <= families().keys()
    needed = {code for pattern in FAMILIES if pattern[0] != "?" for code in members(pattern)}
    assert needed - ENGLISH.keys() == set()


def sentences(code: str) -> list[str]:
    found = ENGLISH[code]
    return [found] if isinstance(found, str) else list(found)


def fields(told: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(told) if name is not None} - COMMANDS.keys()


def test_every_message_has_its_sentence_and_all_that_the_sentence_needs() -> None:
    wrong = []
    for where, code, told in uses():
        if "*" in code:
            continue
        if code not in ENGLISH:
            wrong.append(f"{where}: no sentence for {code}")
        elif told is not None:
            needed = set().union(*map(fields, sentences(code)))
            spare = told - needed - {"count"}
            if needed - told or spare:
                wrong.append(f"{where}: {code} lacks {needed - told or '{}'}, does not use {spare or '{}'}")
    assert not wrong, "\n".join(wrong)


def test_every_sentence_is_used() -> None:
    # Codes are also kept in tables and passed on, so a text that is the code counts as well.
    texts = {
        node.value
        for path, tree in trees(*OURS).items()
        if "/english/" not in path
        for node in nodes_of(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    composed = {code for pattern in FAMILIES for code in members(pattern)}
    assert ENGLISH.keys() - texts - composed == set()


def keys(tree: ast.Module) -> list[str]:
    tables = [node for node in nodes_of(tree) if isinstance(node, ast.Dict)]
    return [str(key.value) for table in tables for key in table.keys if isinstance(key, ast.Constant)]


def test_sentences_use_formats_that_there_are() -> None:
    for code in ENGLISH:
        for each in sentences(code):
            for _, name, spec, _ in string.Formatter().parse(each):
                assert name is None or name.isidentifier(), code
                if spec and spec not in FORMATS and spec.strip(" ,;/·"):
                    format(1.0 if spec[-1] in "f%geg" else 1, spec)


@pytest.mark.parametrize(
    ("said", "told"),
    [(Message("no.such_code", {"x": 1}), "no.such_code (x 1)"), (Message("no.such_code"), "no.such_code")],
)
def test_a_message_not_in_the_catalogue_is_shown_plainly(said: Message, told: str) -> None:
    assert text(said) == told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([*ENGLISH, "none.such"]), st.dictionaries(st.text(max_size=10), JSON, max_size=5))
def test_whatever_the_arguments_are_there_is_a_sentence(code: str, arguments: dict[str, object]) -> None:
    names = [name for sentence in sentences(code) for name in fields(sentence)] if code in ENGLISH else []
    for name, value in zip(names, arguments.values(), strict=False):
        assert text(Message(code, {name: value}))
    assert text(Message(code, arguments))


# A label or a sentence: a capital and more than one word, or the mark that ends a sentence.
_LABEL = re.compile(r"[A-Z][^\s]* .*[a-z]", re.DOTALL)
_SENTENCE = re.compile(r"[A-Z].*[a-z].*[\w)%\ufffc][.?!…]|[A-Z].*\w …", re.DOTALL)
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|ATTACH|WITH|FROM|WHERE) ")
_LOGGING = {"debug", "info", "warning", "error", "exception"}
# What these say is for programmers.
_FAULTS = {"ValueError", "TypeError", "KeyError", "RuntimeError", "AssertionError", "ImportError", "OSError"}
# Their texts aren't for people, or are names that systems, makers and files gave.
NAMES = {
    "app/core/engines/pip.py": "patterns of what pip prints",
    "app/core/hardware": "names of systems, parts and keys",
    "app/core/known_lines/logs.py": "beginnings of lines that engines print",
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


@pytest.fixture
def templates(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, template in {
        "test.runs": ("{count} run", "{count:,} runs"),
        "test.parts": "Parts: {parts:; }.",
        "test.names": "Changed: {names:, }.",
        "test.missing": ("{files} of {title} is missing.", "{files} of {title} are missing."),
        "test.room": "{free_bytes:file_size} of {need_bytes:file_size}",
        "test.took": "{samples:,} took {duration_s:seconds} s or {duration_s:time_left}",
        "test.energy": "{energy_j:energy}",
    }.items():
        monkeypatch.setitem(ENGLISH, code, template)


RUNS, TOOK = message("test.runs", count=2), {"samples": 50_000, "duration_s": 290.0}


@pytest.mark.usefixtures("templates")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (message("test.runs", count=1), "1 run"),
        (message("test.runs", count=0), "0 runs"),
        (message("test.runs", count=1_234), "1,234 runs"),
        (message("test.parts", parts=["epochs", "samples"]), "Parts: epochs; samples."),
        (message("test.parts", parts=[RUNS, "x"]), "Parts: 2 runs; x."),
        (message("test.names", names=["A", "B"]), "Changed: A, B."),
        (message("test.missing", files=["a", "b"], title="T", count=2), "a, b of T are missing."),
        (message("test.room", free_bytes=430e6, need_bytes=2.5e9), "430 MB of 2.5 GB"),
        (message("test.took", **TOOK), "50,000 took 290 s or about 4 min 50 s"),
        (message("test.energy", energy_j=12_300.0), "12.3 kJ (3.4 Wh)"),
    ],
)
def test_numbers_lists_and_formats(said: Message, expected: str) -> None:
    assert text(said) == expected


@pytest.mark.usefixtures("templates")
def test_a_nested_message_becomes_its_sentence_even_from_a_file() -> None:
    for outer in (message("test.parts", parts=[RUNS, "x"]), message("run.problem", problem=RUNS)):
        read = msgspec.json.decode(msgspec.json.encode(outer), type=Message)
        assert isinstance(read.arguments.get("problem", read.arguments.get("parts", [None])[0]), dict)
        assert text(read) == text(outer)
