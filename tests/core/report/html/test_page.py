"""Reports as text: complete, without anything from elsewhere, and safe whatever a record holds."""

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.records import Run
from app.core.report.export import FORMATS, format_of
from app.core.report.formats.result_document import enclosed_file
from app.core.report.html.charts import Line, Row, bar_chart, column_chart, line_chart
from app.core.report.html.document import RUNS_LIMIT
from app.core.report.html.page import report_page
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from tests.recording import as_preset, recorded_events, recorded_run, store_recording
from tests.saying import said
from workloads.protocol import events


class Reader(HTMLParser):
    """Collects tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


@pytest.fixture
def run() -> Run:
    return recorded_run()


def page_of(run: Run, result_file: bytes = b"") -> Reader:
    return Reader(report_page([JudgedRun(run)], result_file, {}))


def test_it_has_all_that_a_reader_asks_for(run: Run) -> None:
    page = page_of(run)
    expected = (
        "51.2 ",
        sentence("level.caution"),
        "GTX 1080 Ti",
        "AMD EPYC",
        "TensorFlow 2.21.0",
        "Song Yansong",
        "43.1",
        "1.4 GB",
    )
    assert [text for text in expected if text not in page.text] == []
    assert page.tags.count("svg") >= 6
    assert page.tags.count("h1") == 1
    labels = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert said("share.on_this_computer", name="51.2").is_in(labels[0])
    assert all(re.search(r"\d", label) for label in labels)


def test_it_loads_nothing_and_runs_nothing(run: Run, database: Database) -> None:
    page = page_of(run, enclosed_file(database, [store_recording(database, recorded_events())]))
    assert not {"script", "img", "link", "iframe", "object", "form", "base"} & set(page.tags)
    named = [value for _, name, value in page.attributes if name in ("href", "src", "action", "style", "srcset")]
    assert [value[:29] for value in named] == ["data:application/json;base64,"]
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    policies = [value for _, name, value in page.attributes if name == "content"]
    assert "default-src 'none'; style-src 'unsafe-inline'" in policies
    assert "url(" not in report_page([JudgedRun(run)], b"", {})


def test_the_result_file_comes_back_whole(run: Run, database: Database) -> None:
    file = enclosed_file(database, [store_recording(database, recorded_events())])
    links = [value for tag, name, value in page_of(run, file).attributes if (tag, name) == ("a", "href")]
    assert base64.b64decode(links[0].partition(",")[2]) == file
    assert json.loads(file)["format"] == "epochmark-result"


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>alert(1)</script>",
    "\x1b[31mred\x07",
    "a\u202eevil\u202c",
    "zero\u200bwidth",
    "\ud800",
    "\x00",
)


def named(run: Run, text: str) -> Run:
    summary = replace(run.summary, device_name=text, cpu_name=text, engine_version=text, variant=text)
    return replace(run, summary=summary, machine=replace(run.machine, cpu_name=text, os_name=text))


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_shown_as_text(run: Run, text: str) -> None:
    plain, page = page_of(named(run, "harmless")), page_of(hostile := named(run, text))
    assert page.tags == plain.tags
    assert [each[:2] for each in page.attributes] == [each[:2] for each in plain.attributes]
    assert not set("\x00\x07\x1b\u200b\u202c\u202e") & set(page.text)
    report_page([JudgedRun(hostile)], b"", {}).encode("utf-8", "replace")


def test_private_texts_are_replaced_everywhere(run: Run) -> None:
    machine = replace(run.machine, cpu_name="Alice's CPU", os_name="Alice's Linux")
    private = replace(run, machine=machine, summary=replace(run.summary, cpu_name="Alice's CPU"))
    text = report_page([JudgedRun(private)], b"", {"Alice": "<user>"})
    assert "Alice" not in text
    assert "&lt;user&gt;'s CPU" in text


def test_a_failed_run_says_why(database: Database) -> None:
    error = events.Error(code="crashed", message="The worker was ended by signal 9.")
    recorded = [event for event in recorded_events() if not isinstance(event, events.Epoch)]
    run_id = store_recording(database, recorded[:40], "failed", error)
    page = page_of(load_run(database, run_id))
    assert "The worker was ended by signal 9." in page.text
    assert said("level.invalid").is_in(page.text)


@pytest.mark.slow
def test_several_runs_have_an_overview_and_places_of_their_own(database: Database) -> None:
    recordings = (recorded_events(), as_preset(recorded_events(), "quick"))
    ids = [store_recording(database, recorded) for recorded in recordings]
    page = Reader("".join(FORMATS["html"].lines(database, ids)))
    assert page.tags.count("article") == 2
    assert said("html.runs").is_in(page.text)
    places = [value for _, name, value in page.attributes if name == "id"]
    assert len(places) == len(set(places)) == 2


def test_too_many_runs_and_none_are_refused(database: Database) -> None:
    with pytest.raises(UsageError, match=said("html.nothing").pattern):
        list(FORMATS["html"].lines(database, []))
    with pytest.raises(UsageError, match=said("html.too_many", limit=RUNS_LIMIT, count=RUNS_LIMIT + 1).pattern):
        list(FORMATS["html"].lines(database, range(1, RUNS_LIMIT + 2)))


def test_the_ending_chooses_it() -> None:
    assert format_of(Path("My.HTML")).name == "html"


values = st.floats(min_value=-1e300, max_value=1e300)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.none() | values), max_size=30), st.lists(st.floats(1e-300, 1e300)))
@example([(0.0, 0.0), (5e-324, 0.0)], [])
def test_charts_draw_any_numbers(points: list[tuple[float, float | None]], lengths: list[float]) -> None:
    line_chart("t", [Line("a", points)], "x")
    column_chart("t", lengths, "x", lengths[0] if lengths else None)
    bar_chart("t", [Row("a", value, "v") for value in lengths])


@pytest.mark.parametrize(("precision", "drawn"), [("mixed_float16", True), ("float32", False)])
def test_what_is_unlike_is_counted_and_not_drawn(precision: str, drawn: bool, run: Run) -> None:
    changes = {"workload": "gpt_mini", "metric": "tokens_per_s", "batch_size": 16, "precision": precision}
    text = page_of(replace(run, summary=replace(run.summary, **changes))).text  # type: ignore[arg-type]
    assert said("html.unlike", count="6").is_in(text) is not drawn
    assert ("RTX 4090" in text) is drawn
