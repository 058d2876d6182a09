"""Engines that can't be imported, and those that disappear while a run needs them: one sentence each."""

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests import real_engines
from tests.build import in_database
from tests.conftest import pretend_installed
from tests.core.runs.running import start_run
from tests.saying import said
from tests.waiting import wait_until
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

ENGINES = ("torch", "jax")


def spec_of(engine: str, preset: Any = "standard", **asked: Any) -> RunSpec:
    return CATALOGUE["mnist_mlp"].default_spec(preset, engine=engine, device="cpu", data="synthetic", **asked)


def stored(paths: Paths, run_id: int) -> Run:
    return in_database(paths.database, load_run, run_id)


def run_with(torch: str, paths: Paths, machine: Machine) -> Run:
    packages = pretend_installed("torch", paths)
    (packages / "torch.py").write_text(torch, encoding="utf-8")
    shutil.copytree(Path(msgspec.__file__).parent, packages / "msgspec")
    session = start_run(Runner(paths, machine), spec_of("torch", epochs=1, steps=2))
    assert session.wait(60)
    return stored(paths, session.run_id)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raise OSError('[WinError 126]\\nc10.dll')", "[WinError 126] c10.dll"),
        ("raise AttributeError('_ARRAY_API not found')", "_ARRAY_API not found"),
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("raise RuntimeError", "RuntimeError"),
    ],
)
def test_an_engine_that_fails_at_import_is_missing(
    fault: str, reason: str, paths: Paths, machine: Machine
) -> None:
    run = run_with(fault, paths, machine)
    assert (run.summary.status, run.summary.error_code) == ("failed", "engine_missing")
    assert run.summary.error_message == f"PyTorch and Keras can't be imported ({reason})."


@pytest.mark.slow
def test_an_engine_that_is_gone_after_its_import_is_missing(paths: Paths, machine: Machine) -> None:
    run = run_with("import pathlib\npathlib.Path(__file__).unlink()", paths, machine)
    assert (run.summary.status, run.summary.error_code) == ("failed", "engine_missing")
    assert said("engine.gone", engine="PyTorch").begins(str(run.summary.error_message))


@pytest.mark.engines
@pytest.mark.timeout(real_engines.PATIENCE_S)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_is_removed_while_it_trains_is_missing_if_it_is_still_needed(
    engine: str, paths: Paths, engines_folder: Path, machine: Machine
) -> None:
    usual = engines_folder / engine
    (paths.engines / engine).mkdir(parents=True)
    shutil.copy(usual / "engine.json", paths.engines / engine)
    packages = paths.engines / engine / "packages"
    shutil.copytree(usual / "packages", packages, copy_function=os.link)
    seen: list[events.Event] = []
    session = start_run(Runner(paths, machine), spec_of(engine, "sustained", duration_s=4.0), seen.append)
    wait_until(lambda: any(isinstance(event, events.Steps) for event in seen))
    shutil.rmtree(packages)
    assert session.wait(100)
    run = stored(paths, session.run_id)
    if run.summary.status != "completed":  # it may have imported all it needed
        assert run.summary.error_code == "engine_missing"
        assert said("engine.gone").is_in(str(run.summary.error_message))
