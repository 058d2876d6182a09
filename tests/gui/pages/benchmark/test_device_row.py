"""Engine and device are chosen together before a run, from what is installed and what it can use."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QCheckBox

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.storage.groups import list_groups
from app.gui.pages.settings.page import SettingsPage
from tests.build import in_database
from tests.conftest import pretend_installed
from tests.gui.driving import Driver
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu

RADEON = Gpu("AMD Radeon RX 9070 XT", "amd", source="sysfs")
RTX = Gpu("NVIDIA GeForce RTX 5070", "nvidia", driver="580.95", compute_capability="12.0")
OLD_RADEON = Gpu("AMD Radeon RX 580", "amd", source="registry", shares_memory=False)
UHD = Gpu("Intel UHD Graphics 770", "intel", source="registry", shares_memory=True)
WINDOWS = "Windows 11"
Become = Callable[..., None]


@pytest.fixture
def on_computer(driver: Driver, paths: Paths) -> Become:
    def show(os_name: str, *gpus: Gpu, **variants: str) -> None:
        engines = driver.services.engines
        driver.become(os_name=os_name, architecture="x86_64", gpus=gpus)
        for engine, variant in variants.items():
            pretend_installed(engine, paths, variant)
        engines.look()
        driver.until(lambda: set(engines.installed) == {"tensorflow", *variants})

    return show


def offered(driver: Driver) -> list[str]:
    devices = driver.page.setup.device
    return [devices.itemText(number) for number in range(devices.count())]


def choose(driver: Driver, workload: str) -> None:
    driver.page.setup.choose(workload)


def asked(driver: Driver) -> tuple[str, str, bool]:
    spec = driver.page.setup.spec()
    return spec.engine, spec.device, spec.jit


def compiled(driver: Driver) -> QCheckBox:
    boxes = driver.page.setup.form.rest.findChildren(QCheckBox)
    return next(box for box in boxes if box.accessibleName() == "Compiled")


def test_a_single_engine_has_the_devices_of_the_machine(driver: Driver, on_computer: Become) -> None:
    setup = driver.page.setup
    on_computer("Linux 6.1", RTX)
    assert offered(driver) == [
        sentence("setup.automatic_device", device="NVIDIA GeForce RTX 5070"),
        "CPU",
        sentence("setup.gpu", number="0", name="NVIDIA GeForce RTX 5070"),
    ]
    setup.device.setCurrentIndex(2)
    assert asked(driver) == ("tensorflow", "gpu:0", False)
    on_computer(WINDOWS, RTX)
    assert offered(driver) == [sentence("setup.automatic_device", device="CPU"), "CPU"]
    assert asked(driver) == ("tensorflow", "auto", False)
    assert not said("setup.all_engines").is_in(setup.form.values())


def test_engine_and_device_are_one_choice(driver: Driver, on_computer: Become) -> None:
    setup = driver.page.setup
    on_computer(WINDOWS, RTX, torch="cuda")
    assert offered(driver) == [
        sentence("setup.automatic_device", device="RTX 5070 · PyTorch"),
        sentence("setup.device_with_engine", device="CPU", engine="TensorFlow"),
        sentence("setup.device_with_engine", device="CPU", engine="PyTorch"),
        sentence("setup.device_with_engine", device="RTX 5070", engine="PyTorch"),
    ]
    assert asked(driver) == ("torch", "auto", False)
    expected = [("tensorflow", "cpu", False), ("torch", "cpu", False), ("torch", "gpu:0", False)]
    for number, pair in enumerate(expected, 1):
        setup.device.setCurrentIndex(number)
        assert asked(driver) == pair
    driver.become(gpus=(RTX, replace(RTX, name="NVIDIA GeForce RTX 4060")))
    assert offered(driver)[-2:] == ["GPU 0: RTX 5070 · PyTorch", "GPU 1: RTX 4060 · PyTorch"]


def test_the_choice_is_kept(driver: Driver, on_computer: Become, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CATALOGUE["imdb_bidirectional_lstm"], "engines", ("tensorflow",))
    setup = driver.page.setup
    on_computer("Linux 6.1", torch="cpu")
    setup.device.select("torch", "cpu")
    choose(driver, "mnist_mlp")
    assert asked(driver) == ("torch", "cpu", False)
    choose(driver, "imdb_bidirectional_lstm")
    assert offered(driver) == [sentence("setup.automatic_device", device="CPU"), "CPU"]
    assert asked(driver) == ("tensorflow", "auto", False)
    choose(driver, "mnist_mlp")
    assert asked(driver) == ("torch", "cpu", False)


def test_what_always_compiles_keeps_its_box_checked(driver: Driver, on_computer: Become) -> None:
    setup = driver.page.setup
    on_computer("Linux 6.1", jax="cpu", torch="cpu")
    usual_tip = compiled(driver).toolTip()
    setup.device.select("jax", "cpu")
    assert asked(driver) == ("jax", "cpu", True)
    assert (compiled(driver).isChecked(), compiled(driver).isEnabled()) == (True, False)
    assert said("setup.always_compiled", engine="JAX").is_in(compiled(driver).toolTip())
    choose(driver, "mnist_mlp")
    assert asked(driver) == ("jax", "cpu", True)
    assert not compiled(driver).isEnabled()
    setup.device.select("torch", "cpu")
    assert asked(driver) == ("torch", "cpu", False)
    assert (compiled(driver).isEnabled(), compiled(driver).toolTip()) == (True, usual_tip)
    setup.form.set_value("jit", True)
    for engine in ("jax", "tensorflow"):
        setup.device.select(engine, "cpu")
        assert asked(driver) == (engine, "cpu", True)


def test_a_card_of_another_engine_leads_to_its_installation(driver: Driver, on_computer: Become) -> None:
    row = driver.page.setup.device_row
    on_computer(WINDOWS, RTX)
    assert said(
        "setup.gpu_not_on_system", engine="PyTorch", system="Windows", gpu="RTX 5070", instead_of="TensorFlow"
    ).is_all_of(row.help_text.whole_text)
    assert said("setup.install_engine", engine="PyTorch").is_all_of(row.help_button.accessibleName())
    driver.press(row.help_button)
    assert isinstance(driver.window.page, SettingsPage)
    assert set(driver.services.engines.installed) == {"tensorflow"}


def test_a_card_of_an_installed_engine_is_one_click_away(driver: Driver, on_computer: Become) -> None:
    setup, row = driver.page.setup, driver.page.setup.device_row
    on_computer(WINDOWS, RTX, torch="cuda")
    assert not row.help_text.isVisible()
    setup.device.select("tensorflow", "cpu")
    assert said("setup.gpu_runs_with", engine="PyTorch", gpu="RTX 5070").is_all_of(row.help_text.whole_text)
    driver.press(row.help_button)
    assert asked(driver) == ("torch", "gpu:0", False)
    assert not row.help_text.isVisible()
    setup.device.select("torch", "cpu")  # which the user seems to want
    assert not row.help_text.isVisible()


NEEDS = "setup.gpu_needs_engine"


@pytest.mark.parametrize(
    ("os_name", "gpu", "code", "has_button"),
    [
        ("Linux 6.1", RADEON, NEEDS, True),
        ("Linux 6.1", RTX, NEEDS, True),
        ("Linux 6.1", replace(RTX, compute_capability="8.9"), "", False),
        (WINDOWS, UHD, "", False),
        (WINDOWS, OLD_RADEON, "engines.no_build", False),  # nothing uses it
    ],
)
def test_only_what_helps_is_said(
    os_name: str, gpu: Gpu, code: str, has_button: bool, driver: Driver, on_computer: Become
) -> None:
    row = driver.page.setup.device_row
    on_computer(os_name, gpu)
    assert (row.help_text.isVisible(), row.help_button.isVisible()) == (bool(code), has_button)
    if code == NEEDS:
        names = {"instead_of": "TensorFlow", "engine": "PyTorch"}
        assert said(code, gpu=gpu.name.split(" ", 1)[1].removeprefix("GeForce "), **names).is_all_of(
            row.help_text.whole_text
        )
    elif code:
        assert said(code, engine="TensorFlow", gpu=gpu.name).is_all_of(row.help_text.whole_text)


def test_a_build_for_the_processor_has_no_card(driver: Driver, on_computer: Become) -> None:
    setup = driver.page.setup
    on_computer(WINDOWS, RTX, torch="cpu")
    help_text = setup.device_row.help_text
    assert offered(driver) == [
        sentence("setup.automatic_device", device="CPU · TensorFlow"),
        sentence("setup.device_with_engine", device="CPU", engine="TensorFlow"),
        sentence("setup.device_with_engine", device="CPU", engine="PyTorch"),
    ]
    assert said("setup.gpu_not_on_system", gpu="RTX 5070", engine="PyTorch").begins(help_text.whole_text)
    setup.device.select("torch", "cpu")
    assert said("setup.gpu_needs_other_build", gpu="RTX 5070", engine="PyTorch").is_all_of(help_text.whole_text)


@pytest.mark.slow
def test_all_engines_run_in_turn_and_are_compared(driver: Driver, on_computer: Become) -> None:
    setup = driver.page.setup
    assert "all_engines" not in setup.form.values()  # there is only one
    on_computer("Linux 6.1", jax="cpu")  # its packages are empty: it fails at once
    choose(driver, "demo")
    setup.choose_length("standard")
    for name, value in (("epochs", 2), ("step_s", 0.001), ("all_engines", True)):
        setup.form.set_value(name, value)
    ended: list[int] = []
    driver.services.bridge.ended.connect(ended.append)
    setup.run()
    driver.until(lambda: bool(ended))
    assert driver.services.bridge.plan is not None
    assert driver.services.bridge.plan.kind == "engines"
    driver.until(lambda: driver.page.run is not None)
    (group,) = in_database(driver.services.paths.database, list_groups, "engines")
    statuses = ["completed", "failed", "failed", "completed"]  # there and back, whichever is first
    assert [run.status for run in group.runs] in (statuses, ["failed", "completed", "completed", "failed"])
    assert said("engine_page.is_fastest", engine="TensorFlow").is_all_of(driver.view.headline.rank.whole_text)
    table = driver.view.charts.engines
    assert table.isVisible()
    assert [item.text() for row in (0, 1) if (item := table.item(row, 0)) is not None] == ["TensorFlow", "JAX"]
