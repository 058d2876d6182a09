"""The rules of the house that a machine can check; CONTRIBUTING.md has them all."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Set
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.our_code import nodes_of, sources, trees
from tests.sure import sure

Rule = Callable[[ast.AST], Iterator[tuple[int, str]]]
LINES_LIMIT, FUNCTION_LIMIT = 600, 70
# Anything may be found, told or known: such names don't say what a variable holds.
EMPTY_NAMES = {"found", "told", "known"}
CLOCKS = {"monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns", "time_ns", "process_time"}
# Underscores that are no privacy.
PUBLIC = {
    "_actions": "of argparse, which has no public name for them",
    "_SubParsersAction": "the same",
    "_replace": "of named tuples",
    "_obj": "of ctypes.byref, which stands for the caller's variable",
    "_base_executable": "of sys, which start.py needs to know",
    "_exit": "of os, the only way for a fork to end at once",
    "_gpu_tree_hook": "put into sys by the tests themselves",
}
SLEEPERS = {
    "tests/gui/run/test_preflight.py": "something must not happen, and there is no event for that",
    "tests/core/verdict/test_verdict.py": "a worker has to stand still for real seconds",
    "tests/cli/storms.py": "signals come at any time",
}


def private_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name) if is_private(name):
                yield node.lineno, name
            case ast.ImportFrom(names=names):
                yield from ((node.lineno, alias.name) for alias in names if is_private(alias.name))
            case ast.Call(func=ast.Attribute(attr="setattr" | "delattr") | ast.Name(id="setattr"), args=args):
                last = [text.rpartition(".")[2] for text in texts(args)]
                yield from ((node.lineno, name) for name in last if is_private(name))


def sleeps(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and (called(node) == "sleep" or waits_blindly(node)):
            yield node.lineno, ast.unparse(node)


def clocks_asserted(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Assert):
            calls = [each for each in ast.walk(node.test) if isinstance(each, ast.Call)]
            if any(called(call) in CLOCKS for call in calls):
                yield node.lineno, ast.unparse(node.test)


def wide_tolerances(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and called(node) == "approx" and node.args:
            number = number_of(node.args[0])
            for keyword in node.keywords:
                tolerance = number_of(keyword.value)
                if tolerance is None:
                    continue
                if keyword.arg == "rel" and tolerance > 0.5:
                    yield node.lineno, ast.unparse(node)
                if keyword.arg == "abs" and number and tolerance > abs(number) / 2:
                    yield node.lineno, ast.unparse(node)


def patched_times(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and called(node) == "setattr":
            yield from (
                (node.lineno, name) for name in texts(node.args) if re.search(r"(^|\.)_?[A-Z][A-Z_]*_M?S$", name)
            )


def long_functions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield functions that cannot be seen at once."""
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LIMIT:
                yield node.lineno, f"{node.name}: {lines} lines"


