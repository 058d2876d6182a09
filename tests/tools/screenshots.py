"""Pictures of every page, in both themes and three sizes: python3 -m tests.tools.screenshots FOLDER [SCALE_PCT].

At 200 %, each has twice the pixels in both directions. What they show is a real run that was recorded; nothing is
run for them.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import msgspec
from PySide6.QtWidgets import QApplication

from app.core.errors import AppError
from app.core.exchange.sharing import picture_card
from app.core.paths import default_paths
from app.core.plans.experiments import report_of
from app.core.records import Plan
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.storage.imported_results import add_results, load_result
from app.core.storage.queries import set_comment
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.pages.hardware.page import VIEWS, HardwarePage
from app.gui.pages.settings.engine_work import EngineWork
from app.gui.run.share_dialog import ShareDialog
from app.gui.run.share_picture import paint_share_picture, save_share_picture
from app.gui.run.verdict_dialog import VerdictDialog
from app.gui.run.workload_chooser import WorkloadChooser
from app.gui.shell.application import open_window
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT
from tests.build import golden, quiet_run, set_fields
from tests.conftest import pretend_installed
from tests.gui.driving import replay
from tests.recording import as_preset, asked, store_recording, until_epoch
from tests.study_pictures import SUITE_FACTORS, store_studies, store_suite
from tests.sure import only, sure
from tests.tools.camera import THEMES, Photographer
from workloads.protocol import events
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import Telemetry

# Times of both sides, pair by pair, as factors of the recorded ones.
AB_FACTORS = ((1.0, 1.06), (1.004, 1.083), (0.996, 1.071), (1.002, 1.079), (0.999, 1.069), (1.006, 1.077))
CRASH = events.Error(
    code="crashed",
    message="The worker was ended by signal 9 (SIGKILL) before the run was done; it may have been out of memory.",
)


DISTURBED = events.Judged(
    level="caution",
    reasons=(
        events.Reason(
            code="other_load",
            level="caution",
            text="Other programs used 34 % of the CPU.",
            advice="Close other programs, and wait for updates and backups to finish.",
        ),
    ),
    interrupted_t_s=(96.0, 140.0, 141.5, 250.0),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    application = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        window, services = open_window(Theme(application), paths)
        camera = Photographer(folder, window, services, application)
        camera.wait(lambda: window.benchmark.view is not None and services.finder.machine is not None)
        try:
            take_all(camera)
        finally:
            window.close()
            services.tasks.close()


def take_all(camera: Photographer) -> None:
    for code in ("benchmark", "results", "compare", "lab", "suite"):
        camera.take(f"{code}-empty", code, camera.calm)
    take_chooser(camera)
    camera.window.show_page("benchmark")
    camera.take("benchmark-disturbed", "benchmark", camera.disturb)
    recorded = camera.recorded
    for name, moment in (("warming-up", 0), ("quick", 60), ("quick-later", 320)):
        quiet = [events.Judged(level="valid")] if moment else []
        part = as_preset(until_epoch(recorded, 0, more_steps=moment), "quick")
        replay(camera.window, camera.services, [*part, *quiet])
        camera.take(f"benchmark-running-{name}", "benchmark")
    replay(camera.window, camera.services, until_epoch(recorded, 5, more_steps=214))
    camera.take("benchmark-running", "benchmark")
    replay(camera.window, camera.services, [*until_epoch(recorded, 5, more_steps=214), DISTURBED])
    camera.take("benchmark-running-disturbed", "benchmark")
    with Database(camera.services.paths.database) as database:
        database.connection.execute("DELETE FROM runs")
        store_recording(database, until_epoch(recorded, 3), status="cancelled")
        failed = store_recording(database, [*until_epoch(recorded, 4)], status="failed", error=CRASH)
        quick = store_recording(database, as_preset(until_epoch(recorded, 0, more_steps=320), "quick"))
        sustained = store_recording(database, as_preset(recorded, "sustained"))
        finished = store_recording(database, recorded)
        set_comment(database, finished, "first full run")
        tested = store_ab(database, recorded)
    camera.show_stored(failed)
    camera.take("benchmark-failed", "benchmark")
    for name, run_id in (("quick", quick), ("sustained", sustained), ("finished", finished)):
        camera.show_stored(run_id)
        camera.take(f"benchmark-{name}", "benchmark")
    take_verdict(camera)
    take_quiet(camera)
    camera.take("results", "results")
    camera.window.results.open_run(finished)
    camera.wait(lambda: camera.window.results.run is not None)
    camera.take("results-detail", "results")
    camera.take("compare", "compare")
    take_ab(camera, tested)
    take_studies(camera)
    take_suite(camera)
    take_hardware(camera)
    camera.take("settings", "settings")
    take_engines(camera)
    take_share_pictures(camera, finished, tested)


def take_studies(camera: Photographer) -> None:
    services, page = camera.services, camera.window.lab
    machine = sure(services.finder.machine)
    with Database(services.paths.database) as database:
        studies = list(store_studies(database, services.paths, machine))
    camera.window.show_page("lab")
    for name, group_id in studies:
        page.refresh(choose=group_id)
        camera.wait(lambda: page.report is not None and page.report.group.id == group_id)  # noqa: B023 - at once
        camera.take(f"studies-{name}", "lab")
        card = sure(page.card())
        for theme, tokens in (("dark", DARK), ("light", LIGHT)):
            paint_share_picture(card, tokens).save(str(camera.folder / f"share-study-{name}-{theme}.png"))


def take_suite(camera: Photographer) -> None:
    services, page = camera.services, camera.window.suite
    machine = sure(services.finder.machine)
    with Database(services.paths.database) as database:
        half = store_suite(database, services.paths, machine, SUITE_FACTORS[0], runs=4)
        for factors in SUITE_FACTORS:
            whole = store_suite(database, services.paths, machine, factors)
    camera.window.show_page("suite")
    for name, group_id in (("suite-half", half), ("suite", whole)):
        page.refresh(choose=group_id)
        camera.wait(lambda: page.report is not None and page.report.group.id == group_id)  # noqa: B023 - at once
        camera.take(name, "suite")
    page.charts.setCurrentIndex(1)
    page.charts.activated.emit(1)
    camera.take("suite-scores", "suite")
    card = sure(page.card())
    for theme, tokens in (("dark", DARK), ("light", LIGHT)):
        paint_share_picture(card, tokens).save(str(camera.folder / f"share-suite-{theme}.png"))


def take_engines(camera: Photographer) -> None:
    finder, window = camera.services.finder, camera.window
    assert finder.machine is not None
    gpu = Gpu("NVIDIA GeForce RTX 5070", "nvidia", memory_bytes=12_000_000_000)
    finder.machine = replace(finder.machine, os_name="Windows 11", architecture="x86_64", gpus=(gpu,))
    finder.found.emit()
    window.benchmark.choose()
    camera.take("benchmark-idle-card", "benchmark", camera.calm)
    window.show_page("settings")
    window.settings.show_engines("torch")
    camera.wait(lambda: window.settings.engines_card.rows)
    camera.take("settings-engines", "settings", lambda: window.settings.show_engines("torch"))
    work = EngineWork("PyTorch")
    work.report("download", 712_000_000, 2_000_000_000)
    card = window.settings.engines_card
    camera.take("settings-engines-download", "settings", lambda: card.rows["torch"].show_work(work))
    pretend_installed("torch", camera.services.paths, "cuda")
    pretend_installed("jax", camera.services.paths)
    camera.services.engines.look()
    camera.wait(lambda: "torch" in camera.services.engines.installed)
    window.benchmark.setup.device.select("tensorflow", "cpu")
    camera.take("benchmark-idle-card-installed", "benchmark", camera.calm)
    window.benchmark.setup.device.showPopup()
    camera.wait(patience_s=0.5)
    camera.save(window.benchmark.setup.device.view().window(), "devices")
    window.benchmark.setup.device.hidePopup()
    camera.take("settings-engines-installed", "settings", lambda: window.settings.show_engines("torch"))
    window.lab.setup.sides.sides[1].engine.select("torch")
    camera.take("ab-engines", "lab", camera.calm)


def take_hardware(camera: Photographer) -> None:
    camera.window.show_page("hardware")
    page = only(HardwarePage, camera.window.findChild(HardwarePage))
    for name in VIEWS:
        page.show_view(name)
        camera.take(f"hardware-{name}", "hardware")
    page.doctor.examine()
    camera.take("hardware-doctor-examining", "hardware")
    camera.wait(lambda: not page.doctor.is_examining, patience_s=120)
    camera.take("hardware-doctor-done", "hardware")


def take_chooser(camera: Photographer) -> None:
    machine = sure(camera.services.finder.machine)
    chooser = WorkloadChooser(camera.services, machine, "vgg16", camera.window)
    chooser.show()
    camera.wait(lambda: chooser.table.entries.rows)
    for theme in THEMES:
        camera.services.theme.choose(theme)
        camera.wait(patience_s=0.5)
        camera.save(chooser, f"chooser-{theme}")
    chooser.reject()


def take_quiet(camera: Photographer) -> None:
    view, run = camera.window.benchmark.view, camera.window.benchmark.run
    assert view is not None
    assert run is not None
    calm: dict[str, Any] = {"spread_pct": 0.7, "value_low": 20.8, "value_high": 21.0, "value_mean": 20.9}
    calm |= {"verdict": "valid", "reasons": None}
    view.show_run(JudgedRun(quiet_run(run, 1, **calm)))
    camera.take("benchmark-valid", "benchmark")
    view.show_run(
        JudgedRun(quiet_run(run, 2, **(calm | {"preset": "sustained", "epochs": 1, "sustained_pct": 99.4})))
    )
    camera.take("benchmark-sustained-valid", "benchmark")


def take_verdict(camera: Photographer) -> None:
    """Show why the number on the Benchmark page can be trusted, or why not, in both themes."""
    view = sure(camera.window.benchmark.view)
    for theme in THEMES:
        camera.services.theme.choose(theme)
        view.headline.why_button.click()
        dialog = only(VerdictDialog, camera.window.findChild(VerdictDialog))
        camera.wait(patience_s=0.5)
        camera.save(dialog, f"verdict-{theme}")
        dialog.reject()
        camera.wait(lambda: camera.window.findChild(VerdictDialog) is None)


def store_ab(database: Database, recorded: Sequence[events.AnyEvent]) -> int:
    """Store a finished A/B of two numbers of threads, with times around the recorded ones; returns its number."""
    spec, _ = asked(recorded)
    sides = (spec, msgspec.structs.replace(spec, threads=1))
    plan = Plan(
        kind="ab", order="pairs", specs=sides, rounds=len(AB_FACTORS), label_a="automatic", label_b="1 thread"
    )
    group_id = begin_group(database, plan)
    factors = {"A": [a for a, _ in AB_FACTORS], "B": [b for _, b in AB_FACTORS]}
    for planned in plan.runs():
        run_id = store_recording(database, recorded)
        assert planned.side is not None
        factor = factors[planned.side].pop(0)
        place = {"plan_id": group_id, "plan_number": planned.number, "side": planned.side}
        set_fields(database, f"id = {run_id}", value=lambda value, factor=factor: value * factor, **place)
    return group_id


def take_ab(camera: Photographer, group_id: int) -> None:
    camera.window.show_page("lab")
    camera.window.lab.refresh(choose=group_id)
    camera.wait(lambda: camera.window.lab.report is not None)
    preflight = camera.window.lab.setup.preflight
    camera.take("ab", "lab", lambda: preflight.show_telemetry((Telemetry(other_cpu_pct=1.0),) * 2))


def take_share_pictures(camera: Photographer, run_id: int, group_id: int) -> None:
    """Draw the pictures of a run and of an A/B in both themes, and show what others see and send."""
    with Database(camera.services.paths.database) as database:
        group = load_group(database, group_id)
        example = sure(report_of(group).example)
        cards = {"share": picture_card(database, JudgedRun(load_run(database, run_id)))}
        cards["share-ab"] = picture_card(database, JudgedRun(load_run(database, example.id)), group)
    for name, card in cards.items():
        for theme, tokens in (("dark", DARK), ("light", LIGHT)):
            save_share_picture(card, tokens, camera.folder / f"{name}-{theme}.png")
    take_sharing(camera, run_id)


def take_sharing(camera: Photographer, run_id: int) -> None:
    window, services = camera.window, camera.services
    window.show_page("results")
    window.results.open_run(run_id)
    camera.wait(lambda: window.results.run is not None)
    for theme in THEMES:
        services.theme.choose(theme)
        window.action("menu.share").trigger()
        dialog = only(ShareDialog, window.results.findChild(ShareDialog))
        camera.wait(lambda: dialog.shared)  # noqa: B023 - at once
        camera.wait(patience_s=0.5)
        camera.save(dialog, f"share-dialog-{theme}")
        dialog.reject()
        camera.wait(lambda: window.results.findChild(ShareDialog) is None)
    with Database(services.paths.database) as database:
        add_results(database, golden(), "lab.epochmark.json")
    results, compare = window.results, window.compare
    for detail in (results.detail, results.group_detail):  # the A/B was open before the run
        if detail is not None and detail.isVisible():
            detail.back_button.click()
    results.filters.source.setCurrentIndex(results.filters.source.findData("all"))
    compare.show_workload("mnist_mlp")
    camera.take("results-imported", "results")
    camera.take("compare-imported", "compare")
    result = results.imported.results[1]
    with Database(services.paths.database) as database:
        results.imported.opened.emit(result, load_result(database, result.id))
    camera.take("results-imported-detail", "results")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("Usage: python3 -m tests.tools.screenshots FOLDER [SCALE_PCT]")
    if len(sys.argv) == 3:
        os.environ["QT_SCALE_FACTOR"] = str(int(sys.argv[2]) / 100)
    try:
        main(Path(sys.argv[1]))
    except AppError as error:
        sys.exit(str(error))
