"""Measures the effect of the drive: writes, prepares and reads the same images in several folders, then trains."""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from workloads.engines.image_pipeline import Reader, Source
from workloads.engines.setup import report_memory, start_engine
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Choice, Folders, Parameter, Whole, folders_of
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.system.storage_files import (
    Dropped,
    check_space,
    drop_from_memory,
    own_folder,
    remove_leftovers,
    write_pictures,
)
from workloads.system.storage_pipeline import HEIGHT_PX, WIDTH_PX, Network, from_jpegs, make_pictures, pack
from workloads.workload import Workload

CASE_BUDGET_S = 4.0
IMAGES = 1_000
PICTURES = 48
# 300 MB of images in the computer's memory.
CACHED_IMAGES = 2_000
_SOURCES = ("jpeg", "cache")
_USES = ("read", "train", "infer")
# The cases measured in each folder, in order. Metrics are named folder1_<case>_images_per_s, etc.
CASES = ("write", "preprocess", *(f"{use}_{source}" for use in _USES for source in _SOURCES))

Use = Callable[[Any, Any], None]


class Storage(Workload):
    """Study 001's comparison of drives: training, inference and preprocessing with data from each drive."""

    id = "storage"
    version = 2
    kind = "storage"
    study = "001"
    metric = "images_per_s"
    source = "Alibaba Cloud GPU performance model, 2018 (study 001); generated images of ImageNet's usual size"
    epoch_text = message("epoch_text.cases", cases=8)
    epochs = 1
    batch_size = 32
    samples_per_epoch = 0
    # For one folder and 1,000 images.
    fixed_duration_s = 48.0
    has_epochs = False
    can_sustain = False
    reports_headline = True
    parameters = (
        Parameter("folders", Folders(), "", message("parameter_help.folders"), in_variant=False, required=True),
        Parameter("images", Whole(100, 50_000), IMAGES, message("parameter_help.images")),
        Parameter("network", Choice(("small", "googlenet")), "small", message("parameter_help.network")),
    )

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject batch sizes larger than the number of images."""
        super().check(spec)
        images = _images(spec)
        if spec.batch_size > images:
            said = message("storage.too_few_images", batch_size=spec.batch_size, images=images)
            raise WorkloadError("bad_parameters", said)

    def run(self, job: Job, reporter: Reporter) -> None:
        spec = job.spec
        folders = folders_of(str(spec.parameters["folders"]))
        reporter.phase("import")
        # Check before starting the engine, so that an unusable folder is reported immediately.
        for folder in folders:
            remove_leftovers(folder)
            check_space(folder, _images(spec))
        engine = start_engine(spec, reporter)
        reporter.phase("data")
        jpegs = make_pictures(spec.seed, PICTURES)
        shape = (HEIGHT_PX, WIDTH_PX, 3)
        reporter.send(events.Dataset(name="generated", source="synthetic", samples=_images(spec), shape=shape))
        reporter.phase("build")
        network = Network(engine, spec)
        reporter.phase(
            "measure",
            epochs=len(folders) * len(CASES),
            total_steps=len(folders) * len(CASES) * -(-_images(spec) // spec.batch_size),
        )
        measurement = _Measurement(spec, network, jpegs, reporter)
        try:
            for folder in folders:
                check_space(folder, _images(spec))
                measurement.measure(folder)
        finally:
            measurement.warn_of_memory()
        report_memory(engine, reporter)
        reporter.phase("finish")


class _Measurement:
    """Measures folders one after another, and compares each with the first."""

    def __init__(self, spec: RunSpec, network: Network, jpegs: list[bytes], reporter: Reporter) -> None:
        self._spec = spec
        self._network = network
        self._reader = Reader()
        self._jpegs = jpegs
        self._reporter = reporter
        self._budget_s = spec.measure_s or CASE_BUDGET_S
        self._size_bytes = sum(len(jpegs[number % len(jpegs)]) for number in range(_images(spec)))
        self._number = 0
        self._case = -1
        self._first: dict[str, float] = {}
        self._dropped: dict[int, set[Dropped]] = {}

    def measure(self, parent: Path) -> None:
        """Measure all cases in a folder, report each one immediately, and clean up."""
        self._number += 1

        def warn(said: Message) -> None:
            self._reporter.send(events.Warn(code="leftovers", said=said))

        with own_folder(parent, warn) as folder, self._reader:
            jpegs = self._write(folder)
            self._preprocess(folder, jpegs)
            cached = self._reader.cached(from_jpegs(self._reader, jpegs[:CACHED_IMAGES]))
            sources: dict[str, tuple[Source, list[Path]]] = {
                "jpeg": (from_jpegs(self._reader, jpegs), jpegs),
                "cache": (cached, []),
            }
            uses: dict[str, Use] = {"read": _look, "train": self._network.train, "infer": self._network.predict}
            for verb, use in uses.items():
                for name, (source, paths) in sources.items():
                    self._report(f"{verb}_{name}", self._rate(source, paths, use))

    def warn_of_memory(self) -> None:
        """Warn once about all folders whose files may have been read from memory."""
        kept = [number for number, states in self._dropped.items() if "kept" in states]
        unknown = [number for number, states in self._dropped.items() if "unknown" in states - {"kept"}]
        for numbers, code in ((kept, "warning.page_cache_kept"), (unknown, "warning.page_cache_unknown")):
            if numbers:
                said = message(code, folders=numbers, count=len(numbers))
                self._reporter.send(events.Warn(code="page_cache", said=said))

    def _write(self, folder: Path) -> list[Path]:
        self._begin_case()
        paths = write_pictures(folder, self._jpegs, _images(self._spec), self._reporter)
        self._report_files("write", self._reporter.step_end())
        return paths

    def _preprocess(self, folder: Path, jpegs: list[Path]) -> None:
        self._forget(jpegs)
        self._begin_case()
        pack(self._reader, jpegs, folder, self._spec.batch_size, self._reporter)
        rate = self._report_files("preprocess", self._reporter.step_end())
        if self._number == 1:
            self._reporter.send(events.Metric(key=Storage.metric, value=rate))

    def _rate(self, source: Source, paths: list[Path], use: Use) -> float:
        """Return the images per second over several passes that read from the drive within the time budget."""
        self._case += 1
        reads = use is _look
        # For training and prediction, an incomplete batch would have to be compiled.
        data = self._reader.batches(source, self._spec.batch_size, whole=not reads)
        steps = None if reads else self._spec.steps
        if reads and not paths:
            self._pass(data, use, None)  # fills the cache in memory
        images, duration_s = 0, 0.0
        while duration_s < self._budget_s:
            self._forget(paths)
            left_s = math.inf if reads else self._budget_s - duration_s
            images_done, pass_s = self._pass(data, use, steps, left_s)
            images, duration_s = images + images_done, duration_s + pass_s
            if steps is not None:
                break
        return images / duration_s

    def _pass(
        self, data: Iterable[Any], use: Use, steps: int | None, budget_s: float = math.inf
    ) -> tuple[int, float]:
        """Use batches until time is up. Return the image count and the seconds, including the pipeline's start."""
        self._reporter.epoch_begin(self._case)
        images, duration_s = 0, 0.0
        # Don't assign the iterator to a variable. It must be released, and its files closed, before the files
        # are removed.
        for inputs, labels in islice(data, steps):
            use(inputs, labels)
            images += len(labels)
            duration_s = self._reporter.step_end()
            if duration_s > budget_s:
                break
        self._reporter.flush()
        return images, duration_s

    def _begin_case(self) -> None:
        self._case += 1
        self._reporter.epoch_begin(self._case)

    def _forget(self, paths: list[Path]) -> None:
        if paths:
            state = drop_from_memory(paths, self._reporter.check_cancel)
            self._dropped.setdefault(self._number, set()).add(state)

    def _report_files(self, case: str, duration_s: float) -> float:
        self._reporter.flush()
        self._send(f"{case}_bytes_per_s", self._size_bytes / duration_s)
        rate = _images(self._spec) / duration_s
        self._report(case, rate)
        return rate

    def _report(self, case: str, rate: float) -> None:
        """Report the images per second of a case and the difference from the first folder."""
        self._send(f"{case}_images_per_s", rate)
        first = self._first.setdefault(case, rate)
        if self._number > 1:
            self._send(f"{case}_difference_pct", 100 * (rate / first - 1))

    def _send(self, key: str, value: float) -> None:
        self._reporter.send(events.Metric(key=f"folder{self._number}_{key}", value=value))


def _images(spec: RunSpec) -> int:
    return int(spec.parameters.get("images", IMAGES))


def _look(inputs: Any, labels: Any) -> None:
    """Accept a batch and do nothing, to measure reading alone."""
