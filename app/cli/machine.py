"""The `workloads`, `hardware` and `compare` commands."""

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict

from app.cli.grammar import JSON, command, flag, option
from app.cli.layout import Column
from app.cli.terminal import Ink
from app.cli.text import in_line, say, say_bars, say_json, say_table, several_line
from app.core.analysis.bars import Bar, bars, by_work, find_baseline, one_each
from app.core.analysis.comparability import left_out, left_out_imports
from app.core.analysis.own_runs import best_first
from app.core.analysis.position import chart_note, friend_answer, position
from app.core.analysis.published import comparable_rows, disagreement
from app.core.hardware.machine import detect_machine
from app.core.hardware.part_texts import NOT_KNOWN, MachinePart, machine_parts
from app.core.hardware.telemetry.sensors import read_power
from app.core.messages import sentence, text
from app.core.paths import Paths
from app.core.records import RunSummary
from app.core.runs.runner import known_workload
from app.core.storage.database import Database
from app.core.storage.imported_results import SHOWN_LIMIT, list_results
from app.core.storage.outcomes import recover_runs
from app.core.storage.queries import own_runs
from app.core.titles import workload_title
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import ENGINES

OTHER_RUNS = 5
_PART_COLUMNS = (Column("column.part"), Column("heading.value", least=20))
_WORKLOAD_COLUMNS = (
    Column("column.id"),
    Column("column.title", least=20),
    Column("column.kind", order=5),
    Column("group.kind_study", order=1),
    Column("setting.epochs", is_right=True, order=3),
    Column("heading.batch", is_right=True, order=2),
    Column("column.parameters", is_right=True, order=4),
    Column("provenance.published", is_right=True, order=6),
)


@command("workloads", JSON, folders=False)
def workloads(options: argparse.Namespace, paths: Paths) -> int:
    if options.json:
        say_json(json.dumps([_workload(workload_id) for workload_id in CATALOGUE], indent=2))
        return 0
    rows = [
        (
            workload.id,
            workload_title(workload.id),
            sentence(f"workloads.kind_{workload.kind}"),
            workload.study_name or "-",
            str(workload.epochs),
            str(workload.batch_size),
            f"{workload.parameters_count:,}" if workload.parameters_count else "-",
            str(len(comparable_rows(workload.id))),
        )
        for workload in CATALOGUE.values()
    ]
    say_table(_WORKLOAD_COLUMNS, rows)
    return 0


@command("hardware", JSON, folders=False)
def hardware(options: argparse.Namespace, paths: Paths) -> int:
    machine, power = detect_machine(data_folder=paths.datasets), read_power()
    parts = machine_parts(machine, power)
    if options.json:
        unknown = {part.id: part.reason for part in parts if part.value == NOT_KNOWN}
        now = {"power": asdict(power.state), "sensors": asdict(power.sensors), "unknown": unknown}
        say_json(json.dumps(asdict(machine) | now, indent=2))
        return 0
    say_table(_PART_COLUMNS, [(part.name, part.value) for part in parts])
    reasons = reason_lines(parts)
    if reasons:
        say("\n".join(["", sentence("cli.unknown_parts"), *map(in_line, reasons)]))
    return 0


def reason_lines(parts: Iterable[MachinePart]) -> list[str]:
    names: dict[str, list[str]] = {}
    for part in parts:
        if part.reason:
            names.setdefault(part.reason, []).append(part.name)
    return [f"  {', '.join(of)}: {reason}" for reason, of in names.items()]


