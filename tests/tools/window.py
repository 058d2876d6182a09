"""What the window costs: start, idle, pages, a streaming run, 100,000 runs, 3,000 chart updates, a theme.

python -m tests.tools.window [start|idle|pages|stream|results|charts|theme|clicks] ...
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import msgspec
import psutil
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog

from app.core.analysis.series import RunSeries
from app.core.paths import default_paths
from app.core.plans.repeat import repeat_plan
from app.core.records import Plan, RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.gui.pages.results.columns import COLUMNS
from app.gui.run.share_dialog import ShareDialog
from app.gui.services.bundle import Services
from app.gui.services.garbage import GarbageCollector
from app.gui.services.run_bridge import RunBridge
from app.gui.shell.application import open_window
from app.gui.shell.main_window import MainWindow
from app.gui.shell.pages import PAGES
from app.gui.style.theme import Theme
from tests.build import NEW_UID
from tests.conftest import command
from tests.recording import recorded_events, store_recording
from tests.sure import sure
from tests.tools.commands import fill
from tests.tools.long_runs import store_long_run
from workloads import CATALOGUE
from workloads.protocol import events

REPEATS = 9
STREAM_S = 20.0
TICK_MS = 5
PAGE_RUNS = 100
# Prints how long after its process was made the window was painted and took events, and its processor time.
START = """
import gc, os, sys, time
gc.disable()  # as app.__main__ does
import app.gui.shell.application as application

def painted(window, services, **_):
    window.repaint()
    print(time.time() - float(os.environ["STARTED_S"]), time.process_time())
    window.close()

