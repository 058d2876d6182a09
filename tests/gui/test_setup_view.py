"""What is chosen before a run: the form that declarations make, the estimate, and getting the real data."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox

from app.core.database import Database
from app.core.model import Gpu
from tests.archives import SIZE_BYTES, make_archive
from tests.core.server import Handler, Server, serving
from tests.core.storing import store
from tests.gui.driving import Driver
from workloads.datasets import cifar10
from workloads.spec import ParameterValue


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of an archive that passes for the official one."""
    raw = make_archive(tmp_path / "official.tar.gz").read_bytes()
    monkeypatch.setattr(cifar10, "FILE_BYTES", SIZE_BYTES)
    with serving() as server:
        server.content = raw
        checksum = hashlib.sha256(raw).hexdigest()
        official = replace(cifar10.SOURCE, size_bytes=len(raw), sha256=checksum, url=server.url)
        monkeypatch.setattr(cifar10, "SOURCE", official)
        yield server


def test_the_form_is_made_from_declarations(driver: Driver) -> None:
    driver.choose_demo("crash", step_s=0.25)
    form = driver.page.setup.form
    outcome = next(box for box in form.findChildren(QComboBox) if box.accessibleName() == "Outcome")
    assert [outcome.itemText(number) for number in range(3)] == ["ok", "fail", "out_of_memory"]
    step = form.findChildren(QDoubleSpinBox)[0]
    assert (step.minimum(), step.maximum(), step.suffix()) == (0.0, 60.0, " s")
    spec = driver.page.setup.spec()
    assert spec.parameters == {"outcome": "crash", "step_s": 0.25}
    assert (spec.epochs, spec.steps, spec.threads, spec.precision) == (3, None, None, "float32")


def test_all_settings_reach_the_spec(driver: Driver) -> None:
    setup = driver.page.setup
    driver.choose_demo()
    driver.press(setup.advanced_button)
    assert setup.form.isVisible()
    wanted: dict[str, ParameterValue] = {
        "epochs": 2,
        "steps": 3,
        "batch_size": 50,
        "precision": "mixed_float16",
        "jit": True,
        "threads": 4,
    }
    for name, value in (wanted | {"seed": 9}).items():
        setup.form.set_value(name, value)
    setup.device.setCurrentIndex(setup.device.findData("cpu"))
    spec = setup.spec()
    assert {name: getattr(spec, name) for name in wanted} == wanted
    assert (spec.seed, spec.device) == (9, "cpu")
    driver.press(setup.presets["quick"])
    assert (setup.spec().preset, setup.spec().epochs, setup.spec().steps) == ("quick", 1, None)


def test_devices_are_those_of_the_machine(driver: Driver) -> None:
    finder, setup = driver.services.finder, driver.page.setup
    assert finder.machine is not None
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12_000_000_000)
    finder.machine = replace(finder.machine, cpu_name="AMD Ryzen 7 7800X3D", gpus=(gpu,))
    finder.found.emit()
    names = [setup.device.itemText(number) for number in range(setup.device.count())]
    assert names == ["Automatic: NVIDIA GeForce RTX 4070", "Processor", "GPU 0: NVIDIA GeForce RTX 4070"]
    setup.device.setCurrentIndex(2)
    assert setup.spec().device == "gpu:0"


def test_the_time_is_measured_by_earlier_runs(driver: Driver) -> None:
    setup, machine = driver.page.setup, driver.services.finder.machine
    assert machine is not None
    driver.until(lambda: "after a first run" in setup.presets["standard"].accessibleName())
    with Database(driver.services.paths.database) as database:
        store(database, machine, 65.0, 60.0, 60.0)
    setup.refresh()
    driver.until(lambda: "10 epochs, about 10 min" in setup.presets["standard"].accessibleName())
    setup.form.set_value("epochs", 2)
    driver.until(lambda: "2 epochs, about 2 min" in setup.presets["standard"].accessibleName())


def test_the_data_is_fetched_when_its_button_is_pressed(driver: Driver, server: Server) -> None:
    row = driver.page.setup.dataset
    driver.page.setup.refresh()
    assert row.choice.findData("real") < 0
    assert server.ranges == []
    driver.press(row.get_button)
    driver.until(lambda: "installed" in driver.message)
    assert server.ranges == [None]
    assert row.choice.itemText(0) == "Automatic: real"
    row.choice.setCurrentIndex(row.choice.findData("real"))
    assert driver.page.setup.spec().data == "real"
    assert (driver.services.paths.datasets / "cifar10").is_dir()
    assert not row.get_button.isVisible()


def test_a_download_can_be_cancelled_and_goes_on_later(driver: Driver, server: Server) -> None:
    go_on = threading.Event()
    half = len(server.content) // 2

    def slow(handler: Handler, start: int) -> None:
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(server.content) - start))
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        handler.end_headers()
        handler.wfile.write(server.content[start:half])
        handler.wfile.flush()
        assert go_on.wait(20)
        handler.wfile.write(server.content[max(start, half) :])

    server.answer = slow
    row = driver.page.setup.dataset
    driver.page.setup.refresh()
    driver.press(row.get_button)
    driver.until(lambda: server.ranges != [])
    assert "of" in row.progress_text.text()
    driver.press(row.cancel_button)
    assert row.progress_text.text() == "Cancelling …"
    go_on.set()
    driver.until(lambda: "was cancelled" in driver.message)
    assert row.get_button.isVisible()
    assert not (driver.services.paths.datasets / "cifar10").exists()
    driver.press(row.get_button)
    driver.until(lambda: "is installed" in driver.message)


def test_a_failed_download_is_told(driver: Driver, server: Server) -> None:
    server.answer = lambda handler, start: handler.give(404, b"")
    row = driver.page.setup.dataset
    driver.page.setup.refresh()
    driver.press(row.get_button)
    driver.until(lambda: "404" in driver.message)
    assert row.get_button.isVisible()
