"""The `engine` command: lists, installs, checks and removes engines. Only `install` uses the network."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from app.cli.grammar import JSON, add_watching, command, option
from app.cli.groups import carry_out
from app.cli.layout import Column
from app.cli.text import LiveLine, complain, in_line, say, say_json, say_table
from app.cli.values import check_range, whole
from app.core.engines.builds import BuildFit
from app.core.engines.install import (
    Phase,
    check_engine,
    check_installable,
    choose_variant,
    install_engine,
    remove_engine,
)
from app.core.engines.locations import engine_folder, installable
from app.core.engines.overview import EngineRow, list_engines
from app.core.hardware.machine import detect_machine
from app.core.messages import sentence, text
from app.core.paths import Paths
from app.core.plans.engines import engine_specs, engines_plan
from app.core.runs.plan_session import REPEATS_LIMIT
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.outcomes import check_engine_unused
from workloads import STANDARD
from workloads.engines.registry import engine_title
from workloads.protocol.machine import Gpu
from workloads.protocol.spec import DataChoice

ROUNDS = 3
_STEP_PCT = 10
_COLUMNS = (
    Column("heading.name"),
    Column("column.version"),
    Column("parameter_label.network", order=2),
    Column("column.state"),
    Column("column.size", is_right=True, order=1),
    Column("column.here", least=16),
)


ENGINE = option("engine", "help.engine_name", metavar="NAME")


@command("engine list", JSON)
def show(options: argparse.Namespace, paths: Paths) -> int:
    rows = list_engines(paths, detect_machine(data_folder=paths.datasets))
    if options.json:
        say_json(json.dumps([_as_json(row) for row in rows], indent=2))
        return 0
    lines = []
    for row in rows:
        variant, size = "", ""
        if row.stamp is not None:
            variant, size = row.stamp.variant, sentence("cli.size", size_bytes=row.stamp.size_bytes)
        lines.append((row.engine, row.version or "", variant, _state(row), size, _use(row)))
    say_table(_COLUMNS, lines)
    for row in rows:
        if row.problem is not None:
            say(in_line(text(row.problem)))
    return 0


def _state(row: EngineRow) -> str:
    if row.is_included:
        return sentence("cli.engine_included" if row.state == "ready" else "cli.engine_state.absent")
    return sentence(f"cli.engine_state.{row.state}")


def _use(row: EngineRow) -> str:
    """Describe the devices that an engine uses or could use, and its size if it isn't installed."""
    if row.is_included or row.state == "ready":
        return _device(row.gpus)
    if not row.offers:
        return sentence("cli.engine_not_here")
    return offer_text(row.offers[0])


def _device(gpus: Sequence[Gpu]) -> str:
    names = [gpu.name for gpu in gpus]
    return sentence("engines.your_gpus", gpus=names) if names else sentence("engines.your_cpu")


def offer_text(offer: BuildFit) -> str:
    variant = offer.variant
    offered = _device(offer.gpus)
    if variant.download_bytes is not None:
        code = "cli.engine_offer" if variant.disk_bytes is None else "cli.engine_offer_with_disk"
        sizes = {"download_bytes": variant.download_bytes, "disk_bytes": variant.disk_bytes}
        offered = sentence(code, device=offered, **sizes)
    if variant.source is not None:
        offered = f"{offered}, {sentence('engines.untried', source=variant.source)}"
    return offered


def _as_json(row: EngineRow) -> dict[str, Any]:
    return {
        "engine": row.engine,
        "title": row.title,
        "included": row.is_included,
        "state": row.state,
        "version": row.version,
        "problem": text(row.problem) if row.problem is not None else None,
        "gpus": [gpu.name for gpu in row.gpus],
        "installed": msgspec.to_builtins(row.stamp) if row.stamp is not None else None,
        "variants": [
            {
                "variant": offer.variant.name,
                "recommended": offer.is_recommended,
                "gpus": [gpu.name for gpu in offer.gpus],
                "obstacle": text(offer.obstacle) if offer.obstacle is not None else None,
                "download_bytes": offer.variant.download_bytes,
                "disk_bytes": offer.variant.disk_bytes,
                "untried_source": offer.variant.source,
            }
            for offer in row.offers
        ],
    }


@command(
    "engine install",
    ENGINE,
    option("--variant", metavar="VARIANT"),
    option("--from", dest="source", type=Path, metavar="FOLDER"),
    JSON,
)
def install(options: argparse.Namespace, paths: Paths) -> int:
    check_installable(options.engine)
    variant = choose_variant(options.engine, detect_machine(data_folder=paths.datasets), options.variant)
    _refuse_during_runs(paths, options.engine)
    show_progress = _Progress(quiet=options.json)
    try:
        stamp = install_engine(paths, variant, options.source, show_progress)
    finally:
        show_progress.end()
    if options.json:
        say_json(json.dumps(msgspec.to_builtins(stamp), indent=2))
        return 0
    facts = {"version": stamp.version, "variant": stamp.variant, "size_bytes": stamp.size_bytes}
    say(sentence("cli.engine_installed", title=engine_title(stamp.engine), **facts))
    noted = [package.name for package in stamp.packages if not package.is_locked]
    if noted:
        say(sentence("cli.engine_noted", names=noted, count=len(noted)))
    return 0


