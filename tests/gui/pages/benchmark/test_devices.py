"""Engine and device are chosen together before a run, from what is installed and what it can use."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QCheckBox

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.gui.pages.settings.page import SettingsPage
from tests.build import in_database, store
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


@pytest.fixture
def on_computer(driver: Driver, paths: Paths) -> Callable[..., None]:
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


def test_with_a_single_engine_devices_are_those_of_the_machine(
    driver: Driver, on_computer: Callable[..., None]
) -> None:
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


def test_engine_and_device_are_one_choice(driver: Driver, on_computer: Callable[..., None]) -> None:
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


def test_a_build_for_the_processor_is_offered_no_card(driver: Driver, on_computer: Callable[..., None]) -> None:
    on_computer(WINDOWS, RTX, torch="cpu")
    assert offered(driver) == [
        sentence("setup.automatic_device", device="CPU · TensorFlow"),
        sentence("setup.device_with_engine", device="CPU", engine="TensorFlow"),
        sentence("setup.device_with_engine", device="CPU", engine="PyTorch"),
    ]


def test_several_cards_are_numbered(driver: Driver, on_computer: Callable[..., None]) -> None:
    on_computer(WINDOWS, RTX, replace(RTX, name="NVIDIA GeForce RTX 4060"), torch="cuda")
    assert offered(driver)[-2:] == ["GPU 0: RTX 5070 · PyTorch", "GPU 1: RTX 4060 · PyTorch"]


def test_the_choice_is_kept_where_it_is_offered(
    driver: Driver, on_computer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_what_always_compiles_keeps_its_box_checked(driver: Driver, on_computer: Callable[..., None]) -> None:
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


def test_the_time_is_that_of_the_engine(driver: Driver, on_computer: Callable[..., None]) -> None:
    setup = driver.page.setup
    on_computer("Linux 6.1", torch="cpu")
    machine = driver.machine
    with Database(driver.services.paths.database) as database:
        store(database, machine, 65.0, 60.0, 60.0, device="cpu")
        store(database, machine, 130.0, 120.0, 120.0, device="cpu", engine="torch")
    setup.device.select("torch", "cpu")
    driver.until(lambda: "about 20 min" in driver.length_text())
    setup.device.select("tensorflow", "cpu")
    driver.until(lambda: "about 10 min" in driver.length_text())


def test_a_card_that_another_engine_could_use_is_one_click_from_its_installation(
    driver: Driver, on_computer: Callable[..., None]
) -> None:
    row = driver.page.setup.device_row
    on_computer(WINDOWS, RTX)
    assert said(
        "setup.gpu_not_on_system", engine="PyTorch", system="Windows", gpu="RTX 5070", instead_of="TensorFlow"
    ).is_all_of(row.help_text.whole_text)
    assert said("setup.install_engine", engine="PyTorch").is_all_of(row.help_button.accessibleName())
    driver.press(row.help_button)
    assert isinstance(driver.window.page, SettingsPage)
    assert set(driver.services.engines.installed) == {"tensorflow"}


def test_a_card_that_an_installed_engine_could_use_is_one_click_away(
    driver: Driver, on_computer: Callable[..., None]
) -> None:
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


@pytest.mark.parametrize(
    ("os_name", "gpu", "variants", "said"),
    [
        (
            "Linux 6.1",
            RADEON,
            {},
            sentence("setup.gpu_needs_engine", instead_of="TensorFlow", gpu="Radeon RX 9070 XT", engine="PyTorch"),
        ),
        (WINDOWS, UHD, {}, ""),
        (WINDOWS, OLD_RADEON, {}, sentence("engines.no_build", engine="TensorFlow", gpu="AMD Radeon RX 580")),
        ("Linux 6.1", replace(RTX, compute_capability="8.9"), {}, ""),
        (
            "Linux 6.1",
            RTX,
            {},
            sentence("setup.gpu_needs_engine", instead_of="TensorFlow", gpu="RTX 5070", engine="PyTorch"),
        ),
        (
            WINDOWS,
            RTX,
            {"torch": "cpu"},
            sentence(
                "setup.gpu_not_on_system",
                instead_of="TensorFlow",
                gpu="RTX 5070",
                system="Windows",
                engine="PyTorch",
            ),
        ),
    ],
)
def test_only_what_helps_is_said(
    os_name: str, gpu: Gpu, variants: dict[str, str], said: str, driver: Driver, on_computer: Callable[..., None]
) -> None:
    row = driver.page.setup.device_row
    on_computer(os_name, gpu, **variants)
    assert (row.help_text.whole_text if row.help_text.isVisible() else "") == said


def test_a_card_that_nothing_uses_needs_no_button(driver: Driver, on_computer: Callable[..., None]) -> None:
    row = driver.page.setup.device_row
    on_computer(WINDOWS, OLD_RADEON)
    assert (row.help_text.isVisible(), row.help_button.isVisible()) == (True, False)
    on_computer("Linux 6.1", RADEON)
    assert (row.help_text.isVisible(), row.help_button.isVisible()) == (True, True)


def test_another_build_of_the_chosen_engine_may_help(driver: Driver, on_computer: Callable[..., None]) -> None:
    setup = driver.page.setup
    on_computer(WINDOWS, RTX, torch="cpu")
    setup.device.select("torch", "cpu")
    said = sentence("setup.gpu_needs_other_build", gpu="RTX 5070", engine="PyTorch")
    assert setup.device_row.help_text.whole_text == said


@pytest.mark.slow
@pytest.mark.engine
def test_pytorch_and_jax_run_with_the_mouse(driver: Driver, installed_engines: Paths) -> None:
    setup = driver.page.setup
    driver.services.engines.look()
    driver.until(lambda: set(driver.services.engines.installed) == {"tensorflow", "torch", "jax"})
    choose(driver, "mnist_mlp")
    setup.choose_length("standard")
    for engine, title in (("torch", "PyTorch"), ("jax", "JAX")):
        setup.form.set_value("epochs", 1)
        setup.form.set_value("steps", 3)
        setup.device.setCurrentIndex(setup.device.findText(f"CPU · {title}"))
        driver.press(setup.run_button)
        run = driver.wait_for_result()
        assert (run.engine, run.device, run.status) == (engine, "cpu", "completed")
        driver.press(driver.page.new_button)
        assert asked(driver)[0] == engine


@pytest.mark.slow
def test_all_engines_run_in_turn_and_it_says_which_is_fastest(
    driver: Driver, on_computer: Callable[..., None]
) -> None:
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


CARD = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12 * 10**9, compute_capability="8.9")


@pytest.mark.parametrize("cards", [1, 2])
def test_only_a_computer_with_several_cards_offers_to_train_on_them(driver: Driver, cards: int) -> None:
    driver.become(os_name="Linux 6.1", architecture="x86_64", gpus=(CARD,) * cards)
    window, several = driver.window, cards > 1
    setup = window.benchmark.setup
    setup.advanced_button.setChecked(True)
    assert (list(setup.gpus.boxes), setup.gpus.isVisible()) == ([0, 1] if several else [], several)
    choose(driver, "demo")
    assert not setup.gpus.isVisible()
    choose(driver, "mnist_mlp")
    assert setup.gpus.isVisible() == several
    assert (setup.spec().device, setup.spec().settings) == ("auto", {})
    window.show_page("lab")
    questions = window.lab.questions
    questions.choose("scaling")
    assert (questions.key == "scaling") == several
