"""The card of engines: what each would allow here, and installing, checking and removing them with the mouse."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox

from app.core.engines import builds
from app.core.engines.locations import engine_folder
from app.core.engines.variants import Variant
from app.core.messages import sentence
from app.core.paths import Paths
from app.gui.pages.settings.engine_line import EngineLine
from app.gui.pages.settings.engine_work import EngineWork
from app.gui.pages.settings.engines_card import EnginesCard
from tests.conftest import pretend_installed
from tests.core.engines.conftest import index as index  # noqa: PLC0414 - a fixture
from tests.core.engines.conftest import make_variant, put_engine
from tests.core.engines.index import Index
from tests.core.engines.test_builds import GTX_1080, LINUX, RADEON, RTX_5070, RTX_5070_OLD_DRIVER, WINDOWS
from tests.gui.driving import Driver
from tests.gui.pages.settings.test_page import answer, press
from tests.saying import said
from workloads.protocol.machine import Gpu

AMD = "stable.repo.amd.com"
Opened = Callable[..., EnginesCard]


@pytest.fixture
def opened(driver: Driver) -> Opened:
    def open_card(os_name: str = LINUX, *gpus: Gpu, architecture: str = "x86_64") -> EnginesCard:
        driver.window.show_page("settings")
        card = driver.window.settings.engines_card
        with driver.qtbot.waitSignal(card.filled, timeout=30_000):
            driver.become(os_name=os_name, architecture=architecture, gpus=gpus)
        driver.until(lambda: all(shown.isVisible() for shown in card.rows.values()))
        driver.window.settings.view.ensureWidgetVisible(card)
        return card

    return open_card


def device_and_cost(gpu: str, download_bytes: int) -> str:
    device = sentence("engines.your_gpus", gpus=[gpu]) if gpu else sentence("engines.your_cpu")
    return f"{device} · {sentence('engines_card.cost', download_bytes=download_bytes)}"


def offered(line: EngineLine) -> tuple[bool, bool, bool]:
    """Return whether an engine can be installed, checked and removed. Buttons without a use aren't shown."""
    buttons = line.install_button, line.check_button, line.remove_button
    shown = [button for button in buttons if button.isVisible()]
    assert all(button.isEnabled() for button in shown)
    return buttons[0] in shown, buttons[1] in shown, buttons[2] in shown


def test_each_engine_says_what_it_would_use_here_and_what_that_costs(opened: Opened) -> None:
    card = opened(WINDOWS, RTX_5070)
    assert list(card.rows) == ["torch", "tensorflow", "jax"]
    torch, tensorflow, jax = card.rows.values()
    assert torch.title.text() == "PyTorch"
    assert said("engines_card.offer", device=device_and_cost(RTX_5070.name, 2_000_000_000)).is_all_of(
        torch.note.whole_text
    )
    assert said("engines_card.recommended", variant="cuda").is_all_of(torch.variant.currentText())
    assert offered(torch) == (True, False, False)
    assert torch.install_button.accessibleName() == sentence(
        "engines_card.install_named", action=sentence("engines_card.install"), title="PyTorch"
    )
    assert tensorflow.title.text().startswith("TensorFlow 2")
    assert said("engines_card.included", device=said("engines.your_cpu")).is_all_of(tensorflow.note.whole_text)
    assert not tensorflow.install_button.isVisible()
    assert said("engines_card.offer", device=device_and_cost("", 200_000_000)).is_all_of(jax.note.whole_text)
    assert not jax.variant.isVisible()
    torch = opened(WINDOWS, RADEON).rows["torch"]
    cost = f"{device_and_cost(RADEON.name, 1_100_000_000)} · {sentence('engines.untried', source=AMD)}"
    assert said("engines_card.offer", device=cost).is_all_of(torch.note.whole_text)
    torch = opened("Haiku").rows["torch"]
    assert said("engines_card.not_here").is_all_of(torch.note.whole_text)
    assert not torch.install_button.isVisible()


