"""A run setting is one row: the forms of a run and of an A/B have its editor."""

import pytest

from app.core.messages import ENGLISH
from app.gui.widgets.editors import set_edited
from tests.core.test_one_row import ROW, SENTENCES
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import sure
from workloads import settings
from workloads.engines.info import TENSORFLOW


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, ROW))
    monkeypatch.setattr(TENSORFLOW, "settings", TENSORFLOW.settings | {ROW.name})
    for code, words in SENTENCES.items():
        monkeypatch.setitem(ENGLISH, code, words)


def test_the_forms_have_its_editor(driver: Driver) -> None:
    window = driver.window
    setup = window.benchmark.setup
    setup.choose("mnist_cnn")
    setup.form.set_value("autotune", "off")
    assert setup.spec().settings == {"autotune": False}
    window.show_page("lab")
    sides = window.lab.setup.sides.sides
    assert said("ab_setup.of_side", side="B", label="Autotune").is_all_of(
        sides[1].editors["autotune"].accessibleName()
    )
    window.lab.setup.sides.what.setCurrentIndex(window.lab.setup.sides.what.findData("autotune"))
    set_edited(sides[1].editors["autotune"], "on")
    driver.until(lambda: window.lab.setup.plan is not None)
    assert sure(window.lab.setup.plan).label_b == "Autotune"