application._start_up = painted
from app.__main__ import main
sys.argv[1:] = []
sys.exit(main())
"""


class Bench:
    """The window with folders of its own."""

    def __init__(self, home: str) -> None:
        self.application = QApplication.instance() or QApplication(sys.argv[:1])
        self.paths = default_paths({"EPOCHMARK_HOME": home})
        self.paths.create()
        self.process = psutil.Process()
        self.window: MainWindow
        self.services: Services

    def open(self) -> None:
        assert isinstance(self.application, QApplication)
        self.garbage = GarbageCollector()
        self.window, self.services = open_window(Theme(self.application, "dark"), self.paths)
        self.wait(lambda: self.window.benchmark.view is not None and self.services.finder.machine is not None)

    def close(self) -> None:
        self.services.bridge.finish(10)
        self.window.close()
        self.services.tasks.close()

    def wait(self, condition: Callable[[], object], patience_s: float = 60.0) -> None:
        """Let Qt work until something is so; without a timeout the loop sleeps, as it does in the real program."""
        timer = QTimer()
        timer.start(TICK_MS)
        end_s = time.monotonic() + patience_s
        while not condition() and time.monotonic() < end_s:
            self.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        timer.stop()

    def longest(
        self, name: str, act: Callable[[], object], condition: Callable[[], object] = lambda: True
    ) -> None:
        """Print the most processor time that the window's thread needs at once for something, of three tries."""
        longest_s = []
        timer = QTimer()
        timer.start(TICK_MS)
        for _ in range(3):
            before_s = time.thread_time()
            act()
            works_s, end_s = [time.thread_time() - before_s], time.monotonic() + 0.5
            while not condition() or time.monotonic() < end_s:
                before_s = time.thread_time()
                self.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
                works_s.append(time.thread_time() - before_s)
            longest_s.append(max(works_s))
        print(f"  {name:28} {1000 * statistics.median(longest_s):4.0f} ms (at most {1000 * max(longest_s):.0f})")

    def idle(self, duration_s: float) -> None:
        """Let Qt work for a while, without a tick of our own."""
        loop = QEventLoop()
        QTimer.singleShot(round(duration_s * 1000), loop.quit)
        loop.exec()

    def memory(self) -> str:
        """Return what the process holds."""
        gc.collect()
        used = self.process.memory_full_info()
        return f"{used.rss / 1e6:.0f} MB resident, {used.uss / 1e6:.0f} MB of its own"

    def cpu_s(self) -> float:
        """Return the processor time of this process, without its children."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


def epochs_done(bridge: RunBridge) -> int:
    return len(bridge.state.series.epochs) if bridge.state is not None else 0


def users_environment(home: str) -> dict[str, str]:
    """Return the environment in which, as on users' computers, modules are compiled only once."""
    environment = {**os.environ, "EPOCHMARK_HOME": home, "PYTHONPYCACHEPREFIX": str(Path(home) / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def timed_children(arguments: list[str], home: str) -> str:
    """Start a process over and over; return both times that it prints in words: of the clock, of the processor."""
    times_ms = []
    for _ in range(REPEATS + 1):
        environment = {**users_environment(home), "STARTED_S": str(time.time())}
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True
        )
        times_ms.append([1000 * float(word) for word in done.stdout.split()])
    # The first one compiles the modules, and reads the files into memory.
    (first_ms, _), wall_ms, cpu_ms = times_ms[0], *map(sorted, zip(*times_ms[1:], strict=True))
    return (
        f"{statistics.median(wall_ms):4.0f} ms ({wall_ms[0]:.0f} to {wall_ms[-1]:.0f}), "
        f"of the processor {statistics.median(cpu_ms):4.0f} ms ({cpu_ms[0]:.0f} to {cpu_ms[-1]:.0f}); "
        f"the very first time {first_ms:.0f} ms"
    )


def start() -> None:
    """Time a whole process from its creation to a painted window."""
    with tempfile.TemporaryDirectory() as home:
        print("start to a painted window:", timed_children(["-c", START], home))


def pages() -> None:
    """Time opening each page for the first time, in windows of processes of their own."""
    with tempfile.TemporaryDirectory() as home:
        fill(Path(home), PAGE_RUNS, 3)
        for page in PAGES[1:]:  # the first one opens with the window
            print(f"{page.code:10}", timed_children(["-m", "tests.tools.window", "page", page.code], home))


def open_page(bench: Bench, code: str) -> None:
    """Open a page in a window that is at rest, and print what it took until it was painted."""
    bench.open()
    bench.idle(1.0)
    start_s, start_cpu_s = time.perf_counter(), time.thread_time()
    bench.window.show_page(code)
    bench.window.repaint()
    print(time.perf_counter() - start_s, time.thread_time() - start_cpu_s)
    bench.close()


def idle() -> None:
    """Report memory and processor time of the real program while nothing happens."""
    with tempfile.TemporaryDirectory() as home:
        # The very first start compiles the modules, which leaves the process larger than any later one.
        for when in ("the very first time", "later"):
            program = subprocess.Popen(command(), env=users_environment(home), stderr=subprocess.DEVNULL)
            process = psutil.Process(program.pid)
            time.sleep(6)  # the charts are made by then
            before, start_s = process.cpu_times(), time.monotonic()
            time.sleep(10)
            after, memory = process.cpu_times(), process.memory_full_info()
            share = (after.user + after.system - before.user - before.system) / (time.monotonic() - start_s)
            program.terminate()
            program.wait(20)
            held = f"{memory.rss / 1e6:.0f} MB, {memory.uss / 1e6:.0f} MB of its own"
            print(f"idle, {when}: {held}; {100 * share:.2f} % of a core")


def stream(bench: Bench) -> None:
    """Report processor time and the longest stall while the demo sends 2,000 steps a second."""
    bench.open()
    spec = CATALOGUE["demo"].default_spec(epochs=400, batch_size=1, parameters={"step_s": 0.0004})
    machine = sure(bench.services.finder.machine)
    bridge = bench.services.bridge
    bench.window.benchmark.show_run_view()
    bridge.start(repeat_plan(spec), machine)
    bench.wait(lambda: epochs_done(bridge) >= 2)
    gaps = Stalls()
    before_s, epochs = bench.cpu_s(), epochs_done(bridge)
    start_s = time.monotonic()
    bench.idle(STREAM_S)
    passed_s = time.monotonic() - start_s
    with_ticks = (bench.cpu_s() - before_s) / passed_s
    rate = (epochs_done(bridge) - epochs) * 1_000 / passed_s
    gaps.stop()
    before_s, start_s = bench.cpu_s(), time.monotonic()
    bench.idle(STREAM_S)
    share = (bench.cpu_s() - before_s) / (time.monotonic() - start_s)
    print(
        f"stream: {rate:,.0f} steps/s; {100 * share:.2f} % of a core ({100 * with_ticks:.2f} % while watched); "
        f"longest stall {1000 * max(gaps.wall_s):.0f} ms by the clock, {1000 * max(gaps.busy_s):.0f} ms of work; "
        f"{bench.memory()}"
    )
    bench.close()


class Stalls:
    """Notes how late a timer comes, and how long the thread worked between two of its ticks."""

    def __init__(self) -> None:
        self.wall_s, self.busy_s = [0.0], [0.0]
        self._last = (time.monotonic(), time.thread_time())
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_tick)
        self._timer.start(TICK_MS)

    def stop(self) -> None:
        self._timer.stop()

    def _on_tick(self) -> None:
        now = (time.monotonic(), time.thread_time())
        self.wall_s.append(now[0] - self._last[0] - TICK_MS / 1000)
        self.busy_s.append(now[1] - self._last[1])
        self._last = now


