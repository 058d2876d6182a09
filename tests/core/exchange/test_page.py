"""The result file in a report comes back as it went out; nothing else of a page counts."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.exchange.reading import read_results
from app.core.messages import Message, message
from app.core.records import Run
from app.core.report.html.page import report_page
from app.core.result_file.canonical import file_bytes
from app.core.result_file.record import Result
from app.core.verdict.judged_run import JudgedRun
from tests.core.result_file.results import golden, results
from tests.saying import has_at_its_core, said

LINK = '<a href="data:application/json;base64,'


@pytest.fixture
def page(stored_run: Run) -> str:
    return report_page([JudgedRun(stored_run)], file_bytes(golden()), {})


def read(folder: Path, page: str | bytes) -> tuple[Result, ...]:
    path = folder / "report.html"
    path.write_bytes(page.encode("utf-8", "replace") if isinstance(page, str) else page)
    return read_results(path)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(results(), min_size=1, max_size=3), st.sampled_from(("", "\ufeff", "\r\n ")))
def test_a_report_comes_back_equal(
    stored_run: Run, tmp_path_factory: pytest.TempPathFactory, out: list[Result], before: str
) -> None:
    page = report_page([JudgedRun(stored_run)], file_bytes(out), {})
    assert read(tmp_path_factory.getbasetemp(), before + page) == tuple(out)


def test_a_page_that_a_browser_saved_anew_is_read(tmp_path: Path, page: str) -> None:
    saved = page.replace("<!DOCTYPE html>", "<!doctype HTML>\n<!-- saved from url=(0014)about:internet -->")
    assert read(tmp_path, saved.replace("\n", "\r\n")) == golden()


def test_texts_in_a_report_are_no_result_files(stored_run: Run, tmp_path: Path) -> None:
    text = LINK + base64.b64encode(file_bytes(golden()[:1])).decode() + '" download="result.epochmark.json">'
    summary = replace(stored_run.summary, device_name=text, cpu_name=text, comment=text, engine_version=text)
    hostile = replace(stored_run, summary=summary)
    assert read(tmp_path, report_page([JudgedRun(hostile)], file_bytes(golden()), {})) == golden()
    with pytest.raises(UsageError, match=said("exchange.no_file_in_page").pattern):
        read(tmp_path, report_page([JudgedRun(hostile)], b"", {}))


def other(text: str) -> Callable[[str], str]:
    """Return what puts a text in place of the result file."""
    return lambda page: page[: page.index(LINK) + len(LINK)] + text + page[page.index('" download="result') :]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda page: "<html><body>Hello", message("exchange.no_file_in_page")),
        (lambda page: page.replace(LINK, LINK.replace("href", "title")), message("exchange.no_file_in_page")),
        (lambda page: page[: page.index(LINK) + 500], message("exchange.cut_off")),
        (lambda page: page.replace(LINK, LINK + "?"), message("exchange.damaged_in_page")),
        (lambda page: page.replace('download="result', 'download="other'), message("exchange.damaged_in_page")),
        (lambda page: page + page[page.index(LINK) :], message("exchange.several_files_in_page")),
        (other(""), message("exchange.not_json")),
        (other(base64.b64encode(b"<html>").decode()), message("exchange.not_json")),
        (
            other(base64.b64encode(file_bytes(golden()).replace(b"2.2", b"2.3", 1)).decode()),
            message("exchange.other_digest"),
        ),
        (other(base64.b64encode(b"{" * 600_000).decode()), message("exchange.too_many_values")),
    ],
)
def test_what_is_wrong_is_refused(
    tmp_path: Path, page: str, change: Callable[[str], str], wanted: Message
) -> None:
    with pytest.raises(UsageError) as refusal:
        read(tmp_path, change(page))
    assert has_at_its_core(refusal.value.said, wanted)


def test_a_character_more_is_refused_for_what_this_python_makes_of_it(tmp_path: Path, page: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read(tmp_path, page.replace(LINK, f"{LINK}A", 1))
    codes = ("exchange.not_json", "exchange.damaged_in_page")
    assert any(has_at_its_core(refusal.value.said, message(code)) for code in codes)


def test_a_huge_page_is_refused_unread(tmp_path: Path, page: str) -> None:
    path = tmp_path / "report.html"
    with path.open("wb") as file:
        file.write(page.encode())
        file.truncate(5 * 10**9)
    with pytest.raises(UsageError, match=said("exchange.file_too_large", limit_bytes="32 MB").pattern):
        read_results(path)
