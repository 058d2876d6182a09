"""Kinds of workloads only sort lists: what a workload can do is asked for by name."""

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workloads import CATALOGUE

APP = sorted((ROOT / "app").rglob("*.py"))


@pytest.mark.parametrize("path", APP, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_app_asks_what_a_workload_can_do(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            # The registry of numbers names what the test of storage measures, case by case.
            families = node.module.startswith(("workloads.networks", "workloads.system"))
            assert not families or [alias.name for alias in node.names] == ["CASES"], node.lineno
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "kind":
            owner = ast.unparse(node.left.value)
            assert "workload" not in owner.lower() and "CATALOGUE" not in owner, node.lineno  # noqa: PT018


def test_the_capabilities_of_each_workload_are_consistent() -> None:
    for workload in CATALOGUE.values():
        # Only epochs can be repeated for a given time, and summarised. With epochs, both remain a choice.
        assert workload.has_epochs or not workload.can_sustain, workload.id
        assert workload.has_epochs or workload.reports_headline, workload.id
        assert not (workload.trains and workload.reports_headline), workload.id
    assert [workload.id for workload in CATALOGUE.values() if workload.is_demo] == ["demo"]
    assert {workload.id for workload in CATALOGUE.values() if not workload.has_epochs} == {
        *("matmul", "memory_bandwidth", "host_to_device", "storage"),
    }