def results(bench: Bench, runs: int = 100_000) -> None:
    """Time opening, sorting and filtering the history, of which nine tenths are in groups of ten."""
    fill(bench.paths.data.parent, runs, 1)
    group(bench, runs)
    bench.open()
    page = bench.window.results

    def timed(name: str, act: Callable[[], None]) -> None:
        times_s = []
        for _ in range(4):
            found: list[int] = []
            page.model.found.connect(found.append)
            start_s = time.perf_counter()
            act()
            bench.wait(lambda found=found: found)  # type: ignore[misc]
            page.table.repaint()
            times_s.append(time.perf_counter() - start_s)
            page.model.found.disconnect(found.append)
        print(f"  {name:28} {1000 * statistics.median(times_s):4.0f} ms (at most {1000 * max(times_s):.0f})")

    print(f"results with {runs:,} runs:")
    bench.window.show_page("results")
    bench.wait(lambda: page.model.rows)
    assert len(page.model.rows) < runs / 4, "the groups are closed"
    timed("open again", page.refresh)
    for number, key in enumerate(COLUMNS):
        orders = [Qt.SortOrder.DescendingOrder, Qt.SortOrder.AscendingOrder] * 2
        timed(f"sort by {key}", lambda number=number, orders=orders: page.model.sort(number, orders.pop()))  # type: ignore[misc]
    words = ["8250u", "cifar 777", "quick", "intel i5"]
    timed("filter", lambda: page.model.filter(text=words.pop()))
    page.model.filter(text="")
    bench.wait(lambda: len(page.model.rows) > 4)
    times_s = []
    for row in (40, 30, 20, 10):
        start_s = time.perf_counter()
        page.model.toggle(row)
        page.table.repaint()
        times_s.append(time.perf_counter() - start_s)
    print(f"  {'open a group':28} {1000 * statistics.median(times_s):4.0f} ms (at most {1000 * max(times_s):.0f})")
    bench.close()


