"""Why a number can be trusted, or why not: the dialog, and the words on the headline's card that lead to it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.core.messages import sentence
from app.core.records import Run
from app.core.report.run_texts import headline_note
from app.core.runs.progress import Progress
from app.core.verdict.judged_run import JudgedRun
from app.gui.run import verdict_dialog
from app.gui.run.headline import HeadlineCard
from app.gui.run.verdict_dialog import CautionsDialog, VerdictDialog
from app.gui.style.theme import Theme
from app.gui.widgets.dialogs import MEASUREMENT, MethodDialog
from tests.build import quiet_run, with_telemetry
from tests.gui.driving import added
from tests.recording import recorded_run
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol import events

CALM = {"spread_pct": 0.7, "value_low": 20.8, "value_high": 21.0}
TROUBLE = events.Judged(
    level="caution",
    reasons=(
        events.Reason(code="on_battery", level="caution", text="It runs on battery.", advice="Plug it in."),
        events.Reason(code="estimate", level="fact", text="An estimate."),
    ),
)


@pytest.fixture
def run() -> Run:
    stored = recorded_run()
    return quiet_run(replace(stored, warnings=()), 1, **CALM)


@pytest.fixture
def card(application_theme: Theme, qtbot: QtBot) -> HeadlineCard:
    card = added(qtbot, HeadlineCard(application_theme))
    card.resize(800, card.sizeHint().height())
    card.show()
    return card


def disturbed(run: Run) -> Run:
    return with_telemetry(run, list(range(len(run.telemetry))), on_battery=True, other_cpu_pct=40.0)


def visible(dialog: VerdictDialog) -> list[QLabel]:
    return [label for label in dialog.findChildren(QLabel) if label.isVisible()]


def texts(dialog: VerdictDialog) -> list[str]:
    return [child.text() for child in dialog.findChildren(QLabel) if child.text()]


def test_each_reason_is_shown_with_its_advice_worst_first(run: Run, qtbot: QtBot, services: Any) -> None:
    dialog = added(qtbot, VerdictDialog(services.theme, JudgedRun(disturbed(run))))
    dialog.show()
    assert dialog.head.text() == sentence("verdict_dialog.caution")
    told = texts(dialog)
    at = told.index(sentence("verdict.other_load", share_pct=40.0))
    assert said("advice.other_load").begins(told[at + 1])
    assert told.index(sentence("verdict.on_battery", part=None)) < told.index(sentence("note.synthetic_data"))
    assert all(reason.accessibleName().startswith("Caution: ") for reason in dialog.reasons)
    assert not any(said("proof.moved").is_in(label.text()) for label in visible(dialog))
    dialog.evidence.button.click()
    assert any(said("proof.moved").is_in(label.text()) for label in visible(dialog))
    assert said("proof.updates_of_steps", done="1,500", asked="1,500").is_in(told)
    assert said("proof.moved", share_pct="20").is_in(told)
    assert told[told.index("Batch size") + 1] == "100"
    assert any(text.startswith("TensorFlow ") for text in told)
    assert told[told.index("Variant") + 1] == sentence("compare.network_of_study", study="Song 2019")


def test_an_advice_is_shown_below_its_last_reason(run: Run, qtbot: QtBot, services: Any) -> None:
    shared = "Close other programs and run again."
    reasons = [
        events.Reason(code="spread", level="caution", text="Uneven.", advice=shared),
        events.Reason(code="on_battery", level="caution", text="It runs on battery.", advice="Plug it in."),
        events.Reason(code="interval_wide", level="caution", text="Rough.", advice=shared),
        events.Reason(code="estimate", level="fact", text="An estimate."),
    ]
    dialog = added(qtbot, CautionsDialog(services.theme, reasons))
    shown = [child.text() for child in dialog.findChildren(QLabel) if child.text()]
    assert shown[1:] == ["Uneven.", "It runs on battery.", "Plug it in.", "Rough.", shared, "An estimate."]
    assert [shared in reason.accessibleName() for reason in dialog.reasons] == [False, False, True, False]


def test_the_verdict_dialog_repeats_no_advice(run: Run, qtbot: QtBot, services: Any) -> None:
    rough: dict[str, Any] = {
        "basis": "estimate",
        "preset": "quick",
        "spread_pct": 20.9,
        "value_low": 14.0,
        "value_high": 30.0,
    }
    restless = replace(run, summary=replace(run.summary, **rough))
    judged = JudgedRun(restless)
    advice = [reason.advice for reason in judged.verdict.reasons if reason.advice]
    assert len(advice) > len(set(advice))  # otherwise, the test shows nothing
    shown = texts(added(qtbot, VerdictDialog(services.theme, judged)))
    assert [shown.count(each) for each in dict.fromkeys(advice)] == [1] * len(set(advice))
    uneven = disturbed(replace(run, summary=replace(run.summary, spread_pct=20.9)))
    shown = texts(added(qtbot, VerdictDialog(services.theme, JudgedRun(uneven))))
    cause = shown.index(sentence("verdict.other_load", share_pct=40.0))
    assert cause < next(place for place, text in enumerate(shown) if "20.9 %" in text), "causes come first"
    assert shown.count(headline_note(uneven.summary)) == 1


def test_it_leads_to_the_method(
    run: Run, qtbot: QtBot, services: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(verdict_dialog, "MEASUREMENT", tmp_path)
    without = added(qtbot, VerdictDialog(services.theme, JudgedRun(run)))
    without.show()
    assert not without.method_button.isVisible()  # an installed app has no such page
    monkeypatch.undo()
    dialog = added(qtbot, VerdictDialog(services.theme, JudgedRun(run)))
    dialog.show()
    dialog.method_button.click()
    (shown,) = dialog.findChildren(MethodDialog)
    assert MEASUREMENT.read_text(encoding="utf-8")[2:40] in shown.page.toPlainText()


def test_the_card_shows_the_verdict_in_a_few_words(run: Run, card: HeadlineCard, qtbot: QtBot) -> None:
    card.show_stored(JudgedRun(run))
    assert (card.pill.whole_text, card.pill.tone) == ("Valid", "valid")
    assert sentence("short.valid_for_s", duration_s=64) in card.pill.toolTip()
    card.show_stored(JudgedRun(disturbed(run)))
    assert card.pill.whole_text == sentence("result.verdict_because", verdict="Caution", causes="on battery")
    assert card.pill.tone == "caution"
    assert said("advice.plug_in").is_all_of(card.message.whole_text)
    card.why_button.click()
    dialog = card.findChild(VerdictDialog)
    assert isinstance(dialog, VerdictDialog)
    assert dialog.isVisible()
    dialog.reject()
    qtbot.waitUntil(lambda: card.findChild(VerdictDialog) is None)


def test_during_a_run_the_card_shows_what_has_disturbed_it(run: Run, card: HeadlineCard) -> None:
    spec = CATALOGUE["cifar10_keras_cnn"].default_spec("quick")
    progress, summary = Progress(spec), replace(run.summary, value=None, basis=None, preset="quick")
    card.show_live(summary, progress, cancelled=False)
    height = card.sizeHint().height()
    assert (card.pill.whole_text, card.note.whole_text) == ("", "")
    progress.follow(events.Phase(name="measure", budget_s=50.0))
    card.show_live(summary, progress, cancelled=False)
    assert card.pill.whole_text == ""  # nothing was judged yet
    card.show_live(summary, progress, cancelled=False, verdict=events.Judged(level="valid"))
    assert said("run.no_problems").is_all_of(card.pill.whole_text)
    stalled = events.Judged(level="valid", interrupted_t_s=(3.0, 9.0))
    card.show_live(summary, progress, cancelled=False, verdict=stalled)
    assert said("run.pauses_so_far", count="2").is_all_of(card.pill.whole_text)
    assert said("run.at_step", step="0", epoch="1").is_all_of(card.unit.text())
    narrowing: dict[str, Any] = {
        "basis": "estimate",
        "value": 66.2,
        "value_low": 65.4,
        "value_high": 67.1,
        "confidence_pct": 95.0,
    }
    card.show_live(replace(summary, **narrowing), progress, cancelled=False, verdict=TROUBLE)
    assert card.value.text() == "≈ 66.2"
    assert card.note.whole_text.startswith(sentence("share.estimate_within", half_pct=1.4))
    assert said("run.validation_not_counted").is_in(card.note.whole_text)
    assert card.pill.whole_text == "Caution: on battery"
    assert card.message.whole_text == "Plug it in."
    assert not card.why_button.isVisible()  # there is no record yet
    assert card.sizeHint().height() == height


def test_an_estimate_is_called_that(run: Run, card: HeadlineCard) -> None:
    estimate: dict[str, Any] = {"preset": "quick", "basis": "estimate"}
    card.show_stored(JudgedRun(replace(run, summary=replace(run.summary, **estimate))))
    assert card.note.whole_text == sentence("share.estimate_without_interval")
    card.show_stored(JudgedRun(run))
    assert said("result.range").is_all_of(card.note.whole_text)
    workload = CATALOGUE["vgg16"]
    rate: dict[str, Any] = {"workload": "vgg16", "metric": workload.metric, "basis": "estimate", "value": 20.0}
    card.show_live(replace(run.summary, **rate), Progress(workload.default_spec("quick")), cancelled=False)
    assert not said("run.validation_not_counted").is_in(card.note.whole_text), "a rate has none"