def empty_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield variables and parameters of functions that do not say what they hold."""
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    for node in {inner for function in functions for inner in ast.walk(function)}:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in EMPTY_NAMES:
                yield node.lineno, name


def turkish_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield properties of Qt's classes that PySide doesn't find in Turkish, where "i" has another capital."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and re.match(r"Q[A-Z]", called(node)):
            yield from ((node.lineno, word.arg) for word in node.keywords if word.arg and word.arg.startswith("i"))


def waits_blindly(call: ast.Call) -> bool:
    """Return whether a call waits for so long whatever happens: in the window, or for no event."""
    match call:
        case ast.Call(func=ast.Attribute(attr="wait", value=waits), args=[duration]):
            by_window = isinstance(waits, ast.Name | ast.Attribute) and ast.unparse(waits).endswith("qtbot")
            for_nobody = isinstance(waits, ast.Call) and called(waits) == "Event"
            return (by_window or for_nobody) and number_of(duration) != 0
    return False


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def undocumented(tree: ast.AST, declared: Set[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """Yield public functions of over three lines without a docstring, unless a base class or Keras has one."""
    for node in nodes_of(tree):
        is_class = isinstance(node, ast.ClassDef)
        if not isinstance(node, ast.Module | ast.ClassDef) or getattr(node, "name", "").startswith("_"):
            continue
        for each in node.body:
            if (
                not isinstance(each, ast.FunctionDef)
                or each.name.startswith(("_", "on_", "call"))
                or each.decorator_list
            ):
                continue
            is_long = sure(each.end_lineno) - each.body[0].lineno >= 3
            if is_long and ast.get_docstring(each) is None and not (is_class and each.name in declared):
                yield each.lineno, each.name


def documented_methods(modules: Iterable[ast.Module]) -> set[str]:
    classes = [node for tree in modules for node in nodes_of(tree) if isinstance(node, ast.ClassDef)]
    return {
        each.name
        for node in classes
        for each in node.body
        if isinstance(each, ast.FunctionDef) and ast.get_docstring(each) is not None
    }


def of_tests() -> dict[str, ast.Module]:
    return {name: tree for name, tree in trees("tests/").items() if not name.startswith("tests/tools/")}


def of_program() -> dict[str, ast.Module]:
    return trees("app/", "workloads/")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def texts(nodes: list[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def number_of(node: ast.expr) -> float | None:
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


RULES: tuple[Rule, ...] = (private_names, sleeps, clocks_asserted, wide_tolerances, patched_times)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_test_breaks_the_rule(rule: Rule) -> None:
    exempt = SLEEPERS if rule is sleeps else ()
    found = [(name, *each) for name, tree in of_tests().items() if name not in exempt for each in rule(tree)]
    assert [f"{name}:{line}: {what}" for name, line, what in found] == []


def test_files_and_functions_stay_short() -> None:
    lines = {name: len(text.splitlines()) for name, text in sources().items()}
    assert {name: count for name, count in lines.items() if count > LINES_LIMIT} == {}
    long = [(name, *each) for name, tree in trees("").items() for each in long_functions(tree)]
    assert [f"{name}:{line}: {what}" for name, line, what in long] == []


def test_a_test_file_has_the_name_of_the_module_or_package_that_it_tests() -> None:
    ours = {name.removeprefix("app/").removesuffix(".py").removesuffix("/__init__") for name in of_program()}
    lost = []
    for name in (name for name in sources() if name.startswith("tests/") and "/test_" in name):
        *folders, file = name.removeprefix("tests/").removesuffix(".py").split("/")
        of_package = "/".join(folders) in ours and file == f"test_{folders[-1]}"
        is_of_many = folders in ([], ["start"], ["packaging"]) or folders[-1] == "walks"
        if "/".join([*folders, file.removeprefix("test_")]) not in ours and not of_package and not is_of_many:
            lost.append(name)
    assert lost == []


def test_variables_say_what_they_hold() -> None:
    empty = [(name, *each) for name, tree in of_program().items() for each in empty_names(tree)]
    assert [f"{name}:{line}: {what}" for name, line, what in empty] == []


def test_public_functions_of_core_and_workloads_have_docstrings_if_they_are_long() -> None:
    modules = trees("app/core/", "workloads/")
    declared = documented_methods(modules.values())
    without = [(name, *each) for name, tree in modules.items() for each in undocumented(tree, declared)]
    assert [f"{name}:{line}: {what}" for name, line, what in without] == []


def test_properties_of_qt_are_found_in_every_language() -> None:
    wrong = [(name, *each) for name, tree in of_program().items() for each in turkish_names(tree)]
    assert [f"{name}:{line}: {what}" for name, line, what in wrong] == []


def circle(modules: dict[str, ast.Module]) -> list[str]:
    """Return modules that import each other, for types or when they're loaded; [] if there are none."""
    graph = {
        module: {asked if asked in modules else asked.rpartition(".")[0] for asked in early_imports(tree)}
        for module, tree in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def early_imports(tree: ast.Module) -> Iterator[str]:
    """Yield what is imported outside functions; "module.name" for a name from a module."""
    nodes = nodes_of(tree)
    late = {inner for node in nodes if isinstance(node, ast.FunctionDef) for inner in ast.walk(node)}
    for node in nodes:
        match node:
            case ast.Import(names=names) if node not in late:
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names) if node not in late:
                yield from (f"{module}.{alias.name}" for alias in names)


def never_used(modules: dict[str, ast.Module]) -> list[str]:
    """Return what modules define and none of them uses, such as a rule or a network whose row was forgotten."""
    used = {module: set(names_used(tree)) for module, tree in modules.items()}
    anywhere = set().union(*used.values())
    return [
        f"{module}: {name}"
        for module, tree in modules.items()
        for name in names_defined(tree)
        if name not in (used[module] if is_private(name) else anywhere) and not name.startswith("__")
    ]


def names_used(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield name


def names_defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name, decorator_list=[]) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def test_all_that_is_defined_is_used() -> None:
    assert never_used(of_program()) == []


def test_no_modules_import_each_other() -> None:
    code = of_program()
    names = {name: name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in code}
    assert circle({names[name]: tree for name, tree in code.items()}) == []