def group(bench: Bench, runs: int) -> None:
    """Put runs into groups of ten: repetitions, of which each tenth is left out."""
    plan = json.dumps(
        msgspec.to_builtins(Plan(kind="repeat", specs=(CATALOGUE["cifar10_keras_cnn"].default_spec(),)))
    )
    with Database(bench.paths.database) as database, database.transaction() as connection:
        numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {runs // 10})"
        made = f"SELECT i, {NEW_UID}, '2026-01-01T10:00:00Z', 'repeat', ? FROM n"
        sql = f"{numbers} INSERT INTO plans (id, uid, created_at, kind, plan) {made}"
        connection.execute(sql, (plan,))
        connection.execute(f"UPDATE runs SET plan_id = 1 + (id % {runs // 10}) WHERE id > {runs // 10}")


def charts(bench: Bench, updates: int = 3_000) -> None:
    """Feed a recorded run into the charts over and over; memory and references must stay."""
    bench.open()
    view = sure(bench.window.benchmark.view)
    bench.window.benchmark.show_run_view()
    recorded = [
        event
        for event in recorded_events()
        if isinstance(event, events.Steps | events.Epoch | events.TelemetryEvent)
    ]
    summary = _any_summary(bench)
    series = RunSeries(500)

    def update(count: int) -> None:
        nonlocal series
        for number in range(count):
            if number % len(recorded) == 0:
                series = RunSeries(500)
            series.follow(recorded[number % len(recorded)])
            view.charts.show_series(series, summary, 16_000_000_000, live=True)
            if number % 20 == 0:
                bench.application.processEvents()

    update(300)
    gc.collect()
    references, before = sys.getrefcount(None), bench.process.memory_full_info().uss
    start_s = time.thread_time()
    update(updates)
    work_ms = 1000 * (time.thread_time() - start_s) / updates
    gc.collect()
    grown = (bench.process.memory_full_info().uss - before) / 1e6
    lost = references - sys.getrefcount(None)
    print(
        f"charts: {updates} updates of {work_ms:.2f} ms, memory {grown:+.2f} MB, references to None lost: {lost}"
    )
    bench.close()


def clicks(bench: Bench) -> None:
    """Find the longest work in the window's own thread while a very long run is opened, explained and shared."""
    sizes = ((20, 1_000_000), (100_000, 100_000))
    with Database(bench.paths.database) as database:
        for size in sizes:
            store_long_run(database, *size).finish("completed", None)
    bench.open()
    window, results = bench.window, bench.window.results
    window.show_page("results")
    bench.wait(lambda: len(results.model.rows) == len(sizes))
    for number, (epochs, steps) in enumerate(sizes, 1):
        target = bench.paths.data / f"{number}.png"
        print(f"a run of {epochs:,} epochs and {steps:,} steps:")
        bench.longest("open", partial(results.open_run, number), lambda: results.run is not None)
        detail = sure(results.detail)
        save = partial(results.result_actions.save_picture, sure(detail.judged), None, target)
        bench.longest("why", detail.view.headline.why_button.click)
        bench.longest("copy its text", results.copy_text)
        bench.longest("save its picture", save, target.is_file)
        bench.longest("share", results.share, lambda: _is_filled(window))
        for dialog in window.findChildren(QDialog):
            dialog.reject()
        detail.back_button.click()
    bench.close()


def _is_filled(window: MainWindow) -> bool:
    return any(dialog.shared is not None for dialog in window.findChildren(ShareDialog))


def theme(bench: Bench, switches: int = 20) -> None:
    """Time switching the theme by processor time, without the events that follow, and with them."""
    bench.open()
    choose, shown = bench.services.theme.choose, []
    print(f"theme, by processor time, {switches} switches:")
    for page in PAGES:
        bench.window.show_page(page.code)
        bench.idle(0.3)
        shown.append(page.code)
        switch_ms, whole_ms = [], []
        for number in range(switches):
            start_s = time.thread_time()
            choose("light" if number % 2 else "dark")
            switch_ms.append(1000 * (time.thread_time() - start_s))
            bench.application.processEvents()
            whole_ms.append(1000 * (time.thread_time() - start_s))
        low, high = min(switch_ms), max(switch_ms)
        print(
            f"  {page.code:10} open, {len(shown)} made: {statistics.median(switch_ms):3.0f} ms"
            f" ({low:.0f} to {high:.0f}), with events {statistics.median(whole_ms):3.0f} ms"
        )
    bench.close()


def _any_summary(bench: Bench) -> RunSummary:
    with Database(bench.paths.database) as database:
        return load_run(database, store_recording(database, recorded_events())).summary


def main(names: list[str]) -> None:
    """Run what is named, each in a process of its own if there is more than one."""
    known = {"stream": stream, "results": results, "charts": charts, "theme": theme, "clicks": clicks}
    if names[:1] != ["page"] and (unknown := {*names} - {"start", "idle", "pages", *known}):
        sys.exit(f"There is no part {unknown.pop()!r} of this benchmark. {__doc__}")
    if names[:1] == ["page"]:
        open_page(Bench(os.environ["EPOCHMARK_HOME"]), names[1])
        return
    if len(names) != 1:
        for name in names or ["start", "idle", "pages", *known]:
            subprocess.run([sys.executable, "-m", "tests.tools.window", name], check=True)
        return
    if names[0] in ("start", "idle", "pages"):
        {"start": start, "idle": idle, "pages": pages}[names[0]]()
        return
    with tempfile.TemporaryDirectory() as home:
        known[names[0]](Bench(home))


if __name__ == "__main__":
    main(sys.argv[1:])