def test_another_build_can_be_chosen_and_says_why_it_does_not_fit(opened: Opened) -> None:
    torch = opened(LINUX, GTX_1080).rows["torch"]
    names = [torch.variant.itemText(number) for number in range(torch.variant.count())]
    assert said("engines_card.recommended", variant="cuda-legacy").is_all_of(names[0])
    torch.variant.setCurrentIndex(names.index("cpu"))
    cost = said("engines_card.cost_with_disk", download_bytes="236 MB", disk_bytes="855 MB")
    assert cost.is_in(torch.note.whole_text)
    assert said("engines.your_cpu").is_in(torch.note.whole_text)
    torch.variant.setCurrentIndex(names.index("cuda"))
    assert torch.note.whole_text == sentence("engines.not_for_this_card", gpu=GTX_1080.name, variant="cuda")
    torch = opened(LINUX, RTX_5070_OLD_DRIVER).rows["torch"]
    torch.variant.setCurrentIndex(torch.variant.findText("cuda"))
    assert said("engines.driver_too_old", oldest="580").is_in(torch.note.whole_text)


def test_an_installed_engine_shows_version_and_device(opened: Opened, paths: Paths) -> None:
    pretend_installed("torch", paths, "cuda")
    torch = opened(LINUX, RTX_5070).rows["torch"]
    assert torch.title.text() == "PyTorch 1.0 (cuda)"
    assert torch.note.whole_text == sentence(
        "engines_card.installed", size_bytes=0, device=sentence("engines.your_gpus", gpus=[RTX_5070.name])
    )
    assert said("engines_card.recommended", variant="cuda").is_all_of(torch.variant.currentText())
    assert offered(torch) == (False, True, True)
    torch.variant.setCurrentIndex(torch.variant.findText("cpu"))
    assert said("engines_card.other_variant", device=said("engines.your_cpu"), variant="cpu").begins(
        torch.note.whole_text
    )
    assert torch.install_button.isEnabled()


@pytest.mark.parametrize("state", ["outdated", "other_python", "damaged"])
def test_what_is_old_or_broken_can_be_installed_again(state: str, opened: Opened, paths: Paths) -> None:
    put_engine(paths.engines / "torch", python="2.7" if state == "other_python" else None)
    if state == "damaged":
        (paths.engines / "torch" / "engine.json").unlink()
    torch, is_sound = opened().rows["torch"], state == "outdated"
    assert offered(torch) == (True, is_sound, True)
    button = said("engines_card.update" if is_sound else "engines_card.install_again")
    assert button.is_all_of(torch.install_button.text().strip())
    assert is_sound or said(f"engines.{state}").is_in(torch.note.whole_text)
    assert (torch.note.property("tone") == "invalid") == (not is_sound)


def test_removing_asks_first(driver: Driver, opened: Opened, paths: Paths) -> None:
    put_engine(paths.engines / "torch")
    torch = opened().rows["torch"]
    press(torch.remove_button)
    answer(driver.window)
    assert engine_folder(paths, "torch").look().state == "ready"
    driver.until(lambda: driver.window.findChild(QMessageBox) is None)
    driver.services.engines.look()
    driver.until(lambda: "torch" in driver.services.engines.installed)
    press(torch.remove_button)
    answer(driver.window, sentence("settings.remove_named", title="PyTorch"))
    driver.until(lambda: said("settings.removed", title="PyTorch").is_all_of(driver.message))
    driver.until(lambda: "torch" not in driver.services.engines.installed)
    driver.until(lambda: torch.row.state == "absent")
    assert not (paths.engines / "torch").exists()