@command(
    "engine compare",
    option("workloads", "help.run_workload", {"workload": STANDARD}, metavar="WORKLOAD", nargs="*"),
    option("--rounds", arguments={"rounds": ROUNDS}, type=whole, default=ROUNDS, metavar="N"),
    option("--preset", choices=("quick", "standard"), default="quick"),
    option("--device", default="auto", metavar="DEVICE"),
    option("--data", choices=get_args(DataChoice), default="auto"),
    add_watching,
)
def compare(options: argparse.Namespace, paths: Paths) -> int:
    """Run workloads on all available engines, alternately. Return 0 if done, 1 if failed, 130 if cancelled."""
    check_range("--rounds", options.rounds, 1, REPEATS_LIMIT)
    machine = detect_machine(data_folder=paths.datasets)
    choice = {"device": options.device, "data": options.data}
    specs, refusals = engine_specs(options.workloads or [STANDARD], options.preset, choice, Runner(paths, machine))
    for refusal in refusals:
        complain(sentence("cli.note", note=in_line(text(refusal))))
    plan = engines_plan(specs, options.rounds)
    return carry_out(plan, options, paths)


@command("engine remove", ENGINE, JSON)
def remove(options: argparse.Namespace, paths: Paths) -> int:
    check_installable(options.engine)
    _refuse_during_runs(paths, options.engine)
    removal = remove_engine(paths, options.engine)
    if options.json:
        answer = {"engine": options.engine, "was_installed": removal.was_there, "freed_bytes": removal.freed_bytes}
        say_json(json.dumps(answer, indent=2))
        return 0
    code = "cli.engine_removed" if removal.was_there else "cli.engine_was_not_installed"
    say(sentence(code, title=engine_title(options.engine)))
    return 0


@command("engine check", option("engine", metavar="NAME", nargs="?"), JSON)
def check(options: argparse.Namespace, paths: Paths) -> int:
    """Check one engine or all installed engines. Return 1 if there is a problem."""
    names = [name for name in installable() if engine_folder(paths, name).look().state != "absent"]
    if options.engine is not None:
        names = [options.engine]
    show_progress = _Progress(quiet=options.json)
    try:
        checkups = [check_engine(paths, name, show_progress) for name in names]
    finally:
        show_progress.end()
    if options.json:
        plain = [
            {
                "engine": checkup.engine,
                "state": checkup.state,
                "problems": [{"code": problem.code, "text": text(problem)} for problem in checkup.problems],
            }
            for checkup in checkups
        ]
        say_json(json.dumps(plain, indent=2))
    else:
        for checkup in checkups:
            title = engine_title(checkup.engine)
            if checkup.stamp is not None and not checkup.problems:
                say(sentence("cli.engine_fine", title=title, version=checkup.stamp.version))
            for problem in checkup.problems:
                say(in_line(text(problem)))
        if not checkups:
            say(sentence("cli.no_engines"))
    return 1 if any(checkup.problems for checkup in checkups) else 0


def _refuse_during_runs(paths: Paths, engine: str) -> None:
    with Database(paths.database) as database:
        check_engine_unused(database, engine)


class _Progress:
    """Shows the progress of an installation: in place on a terminal, otherwise every 10 % of the download."""

    def __init__(self, *, quiet: bool) -> None:
        self._line = LiveLine(sys.stderr)
        self._quiet = quiet
        self._shown: tuple[str, int] | None = None
        self._begun: tuple[float, int] | None = None

    def __call__(self, phase: Phase, done_bytes: int, total_bytes: int) -> None:
        percent = 100 * done_bytes // total_bytes if phase == "download" and total_bytes else 0
        if self._quiet or (phase, percent) == self._shown:
            return
        if not self._line.is_live and self._shown is not None and self._shown[0] == phase and percent % _STEP_PCT:
            return
        self._shown = phase, percent
        is_download = phase == "download"
        line = (
            self._download(done_bytes, total_bytes, percent) if is_download else sentence(f"engines.phase.{phase}")
        )
        if self._line.is_live:
            self._line.draw(line)
        else:
            complain(line)

    def _download(self, done_bytes: int, total_bytes: int, percent: int) -> str:
        now_s = time.monotonic()
        if self._begun is None:
            self._begun = now_s, done_bytes
        elapsed_s, arrived_bytes = now_s - self._begun[0], done_bytes - self._begun[1]
        if elapsed_s < 1 or not arrived_bytes:
            return sentence("cli.download_progress", share_pct=percent, total_bytes=total_bytes)
        rate = arrived_bytes / elapsed_s
        return sentence("cli.download_rate", share_pct=percent, total_bytes=total_bytes, rate_bytes=rate)

    def end(self) -> None:
        self._line.erase()
