"""Addresses of others in Settings: entered, checked, and used only when a button is pressed."""

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.core.exchange.table_file import load_table
from app.core.settings import load_settings
from app.gui.pages.compare.page import ComparePage
from app.gui.pages.settings.sharing_card import SharingCard
from app.gui.services.bundle import Services
from tests.core.datasets.server import serving
from tests.core.exchange.test_table_file import ROW, table
from tests.gui.conftest import Told
from tests.saying import said

PATIENCE_MS = 10_000


@pytest.fixture
def card(services: Services, qtbot: QtBot) -> SharingCard:
    card = SharingCard(services)
    qtbot.addWidget(card)
    card.show()
    return card


def enter(qtbot: QtBot, card: SharingCard, address: str) -> None:
    card.table_address.clear()
    qtbot.keyClicks(card.table_address, address)  # type: ignore[no-untyped-call]
    card.table_address.editingFinished.emit()


def test_an_address_is_stored_and_a_wrong_one_refused(
    card: SharingCard, services: Services, told: Told, qtbot: QtBot
) -> None:
    assert not card.get_button.isEnabled()
    enter(qtbot, card, " https://example.org/table.json ")
    assert load_settings(services.paths.settings).table_address == "https://example.org/table.json"
    assert card.get_button.isEnabled()
    enter(qtbot, card, "file:///etc/passwd")
    assert "file:///etc/passwd" in told.messages[-1][0]
    assert card.table_address.text() == "https://example.org/table.json"
    assert load_settings(services.paths.settings).table_address == "https://example.org/table.json"
    enter(qtbot, card, "")
    assert load_settings(services.paths.settings).table_address == ""


def test_the_table_is_fetched_when_the_button_is_pressed(
    card: SharingCard, services: Services, told: Told, qtbot: QtBot
) -> None:
    with serving() as server:
        server.content = table()
        enter(qtbot, card, server.url)
        assert server.asked == [], "nothing is fetched by itself"
        card.get_button.click()
        assert not card.get_button.isEnabled()
        qtbot.waitUntil(
            lambda: told.messages != [] and said("table.fetched", count="1").is_in(told.messages[-1][0]),
            timeout=PATIENCE_MS,
        )
        assert card.get_button.isEnabled()
        assert not card.previous_button.isVisible()
        server.content = table(ROW, replace(ROW, device="RTX 4090"))
        card.get_button.click()
        qtbot.waitUntil(card.previous_button.isVisible, timeout=PATIENCE_MS)
    card.previous_button.click()
    qtbot.waitUntil(
        lambda: said("table.previous_used", count="1").is_in(told.messages[-1][0]), timeout=PATIENCE_MS
    )
    assert len(load_table(services.paths)) == 1


def test_its_bars_are_on_compare(services: Services, qtbot: QtBot) -> None:
    page = ComparePage(services)
    qtbot.addWidget(page)
    page.workload.setCurrentIndex(page.workload.findData("mnist_mlp"))
    page.show()
    assert not page.table_button.isVisible()  # it would lead nowhere
    with serving() as server:
        server.content = table()
        services.preferences.change(table_address=server.url)
        assert page.table_button.isVisible()
        page.table_button.click()
        qtbot.waitUntil(lambda: any(bar.kind == "community" for bar in page.bar_list.bars), timeout=PATIENCE_MS)
    (bar,) = (bar for bar in page.bar_list.bars if bar.kind == "community")
    assert said("compare.community", count="3").is_all_of(bar.remarks[0])
    page.view.take("table")
    page.draw()
    cells = [
        row.texts
        for row in page.table.rows.rows
        if said("compare.community_name", name="RTX 3060").is_all_of(row.texts[0])
    ]
    assert cells[0][3] == "GPU"
    assert "community" in cells[0]
