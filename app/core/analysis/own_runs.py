"""Selects and names the user's own runs: the best, the latest, and the most representative."""

from collections.abc import Sequence
from dataclasses import replace

from app.core.analysis.comparability import is_alike, run_refusal, unusual_settings
from app.core.analysis.power import counted, is_gpu
from app.core.analysis.published import short_name
from app.core.clock import local_time
from app.core.messages import message, sentence
from app.core.metrics import headline_kind
from app.core.records import RunSummary
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec
from workloads.settings import recorded_text

# Verdicts, best first. Only runs of the best group present are used; runs without a verdict count as doubtful.
_STANDINGS: tuple[tuple[str | None, ...], ...] = (("valid",), ("caution", None), ("invalid",))


def runs_like(
    runs: Sequence[RunSummary], spec: RunSpec, device: str | None, cpu_name: str | None
) -> list[RunSummary]:
    """Return the best run that matches a setup, then the latest one if it is a different run.

    Doubtful runs are used only if there are no valid ones, and invalid runs only if there are no other runs.

    Args:
        runs: Runs of the setup's workload, newest first.
        spec: The setup.
        device: Device of the setup, such as "cpu" or "gpu:0"; None if unknown.
        cpu_name: CPU of this computer. Only runs with the same CPU are used. None if unknown.
    """
    like = [run for run in runs if run.value is not None and _is_like(run, spec, device, cpu_name)]
    standing = next((kept for kinds in _STANDINGS if (kept := [run for run in like if run.verdict in kinds])), [])
    if not standing:
        return []
    best = _best(standing)
    return [best, standing[0]] if best.id != standing[0].id else [best]


def best_first(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return runs with the most representative one first, even if the newest was disturbed.

    The most representative run is the best of the most trustworthy runs that did the same work as the newest run
    with the default settings or, if no run has these, as the newest run. Studies often change settings.

    Args:
        runs: Runs of one workload with a headline, newest first.
    """
    if not runs:
        return []
    newest = next(filter(_is_usual, runs), runs[0])
    alike = [run for run in runs if run.cpu_name == newest.cpu_name and is_alike(newest, run)]
    best = _best(next(kept for kinds in _STANDINGS if (kept := [run for run in alike if run.verdict in kinds])))
    return [best, *(run for run in runs if run.id != best.id)]


def _best(runs: Sequence[RunSummary]) -> RunSummary:
    """Return the fastest run; of equally fast ones, the newest."""
    sign = -1 if headline_kind(runs[0].metric).is_rate else 1
    return min(runs, key=lambda run: sign * (run.value or 0.0))


def best_and_latest(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return the newest run, the previous one, and the best comparable one, newest first.

    Runs with non-default settings are omitted if any run has the default settings. The newest run that isn't part
    of a plan is always kept.

    Args:
        runs: Runs of one workload, newest first.
    """
    if not runs:
        return []
    usual = list(filter(_is_usual, runs)) or runs
    like = [run for run in usual[1:] if run.verdict != "invalid" and run_refusal(usual[0], run) is None]
    alone = [run for run in runs if run.group_id is None][:1]
    kept = {run.id for run in (*usual[:2], *alone, *([_best(like)] if like else []))}
    return [run for run in runs if run.id in kept]


def _is_usual(run: RunSummary) -> bool:
    return not unusual_settings(run)


def _is_like(run: RunSummary, spec: RunSpec, device: str | None, cpu_name: str | None) -> bool:
    workload = CATALOGUE.get(run.workload)
    if workload is None or run.workload != spec.workload or run.cpu_name != cpu_name:
        return False
    wanted = replace(
        run,
        workload_version=workload.version,
        variant=workload.variant(spec),
        batch_size=spec.batch_size,
        precision=spec.precision,
        engine=spec.engine,
        device=device,
        jit=spec.jit,
        threads=spec.threads,
        settings=recorded_text(spec),
    )
    return is_alike(run, wanted)


def run_name(run: RunSummary) -> str:
    """Return the short name of the device a run used, with the number of devices if there were several."""
    device = run.device_name if is_gpu(run) else run.cpu_name
    return counted(run, short_name(device or run.device or sentence("compare.this_computer")))


def own_name(run: RunSummary, shown: RunSummary | None = None, *, with_time: bool = False) -> str:
    """Return the display name of one of the user's runs: its comment, computer or device, and its date.

    Args:
        shown: The run shown as "This computer"; None if there is none.
        with_time: Whether to include the time of day.
    """
    is_here = shown is not None and (run.cpu_name, run_name(run)) == (shown.cpu_name, run_name(shown))
    date = own_date(run, with_time=with_time)
    if is_here and not run.comment:
        return sentence("compare.own_here", computer=message("compare.you"), date=date)
    return sentence("compare.own_named", name=run.comment or run_name(run), date=date)


def own_date(run: RunSummary, *, with_time: bool) -> str:
    """Return the local date of a run, with the time of day if it is needed."""
    at = local_time(run.started_at)
    return at if with_time else at.split(" ", maxsplit=1)[0]