def test_progress_has_bytes_percent_and_rate() -> None:
    now_s = [0.0]
    work = EngineWork("PyTorch", lambda: now_s[0])
    assert (work.status_text(), work.share) == (sentence("engines.phase.resolve"), None)
    work.report("download", 1_000_000, 4_000_000)
    assert (work.status_text(), work.share) == (
        sentence("engines_card.downloading", done_bytes=1_000_000, total_bytes=4_000_000, share_pct=25),
        0.25,
    )
    now_s[0] = 2.0
    work.report("download", 3_000_000, 4_000_000)
    assert said(
        "engines_card.downloading_at", done_bytes="3 MB", total_bytes="4 MB", share_pct="75", rate_bytes="1 MB"
    ).is_all_of(work.status_text())
    work.report("unpack", 0, 9_000_000)
    assert (work.status_text(), work.share) == (sentence("engines.phase.unpack"), None)


@pytest.fixture
def small(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Variant:
    variant = make_variant(index, tmp_path / "lock.txt")
    monkeypatch.setattr(builds, "VARIANTS", (variant, replace(variant, engine="jax")))
    return variant


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_an_engine_is_installed_checked_and_offered_at_once(driver: Driver, opened: Opened, paths: Paths) -> None:
    card = opened()
    torch = card.rows["torch"]
    press(torch.install_button)
    assert torch.cancel_button.isVisible()
    assert torch.progress_text.text()
    assert not torch.install_button.isVisible()
    driver.until(
        lambda: said("engines_card.now_installed", version="2.0", title="PyTorch").is_all_of(driver.message)
    )
    driver.until(lambda: "torch" in driver.services.engines.installed)
    driver.until(lambda: torch.row.state == "ready" and torch.check_button.isVisible())
    driver.window.banner.hide()
    press(torch.check_button)
    driver.until(lambda: said("engines_card.checked", version="2.0", title="PyTorch").is_all_of(driver.message))
    (paths.engines / "torch" / "packages" / "torch" / "data.bin").write_bytes(b"x")
    driver.until(torch.check_button.isVisible)
    press(torch.check_button)
    damaged = said("engines.files_damaged", title="PyTorch", names="torch/data.bin")
    driver.until(lambda: damaged.is_in(driver.message))
    driver.window.show_page("benchmark")
    assert driver.page.setup.device.findText("CPU · PyTorch") > 0


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_an_installation_that_ends_early_leaves_nothing(
    driver: Driver, opened: Opened, paths: Paths, index: Index
) -> None:
    index.breaks_after_bytes = 200
    index.go_on.clear()
    card = opened()
    torch, jax = card.rows["torch"], card.rows["jax"]
    assert jax.install_button.isEnabled()
    press(torch.install_button)
    driver.until(index.broke_off.is_set)
    assert not jax.install_button.isEnabled()
    press(torch.cancel_button)
    assert torch.progress_text.text() == sentence("run.cancelling")
    index.go_on.set()
    driver.until(lambda: torch.install_button.isVisible() and torch.install_button.isEnabled())
    index.breaks_after_bytes = None
    index.states = lambda _: "0" * 64
    driver.window.banner.hide()
    press(torch.install_button)
    driver.until(lambda: said("engines.other_file").is_in(driver.message))
    driver.until(torch.install_button.isEnabled)
    assert engine_folder(paths, "torch").look().state == "absent"
    assert not any(paths.engines.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_first_engine_is_installed_with_one_click(no_engine_included: None, driver: Driver) -> None:
    setup = driver.page.setup
    offer = setup.device_row
    driver.until(offer.isVisible)
    assert not setup.run_button.isEnabled()
    setup.choose("demo")
    assert setup.run_button.isEnabled()
    assert not offer.isVisible()
    setup.choose("mnist_mlp")
    driver.press(offer.first_button)
    assert driver.window.page is driver.window.settings
    driver.until(lambda: driver.window.page is driver.page)
    assert list(driver.services.engines.installed) == ["torch"]
    driver.until(setup.run_button.isEnabled)
    assert setup.spec().engine == "torch"
    assert driver.page.isAncestorOf(driver.window.focusWidget())
    driver.until(lambda: not offer.isVisible())
    assert not offer.sizePolicy().retainSizeWhenHidden(), "its place is empty from now on"
