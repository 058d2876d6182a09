"""The page of settings: a change is used and saved at once, data sets come and go, a reset loses no results."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.core.datasets.install import import_dataset
from app.core.messages import sentence
from app.core.settings import Settings, load_settings
from app.gui.pages.settings.page import SettingsPage
from app.gui.services.bundle import Services
from app.gui.style.tokens import DARK, LIGHT
from tests.gui.conftest import Told
from tests.gui.driving import added
from tests.saying import said
from tests.sure import sure
from workloads.datasets import cifar10


def press(button: QPushButton) -> None:
    assert button.isVisible(), button.accessibleName()
    assert button.isEnabled(), button.accessibleName()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def answer(parent: QWidget, text: str = "") -> None:
    question = sure(parent.findChild(QMessageBox))
    cancel = question.defaultButton()
    buttons = question.findChildren(QPushButton)
    press(next(button for button in buttons if (button.text() == text if text else button is cancel)))


class Opener(QObject):
    """What shows folders, in place of the system's own program."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Path] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(Path(url.toLocalFile()))


@pytest.fixture
def opener() -> Iterator[Opener]:
    opener = Opener()
    # The stub asks for bytes, which PySide6 refuses.
    QDesktopServices.setUrlHandler("file", opener, "open")  # type: ignore[arg-type]
    yield opener
    QDesktopServices.unsetUrlHandler("file")


@pytest.fixture
def page(services: Services, qtbot: QtBot) -> SettingsPage:
    page = added(qtbot, SettingsPage(services))
    page.resize(840, 650)
    page.show()
    qtbot.waitUntil(lambda: "cifar10" in page.data_card.rows, timeout=10_000)
    page.advanced.button.click()
    page.data_card.fold.button.click()
    return page


def saved(services: Services) -> Settings:
    return load_settings(services.paths.settings)


def test_the_theme_changes_at_once_and_is_remembered(page: SettingsPage, services: Services, told: Told) -> None:
    press(page.theme.buttons["dark"])
    assert services.theme.tokens is DARK
    assert saved(services).theme == "dark"
    press(page.theme.buttons["light"])
    assert services.theme.tokens is LIGHT
    assert saved(services).theme == "light"
    services.paths.settings.unlink()
    services.paths.settings.mkdir()
    press(page.theme.buttons["dark"])
    assert services.theme.tokens is DARK
    assert told.messages[0][1] == "invalid"
    assert said("settings.not_written").is_in(told.messages[0][0])


def test_a_data_set_is_imported_from_a_file_and_removed_after_a_question(
    page: SettingsPage, services: Services, official: Path, tmp_path: Path, qtbot: QtBot, told: Told
) -> None:
    row = page.data_card.rows["cifar10"]
    assert said("settings.not_installed").begins(row.state.whole_text)
    assert not row.remove_button.isVisible()
    (wrong := tmp_path / "wrong.tar.gz").write_bytes(b"nothing of the kind")
    press(page.data_card.rows["ptb"].get_button)
    dialog = sure(page.findChild(QFileDialog))
    assert dialog.fileMode() is QFileDialog.FileMode.ExistingFiles
    dialog.filesSelected.emit([str(wrong)])
    dialog.reject()
    qtbot.waitUntil(lambda: bool(told.messages), timeout=10_000)
    text, tone = told.messages.pop()
    assert ("wrong.tar.gz" in text, tone) == (True, "invalid")
    qtbot.waitUntil(row.get_button.isEnabled, timeout=10_000)
    assert said("settings.not_installed").begins(row.state.whole_text)
    with qtbot.waitSignal(page.data_changed, timeout=10_000):
        page.data_card.import_files(row.dataset, [official])
    assert told.messages == [(sentence("settings.data_installed", title="CIFAR-10"), "")]
    qtbot.waitUntil(row.remove_button.isVisible, timeout=10_000)
    assert said("settings.data_there").begins(row.state.whole_text)
    assert row.state.whole_text.endswith(" kB")
    assert not row.get_button.isVisible()
    assert page.data_card.folder.whole_text.endswith("kB")
    press(row.remove_button)
    answer(page)
    assert cifar10.SOURCE.is_stored_in(services.paths.datasets)
    qtbot.waitUntil(lambda: page.findChild(QMessageBox) is None, timeout=10_000)
    press(row.remove_button)
    with qtbot.waitSignal(page.data_changed, timeout=10_000):
        answer(page, sentence("settings.remove_named", title="CIFAR-10"))
    assert not cifar10.SOURCE.is_stored_in(services.paths.datasets)
    qtbot.waitUntil(row.get_button.isEnabled, timeout=10_000)


def test_folders_open(
    page: SettingsPage, services: Services, official: Path, opener: Opener, qtbot: QtBot
) -> None:
    import_dataset(services.paths, "cifar10", official)
    page.data_card.refresh()
    qtbot.waitUntil(page.data_card.open_button.isEnabled, timeout=10_000)
    for button in (page.results_button, page.logs_button, page.data_card.open_button):
        press(button)
    assert opener.opened == [services.paths.data, services.paths.logs, services.paths.datasets]


def test_a_reset_asks_first_and_forgets_settings(page: SettingsPage, services: Services, qtbot: QtBot) -> None:
    press(page.theme.buttons["dark"])
    press(page.reset_button)
    answer(page)
    assert saved(services).theme == "dark"
    qtbot.waitUntil(lambda: page.findChild(QMessageBox) is None, timeout=10_000)
    press(page.reset_button)
    with qtbot.waitSignal(page.data_changed, timeout=10_000):
        answer(page, sentence("settings.reset"))
    assert saved(services) == Settings()
    assert page.theme.value == "system"
    assert services.theme.tokens is LIGHT
