"""Builds the picture, text and file that the user shares, without the excluded fields."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.analysis.power import is_gpu
from app.core.errors import UsageError
from app.core.exchange.preview import FIELD_NAMES, Field, check_removable, preview, without
from app.core.messages import sentence
from app.core.plans.experiments import report_of
from app.core.plans.report import Report
from app.core.records import FIELDS, Group, Run, RunSummary
from app.core.report.card import ShareCard
from app.core.report.formats.result_document import PICTURE_STEPS_LIMIT, results_of
from app.core.report.forum_texts import FORMS, in_form
from app.core.report.result_records import result_of
from app.core.report.run_table import csv_of
from app.core.report.run_texts import result_text
from app.core.report.share import share_card
from app.core.result_file.canonical import file_bytes
from app.core.result_file.record import Result
from app.core.result_file.short_form import short_forms
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from workloads.protocol.machine import UNKNOWN_MACHINE

CSV = "csv"
TEXT_FORMS = (*FORMS, CSV)
# Replacement values in a run's machine, by preview field. Pictures show nothing in place of an excluded name.
_MACHINE: dict[str, dict[str, Any]] = {
    "cpu": {"cpu_name": None},
    "cores": {"physical_cores": None, "logical_cores": None},
    "memory": {"memory_bytes": None},
    "gpu": {"gpus": ()},
    "system": {"os_name": UNKNOWN_MACHINE.os_name, "architecture": UNKNOWN_MACHINE.architecture, "kernel": None},
}


@dataclass(frozen=True, slots=True)
class SharedResult:
    """A result for sharing, without the excluded fields."""

    fields: tuple[Field, ...]  # all fields of the result, including excluded ones
    card: ShareCard  # contents of the picture
    text: str  # text to paste
    enclosed: bytes  # contents of the result file; b"" if the result can't be saved in a file
    row: str  # CSV with a header and one row for each run

    def text_as(self, form: str) -> str:
        return self.row if form == CSV else in_form(self.text, form)


def shared_result(
    database: Database, run: JudgedRun, group: Group | None = None, hidden: Collection[str] = ()
) -> SharedResult:
    """Return a run, repetitions or an A/B test in the form in which each is shared.

    Args:
        group: The run's group if the group is shared; None for the run alone.

    Raises:
        UsageError: There is no result to share, or a field can't be excluded.
    """
    for name in hidden:
        check_removable(name)
    ids = [run.summary.id] if group is None else [each.id for each in group.runs]
    results = _results(database, ids)
    shown, others = run_without(run, hidden), None if group is None else _group_without(group, hidden)
    left = [without(result, hidden) for result in results] if hidden else results
    return SharedResult(
        fields=_fields(results),
        card=_card(database, shown, (group, others), hidden, _result_without(run.run, hidden)),
        text=result_text(shown) if others is None else replace(report_of(others), run=shown).text(),
        enclosed=file_bytes(left) if left else b"",
        row=_csv([shown.summary] if others is None else others.runs),
    )


def shared_report(
    database: Database, report: Report, chart: int = 0, hidden: Collection[str] = ()
) -> SharedResult:
    """Return a study, suite or other plan in the form in which it is shared. No fields can be excluded.

    Args:
        chart: Index of the chart in the picture.
        hidden: Always empty.

    Raises:
        UsageError: There is no result to share.
    """
    del hidden
    results = _results(database, report.shared_ids)
    return SharedResult(
        fields=tuple(replace(field, removable=False) for field in _fields(results)),
        card=report.card(chart),
        text=report.text(),
        enclosed=file_bytes(results) if results else b"",
        row=_csv(report.group.runs),
    )


def picture_and_file(database: Database, run: JudgedRun, group: Group | None = None) -> tuple[ShareCard, bytes]:
    """Return the contents of a saved picture and its result file. Arguments are as in `shared_result`."""
    results = _results(database, [run.summary.id] if group is None else [each.id for each in group.runs])
    return picture_card(database, run, group), file_bytes(results) if results else b""


def picture_card(database: Database, run: JudgedRun, group: Group | None = None) -> ShareCard:
    """Return the contents of a picture, including its QR code. Arguments and errors are as in `shared_result`."""
    others = None if group is None else _group_without(group, ())
    return _card(database, run_without(run, ()), (group, others), (), _result_without(run.run, ()))


def _card(
    database: Database,
    shown: JudgedRun,
    groups: tuple[Group | None, Group | None],
    hidden: Collection[str],
    result: Result | None,
) -> ShareCard:
    """Return the contents of a picture.

    Args:
        database: Database that contains the runs of the group.
        shown: The run without excluded fields.
        hidden: Names of excluded fields.
        result: The run's result without excluded fields; None if it has none.
    """
    group, others = groups
    if group is None or others is None:
        return share_card(shown, result=result)
    card, ids = replace(report_of(others), run=shown).card(result=result), report_of(group).typical_ids()
    if ids == [shown.summary.id]:
        return card
    results = (_result_without(load_run(database, run_id), hidden) for run_id in ids)
    return replace(card, short_form=short_forms(each for each in results if each is not None))


def _results(database: Database, ids: Sequence[int]) -> list[Result]:
    try:
        return results_of(database, ids, PICTURE_STEPS_LIMIT)
    except UsageError:
        return []


def _result_without(run: Run, hidden: Collection[str]) -> Result | None:
    """Return the result for the picture's QR code; None if the run has none."""
    try:
        result = result_of(run)
    except UsageError:
        return None
    return without(result, hidden) if hidden else result


def _fields(results: Sequence[Result]) -> tuple[Field, ...]:
    """Return several results' fields. Fields that differ show the first value and the number of other values."""
    texts: dict[str, list[Field]] = {}
    for result in results:
        for field in preview(result):
            texts.setdefault(field.name, []).append(field)
    order = {name: number for number, name in enumerate(FIELD_NAMES)}
    fields = []
    for name in sorted(texts, key=order.__getitem__):
        first, several = texts[name][0], list(dict.fromkeys(field.text for field in texts[name]))
        more = len(several) - 1
        fields.append(
            replace(first, text=sentence("exchange.and_others", text=first.text, count=more)) if more else first
        )
    return tuple(fields)


def _group_without(group: Group, hidden: Collection[str]) -> Group:
    created_at = "" if "date" in hidden else group.created_at
    return replace(group, created_at=created_at, runs=tuple(_row(each, hidden) for each in group.runs))


def _csv(rows: Sequence[RunSummary]) -> str:
    # The error message of a failed run may contain folder names, and isn't part of a result.
    shown = (replace(row, error_code=None, error_said=None) for row in rows)
    return "".join(csv_of(shown))


def run_without(run: JudgedRun, names: Collection[str]) -> JudgedRun:
    """Return a copy of a run with the excluded fields blanked for the picture and the text."""
    if not names:
        return run
    changes = {name: value for field in names for name, value in _MACHINE.get(field, {}).items()}
    machine = replace(run.run.machine, **changes)
    return JudgedRun(replace(run.run, summary=_row(run.summary, names), machine=machine))


def _row(summary: RunSummary, names: Collection[str]) -> RunSummary:
    changes: dict[str, Any] = {name: None for name, declared in FIELDS.items() if declared.private in names}
    if "started_at" in changes:
        changes["started_at"] = ""
    if ("gpu" if is_gpu(summary) else "cpu") in names:
        changes |= {"power_limit_w": None, "power_default_w": None}
    return replace(summary, **changes)
