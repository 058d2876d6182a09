"""How long a run would take, by a real worker that measures for seconds and leaves nothing behind."""

import re
import sys
import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.runs.probe import ProbeError, probe_duration_s
from app.core.runs.session import Session
from app.core.runs.workload_estimates import workload_estimates
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from tests.conftest import pretend_installed
from tests.core.storage.storing import in_database, store
from tests.saying import said
from workloads import CATALOGUE
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES
from workloads.protocol.machine import Gpu, Machine

DEMO = CATALOGUE["demo"]


def contents(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_probe_scales_its_steps_to_the_whole_run(paths: Paths, machine: Machine) -> None:
    spec = DEMO.default_spec(parameters={"step_s": 0.05}, epochs=4)
    before = contents(paths.data.parent)
    found_s = probe_duration_s(spec, paths, machine)
    # 4 epochs of 10 steps, and a third of a step for each 100 examples that are validated.
    assert 4 * 10 * 0.05 <= found_s < 4 * 10 * 0.05 * 2.5
    assert contents(paths.data.parent) == before


@pytest.mark.long
def test_cut_epochs_are_counted_as_they_are_cut(paths: Paths, machine: Machine) -> None:
    spec = DEMO.default_spec(parameters={"step_s": 0.05}, epochs=100, steps=1)
    assert 100 * 0.05 <= probe_duration_s(spec, paths, machine) < 100 * 0.05 * 3


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="links to packages need rights there")
def test_an_engine_with_its_own_packages_can_be_probed(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENGINES, DEFAULT_ENGINE, replace(ENGINES[DEFAULT_ENGINE], included_as=None))
    spec = DEMO.default_spec(parameters={"step_s": 0.05})
    packages = pretend_installed(DEFAULT_ENGINE, paths)
    with pytest.raises(ProbeError, match="msgspec"):  # not the app's
        probe_duration_s(spec, paths, machine)
    (packages / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    assert probe_duration_s(spec, paths, machine) > 0


@pytest.mark.long
@pytest.mark.parametrize("outcome", ["crash", "fail"])
def test_a_probe_that_fails_says_why(paths: Paths, machine: Machine, outcome: str) -> None:
    crashes = "|".join(re.escape(sentence(f"exit.{how}")) for how in ("segmentation_fault", "access_violation"))
    with pytest.raises(ProbeError, match="told to fail" if outcome == "fail" else crashes):
        probe_duration_s(DEMO.default_spec(parameters={"outcome": outcome}), paths, machine)


@pytest.mark.slow
def test_a_probe_can_be_stopped(paths: Paths, machine: Machine) -> None:
    spec = DEMO.default_spec(parameters={"step_s": 1.0})

    def stop_soon(session: Session) -> None:
        threading.Timer(0.5, session.cancel).start()

    with pytest.raises(ProbeError, match=said("run.probe_stopped").pattern):
        probe_duration_s(spec, paths, machine, stop_soon)


def test_what_cannot_be_run_cannot_be_probed(paths: Paths, machine: Machine) -> None:
    with pytest.raises(UsageError, match=said("workload.batch_too_large").pattern):
        probe_duration_s(DEMO.default_spec(batch_size=5_000), paths, machine)


def test_what_is_cut_by_time_needs_no_probe(paths: Paths, machine: Machine) -> None:
    workload = CATALOGUE["matmul"]
    assert probe_duration_s(workload.default_spec(), paths, machine) == workload.fixed_duration_s
    with Database(paths.database) as database:
        assert expected_duration_s(database, workload.default_spec(), machine) == workload.fixed_duration_s


def test_the_overview_has_time_and_data_of_every_workload(paths: Paths, machine: Machine) -> None:
    in_database(paths.database, store, machine, 80.0, 60.0)
    entries = {entry.workload.id: entry for entry in workload_estimates(paths, machine)}
    assert list(entries) == [name for name in CATALOGUE if name != "all_reduce"]
    standard = entries["cifar10_keras_cnn"]
    assert (standard.duration_s, standard.data, standard.published) == (600.0, "synthetic", (7, 7))
    assert entries["mnist_mlp"].duration_s is None
    assert entries["resnet_50"].data == "generated"
    assert entries["cifar10_cnn"].published == (31, 31)


def test_a_workload_for_several_devices_is_only_for_computers_with_several_cards(
    paths: Paths, machine: Machine
) -> None:
    cards = {count: replace(machine, gpus=(Gpu("RTX 3090", "nvidia"),) * count) for count in (1, 2)}
    for count, with_cards in cards.items():
        listed = {entry.workload.id for entry in workload_estimates(paths, with_cards)}
        assert ("all_reduce" in listed) == (count == 2)


def test_the_overview_is_of_one_engine(paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CATALOGUE["imdb_bidirectional_lstm"], "engines", ("tensorflow",))
    with Database(paths.database) as database:
        store(database, machine, 80.0, 60.0)
        store(database, machine, 30.0, 20.0, engine="torch", device="cpu")
    entries = {entry.workload.id: entry for entry in workload_estimates(paths, machine, "torch", "cpu")}
    assert entries["cifar10_keras_cnn"].duration_s == 200.0
    assert entries["cifar10_keras_cnn"].key == ("cifar10_keras_cnn", "torch", "cpu")
    assert entries["imdb_bidirectional_lstm"].key == ("imdb_bidirectional_lstm", "tensorflow", "auto")
