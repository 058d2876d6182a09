"""The Lab's questions: in a fixed list, each with its time or with the reason why it can't be answered here."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QListWidgetItem

from app.core.messages import sentence
from app.core.plans.experiments import EXPERIMENTS
from app.core.plans.report import LAB_PAGE
from app.gui.pages.lab.questions import QuestionList
from tests.gui.driving import Driver
from workloads.protocol.machine import Gpu


def open_list(driver: Driver) -> QuestionList:
    """Open the Lab, and wait until the list says what is impossible; no test computer has a power limit."""
    driver.window.show_page("lab")
    questions = driver.window.lab.questions
    driver.until(lambda: notes(questions).get("power") == sentence("lab.no_power_limit"))
    return questions


def items(questions: QuestionList) -> dict[str, QListWidgetItem]:
    listed = [questions.item(number) for number in range(questions.count())]
    return {item.data(Qt.ItemDataRole.UserRole): item for item in listed}


def notes(questions: QuestionList) -> dict[str, str]:
    return {
        key: questions.itemWidget(item).findChildren(QLabel)[-1].text() for key, item in items(questions).items()
    }


def test_all_questions_are_listed_and_impossible_ones_are_last(driver: Driver) -> None:
    questions = open_list(driver)
    listed = items(questions)
    assert set(listed) == {key for key, experiment in EXPERIMENTS.items() if experiment.page == LAB_PAGE}
    assert next(iter(listed)) == "ab"
    possible = [bool(item.flags()) for item in listed.values()]
    assert possible == sorted(possible, reverse=True)
    shown = notes(questions)
    assert {key for key, item in listed.items() if not item.flags()} == {
        "power",
        "scaling",
        "weak_scaling",
        "devices",
    }
    assert shown["scaling"] == sentence("lab.needs_gpus")
    assert shown["devices"] == sentence("lab.only_one"), "the tests pretend that only TensorFlow is installed"
    assert shown["batch"] == sentence("setup.minutes", minutes=8)


@pytest.mark.parametrize("width", [800, 1024, 1366])
def test_no_question_is_cut(driver: Driver, width: int) -> None:
    driver.become(gpus=(Gpu("NVIDIA GeForce RTX 4070", "nvidia"),) * 2)
    driver.window.resize(width, 480)
    questions = open_list(driver)
    QApplication.processEvents()
    for item in items(questions).values():
        line = questions.itemWidget(item)
        assert line.height() >= line.heightForWidth(line.width())
        assert questions.visualItemRect(item).width() <= questions.viewport().width()
