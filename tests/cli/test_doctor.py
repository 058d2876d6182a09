"""`epochmark doctor`, from the command line to the exit code."""

import json
import threading
from pathlib import Path

import pytest

from app.cli import main
from app.core.doctor.examination import examine
from app.core.known_lines.signals import signal
from app.core.messages import Message, sentence
from app.core.paths import Paths
from tests.cli.conftest import CARD
from tests.conftest import ROOT, CommandLine
from tests.saying import said
from tests.tools.doctor_page import PAGE, page

LOGS = ROOT / "tests" / "data" / "doctor"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EPOCHMARK_HOME", str(tmp_path / "home"))


# Takes its time: TensorFlow is loaded to list its devices, and again for each device.
@pytest.mark.engine
def test_this_computer_is_examined_from_end_to_end(epochmark: CommandLine) -> None:
    done = epochmark("doctor", "--json", CUDA_VISIBLE_DEVICES="-1")
    plain = json.loads(done.stdout)
    assert plain["complete"] is True
    assert plain["devices"][0] | {"why": ""} == plain["devices"][0] | {"why": "", "id": "cpu", "state": "usable"}
    assert done.returncode == (1 if plain["has_fault"] else 0)
    assert done.stderr == ""


def test_a_fault_is_explained_calmly(broken_card: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    checks = (sentence(f"doctor.check_{name}") for name in ("driver", "tensorflow", "devices"))
    tests = (sentence("doctor.check_device", device=device) for device in ("cpu", "gpu:0"))
    for state, check, line in zip(("ok",) * 4 + ("FAULT",), (*checks, *tests), text.splitlines(), strict=False):
        assert line.split(maxsplit=1)[0] == state
        assert line.split(maxsplit=1)[1].startswith(check)
    assert f"gpu:0 · {CARD.name}: {sentence('doctor.device_not_usable')}" in text
    assert said("doctor.what_to_do").is_in(text)
    assert not said("doctor.harmless_heading").is_in(text)
    card = said("doctor.the_gpu", name=CARD.name)
    assert said("doctor.gpus_not_usable_because", gpus=card).begins(text.rstrip().splitlines()[-1])


def test_the_report_alone_goes_to_the_clipboard(broken_card: None, capsys: pytest.CaptureFixture[str]) -> None:
    log = LOGS / "xid_79.log"
    assert main(["doctor", "--report", "--log", str(log)]) == 1
    text = capsys.readouterr().out
    assert said("doctor.report_head").begins(text)
    assert "[gpu_too_new]" in text
    assert "[gpu_lost]" in text
    assert "<bus>" in text


def test_a_log_is_explained(epochmark: CommandLine) -> None:
    done = epochmark("doctor", "--log", str(LOGS / "rtx5080_ptx.log"))
    assert done.returncode == 1
    first, second, *_ = done.stdout.splitlines()
    assert first == f"FAULT  {signal('gpu_too_new').title}"
    assert said("doctor.numbered_line", number="2").begins(second.strip())
    assert "CAUTION" in done.stdout
    assert done.stderr == ""


def test_what_follows_from_a_fault_gets_no_advice_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--log", str(LOGS / "gsp_heartbeat.log")]) == 1
    shown = capsys.readouterr().out
    assert signal("gsp_failed").fix in shown
    assert signal("gpu_reset").title in shown
    assert signal("gpu_reset").fix not in shown
    assert said("doctor.may_follow").is_in(shown)


def test_a_log_as_json(epochmark: CommandLine) -> None:
    done = epochmark("doctor", "--json", "--log", str(LOGS / "unseen_per_replica.log"))
    plain = json.loads(done.stdout)
    assert (done.returncode, plain["unknown"], plain["has_fault"]) == (0, True, False)
    assert plain["unknown_lines"][0]["line_number"] == 1


@pytest.mark.parametrize(("name", "code"), [("xid_79.log", 1), ("healthy_cpu_2_21.log", 0)])
def test_the_exit_code_shows_a_fault_in_json_and_in_text(
    name: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--log", str(LOGS / name)]) == code
    capsys.readouterr()
    assert main(["doctor", "--json", "--log", str(LOGS / name)]) == code
    assert json.loads(capsys.readouterr().out)["has_fault"] == bool(code)


@pytest.mark.parametrize("name", ["nothing.log", ".", "picture.png"])
def test_wrong_use_is_one_sentence(epochmark: CommandLine, tmp_path: Path, name: str) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\x00")
    done = epochmark("doctor", "--log", str(tmp_path / name))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("epochmark: ")
    assert len(done.stderr.splitlines()) == 1


def test_the_check_says_what_it_does_and_stops_when_asked(broken_card: None, paths: Paths) -> None:
    steps: list[str] = []
    cancel = threading.Event()

    def step(said: Message) -> None:
        steps.append(said.code)
        if said.arguments.get("device") == "cpu":
            cancel.set()

    checks: list[str] = []
    found = examine(paths, step, cancel, lambda check: checks.append(check.id))
    assert steps == ["doctor.looking_at_system", "doctor.starting_engine", "doctor.testing"]
    assert checks == ["driver", "tensorflow", "devices", "cpu"]
    assert found.devices[1].why == sentence("doctor.untried")


@pytest.mark.usefixtures("no_engine_included")
def test_an_engine_that_is_not_installed_is_no_fault(paths: Paths) -> None:
    steps: list[str] = []
    found = examine(paths, lambda said: steps.append(said.code))
    assert "doctor.starting_engine" not in steps
    assert {check.id: check.state for check in found.checks}["tensorflow"] == "skipped"
    assert [said.code for said in found.conclusion] == ["engine.not_installed", "engines.install_it"]
    assert not any(device.is_fault for device in found.devices)
    assert found.complete


def test_the_page_about_gpus_matches_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python3 -m tests.tools.doctor_page"
