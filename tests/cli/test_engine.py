"""The verb `engine`: what it says, its exit codes, and that a run keeps its engine."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import main
from app.cli.engine import offer_text
from app.core.engines.builds import builds_for
from app.core.engines.locations import engine_folder
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.storage.database import Database
from app.core.storage.outcomes import running_on
from app.core.storage.owners import own
from app.core.storage.recording import begin_run
from tests.core.engines.conftest import put_engine
from tests.saying import Saying, said
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine


@pytest.fixture(autouse=True)
def here(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("EPOCHMARK_HOME", str(paths.data.parent))
    return iter(())


def test_the_list_names_all_engines_and_what_they_would_cost(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    put_engine(paths.engines / "torch")
    assert main(["engine", "list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert sentence("column.version").lower() in head.lower()
    assert {line.split()[0] for line in lines} == {"tensorflow", "torch", "jax"}
    (torch,) = [line for line in lines if line.startswith("torch")]
    assert torch.split()[:4] == ["torch", "1.0", "cpu", sentence("cli.engine_state.ready")]
    assert main(["engine", "list", "--json"]) == 0
    rows = {row["engine"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["tensorflow"]["included"]
    assert rows["torch"]["installed"]["packages"][0]["name"] == "keras"
    assert [each["recommended"] for each in rows["jax"]["variants"]][:1] == [True]


def test_an_untried_build_is_offered_with_its_source(machine: Machine) -> None:
    radeon = Gpu("AMD Radeon RX 9070 XT", "amd", source="registry")
    on_windows = replace(machine, os_name="Windows 11", architecture="x86_64", gpus=(radeon,))
    offered = offer_text(builds_for("torch", on_windows)[0])
    assert said("cli.engine_offer", download_bytes="1.1 GB").is_in(offered)
    assert offered.endswith(sentence("engines.untried", source="stable.repo.amd.com"))


def test_a_damaged_one_is_listed_with_its_sentence(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    (paths.engines / "jax" / "packages").mkdir(parents=True)
    assert main(["engine", "list"]) == 0
    assert said("engines.damaged", title="JAX").is_in(capsys.readouterr().out)
    assert main(["engine", "check"]) == 1
    assert said("engines.damaged").is_in(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("install", "tensorflow"), said("engines.comes_with_epochmark", title="TensorFlow")),
        (("remove", "tensorflow"), said("engines.comes_with_epochmark", title="TensorFlow")),
        (("check", "tensorflow"), said("engines.comes_with_epochmark", title="TensorFlow")),
        (("install", "theano"), said("engine.unknown", engine="theano")),
        (
            ("install", "torch", "--variant", "best"),
            said("engines.unknown_variant", title="PyTorch", variant="best"),
        ),
        (("install", "torch", "--from", "/no/folder"), said("engines.no_such_folder", folder=Path("/no/folder"))),
        (("check", "jax"), said("engines.not_installed", title="JAX")),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    arguments: tuple[str, ...], refusal: Saying, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["engine", *arguments]) == 2
    assert refusal.is_in(capsys.readouterr().err)


def test_a_removal_says_whether_there_was_one(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    put_engine(paths.engines / "torch")
    assert main(["engine", "remove", "torch"]) == 0
    assert capsys.readouterr().out == f"{sentence('cli.engine_removed', title='PyTorch')}\n"
    assert main(["engine", "remove", "torch", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"engine": "torch", "was_installed": False, "freed_bytes": 0}


@pytest.mark.slow
def test_a_check_is_for_people_and_programs(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "check"]) == 0
    assert said("cli.no_engines").is_all_of(capsys.readouterr().out.strip())
    put_engine(paths.engines / "torch")
    assert main(["engine", "check"]) == 0
    assert said("cli.engine_fine", title="PyTorch", version="1.0").is_all_of(capsys.readouterr().out.strip())
    (paths.engines / "torch" / "packages" / "torch" / "data.bin").write_bytes(b"x")
    assert main(["engine", "check", "torch", "--json"]) == 1
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["state"] == "damaged"
    (problem,) = answer["problems"]
    assert problem["code"] == "engines.files_damaged"
    assert said("engines.files_damaged", names="torch/data.bin", title="PyTorch").is_all_of(problem["text"])


def test_an_engine_is_kept_while_a_run_uses_it(
    paths: Paths, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    put_engine(paths.engines / "torch")
    with Database(paths.database) as database:
        owner = own(database.path)
        workload = CATALOGUE["mnist_mlp"]
        run_id = begin_run(database, workload.default_spec(engine="torch"), workload, machine, owner=owner.token)
        for action in ("install", "remove"):
            assert main(["engine", action, "torch"]) == 2
            assert said("engines.in_use", run_id=run_id, title="PyTorch").is_in(capsys.readouterr().err)
        assert running_on(database, "jax") == []
        owner.release()  # as if its process had ended
    assert main(["engine", "remove", "torch"]) == 0
    assert engine_folder(paths, "torch").look().state == "absent"
