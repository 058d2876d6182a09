"""The storage test on real PyTorch and JAX: its files and threads when something comes in between."""

import os
from pathlib import Path

import msgspec
import pytest

from app.core.paths import Paths
from tests.workloads.system.test_storage import Watched, contents, told
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.system.storage import CASES

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
    case = list(CASES).index("read_jpeg")
    run = Watched(
        installed_engines,
        machine,
        spec_for(engine, folder),
        lambda event: isinstance(event, events.Steps) and event.epoch == case,
        lambda _: folder.rename(tmp_path / "unplugged"),
    ).end()
    reason = "disappeared during the measurement (No such file or directory)"
    assert run.summary.error_message == f"The folder {folder} {reason}. Bring it back, or choose another one."
    assert run.summary.error_code == "bad_parameters"
    assert run.summary.value == run.metrics["folder1_preprocess_images_per_s"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("metric", ["folder1_write_images_per_s", "folder1_read_tfrecord_images_per_s"])
def test_a_request_to_cancel_leaves_nothing(
    engine: str, metric: str, installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    spec = spec_for(engine, folder)
    run = Watched(installed_engines, machine, spec, told(metric), lambda run: run.session.cancel()).end()
    assert (run.summary.status, [warning.code for warning in run.warnings]) == ("cancelled", [])
    assert contents([folder]) == []
