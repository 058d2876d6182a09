"""All our code, read once for each process of tests that looks through it."""

import ast
from functools import cache

from tests.conftest import ROOT


@cache
def sources() -> dict[str, str]:
    tops = ("app", "workloads", "tests", "packaging")
    paths = [ROOT / "start.py", *(path for top in tops for path in sorted((ROOT / top).rglob("*.py")))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def trees(*tops: str) -> dict[str, ast.Module]:
    return {name: _tree(name) for name in sources() if name.startswith(tops)}


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(sources()[name])


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))
