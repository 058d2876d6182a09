"""The workflows run the README's commands on all systems that they name, and issue forms ask for others."""

import re
import shlex

import pytest

from app.cli import arguments
from tests.child import python
from tests.conftest import ROOT
from tests.start.starting import load

WORKFLOWS = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
WORKFLOW = WORKFLOWS["tests"]
COMMANDS = re.findall(r"^ +run: python start\.py (.+)$", WORKFLOW, re.MULTILINE)
FORMS = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
ASKED = re.findall(r"`epochmark ([a-z].*?)`", "".join(FORMS))


def test_the_readmes_tests_and_the_main_job_run_on_the_three_systems() -> None:
    assert [command for command in COMMANDS if shlex.split(command)[0] == "test"]
    assert [command for command in COMMANDS if command.startswith("run cifar10_keras_cnn")]
    for system in ("ubuntu-latest", "windows-latest", "macos-latest"):
        assert f"os: {system}," in WORKFLOW


@pytest.mark.parametrize(
    "command", [*ASKED, *(each for each in COMMANDS if not each.startswith(("test", "--version")))]
)
def test_commands_are_those_of_the_program(command: str) -> None:
    assert vars(arguments.make_parser().parse_args(shlex.split(command)))


def test_its_pythons_are_those_that_start_py_takes() -> None:
    start = load(ROOT / "start.py")
    pythons = [tuple(map(int, text.split("."))) for text in re.findall(r'python: "([\d.]+)"', WORKFLOW)]
    assert start.OLDEST in pythons
    assert start.NEWEST in pythons


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_it_names_is_there_actions_are_pinned_and_tokens_are_not_kept(name: str) -> None:
    paths = re.findall(r"(?:packaging|workloads|app)/[\w./]+\.(?:py|txt)", WORKFLOWS[name])
    assert paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    uses = re.findall(r"uses: (.+)", WORKFLOWS[name])
    assert [use for use in uses if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v[\d.]+", use)] == []
    assert WORKFLOWS[name].count("actions/checkout@") == WORKFLOWS[name].count("persist-credentials: false")


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted(set(re.findall(r"packaging/(\w+\.py)", WORKFLOWS["release"]))))
def test_the_release_calls_programs_with_words_that_they_have(program: str) -> None:
    calls = re.findall(rf"packaging/{program} (.+)", WORKFLOWS["release"])
    words = {word for call in calls for word in re.findall(r"^[a-z]+(?= )|--[a-z-]+", call)}
    explained = python(f"packaging/{program}", "--help")
    assert [word for word in words if word not in explained.stdout + explained.stderr] == []
