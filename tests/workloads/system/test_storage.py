"""The storage test with real TensorFlow in real workers: all figures, and nothing left behind."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from app.core.metrics import METRICS
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.runs.session import Session
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.core.runs.running import start_run
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.system.storage import CASES
from workloads.system.storage_files import PREFIX

pytestmark = pytest.mark.engine
PATIENCE_S = 120


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / "first", tmp_path / "second drive"]
    for folder in made:
        folder.mkdir()
    return made


def spec_for(*folders: Path, images: int = 100) -> RunSpec:
    parameters = {"folders": os.pathsep.join(map(str, folders)), "images": images}
    spec = CATALOGUE["storage"].default_spec(device="cpu", parameters=parameters)
    return msgspec.structs.replace(spec, measure_s=0.3)


def contents(folders: list[Path]) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*")]


class Watched:
    """A run, and what is done with it as soon as some event arrives."""

    def __init__(
        self,
        paths: Paths,
        machine: Machine,
        spec: RunSpec,
        when: Callable[[events.Event], bool] = lambda _: False,
        do: Callable[["Watched"], object] = lambda _: None,
    ) -> None:
        self._paths, self._when, self._do = paths, when, do
        self._started = threading.Event()
        self._is_done = False
        self.pid = 0
        self.session: Session = start_run(Runner(paths, machine), spec, self._listen)
        self._started.set()

    def end(self) -> Run:
        assert self.session.wait(PATIENCE_S)
        return in_database(self._paths.database, load_run, self.session.run_id)

    def _listen(self, event: events.Event) -> None:
        if isinstance(event, events.Hello):
            self.pid = event.pid
        if not self._is_done and self._when(event):
            self._is_done = True
            assert self._started.wait(10)
            self._do(self)


def told(key: str) -> Callable[[events.Event], bool]:
    return lambda event: isinstance(event, events.Metric) and event.key == key


# Takes its time, as every case writes and reads files that are large enough to be measured.
def test_every_case_is_measured_in_every_folder_and_nothing_is_left(
    paths: Paths, machine: Machine, folders: list[Path]
) -> None:
    run = Watched(paths, machine, spec_for(*folders)).end()
    assert run.summary.status == "completed", run.summary.error_message
    assert contents(folders) == []
    rates = {
        case: [run.metrics[f"folder{number}_{case}_images_per_s"] or 0 for number in (1, 2)] for case in CASES
    }
    assert all(rate > 0 for pair in rates.values() for rate in pair)
    for case, (first, second) in rates.items():
        assert run.metrics[f"folder2_{case}_difference_pct"] == pytest.approx(100 * (second - first) / first)
        assert f"folder1_{case}_difference_pct" not in run.metrics
    for number in (1, 2):
        for case in ("write", "preprocess"):
            size_bytes = (run.metrics[f"folder{number}_{case}_bytes_per_s"] or 0) / rates[case][number - 1]
            assert 100_000 < size_bytes < 120_000
    assert run.summary.metric == "images_per_s"
    assert run.summary.value == run.metrics["images_per_s"] == rates["preprocess"][0]
    assert run.summary.basis == "repetitions"
    assert set(run.metrics) <= set(METRICS)
    # What is in memory need neither be read nor decoded.
    assert rates["read_cache"][0] > 3 * rates["read_jpeg"][0]
    assert run.dataset is not None
    assert (run.dataset.samples, run.dataset.shape) == (100, (375, 500, 3))
    assert [warning.code for warning in run.warnings] in ([], ["page_cache"])


@pytest.mark.long
def test_a_request_to_cancel_is_answered_and_leaves_nothing(
    paths: Paths, machine: Machine, folders: list[Path]
) -> None:
    seen: list[list[Path]] = []

    def cancel(watched: Watched) -> None:
        seen.append(contents(folders))
        watched.session.cancel()

    run = Watched(paths, machine, spec_for(*folders), told("folder1_write_images_per_s"), cancel).end()
    assert (run.summary.status, run.summary.value) == ("cancelled", None)
    assert sum(path.suffix == ".jpg" for path in seen[0]) == 100
    assert contents(folders) == []
    assert "folder1_read_jpeg_images_per_s" not in run.metrics


@pytest.mark.long
def test_what_a_killed_worker_left_is_removed_by_the_next_run(
    paths: Paths, machine: Machine, folders: list[Path]
) -> None:
    first = folders[0]
    when = told("folder1_preprocess_images_per_s")
    run = Watched(paths, machine, spec_for(first), when, lambda run: psutil.Process(run.pid).kill()).end()
    assert (run.summary.status, run.summary.error_code) == ("failed", "crashed")
    (left,) = first.iterdir()
    assert left.name.startswith(PREFIX)
    (first / "photo.jpg").touch()
    spec = msgspec.structs.replace(spec_for(first), device="gpu:9")  # which ends the next run at once
    assert Watched(paths, machine, spec).end().summary.error_code == "device_unavailable"
    assert contents([first]) == [first / "photo.jpg"]


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="Windows renames no folder that is in use")
def test_a_lost_folder_is_reported_in_a_sentence(paths: Paths, machine: Machine, folders: list[Path]) -> None:
    lose(paths, machine, folders[1], spec_for(folders[1], images=600))


def lose(paths: Paths, machine: Machine, folder: Path, spec: RunSpec) -> None:
    """Unplug a drive while its pictures are read: a sentence, and what was measured before is kept."""
    case = list(CASES).index("read_jpeg")
    run = Watched(
        paths,
        machine,
        spec,
        lambda event: isinstance(event, events.Steps) and event.epoch == case,
        lambda _: folder.rename(folder.with_name("unplugged")),
    ).end()
    reason = os.strerror(errno.ENOENT)
    assert said("storage.folder_gone", folder=folder, reason=reason).is_all_of(run.summary.error_message)
    assert run.summary.error_code == "bad_parameters"
    assert not folder.exists()
    assert run.summary.value == run.metrics["folder1_preprocess_images_per_s"]
