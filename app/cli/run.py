"""The `run` command: starts a run and shows it as text or as a stream of events."""

import argparse
import os

from app.cli.grammar import WORKLOAD, add_run_options, command, option
from app.cli.groups import carry_out, exit_code, follow
from app.cli.interrupts import EXIT_INTERRUPTED, Interrupts
from app.cli.parser import Parser
from app.cli.preflight import preflight_lines
from app.cli.result_files import check_place, write_after_run
from app.cli.specs import make_spec
from app.cli.terminal import VERDICT_INKS, Ink
from app.cli.text import complain, in_line, say, say_bars, several_line
from app.cli.values import check_range, output, whole
from app.cli.views import JsonView, TextView
from app.core.analysis.bars import bars, find_baseline, one_each
from app.core.analysis.comparability import left_out
from app.core.analysis.position import chart_note, position
from app.core.analysis.trend import against_one_device
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import message, sentence, text
from app.core.metrics import CLOCKS, metric_lines
from app.core.paths import Paths
from app.core.plans.repeat import repeat_plan
from app.core.records import Run
from app.core.redaction.private_texts import chosen_folders
from app.core.report.run_texts import estimate_basis, headline, meaning_text, verdict_line
from app.core.runs.awake import stay_awake
from app.core.runs.follower import Follower
from app.core.runs.launchers import joint_spec, place_of
from app.core.runs.plan_session import REPEATS_LIMIT
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.past_runs import past_runs
from app.core.storage.runs import load_run
from app.core.verdict.bottleneck import bottleneck_text
from app.core.verdict.energy import energy_used
from app.core.verdict.notes import derived_epoch, peak_share, power_limit
from app.core.verdict.rules import judge
from workloads import CATALOGUE
from workloads.protocol.spec import ComputerPlace, RunSpec

# Hidden in the results of hardware tests.
_HIDDEN = (*CLOCKS, "peak_memory_bytes", "peak_gpu_memory_bytes", "peak_gpu_reserved_bytes")


def _add_options(parser: Parser, _: str) -> None:
    add_run_options(parser).add_argument(
        "--distributed", action="store_true", help=sentence("help.run_distributed")
    )


@command(
    "run",
    WORKLOAD,
    option("--repeat", type=whole, metavar="N"),
    option("--output", type=output, metavar="FILE"),
    _add_options,
)
def run(options: argparse.Namespace, paths: Paths) -> int:
    """Run a workload one or more times. Return 0 if done, 1 if failed, 130 if cancelled."""
    spec = make_spec(options, paths)
    if options.output is not None:
        check_place(options.output)
    if options.distributed:
        return _run_distributed(spec, options, paths)
    if options.repeat is not None:
        check_range("--repeat", options.repeat, 2, REPEATS_LIMIT)
        plan = repeat_plan(spec, options.repeat)
        return carry_out(plan, options, paths, result_file=options.output)
    return _run_once(spec, options, paths)


def _run_distributed(spec: RunSpec, options: argparse.Namespace, paths: Paths) -> int:
    """Take part in a run on several computers. Rank 0 shows and stores the result."""
    if options.repeat is not None:
        raise UsageError(message("cli.distributed_without_repeat"))
    place = place_of(os.environ, spec.engine)
    spec = joint_spec(spec, place.count)
    if place.rank == 0:
        return _run_once(spec, options, paths, place)
    runner = Runner(paths, detect_machine(data_folder=paths.datasets), computers=place)
    checked = runner.check(spec)
    if not options.json and not options.quiet:
        say(sentence("computers.follows", rank=place.rank, count=place.count), flush=True)
    follower = Follower(checked, place, paths)
    try:
        with stay_awake(), Interrupts() as interrupts:
            interrupts.wait(follower)
    finally:
        follower.close()
    if follower.is_cancelled:
        return EXIT_INTERRUPTED
    if follower.problem is not None:
        complain(text(follower.problem))
    return 1 if follower.problem is not None else 0


def _run_once(spec: RunSpec, options: argparse.Namespace, paths: Paths, place: ComputerPlace | None = None) -> int:
    """Run a spec once and print its result. `place` is this computer's among several."""
    machine = detect_machine(data_folder=paths.datasets)
    view = JsonView() if options.json else TextView(CATALOGUE[spec.workload], spec, machine, quiet=options.quiet)
    if isinstance(view, TextView) and not options.quiet:
        view.preflight = preflight_lines(spec, machine, paths)
    session = follow(repeat_plan(spec), Runner(paths, machine, computers=place), view)
    if session.trouble:
        return 1
    with Database(paths.database) as database:
        if not options.json:
            stored = load_run(database, session.run_id)
            others = (each.run for each in past_runs(database, stored.summary.workload))
            print_result(stored, against_one_device(stored.summary, others))
        is_written = options.output is None or write_after_run(database, [session.run_id], options.output)
    return exit_code(session, is_written=is_written)


def print_result(stored: Run, on_one: str = "") -> None:
    """Print a run that has just ended, with its headline, verdict, and rank among published results.

    `on_one` compares it with a run on one device; "" for none.
    """
    summary = stored.summary
    workload = CATALOGUE[summary.workload]
    if summary.status != "completed":
        ended = summary.status if summary.status in ("failed", "cancelled", "interrupted") else "ended"
        done, planned = summary.epochs_done, summary.epochs
        say("\n" + sentence(f"verdict.{ended}_after", epochs_done=done, epochs=planned))
    if workload.is_demo:
        say(sentence("cli.demo_stored", run_id=summary.id, remark=message("verdict.demo")))
        return
    verdict = judge(stored)
    say(f"\n{headline(summary, estimate_basis(verdict))}")
    if workload.metric != "seconds_per_epoch_s" and summary.value is not None:
        lines = metric_lines({key: value for key, value in stored.metrics.items() if key not in _HIDDEN})
        for number, path in enumerate(chosen_folders(stored.spec), 1):
            lines.append((sentence("studies.folder", number=number), in_line(path)))
        say("\n".join(f"  {label}: {text}" for label, text in lines))
    for line in (*_extra_lines(stored), on_one):
        if line:
            say(in_line(line))
    say(in_line(verdict_line(verdict)), lead=VERDICT_INKS.get(verdict.level))
    everything = bars(summary.workload, summary)
    if place := position(summary, chart=everything):
        chart = one_each(everything)
        baseline = find_baseline(chart, None, summary.workload)
        say(in_line(place) + "\n")
        say(in_line(chart_note(chart, baseline)), ink=Ink.MUTED)
        say_bars(chart, baseline)
    for name, reason in left_out(summary) if summary.value else []:
        say("  " + in_line(sentence("cli.not_drawn", name=name, reason=reason)))
    if summary.value and (line := several_line(summary.workload, summary)):
        say(line)
    say("\n" + sentence("cli.run_stored", run_id=summary.id))


def _extra_lines(stored: Run) -> tuple[str, ...]:
    summary = stored.summary
    notes = (peak_share(stored.peak), power_limit(summary), energy_used(summary))
    texts = (text(derived_epoch(summary)), meaning_text(summary), bottleneck_text(stored))
    return (*texts, *map(text, notes))
