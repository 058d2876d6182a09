"""A run setting is one row: form, option, key of an A/B, label, record and comparison are made from it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.cli import ab
from app.cli.arguments import make_parser
from app.cli.specs import make_spec
from app.core.analysis.bars import bars
from app.core.analysis.comparability import comparison_key, run_refusal
from app.core.errors import UsageError
from app.core.messages import ENGLISH, message
from app.core.paths import Paths
from app.core.records import Plan, RunSummary
from app.core.report.run_texts import run_engine_line
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from app.core.storage.runs import load_run
from app.core.titles import differing
from tests.build import set_fields, store
from tests.saying import said
from tests.sure import only
from workloads import CATALOGUE, settings
from workloads.engines.info import TENSORFLOW
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Machine
from workloads.protocol.parameters import OnOff, Whole
from workloads.protocol.spec import Job, RunSpec, read_job, write_job
from workloads.settings import Setting
from workloads.training.training import Training

ROW = Setting(
    name="autotune", kind=OnOff(), changes="speed", flag="--autotune", may_be_auto=True, comparability="must_match"
)

SENTENCES = {
    "setting.autotune": "Autotune",
    "setting_help.autotune": "Let the engine try several kernels.",
    "setting_value.autotune_auto": "Autotune automatic",
    "setting_value.autotune_on": "Autotune",
    "setting_value.autotune_off": "without Autotune",
}


@pytest.fixture(autouse=True)
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, ROW))
    monkeypatch.setattr(TENSORFLOW, "settings", TENSORFLOW.settings | {ROW.name, "ahead"})
    for code, words in SENTENCES.items():
        monkeypatch.setitem(ENGLISH, code, words)


Stored = Callable[..., RunSummary]


def asked(paths: Paths, *arguments: str) -> RunSpec:
    return make_spec(make_parser().parse_args(["run", "demo", "--preset", "standard", *arguments]), paths)


@pytest.fixture
def stored(paths: Paths, database: Database, machine: Machine) -> Stored:
    def store_one(*arguments: str) -> RunSummary:
        autotune = ROW.of(asked(paths, *arguments))
        return load_run(database, store(database, machine, 2.0, 1.0, workload="demo", autotune=autotune)).summary

    return store_one


def test_the_command_line_has_its_option(paths: Paths) -> None:
    assert ROW.of(asked(paths)) is None
    assert asked(paths).settings == {}
    assert ROW.of(asked(paths, "--autotune", "off")) is False
    assert asked(paths, "--autotune", "on").settings == {"autotune": True}


def test_the_worker_receives_it(paths: Paths) -> None:
    spec = asked(paths, "--autotune", "off")
    CATALOGUE["demo"].check(spec)
    assert read_job(write_job(Job(spec=spec, datasets_folder=b""))).spec.settings == {"autotune": False}


def test_an_engine_that_does_not_read_it_refuses_it(paths: Paths) -> None:
    with pytest.raises(WorkloadError) as refused:
        CATALOGUE["mnist_mlp"].check(CATALOGUE["mnist_mlp"].default_spec(engine="torch", autotune=True))
    assert refused.value.message == message("engine.without_setting", engine="PyTorch", setting=ROW.name)


def test_losses_are_expected_unless_it_changes_learning(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    network = only(Training, CATALOGUE["mnist_mlp"])
    plain, changed = network.default_spec(), network.default_spec(autotune=True)
    assert network.proof_steps(changed) == network.proof_steps(plain) is not None
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS[:-1], replace(ROW, changes="learning")))
    assert network.proof_steps(plain) is not None
    assert network.proof_steps(changed) is None


def test_a_setting_that_has_no_row_is_refused(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = asked(paths, "--autotune", "off")
    monkeypatch.setattr(settings, "SETTINGS", settings.SETTINGS[:-1])
    with pytest.raises(WorkloadError) as found:
        CATALOGUE["demo"].check(spec)
    assert found.value.message.code == "setting.unknown"


def test_the_sides_of_an_ab_may_differ_in_it(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def take(plan: Plan, *_: object) -> int:
        plans.append(plan)
        return 0

    monkeypatch.setattr(ab, "carry_out", take)
    options = make_parser().parse_args(["ab", "demo", "--a", "autotune=on", "--b", "autotune=off"])
    assert ab.ab(options, paths) == 0
    assert [spec.settings for spec in plans[0].specs] == [{"autotune": True}, {"autotune": False}]
    assert differing(*plans[0].specs) == ("Autotune", "without Autotune")


def test_the_record_keeps_it_and_comparison_knows_it(stored: Stored, database: Database) -> None:
    usual, off = stored(), stored("--autotune", "off")
    spec = load_run(database, off.id).spec
    assert (usual.settings, off.settings, spec.settings) == ("", "autotune=off", {"autotune": False})
    assert said("compare.other_setting", theirs="without Autotune", mine="Autotune automatic").is_all_of(
        run_refusal(usual, off)
    )
    assert bars("demo", usual, [off]) == bars("demo", usual)
    assert ("Autotune", "off") in comparison_key(load_run(database, off.id))


def test_a_record_without_it_has_a_default(paths: Paths, stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS[:-1], replace(ROW, default=True)))
    assert asked(paths, "--autotune", "on").settings == {}
    assert said("compare.other_setting", theirs="without Autotune", mine="Autotune").is_all_of(
        run_refusal(stored(), stored("--autotune", "off"))
    )


def test_values_that_it_cannot_have_are_refused(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = Setting(name="ahead", kind=Whole(1, 16), changes="speed", default=2, flag="--ahead")
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, ahead))
    CATALOGUE["demo"].check(asked(paths, "--ahead", "16"))
    for value in ("0", "17", "-5"):
        with pytest.raises(UsageError) as found:
            asked(paths, "--ahead", value)
        limits = said("parameter.range", minimum="1", maximum="16")
        assert said("parameter.not_int", name="setting.ahead", limits=limits, unit="", value=value).is_all_of(
            str(found.value)
        )
    with pytest.raises(WorkloadError) as refused:
        CATALOGUE["demo"].check(RunSpec(workload="demo", settings={"ahead": "many"}))
    assert refused.value.message.code == "parameter.not_int"


def test_expected_times_are_those_of_runs_with_the_same_value(
    paths: Paths, stored: Stored, database: Database, machine: Machine
) -> None:
    stored("--autotune", "off")
    assert expected_duration_s(database, asked(paths, "--autotune", "off"), machine) is not None
    assert expected_duration_s(database, asked(paths), machine) is None


@pytest.mark.parametrize("cell", ["autotune=banana", "future=1", "n/a"])
def test_what_another_version_knows_never_counts_as_usual(stored: Stored, database: Database, cell: str) -> None:
    usual, other = stored(), stored()
    set_fields(database, f"id = {other.id}", settings=cell)
    other = load_run(database, other.id).summary
    assert run_refusal(usual, other)
    assert run_refusal(other, other) is None
    assert bars("demo", usual, [other]) == bars("demo", usual)
    assert run_engine_line(other).endswith(cell.replace("autotune=", "Autotune ") if "autotune" in cell else cell)