@command(
    "compare",
    option("workload", arguments={"workload": STANDARD}, nargs="?", metavar="WORKLOAD"),
    option("--baseline", metavar="NAME"),
    flag("--efficiency"),
    flag("--several-gpus"),
    JSON,
)
def compare(options: argparse.Namespace, paths: Paths) -> int:
    workload = known_workload(options.workload or STANDARD).id
    with Database(paths.database) as database:
        recover_runs(database)
        runs = best_first(own_runs(database, workload, limit=1 + OTHER_RUNS))
        imported = list_results(database, workload, SHOWN_LIMIT)
    run, others = (runs[0], runs[1:]) if runs else (None, [])
    several = options.several_gpus
    chart = bars(workload, run, others, imported, with_several=several)
    if options.efficiency:
        return _compare_work(options, workload, run, by_work(chart))
    refused = left_out(run, with_several=several) if run else []
    refused += left_out_imports(workload, run, imported)
    baseline = find_baseline(chart, options.baseline, workload)
    # The sentence is about published results. A stored run as baseline affects only the bars.
    published = [bar for bar in chart if bar.kind in ("you", "reference")]
    wanted = baseline.title if baseline and baseline.row and baseline.is_like else None
    place = position(run, wanted, published) if run else None
    if options.json:
        say_json(json.dumps(_comparison(workload, run, chart, baseline, refused) | {"sentence": place}, indent=2))
        return 0
    if not chart:
        say(sentence("cli.nothing_to_compare", workload=workload))
        return 0
    each = {id(bar) for bar in one_each(chart)}
    _say_chart(workload, [bar for bar in chart if bar is baseline or id(bar) in each], baseline)
    for name, reason in refused:
        say("  " + in_line(sentence("cli.not_drawn", name=name, reason=reason)))
    if not several and (line := several_line(workload, run)):
        say(line)
    for line in dict.fromkeys(disagreement(bar.row) for bar in chart if bar.row is not None):
        if line:
            say("\n" + line)
    if run is None:
        say("\n" + sentence("cli.no_completed_run", workload=workload))
    elif place:
        say("\n" + sentence("cli.best_run", run_id=run.id, place=in_line(place)))
    if answer := friend_answer(chart):
        say(in_line(answer))
    return 0


def _compare_work(options: argparse.Namespace, workload: str, run: RunSummary | None, chart: list[Bar]) -> int:
    baseline = find_baseline(chart, options.baseline, workload)
    if options.json:
        say_json(json.dumps(_comparison(workload, run, chart, baseline) | {"sentence": None}, indent=2))
    elif chart:
        _say_chart(workload, chart, baseline)
    else:
        say(sentence("cli.no_energy", workload=workload))
    return 0


def _say_chart(workload: str, chart: list[Bar], baseline: Bar | None) -> None:
    note = in_line(chart_note(chart, baseline))
    say(sentence("cli.chart_title", workload=workload_title(workload), note=note), ink=Ink.MUTED)
    say_bars(chart, baseline)


def _workload(workload_id: str) -> dict[str, object]:
    workload = CATALOGUE[workload_id]
    names = (
        "id kind study version source metric dataset epochs steps batch_size"
        " samples_per_epoch validation_samples parameters_count loss_band"
    )
    plain: dict[str, object] = {name: getattr(workload, name) for name in names.split()}
    plain |= {"title": workload_title(workload_id), "summary": text(workload.summary)}
    plain["epoch_text"] = text(workload.epoch_text) if workload.epoch_text is not None else ""
    needs = {name: workload.memory_need(name) for name in ENGINES}
    plain["memory_needs"] = {name: None if need is None else asdict(need) for name, need in needs.items()}
    plain["parameters"] = [
        {
            "name": parameter.name,
            "kind": parameter.kind.name,
            "default": parameter.default,
            "description": text(parameter.description),
            **{name: getattr(parameter.kind, name, None) for name in ("unit", "minimum", "maximum")},
            "choices": getattr(parameter.kind, "choices", ()),
            "zero": text(parameter.kind.zero) if parameter.kind.zero else "",
            "in_variant": parameter.in_variant,
            "required": parameter.required,
        }
        for parameter in workload.parameters
    ]
    plain["published_rows"] = len(comparable_rows(workload_id))
    return plain


def _comparison(
    workload: str,
    run: RunSummary | None,
    chart: list[Bar],
    baseline: Bar | None,
    refused: Iterable[tuple[str, str]] = (),
) -> dict[str, object]:
    return {
        "workload": workload,
        "run_id": run.id if run else None,
        "left_out": [f"{name}: {reason}" for name, reason in refused],
        "baseline": baseline.name if baseline else None,
        "baseline_year": baseline.row.year if baseline and baseline.row else None,
        "bars": [
            {
                "name": bar.name,
                "kind": bar.kind,
                "metric": bar.metric,
                "value": bar.value,
                "times_baseline": bar.times_as_fast(baseline),
                "remarks": list(bar.remarks),
                "run_id": bar.run.id if bar.run else None,
                "reference": asdict(bar.row) if bar.row else None,
                "imported_id": bar.imported.id if bar.imported else None,
            }
            for bar in chart
        ],
    }
