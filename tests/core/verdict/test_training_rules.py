"""The rules about what the steps did, and by which clock; each on a record that breaks just one of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.messages import message, sentence
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from app.core.verdict.training_proof import proof_lines
from tests.build import quiet_run
from tests.conftest import MACHINE
from tests.core.verdict.changes import summarised
from tests.saying import said
from tests.sure import sure
from tests.tools import measurement_page
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events
from workloads.protocol.spec import Precision, RunSpec
from workloads.training.proof_marks import least_examples
from workloads.training.training import Training

HONEST: dict[str, float | None] = {
    "updates_done": 1500.0,
    "updates_asked": 1500.0,
    "weights_changed": 0.2,
    "examples_done": 150_000.0,
    "examples_asked": 150_000.0,
    "worker_clock_s": 50.0,
    "parent_clock_s": 50.004,
}
DISTINCT: dict[str, float | None] = {"examples_distinct": 50_000.0, "examples_declared": 50_000.0}
VALIDATED = {"validation_done": 10_000.0, "validation_asked": 10_000.0}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    workload = CATALOGUE[STANDARD]
    with Database(tmp_path / "runs") as database:
        run_id = begin_run(database, workload.default_spec(epochs=3), workload, MACHINE)
        RunWriter(database, run_id).finish("completed", None)
        return replace(quiet_run(load_run(database, run_id), 1), metrics=HONEST)


def reasons(run: Run, **metrics: float | None) -> dict[str, str]:
    """Return the reasons that aren't facts, with these metrics instead."""
    judged = judge(replace(run, metrics={**run.metrics, **metrics}))
    return {reason.code: reason.text for reason in judged.reasons if reason.level != "fact"}


@pytest.mark.parametrize(
    ("code", "metrics", "shown"),
    [
        ("examples_missing", {"examples_done": 75_000.0}, {"done": "75,000", "asked": "150,000"}),
        ("frozen_changed", {"frozen_kept": 196.0, "frozen_asked": 197.0}, {"kept": "196", "all": "197"}),
        ("examples_repeated", DISTINCT | {"examples_distinct": 600.0}, {"distinct": "600", "declared": "50,000"}),
        ("validation_missing", VALIDATED | {"validation_done": 500.0}, {"done": "500", "asked": "10,000"}),
        ("not_counted", {"steps_counted": 0.0, "examples_done": None}, {}),
        ("clock_slow", {"worker_clock_s": 25.0}, {"worker_s": "25.0", "parent_s": "50.0"}),
        ("steps_incomplete", {"outside_steps_s": 20.0}, {"outside_s": "20"}),
    ],
)
def test_each_says_what_is_missing(run: Run, code: str, metrics: dict[str, Any], shown: dict[str, str]) -> None:
    assert reasons(run) == reasons(run, **DISTINCT, **VALIDATED) == {}
    ((told, text),) = reasons(run, **metrics).items()
    assert told == code
    assert said(f"verdict.{code}", **shown).is_all_of(text)


def test_a_clock_that_is_a_tenth_slow_is_told_after_half_a_minute(run: Run) -> None:
    assert "clock_slow" in reasons(run, worker_clock_s=20.3, parent_clock_s=22.5)
    assert "clock_slow" not in reasons(run, worker_clock_s=22.1, parent_clock_s=22.5)


def test_durations_that_do_not_fill_the_time_between_their_events_are_told(run: Run) -> None:
    steps = tuple(
        msgspec.structs.replace(block, durations_s=tuple(step_s / 2 for step_s in block.durations_s))
        for block in run.steps
    )
    too_short = said("verdict.durations_short")
    assert too_short.is_all_of(reasons(replace(run, steps=steps))["clock_slow"])
    epochs = tuple(msgspec.structs.replace(epoch, duration_s=epoch.duration_s / 2) for epoch in run.epochs)
    assert too_short.is_all_of(reasons(replace(run, epochs=epochs))["clock_slow"])


def test_epochs_that_last_longer_than_their_steps_are_told_without_a_count(run: Run) -> None:
    longer = tuple(msgspec.structs.replace(epoch, duration_s=1.2 * epoch.duration_s) for epoch in run.epochs)
    assert "steps_incomplete" in reasons(replace(run, epochs=longer))
    validated = tuple(
        msgspec.structs.replace(epoch, validation_s=epoch.duration_s / 6)
        for epoch in longer  # the same time, but accounted for
    )
    assert "steps_incomplete" not in reasons(replace(run, epochs=validated))


