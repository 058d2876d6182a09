"""The text to copy: what it must hold, and what must never be in it."""

import json
from dataclasses import replace

from app.core.doctor.diagnosis import Diagnosis
from app.core.doctor.facts import Facts
from app.core.doctor.nvml import NvidiaGpu, Nvml
from app.core.doctor.report import as_dict, log_as_dict, report_text
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Build, Device, Step, Trial
from app.core.known_lines.logs import diagnose_log
from tests.saying import said

CARD = NvidiaGpu("NVIDIA GeForce RTX 5080", "12.0")
FACTS = Facts(
    system="linux",
    python="3.12.1",
    nvml=Nvml("ok", driver="580.65.06", gpus=(CARD,)),
    packages=(("nvidia-cudnn-cu12", "9.28.0.42"), ("tensorflow", "2.21.0")),
)
BUILD = Build("2.21.0", "3.15.1", cuda=True, cuda_version="12.5.1")
LISTING = Trial(
    target="list",
    status="completed",
    exit_code=0,
    build=BUILD,
    devices=(Device("cpu"), Device("gpu:0", CARD.name, "12.0")),
)
WORK = Trial(
    target="gpu:0",
    status="failed",
    exit_code=1,
    steps=(Step("matmul", 0.5, "InternalError: in /home/jane/secret/x.py"),),
    log="failed with 'CUDA_ERROR_INVALID_PTX' in /home/jane/secret/kernel.cc\n",
)
WSL = diagnose_log("libcuda.so.1: cannot open shared object file (WSL2)")
FOUND = diagnose(FACTS, [LISTING, WORK])


def test_the_report_has_versions_checks_devices_trials_and_telling_lines() -> None:
    text = report_text(FOUND, diagnose_log("GPU is lost\nepoch 3"))
    for part in (
        "tensorflow 2.21.0",
        "nvidia-cudnn-cu12 9.28.0.42",
        "580.65.06",
        "[gpu_too_new]",
        "CUDA_ERROR_INVALID_PTX",
        "GPU is lost",
        FOUND.overall,
    ):
        assert part in text
    assert said("doctor.report_gpu", capability="12.0").is_in(text)
    assert said("doctor.report_trial", target="gpu:0", status="failed (1)").is_in(text)
    assert "epoch 3" not in text


def _as_json(found: Diagnosis) -> str:
    return json.dumps(as_dict(found))


def test_neither_the_report_nor_the_plain_types_have_paths() -> None:
    driver = replace(FACTS, nvml=Nvml("error", "cannot open /home/jane/libnvidia-ml.so"))
    for text in (
        json.dumps(log_as_dict(diagnose_log(WORK.log))),
        *(form(found) for found in (FOUND, diagnose(driver, [LISTING])) for form in (report_text, _as_json)),
    ):
        assert "jane" not in text
        assert "secret" not in text


def test_plain_types_keep_links_and_numbers() -> None:
    plain = as_dict(FOUND)
    assert plain["devices"][1]["link"].startswith("https://github.com/")
    assert plain["facts"]["packages"]["nvidia-cudnn-cu12"] == "9.28.0.42"
    assert plain["trials"][1]["steps"][0]["duration_s"] == 0.5
    assert "log" not in plain["trials"][0]
    assert plain["has_fault"] is True


def test_commands_of_the_table_can_be_typed_as_they_are() -> None:
    facts = replace(FACTS, system="wsl2", dxg=True, wsl_libcuda=True, libcuda="conda")
    listing = replace(LISTING, devices=(Device("cpu"),))
    device = as_dict(diagnose(facts, [listing]))["devices"][1]
    assert device["commands"][0] == "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH"
    assert "/usr/lib/wsl/lib" in device["fix"] + device["why"] + log_as_dict(WSL)["findings"][0]["meaning"]
