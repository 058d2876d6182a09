"""In another language, no picture and no report has anything in English."""

from collections.abc import Callable, Iterator

import pytest

from app.core.analysis.position import chart_note
from app.core.analysis.published import reference_rows
from app.core.exchange.sharing import picture_card
from app.core.hardware.machine import detect_machine
from app.core.paths import Paths
from app.core.plans.experiments import load_report
from app.core.plans.repeat import repeat_plan
from app.core.records import PlanPlace
from app.core.report.card import Bars, Figure, ShareCard, Sides
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from tests.pseudo import english_in, names_of, speak_pseudo
from tests.recording import as_preset, asked, on_card, recorded_events, store_recording
from tests.study_pictures import SUITE_FACTORS, store_studies, store_suite
from tests.tools.screenshots import store_ab

# Names of recorded and computed runs.
NAMES = (
    "Desktop CPU, 8 cores",
    "Keras / tf.keras on TensorFlow 1.x",
    "automatic",
    "1 thread",
    "NVIDIA GeForce RTX 3090",
    "RTX 3090",
    "NVIDIA",
    "gpu:0",
)


@pytest.fixture(autouse=True)
def another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    speak_pseudo(monkeypatch)


def judged(database: Database, run_id: int) -> JudgedRun:
    return JudgedRun(load_run(database, run_id))


def run_card(database: Database, paths: Paths) -> ShareCard:
    return picture_card(database, judged(database, store_recording(database, recorded_events())))


def quick_card(database: Database, paths: Paths) -> ShareCard:
    return picture_card(
        database, judged(database, store_recording(database, as_preset(recorded_events(), "quick")))
    )


def gpu_card(database: Database, paths: Paths) -> ShareCard:
    return picture_card(database, judged(database, store_recording(database, on_card(recorded_events(), 230.0))))


def repeated_card(database: Database, paths: Paths) -> ShareCard:
    spec, _ = asked(recorded_events())
    group_id = begin_group(database, repeat_plan(spec, 2))
    ids = [store_recording(database, recorded_events(), place=PlanPlace(group_id, number)) for number in (1, 2)]
    return picture_card(database, judged(database, ids[0]), load_group(database, group_id))


def ab_card(database: Database, paths: Paths) -> ShareCard:
    group = load_group(database, store_ab(database, recorded_events()))
    return picture_card(database, judged(database, group.runs[0].id), group)


def suite_card(database: Database, paths: Paths) -> ShareCard:
    group = load_group(database, store_suite(database, paths, detect_machine(), SUITE_FACTORS[0]))
    return load_report(database, group.id).card()


CARDS: dict[str, Callable[[Database, Paths], ShareCard]] = {
    "run": run_card,
    "Quick run": quick_card,
    "lowered power limit": gpu_card,
    "repeated": repeated_card,
    "A/B": ab_card,
    "suite": suite_card,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CARDS)
def test_no_picture_has_anything_in_english(name: str, database: Database, paths: Paths) -> None:
    assert in_english(texts(CARDS[name](database, paths))) == []


@pytest.mark.slow
def test_no_picture_of_a_study_has_anything_in_english(database: Database, paths: Paths) -> None:
    for name, group_id in store_studies(database, paths, detect_machine()):
        report = load_report(database, group_id)
        for chart in range(len(report.figures())):
            assert in_english(texts(report.card(chart))) == [], name


def texts(card: ShareCard) -> Iterator[str]:
    yield from (card.title, card.headline, card.unit, *card.notes, card.machine, *card.details, *card.badge)
    yield from (card.footer, card.place)
    match card.chart:
        case Bars(bars):
            yield chart_note(bars)
            for bar in bars:
                yield from (bar.name, *bar.remarks)
        case Sides(sides, axis):
            yield axis
            for side in sides:
                yield from (side.name, side.settings, side.text)
        case Figure() as figure:
            yield from (figure.name, figure.value_title, figure.x_title, *figure.rows)
            yield from (text for _, text in (*figure.ticks, *figure.marks))
            for series in figure.series:
                yield from (series.name, *(spot.text for spot in series.spots if spot is not None))


def in_english(shown: Iterator[str]) -> list[str]:
    citations = {citation for row in reference_rows() for citation in (row.source, row.source_ref)}
    names = [*names_of(detect_machine()), *names_of(asked(recorded_events())[1]), *NAMES, *citations]
    return [text for text in dict.fromkeys(shown) if english_in(text, names)]