def test_a_short_epoch_that_ends_long_after_its_step_is_told(run: Run) -> None:
    start = events.Steps(t_s=1.0, phase="start", epoch=0, first_index=0, durations_s=(0.04,))
    short = replace(run, steps=(*run.steps, start))
    assert "steps_incomplete" in reasons(short, epoch_rest_s=0.6)
    assert "steps_incomplete" not in reasons(short, epoch_rest_s=0.4)


def test_what_was_not_counted_is_said_of_new_runs_only(run: Run) -> None:
    kept = ("weights_changed", "proof_loss")
    old = replace(run, metrics={key: value for key, value in HONEST.items() if key in kept})
    names = [sentence(code) for code in ("proof.examples", "proof.data", "proof.updates")]
    assert not set(names) & dict(proof_lines(old)).keys()
    new = dict(proof_lines(replace(old, metrics={**old.metrics, "steps_counted": 0.0})))
    assert [new[name] for name in names] == [sentence("proof.not_counted")] * 3


@pytest.mark.parametrize(("name", "is_guessing"), [("imdb_fasttext", True), ("mnist_mlp", False)])
def test_a_band_around_the_loss_of_guessing_is_not_called_proof(run: Run, name: str, is_guessing: bool) -> None:
    changes = {"workload": name, "batch_size": CATALOGUE[name].batch_size, "data_source": "synthetic"}
    shown = replace(summarised(**changes)(run), metrics={**HONEST, "proof_loss": 0.69})
    assert said("proof.band_of_guessing").is_in(dict(proof_lines(shown))[sentence("metric.loss")]) == is_guessing


def test_the_evidence_is_shown_with_the_other_lines(run: Run) -> None:
    lines = dict(proof_lines(replace(run, metrics=HONEST | DISTINCT)))
    assert said("proof.examples_done", asked="150,000", done="150,000").is_all_of(
        lines[sentence("proof.examples")]
    )
    # It is about the whole data set, not about the examples used, so both names and texts differ.
    assert said("proof.distinct_of", distinct="50,000", declared="50,000").is_all_of(lines[sentence("proof.data")])
    assert said("proof.clocks", parent_s="50.0", worker_s="50.0").is_all_of(lines[sentence("proof.clock")])


@pytest.mark.parametrize(
    ("steps", "batch_size", "examples", "steps_per_pass", "is_stream", "least"),
    [
        (500, 100, 50_000, 500, False, 50_000),
        (469, 128, 60_000, 469, False, 60_000),  # the last batch has 96
        (468, 128, 60_000, 469, False, 59_904),
        (938, 128, 60_000, 469, False, 120_000),
        (10, 128, 60_000, 469, True, 1_248),  # a stream may have the smaller batch among any ten
        (6, 25_000, 60_000, 3, False, 120_000),
        (7, 16, 0, 100, True, 112),  # one batch again and again
        (1, 40_000, 60_000, 2, True, 20_000),
    ],
)
def test_the_least_number_of_examples_is_exact_for_arrays(
    steps: int, batch_size: int, examples: int, steps_per_pass: int, is_stream: bool, least: int
) -> None:
    assert least_examples(steps, batch_size, examples, steps_per_pass, is_stream=is_stream) == least


def test_every_network_that_has_real_data_and_a_band_has_one_for_it() -> None:
    for name, workload in CATALOGUE.items():
        if (proof := workload.proof) is None:
            continue
        has_real = workload.dataset not in (None, "imagenet")
        assert ("real" in proof.bands) == has_real, f"{name}: see workloads/training/measured.py"
        assert proof.origins.keys() == proof.bands.keys()
        if "real" in proof.bands:
            # Wider than the twin's, unless the data themselves were measured.
            real, twin = proof.bands["real"], proof.bands["synthetic"]
            assert real[1] / real[0] > twin[1] / twin[0]


def test_the_tables_in_the_docs_are_those_of_the_code() -> None:
    text = measurement_page.PAGE.read_text(encoding="utf-8")
    assert text == measurement_page.page(text), "run: python3 -m tests.tools.measurement_page"


@pytest.mark.parametrize(
    ("name", "source", "shows"),
    [
        ("mnist_mlp", "synthetic", True),
        ("cifar10_cnn", "synthetic", True),
        ("cifar10_cnn", "real", False),  # wide, as these pictures were never measured
        ("imdb_fasttext", "synthetic", False),  # around the loss of guessing
        ("vit_tiny_224", "synthetic", False),  # after two steps
    ],
)
def test_a_band_shows_learning_only_apart_from_guessing_and_after_enough_steps(
    name: str, source: str, shows: bool
) -> None:
    assert sure(CATALOGUE[name].proof).shows_learning(source) is shows


