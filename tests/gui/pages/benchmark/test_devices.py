"""The devices to choose from before a run: those of the machine that the engine can use."""

from dataclasses import replace

from tests.gui.driving import Driver
from workloads.protocol.machine import Gpu


def test_devices_are_those_of_the_machine(driver: Driver) -> None:
    finder, setup = driver.services.finder, driver.page.setup
    assert finder.machine is not None
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12_000_000_000)
    finder.machine = replace(finder.machine, cpu_name="AMD Ryzen 7 7800X3D", gpus=(gpu,))
    finder.found.emit()
    names = [setup.device.itemText(number) for number in range(setup.device.count())]
    assert names == ["Automatic: NVIDIA GeForce RTX 4070", "CPU", "GPU 0: NVIDIA GeForce RTX 4070"]
    setup.device.setCurrentIndex(2)
    assert setup.spec().device == "gpu:0"


def test_devices_are_those_of_the_engine(second_engine: str, driver: Driver) -> None:
    finder, setup = driver.services.finder, driver.page.setup
    assert finder.machine is not None
    finder.machine = replace(finder.machine, gpus=(Gpu("A GPU", "nvidia"),), os_name="Linux")
    finder.found.emit()
    setup.device.setCurrentIndex(2)
    setup.form.set_value("engine", second_engine)
    assert [setup.device.itemText(number) for number in range(setup.device.count())] == ["Automatic: CPU", "CPU"]
    assert setup.device.currentData() == "auto"
    setup.form.set_value("engine", "tensorflow")
    assert setup.device.itemText(0) == "Automatic: A GPU"
    assert setup.spec().device == "auto"
