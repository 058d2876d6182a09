"""The headline's card by itself: what it says of each way a run can end, and in which tone."""

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.records import Run
from app.core.report.wording import error_advice
from app.core.runs.progress import Progress
from app.gui.run.headline import HeadlineCard
from app.gui.run.headline_row import ProgressLine
from app.gui.style.theme import Theme
from app.gui.widgets.basics import ElidedLabel
from tests.core.verdict.records import quiet_run
from tests.recording import recorded_run
from workloads.protocol import events


class Requests(QObject):
    """Counts how often a widget is asked to lay itself out."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Count, and let everything through."""
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


@pytest.fixture
def run() -> Run:
    """What a quiet computer would have measured."""
    stored = recorded_run()
    return quiet_run(replace(stored, warnings=()), 1, spread_pct=0.7)


@pytest.fixture
def card(application_theme: Theme, qtbot: QtBot) -> HeadlineCard:
    card = HeadlineCard(application_theme)
    qtbot.addWidget(card)
    return card


def test_no_number_yet_does_not_count(card: HeadlineCard, run: Run) -> None:
    without = replace(run.summary, value=None, steps=None)
    card.show_live(without, Progress(run.spec), cancelled=False)
    assert (card.value.text(), card.value.property("muted")) == ("–", True)
    card.show_live(run.summary, Progress(run.spec), cancelled=False)
    assert card.value.property("muted") is False


@pytest.mark.parametrize(
    ("changes", "outcome", "tone", "is_muted"),
    [
        ({}, "Valid", "valid", False),
        (
            {"status": "cancelled", "epochs_done": 2},
            "Cancelled · 2 of 3 epochs",
            "caution",
            False,
        ),
        (
            {"status": "interrupted", "epochs_done": 2},
            "Interrupted · 2 of 3 epochs",
            "caution",
            True,
        ),
        ({"status": "failed", "error_code": "internal"}, "Failed · 3 of 3 epochs", "invalid", True),
        (
            {"status": "failed", "error_code": "out_of_memory"},
            "Out of memory · 3 of 3 epochs",
            "invalid",
            True,
        ),
        (
            {"status": "failed", "error_code": "hung", "preset": "quick"},
            "The worker process hung",
            "invalid",
            True,
        ),
        ({"status": "damaged"}, "The record is damaged · 3 of 3 epochs", "invalid", True),
        ({"status": "of another version"}, "of another version · 3 of 3 epochs", "", True),
    ],
)
def test_each_ending_has_its_words_and_its_tone(
    card: HeadlineCard, run: Run, changes: dict[str, Any], outcome: str, tone: str, is_muted: bool
) -> None:
    damage = ("the engine",) if changes.get("status") == "damaged" else ()
    card.show_stored(replace(run, summary=replace(run.summary, **changes), damage=damage))
    assert (card.pill.whole_text, card.pill.tone) == (outcome, tone)
    assert bool(card.value.property("muted")) == is_muted


def test_a_failure_says_what_to_do_before_any_other_reason(card: HeadlineCard, run: Run) -> None:
    failed = replace(run.summary, status="failed", error_code="out_of_memory", error_message="It was too much.")
    card.show_stored(replace(run, summary=failed))
    advice = error_advice("out_of_memory", "tensorflow")
    assert card.message.whole_text == f"It was too much. {advice}"


@pytest.mark.parametrize(
    ("engine", "title"),
    [("tensorflow", "TensorFlow"), ("plain_numpy", "Plain NumPy"), ("removed_since", "removed_since")],
)
def test_the_missing_engine_is_called_by_its_name(
    card: HeadlineCard, run: Run, second_engine: str, engine: str, title: str
) -> None:
    missing = replace(run.summary, status="failed", error_code="engine_missing", preset="quick", engine=engine)
    card.show_stored(replace(run, summary=missing))
    assert card.pill.whole_text == f"{title} is missing"
    assert card.message.whole_text == error_advice("engine_missing", engine)


def test_a_short_run_shows_its_step_in_milliseconds(card: HeadlineCard, run: Run) -> None:
    short = replace(run.summary, value=None, seconds_per_epoch_s=None, basis=None, steps=40, step_median_s=0.0417)
    card.show_stored(replace(run, summary=short))
    assert (card.value.text(), card.unit.text()) == ("41.7", "ms / step")


@pytest.mark.parametrize("level", ["caution", "invalid"])
def test_a_verdict_on_the_way_has_its_tone(card: HeadlineCard, run: Run, level: Any) -> None:
    reason = events.Reason(code="suspended", level=level, text="It slept.", advice="Keep it awake.")
    verdict = events.Judged(level=level, reasons=(reason,))
    card.show_live(run.summary, Progress(run.spec), cancelled=False, verdict=verdict)
    assert (card.message.whole_text, card.pill.tone) == ("It slept. Keep it awake.", level)


def test_a_text_is_not_cut_between_two_parts(application_theme: Theme, qtbot: QtBot) -> None:
    label = ElidedLabel("CPU · TensorFlow 2.21.0 · float32 · synthetic data")
    qtbot.addWidget(label)
    label.show()
    for width_px in range(60, 260):
        label.resize(width_px, 20)
        shown = label.text()
        assert shown.endswith("…")
        assert "·" not in shown[-3:]
        assert label.fontMetrics().horizontalAdvance(shown) <= width_px
        assert label.toolTip()


def test_progress_stays_beside_the_time_left(card: HeadlineCard, run: Run) -> None:
    card.resize(900, 200)
    card.show()
    card.show_live(run.summary, Progress(run.spec), cancelled=False)
    line = card.remaining.parentWidget()
    assert isinstance(line, ProgressLine)
    for left in ("1 s left", "about 12 min 30 s left"):
        card.remaining.setText(left)
        line.place()
        assert card.remaining.width() >= card.remaining.sizeHint().width()
        assert card.remaining.geometry().right() == line.width() - 1
        assert card.progress_text.geometry().right() < card.remaining.x()


def test_another_step_lays_out_nothing_else(card: HeadlineCard, run: Run) -> None:
    card.show()
    card.show_live(run.summary, Progress(run.spec), cancelled=False)
    QApplication.processEvents()
    requests = Requests()
    card.installEventFilter(requests)
    card.progress_text.show_text("Epoch 2 of 3 · step 7 of 500")
    card.remaining.setText("about 4 min left")
    QApplication.processEvents()
    assert requests.count == 0
    card.note.show_text("another note")
    QApplication.processEvents()
    assert requests.count > 0, "other texts do, so that this test can fail"