@pytest.mark.parametrize(
    ("count", "uncounted"),
    [("operations_per_example", "ptb_lstm_mxnet"), ("parameters_count", "imdb_fasttext")],  # depend on the data
)
def test_every_network_is_counted_but_those_whose_data_differ(count: str, uncounted: str) -> None:
    trained = (each for each in CATALOGUE.values() if isinstance(each, Training))
    assert [each.id for each in trained if getattr(each, count) is None] == [uncounted]


@pytest.mark.parametrize(
    ("workload", "precision", "loss", "is_judged"),
    [
        ("mnist_mlp", "float32", 2.15, True),
        ("mnist_mlp", "mixed_float16", 2.15, False),  # its loss scale skips the first updates
        ("mnist_mlp", "mixed_float16", 2.45, True),  # nothing was learned
        ("mnist_mlp", "mixed_bfloat16", 2.15, True),
        ("cifar10_cnn", "mixed_bfloat16", 9.0, False),  # never measured
        ("mnist_cnn", "mixed_float16", 9.0, False),
    ],
)
def test_a_loss_is_judged_by_what_was_measured_with_its_precision(
    run: Run, workload: str, precision: str, loss: float, is_judged: bool
) -> None:
    batch_size = CATALOGUE[workload].batch_size
    changes: dict[str, Any] = {"workload": workload, "batch_size": batch_size, "precision": precision}
    other = replace(run, summary=replace(run.summary, data_source="synthetic", **changes))
    assert ("loss_out_of_band" in reasons(other, proof_loss=loss)) == is_judged


# After 100 steps, or as many as the band asks for, on real data: see tests.tools.proof.
REAL_LOSSES = {
    "mnist_mlp": ((0.437, 0.444, 0.429), 2.363),
    "mnist_cnn": ((0.603, 0.632, 0.588), 2.310),
    "mnist_cnn_nodropout_adam": ((0.348, 0.389, 0.379), 2.292),
    "fcn_r": ((6.801, 6.449, 6.965), 2.513),
    "fashion_mnist_cnn_412k": ((1.134, 1.102, 1.154), 2.308),
    "cifar10_keras_cnn": ((1.176, 1.357, 1.258), 2.337),
    "cifar10_cnn": ((2.293, 2.181), None),
    "alexnet_r": ((2.309, 2.326, 2.316), None),
    "resnet_56": ((2.905, 3.371, 3.149), None),
    "lstm_text_generation": ((2.932, 2.969, 3.188), 4.049),
    "text_generator_keras": ((3.954, 3.985, 3.979), 5.079),
}


@pytest.mark.parametrize("name", REAL_LOSSES)
def test_bands_of_real_data_hold_what_was_measured(name: str) -> None:
    low, high = sure(CATALOGUE[name].proof).bands["real"]
    honest, zero_rate = REAL_LOSSES[name]
    assert all(low < loss < high for loss in honest)
    assert zero_rate is None or not low <= zero_rate <= high


PLAIN = "note.plain_attention"


@pytest.mark.parametrize(
    ("workload", "engine", "device", "attention", "code"),
    [
        ("nanogpt_char", "torch", "gpu:0", None, None),
        ("nanogpt_char", "torch", "cpu", None, PLAIN),
        ("nanogpt_char", "torch", "cpu", "plain", PLAIN),
        ("nanogpt_char", "tensorflow", "gpu:0", None, PLAIN),
        ("nanogpt_char", "jax", "gpu:0", None, PLAIN),
        ("attention", "jax", "gpu:0", None, None),
        ("attention", "jax", "cpu", None, PLAIN),
        ("gpt_mini", "torch", "gpu:0", "fused", "note.fused_attention"),
        ("mnist_mlp", "torch", "cpu", None, None),
    ],
)
def test_attention_that_differs_from_the_published_one_is_a_fact(
    stored_run: Run, workload: str, engine: str, device: str, attention: str | None, code: str | None
) -> None:
    settings: dict[str, Any] = {} if attention is None else {"attention": attention}
    precision: Precision = "mixed_float16" if engine == "jax" else "float32"
    spec = RunSpec(workload=workload, engine=engine, precision=precision, settings=settings)
    run = summarised(workload=workload, workload_version=CATALOGUE[workload].version, device=device)(
        replace(quiet_run(stored_run, 0), spec=spec)
    )
    facts = [reason.said for reason in judge(run).reasons if reason.code == "attention"]
    assert facts == ([] if code is None else [message(code)])
