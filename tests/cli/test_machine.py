"""Commands that only look: hardware, workloads, compare, and lists of results."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.layout import bar_chart
from app.core.analysis.bars import Bar
from app.core.messages import sentence
from app.core.paths import default_paths
from app.core.report.run_texts import engine_line, machine_line
from app.core.storage.database import Database
from app.core.titles import cores_title
from tests.build import set_fields
from tests.conftest import HINT, CommandLine
from tests.saying import said
from workloads import CATALOGUE
from workloads.engines.registry import NO_ENGINE
from workloads.protocol.machine import Machine


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a file system that nobody can write to")
@pytest.mark.parametrize("verb", ["hardware", "workloads"])
def test_looking_needs_no_home(epochmark: CommandLine, verb: str) -> None:
    done = epochmark(verb, EPOCHMARK_HOME="/proc/epochmark")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["hardware", "--json"], ["workloads", "--json"], ["results", "show", "1"], ["data", "list"], ["compare"]],
)
def test_looking_needs_no_engine(epochmark: CommandLine, arguments: list[str], tmp_path: Path) -> None:
    if "show" in arguments:
        epochmark("run", "demo", "--epochs", "1", "--quiet")
    done = epochmark(*arguments, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "app.cli" in imported
    assert not imported & {"tensorflow", "keras", "numpy", "PySide6", "pyqtgraph"}


def test_hardware_names_no_one(epochmark: CommandLine) -> None:
    import platform

    machine = json.loads(epochmark("hardware", "--json").stdout)
    assert machine["logical_cores"] >= 1
    assert machine["memory_bytes"] > 1e8
    assert platform.node() not in json.dumps(machine)


def test_the_workloads_are_those_of_the_catalogue(epochmark: CommandLine) -> None:
    listed = json.loads(epochmark("workloads", "--json").stdout)
    assert [workload["id"] for workload in listed] == list(CATALOGUE)
    assert listed[0]["parameters_count"] == 1_337_002


def test_compare_shows_the_seven_machines_of_the_study(epochmark: CommandLine) -> None:
    comparison = json.loads(epochmark("compare", "--json").stdout)
    assert [bar["value"] for bar in comparison["bars"]] == [4, 9, 16, 36, 36, 320, 382]
    assert comparison["baseline"] == "i5-8250U"
    shown = epochmark("compare", "--baseline", "1080 ti").stdout
    assert "1× = GTX 1080 Ti" in shown


def make_standard_run(epochmark: CommandLine, environment: dict[str, str], **changes: object) -> None:
    """Store a run of the standard workload without running it: a demo run that is changed."""
    epochmark("run", "demo", "--epochs", "2", "--quiet")
    values = {"workload": "cifar10_keras_cnn", "samples_per_epoch": 50_000, "verdict": "valid"} | changes
    with Database(default_paths(environment).database) as database:
        set_fields(database, "id = (SELECT max(id) FROM runs)", **values)


def test_compare_has_the_sentence_against_the_baseline_in_json_too(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    make_standard_run(epochmark, environment)
    comparison = json.loads(epochmark("compare", "--baseline", "MX150", "--json").stdout)
    assert said("position.faster", baseline=sentence("compare.dated", name="MX150", year=2019)).is_all_of(
        comparison["sentence"]
    )
    assert comparison["left_out"] == []
    assert said("cli.best_run", run_id="1").is_in(epochmark("compare").stdout)


def test_compare_says_why_published_machines_are_left_out(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    make_standard_run(epochmark, environment, batch_size=32)
    comparison = json.loads(epochmark("compare", "--json").stdout)
    (reason,) = [each for each in comparison["left_out"] if each.startswith("GTX 1060: ")]
    assert all(batch in reason for batch in ("100", "32"))
    shown = epochmark("compare").stdout
    assert said("cli.not_drawn", name="GTX 1060", reason=reason.partition(": ")[2]).is_in(shown)


# Takes its time, as Quick measures for seconds.
def test_the_list_marks_estimates_and_first_epochs(epochmark: CommandLine) -> None:
    epochmark("run", "demo", "--epochs", "2", "--quiet")
    assert not {"~", "*"} & set(epochmark("results", "list").stdout)
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    epochmark("run", "demo", "--preset", "quick", "--quiet")
    *_, quick, first, whole, estimate_note, first_note = epochmark("results", "list").stdout.splitlines()
    assert (" ~" in quick, "* " in first) == (True, True)
    assert not {"~", "*"} & set(whole)
    assert said("cli.legend_estimate").is_all_of(estimate_note)
    assert said("cli.legend_first_epoch").is_all_of(first_note)


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ('{"cpu_name": "Old CPU"}', f"Old CPU · {cores_title(None, None)} · n/a"),
        ('{"cpu_name": "New CPU", "npu": 1, "gpus": [{"name": "New GPU", "cores": 9}]}', "New GPU"),
        ('{"cpu_name": {}}', sentence("result.unknown_cpu")),
    ],
)
def test_a_machine_that_another_version_stored_is_shown(
    epochmark: CommandLine, environment: dict[str, str], stored: str, words: str
) -> None:
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    with Database(default_paths(environment).database) as database:
        set_fields(database, machine=json.loads(stored))
    done = epochmark("results", "show", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout


@pytest.mark.parametrize(
    ("virtual", "stored", "words"),
    [
        (True, "docker", f"{sentence('compare.virtual')}, {sentence('result.in_container', container='docker')}"),
        (False, "docker", sentence("result.in_container", container="docker")),
        (None, "kubernetes", sentence("result.in_container", container="kubernetes")),
        (
            True,
            "docker in Xen",
            f"{sentence('result.virtual_by', kind='Xen')}, {sentence('result.in_container', container='docker')}",
        ),
        (True, "kvm", sentence("result.virtual_by", kind="kvm")),
        (False, "wsl", "wsl"),
        (False, None, "Test OS 1"),
    ],
)
def test_a_container_is_not_called_a_virtual_machine(
    machine: Machine, virtual: bool | None, stored: str | None, words: str
) -> None:
    line = machine_line(replace(machine, virtual_machine=virtual, virtualization=stored))
    assert line.rsplit(" · ", 1)[-1] == words


@pytest.mark.parametrize("room", [60, 118, 200])
def test_a_chart_stays_within_its_width_and_keeps_the_values(room: int) -> None:
    bars = [Bar("a" * 100, "you", 1234.5, ("b" * 150, "x")), Bar("c", "reference", 2000.0, ("d" * 2,))]
    lines = [line.plain for line in bar_chart(bars, bars[1], room)]
    assert max(map(len, lines)) <= room
    assert ["1,234" in lines[0] or "1,235" in lines[0], "2,000" in lines[1]] == [True, True]
    assert lines[0].endswith("1.6×")
    assert lines[1].endswith("dd")
    whole = [line.plain for line in bar_chart(bars, bars[1])]
    assert whole[0].endswith(f"1.6× · {'b' * 150} · x")


def test_of_very_many_epochs_the_first_and_the_last_are_shown(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    assert epochmark("run", "demo", "--epochs", "2", "--quiet", "--set", "step_s=0").returncode == 0

    def rows() -> list[str]:
        shown = epochmark("results", "show", "1")
        assert shown.returncode == 0
        table = shown.stdout.split("\n\n")[1].splitlines()
        return table[1:]

    with Database(default_paths(environment).database) as database:
        for count, printed in ((200, 200), (201, 41)):
            with database.transaction() as connection:
                names = [row[1] for row in connection.execute("PRAGMA table_info(epochs)")]
                taken = ", ".join(f"{name} + ?" if name == "idx" else name for name in names)
                for index in range(len(rows()) if count == 200 else 200, count):
                    connection.execute(f"INSERT INTO epochs SELECT {taken} FROM epochs WHERE idx = 0", (index,))
            found = rows()
            assert len(found) == printed
            assert [int(line.split()[0]) for line in (found[0], found[-1])] == [1, count]
    assert said("cli.epochs_left_out", left_out="161", epochmark=HINT, run_id="1").is_all_of(found[20])
    assert [int(line.split()[0]) for line in (found[19], found[21])] == [20, 182]
    done = epochmark("results", "export", "1", "--format", "json")
    assert done.returncode == 0, done.stderr
    exported = json.loads(done.stdout)
    assert len(exported["runs"][0]["epoch_records"]) == 201


def test_bars_that_are_not_like_the_run_come_after_a_heading() -> None:
    unlike = [Bar(name, "reference", 9.0, is_like=False) for name in ("a", "b")]
    mine = Bar("mine", "you", 5.0)
    lines = [line.plain for line in bar_chart([mine, Bar("like", "reference", 6.0), *unlike], None, 60)]
    assert [line.split()[0] for line in (*lines[:2], *lines[3:])] == ["mine", "like", "a", "b"]
    assert said("cli.unlike_below").is_all_of(lines[2].strip())
    alone = [line.plain for line in bar_chart([mine, *unlike], None, 60)]
    assert [line.split()[0] for line in alone] == ["mine", "a", "b"], "nothing is ranked"


def test_longer_bars_are_faster() -> None:
    bars = [Bar("a", "imported", value, ("x",)) for value in (5e-324, 1.0, 1e24)]
    drawn = [text.count("▒") + text.count("-") for text in (line.plain for line in bar_chart(bars, bars[1], 118))]
    assert drawn[0] > drawn[1] > drawn[2]


def test_the_engine_is_written_in_one_way(epochmark: CommandLine) -> None:
    line = said("cli.run_engine", engine=engine_line(NO_ENGINE, None, "cpu", precision="float32", jit=False))
    assert line.is_in(epochmark("run", "demo", "--epochs", "1").stdout)
    line = said("result.engine_with_xla", engine="TensorFlow 2.21.0", precision="float32", compiler="XLA")
    assert line.is_all_of(engine_line("tensorflow", "2.21.0", None, precision="float32", jit=True))
