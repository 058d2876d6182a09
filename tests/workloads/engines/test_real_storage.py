"""The storage test on real PyTorch and JAX: its files and threads when something comes in between."""

import os
from pathlib import Path

import msgspec
import pytest

from app.core.paths import Paths
from tests.workloads.system.test_storage import Watched, contents, lose, told
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]
ENGINES = ("torch", "jax")


def spec_for(engine: str, folder: Path) -> RunSpec:
    parameters = {"folders": os.fspath(folder), "images": 600}
    spec = CATALOGUE["storage"].default_spec(device="cpu", engine=engine, parameters=parameters)
    return msgspec.structs.replace(spec, measure_s=0.3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lost_folder_is_reported_in_the_same_sentence(
    engine: str, installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    lose(installed_engines, machine, folder, spec_for(engine, folder))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_to_cancel_leaves_nothing(
    engine: str, installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    when = told("folder1_read_tfrecord_images_per_s")
    run = Watched(
        installed_engines, machine, spec_for(engine, folder), when, lambda run: run.session.cancel()
    ).end()
    assert run.summary.status == "cancelled"
    assert {warning.code for warning in run.warnings} <= {"page_cache"}
    assert contents([folder]) == []
