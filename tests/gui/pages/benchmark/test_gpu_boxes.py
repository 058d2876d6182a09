"""The check boxes for GPUs that share each batch, on computers with several of them."""

from typing import Any

import pytest

from app.core.messages import sentence
from app.core.plans.repeat import repeat_plan
from app.gui.pages.benchmark.gpu_boxes import GpuBoxes
from app.gui.pages.benchmark.setup import SetupView
from tests.gui.driving import Driver
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu

CARD = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12 * 10**9, compute_capability="8.9")
NETWORK = CATALOGUE["mnist_mlp"]


@pytest.fixture
def setup(driver: Driver) -> SetupView:
    driver.become(os_name="Linux 6.1", architecture="x86_64", gpus=(CARD,) * 3)
    setup = driver.page.setup
    setup.choose(NETWORK.id)
    setup.advanced_button.setChecked(True)
    return setup


def asked(setup: SetupView) -> tuple[str, dict[str, Any]]:
    spec = setup.spec()
    return spec.device, dict(spec.settings)


def click(driver: Driver, number: int) -> None:
    driver.page.setup.gpus.boxes[number].click()


def locked(boxes: GpuBoxes) -> list[int]:
    return [number for number, box in boxes.boxes.items() if not box.isEnabled()]


def test_a_run_has_exactly_the_checked_cards(driver: Driver, setup: SetupView) -> None:
    names = [box.text() for box in setup.gpus.boxes.values()]
    assert names == [sentence("setup.gpu_box", number=number, name="RTX 4070") for number in range(3)]
    assert (setup.gpus.checked, asked(setup)) == ((0,), ("auto", {}))
    click(driver, 2)
    assert asked(setup) == ("gpu:0", {"devices": 2, "gpus": "0,2"})
    assert setup.run_button.isEnabled()
    click(driver, 1)
    assert not setup.run_button.isEnabled()  # they can't share the batch equally
    assert said("workload.batch_not_divisible", count=3).is_in(setup.problem.text())
    setup.form.set_value("batch_size", 96)
    assert asked(setup) == ("gpu:0", {"devices": 3})


def test_one_card_stays_checked(driver: Driver, setup: SetupView) -> None:
    assert locked(setup.gpus) == [0]
    assert setup.gpus.boxes[0].accessibleDescription() == sentence("setup.least_gpus", count=1)
    click(driver, 0)
    assert setup.gpus.checked == (0,)
    click(driver, 1)
    assert locked(setup.gpus) == []
    click(driver, 0)
    assert (setup.gpus.checked, locked(setup.gpus)) == ((1,), [1])
    assert (setup.device.device, asked(setup)) == ("gpu:1", ("gpu:1", {}))


def test_another_device_checks_its_card_only(driver: Driver, setup: SetupView) -> None:
    click(driver, 2)
    setup.device.select("tensorflow", "cpu")
    assert not setup.gpus.isVisible()
    assert asked(setup) == ("cpu", {})
    setup.device.select("tensorflow", "gpu:1")
    assert setup.gpus.isVisible()
    assert (setup.gpus.checked, asked(setup)) == ((1,), ("gpu:1", {}))
    click(driver, 0)
    assert asked(setup) == ("gpu:0", {"devices": 2})
    setup.choose("cifar10_cnn")  # the cards are kept, like the device
    assert asked(setup) == ("gpu:0", {"devices": 2})


def test_a_workload_that_needs_two_gets_them(driver: Driver, setup: SetupView) -> None:
    setup.device.select("tensorflow", "gpu:2")
    setup.choose("all_reduce")
    assert (setup.gpus.checked, locked(setup.gpus)) == ((0, 2), [0, 2])
    assert setup.gpus.boxes[2].accessibleDescription() == sentence("setup.least_gpus", count=2)
    assert asked(setup) == ("gpu:0", {"devices": 2, "gpus": "0,2"})
    click(driver, 1)
    assert locked(setup.gpus) == []
    setup.device.select("tensorflow", "cpu")
    assert asked(setup) == ("cpu", {"devices": 2})  # parts of the CPU, for testing


@pytest.mark.parametrize(
    ("changes", "checked", "spec"),
    [
        ({"device": "gpu:0", "devices": 2, "gpus": "0,2"}, (0, 2), ("gpu:0", {"devices": 2, "gpus": "0,2"})),
        ({"device": "gpu:1", "devices": 2}, (1, 2), ("gpu:1", {"devices": 2})),
        ({"devices": 2}, (0, 1), ("gpu:0", {"devices": 2})),
        ({"device": "gpu:2"}, (2,), ("gpu:2", {})),
        ({}, (0,), ("auto", {})),
        ({"device": "gpu:0", "devices": 2, "gpus": "nonsense"}, (0, 1), ("gpu:0", {"devices": 2})),
        ({"device": "gpu:7", "devices": 2}, (1, 2), ("gpu:1", {"devices": 2})),  # there is no such card
    ],
)
def test_a_stored_run_checks_its_cards(
    setup: SetupView, changes: dict[str, Any], checked: tuple[int, ...], spec: tuple[str, dict[str, Any]]
) -> None:
    setup.gpus.check((1, 2))
    setup.refill(repeat_plan(NETWORK.default_spec(**changes)))
    assert (setup.gpus.checked, asked(setup)) == (checked, spec)


def test_only_several_cards_that_the_engine_can_use_are_listed(driver: Driver, setup: SetupView) -> None:
    radeon = Gpu("AMD Radeon RX 9070 XT", "amd", source="sysfs")
    for gpus, boxes in (((radeon, CARD, CARD), [0, 1]), ((radeon, CARD), []), ((CARD,) * 2, [0, 1]), ((), [])):
        driver.become(gpus=gpus)
        assert (list(setup.gpus.boxes), setup.gpus.isVisible()) == (boxes, bool(boxes))
        assert all("RTX 4070" in box.text() for box in setup.gpus.boxes.values())
        assert setup.spec().settings == {}
    setup.choose("demo")
    assert not setup.gpus.isVisible()
    driver.become(gpus=(CARD,))
    driver.window.show_page("lab")
    driver.window.lab.questions.choose("scaling")
    assert driver.window.lab.questions.key != "scaling", "it needs several"
