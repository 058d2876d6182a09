"""A run setting is one row: form, option, key of an A/B, label, record and comparison are made from it."""

import json
from dataclasses import replace

import pytest

from app.cli import ab
from app.cli.arguments import make_parser
from app.cli.specs import make_spec
from app.core.analysis.comparability import comparison_key, differences, run_refusal
from app.core.analysis.compare import bars
from app.core.paths import Paths
from app.core.records import Plan, RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import list_runs, load_run
from tests.core.storage.storing import store
from workloads import CATALOGUE, settings
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Job, RunSpec, read_job, write_job
from workloads.settings import Setting, differing

ROW = Setting(
    name="tf32",
    kind="switch",
    label="TF32",
    description="Let graphics cards round the numbers of matrix products.",
    flag="--tf32",
    may_be_auto=True,
    compared="alike",
)


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, ROW))


def asked(paths: Paths, *arguments: str) -> RunSpec:
    return make_spec(make_parser().parse_args(["run", "demo", *arguments]), paths)


def stored(database: Database, machine: Machine, spec: RunSpec) -> RunSummary:
    run_id = store(database, machine, 2.0, 1.0, workload="demo", tf32=ROW.of(spec))
    return next(list_runs(database, ids=[run_id]))


def test_the_command_line_has_its_option(paths: Paths) -> None:
    assert ROW.of(asked(paths)) is None
    assert asked(paths).settings == {}
    assert ROW.of(asked(paths, "--tf32", "off")) is False
    assert asked(paths, "--tf32", "on").settings == {"tf32": True}


def test_the_worker_is_told(paths: Paths) -> None:
    spec = asked(paths, "--tf32", "off")
    CATALOGUE["demo"].check(spec)
    assert read_job(write_job(Job(spec=spec, datasets_folder=b""))).spec.settings == {"tf32": False}


def test_a_setting_that_has_no_row_is_refused(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = asked(paths, "--tf32", "off")
    monkeypatch.setattr(settings, "SETTINGS", settings.SETTINGS[:-1])
    with pytest.raises(WorkloadError) as found:
        CATALOGUE["demo"].check(spec)
    assert found.value.said.code == "setting.unknown"


def test_the_sides_of_an_ab_may_differ_in_it(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def take(plan: Plan, *_: object) -> int:
        plans.append(plan)
        return 0

    monkeypatch.setattr(ab, "carry_out", take)
    options = make_parser().parse_args(["ab", "demo", "--a", "tf32=on", "--b", "tf32=off"])
    assert ab.ab(options, paths) == 0
    assert [spec.settings for spec in plans[0].specs] == [{"tf32": True}, {"tf32": False}]
    assert differing(*plans[0].specs) == ("TF32", "without TF32")


def test_the_record_keeps_it_and_comparison_knows_it(paths: Paths, machine: Machine) -> None:
    with Database(paths.database) as database:
        usual = stored(database, machine, asked(paths))
        off = stored(database, machine, asked(paths, "--tf32", "off"))
        run = load_run(database, off.id)
        spec = json.loads(
            database.connection.execute("SELECT spec FROM runs WHERE id = ?", (off.id,)).fetchone()[0]
        )
    assert (usual.settings, off.settings, spec["settings"]) == ("", "tf32=off", {"tf32": False})
    assert run_refusal(usual, off) == "without TF32, not TF32 automatic"
    assert bars("demo", usual, [off]) == bars("demo", usual)
    assert {("TF32", "off"), ("Engine", "TensorFlow")} <= set(comparison_key(run))


def test_it_may_also_be_said_beside_a_result(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = replace(ROW, compared="told")
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS[:-1], told))
    with Database(paths.database) as database:
        usual = stored(database, machine, asked(paths))
        on = stored(database, machine, asked(paths, "--tf32", "on"))
    assert run_refusal(usual, on) is None
    assert differences(usual, on) == ("TF32",)


def test_a_record_without_it_has_its_default(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    usually_on = replace(ROW, default=True)
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS[:-1], usually_on))
    assert asked(paths, "--tf32", "on").settings == {}
    with Database(paths.database) as database:
        earlier = stored(database, machine, asked(paths))
        off = stored(database, machine, asked(paths, "--tf32", "off"))
    assert run_refusal(earlier, off) == "without TF32, not TF32"
