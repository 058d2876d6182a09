"""The page of a report: head, runs, method, and the embedded result file."""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from xml.etree.ElementTree import Element, tostring

import app
from app.core.analysis.power import device_at_limit
from app.core.messages import sentence
from app.core.metrics import format_value, headline_kind
from app.core.paths import RESOURCES
from app.core.redaction.private_texts import chosen_texts
from app.core.report.html.elements import element, table, without_private
from app.core.report.html.run_sections import run_article
from app.core.titles import level_title, workload_title
from app.core.verdict.judged_run import JudgedRun

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# Prefix of the link that saves the result file.
FILE_ADDRESS = "data:application/json;base64,"
FILE_NAME = "result.epochmark.json"
_METHOD = ("steps", "interval", "verdict", "comparison")


def report_page(runs: Sequence[JudgedRun], result_file: bytes, private: Mapping[str, str]) -> str:
    """Return an HTML page about runs, in the given order.

    Args:
        runs: At least one run.
        result_file: Contents of the result file to embed; b"" to embed none.
        private: Strings to replace.
    """
    secret = chosen_texts([run.run.spec for run in runs]) | dict(private)
    several = sentence("html.title_of_runs", count=len(runs))
    title = workload_title(runs[0].summary.workload) if len(runs) == 1 else several
    page_title = sentence("html.title", title=title)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("title", page_title),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # Prevents the page from loading or running anything, regardless of what the texts contain.
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        _style(),
    )
    header = element("header", element("h1", page_title), _overview(runs) if len(runs) > 1 else None)
    articles = [run_article(run, number) for number, run in enumerate(runs, 1)]
    footer = element("footer", *_method(), *_download(result_file))
    body = element("body", header, element("main", *articles), footer)
    root = element("html", head, body, lang="en")
    without_private(root, secret)
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


@cache
def _style_text() -> str:
    return (RESOURCES / "report" / "report.css").read_text(encoding="utf-8")


def _style() -> Element:
    style = Element("style")
    style.text = _style_text()
    return style


def _overview(runs: Sequence[JudgedRun]) -> Element:
    codes = ("label.workload", "label.device", "html.date", "heading.verdict", "heading.result")
    headings = [sentence(code) for code in codes]
    rows = []
    for run in runs:
        summary = run.summary
        kind = headline_kind(summary.metric)
        value = "" if summary.value is None else f"{format_value(summary.metric, summary.value)} {kind.short_unit}"
        device = device_at_limit(summary, summary.device_name or summary.cpu_name or "")
        verdict = level_title(run.verdict.level)
        rows.append((workload_title(summary.workload), device, summary.started_at[:10], verdict, value))
    return table(sentence("html.runs"), headings, rows, words=4)


def _method() -> list[Element]:
    heading = element("h2", sentence("verdict_dialog.method"))
    return [heading, *(element("p", sentence(f"html.method_{name}")) for name in _METHOD)]


def _download(result_file: bytes) -> list[Element]:
    made_by = element("p", sentence("html.made_by", version=app.__version__))
    if not result_file:
        return [made_by]
    address = FILE_ADDRESS + base64.b64encode(result_file).decode("ascii")
    link = element("a", sentence("html.result_file"), href=address, download=FILE_NAME)
    return [element("p", link, " ", sentence("html.result_file_note"), class_="download"), made_by]
