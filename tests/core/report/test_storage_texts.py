"""The texts of a storage run: its headline, its figures in order, and no table of epochs."""

import pytest

from app.cli.views import TextView
from app.core.metrics import metric_lines
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

WORKLOAD = CATALOGUE["storage"]
SPEC = WORKLOAD.default_spec(parameters={"folders": "/mnt"})


@pytest.mark.parametrize("metrics", [{}, {"images_per_s": 365.0}])
def test_the_headline_is_what_it_reports(database: Database, machine: Machine, metrics: dict[str, float]) -> None:
    run_id = begin_run(database, SPEC, WORKLOAD, machine)
    writer = RunWriter(database, run_id)
    writer.add(events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(0.1, 0.1, 0.1)))
    for key, value in metrics.items():
        writer.add(events.Metric(key=key, value=value))
    writer.finish("cancelled", None)
    assert load_run(database, run_id).summary.value == metrics.get("images_per_s")


def test_figures_are_listed_folder_by_folder_and_then_compared() -> None:
    metrics = {
        "folder2_write_difference_pct": 12.34,
        "folder8_infer_cache_difference_pct": -0.55,
        "folder2_write_images_per_s": 1_123.4,
        "images_per_s": 365.2,
        "folder1_train_tfrecord_images_per_s": 1_000.0,
        "folder1_preprocess_bytes_per_s": 40_200_000.0,
        "folder1_write_images_per_s": 1_000.0,
    }
    assert metric_lines(metrics) == [
        ("Images per second", "365"),
        ("Folder 1: write JPEGs", "1000 images/s"),
        ("Folder 1: preprocess, data", "40.2 MB/s"),
        ("Folder 1: train from TFRecords", "1000 images/s"),
        ("Folder 2: write JPEGs", "1123 images/s"),
        ("Folder 2 against folder 1: write JPEGs", "+12.3 %"),
        ("Folder 8 against folder 1: predict from memory", "-0.6 %"),
    ]


def test_a_share_is_shown_in_percent() -> None:
    assert [value for _, value in metric_lines({"weights_changed": 0.2})] == ["20.0 %"]


def test_no_heading_of_epochs_is_printed(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    view = TextView(WORKLOAD, SPEC, machine, quiet=False)
    view.show(events.Phase(name="measure", epochs=11, total_steps=11))
    assert capsys.readouterr().out == ""
