"""Why a device cannot be used: the first row of the table for which facts or a log speak, causes first."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.core.doctor.evidence import Evidence
from app.core.doctor.facts import Facts, cuda_majors
from app.core.doctor.signals import Signal, signal
from app.core.doctor.trial import Trial

# Of TensorFlow's CUDA 12 builds, by NVIDIA's support matrix of cuDNN 9.
OLDEST_DRIVER, OLDEST_WINDOWS_DRIVER = (525, 60, 13), (527, 41)
# Compute capabilities: TensorFlow's oldest, cuDNN 9.11's oldest, and the first that CUDA 12.5 does not know.
_OLDEST, _OLDEST_OF_NEW_CUDNN, _TOO_NEW = (6, 0), (7, 5), (10, 0)
_NEW_CUDNN = (9, 11)
# Rows that only say that no device was found: facts know better why.
_CONSEQUENCES = frozenset({"no_cuda_device", "kernel_module", "cuda_unknown_error", "built_without_cuda"})
# SIGILL, and what Windows calls it.
_ILLEGAL_INSTRUCTION = (-4, 0xC000001D)


@dataclass(frozen=True, slots=True)
class _Case:
    """An NVIDIA card that does not do its work."""

    evidence: Evidence
    trial: Trial
    capability: tuple[int, ...] | None
    is_listed: bool

    @property
    def facts(self) -> Facts:
        return self.evidence.facts


def processor_reason(evidence: Evidence, target: str) -> Signal | None:
    """Return the row that explains why not even the processor works, None when none does."""
    trial, said = evidence.trials[target], evidence.logs[target].faults
    lacks_avx = evidence.facts.avx is False and trial.status == "crashed"
    if trial.exit_code in _ILLEGAL_INSTRUCTION or lacks_avx:
        return signal("avx_missing")
    return said[0].signal if said else None


def card_reason(evidence: Evidence, target: str, capability: str | None) -> Signal | None:
    """Return the row that explains best why an NVIDIA card does not work, None when none does.

    Args:
        evidence: What is known.
        target: The trial of the card, or "list" for a card that TensorFlow does not list.
        capability: Its compute capability, if known.
    """
    trial = evidence.trials[target]
    said = [finding.signal for finding in evidence.logs[target].faults]
    if trial.import_error:
        return said[0] if said else None
    case = _Case(evidence, trial, _numbers(capability), target != "list")
    telling = [row for row in said if row.id not in _CONSEQUENCES]
    by_facts = next((signal_id for signal_id, holds in _CERTAIN if holds(case)), None)
    if by_facts is None and not telling:
        by_facts = next((signal_id for signal_id, holds in _LIKELY if holds(case)), None)
    return signal(by_facts) if by_facts else next(iter(telling or said), None)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """Read a version: "9.28.0.42" is (9, 28, 0, 42)."""
    return tuple(map(int, re.findall(r"\d+", text or "")[:4])) or None


def _nvml(state: str) -> Callable[[_Case], bool]:
    return lambda case: case.facts.nvml.state == state


def _no_library(case: _Case) -> bool:
    return case.facts.nvml.state == "library_not_found" and not case.facts.is_wsl and not case.is_listed


def _hidden(case: _Case) -> bool:
    """Whether CUDA_VISIBLE_DEVICES hides all: CUDA stops reading it at the first that is no card's number."""
    value = case.facts.visible_devices
    if value is None or value == "other" or case.is_listed:
        return False
    return not value.split(",")[0].strip().isdigit()


def _driver_too_old(case: _Case) -> bool:
    of_windows = case.facts.system == "windows" or case.facts.is_wsl
    driver = _numbers(case.facts.nvml.driver or case.facts.kernel_driver)
    return driver is not None and driver < (OLDEST_WINDOWS_DRIVER if of_windows else OLDEST_DRIVER)


def _too_new(case: _Case) -> bool:
    """Whether TensorFlow has no code for the card and its CUDA cannot make any."""
    if case.capability is None or case.capability < _TOO_NEW or case.trial.status == "timed_out":
        return False
    build = case.evidence.build
    built_for = {re.sub(r"\D", "", name) for name in build.capabilities} if build else set()
    return "".join(map(str, case.capability)) not in built_for


def _cudnn_dropped(case: _Case) -> bool:
    cudnn = _numbers(case.facts.package("nvidia-cudnn-cu12"))
    if case.capability is None or cudnn is None:
        return False
    return _OLDEST <= case.capability < _OLDEST_OF_NEW_CUDNN and cudnn >= _NEW_CUDNN


_Rule: TypeAlias = tuple[str, Callable[[_Case], bool]]
# What holds whatever a log says.
_CERTAIN: tuple[_Rule, ...] = (
    ("windows_native", lambda case: case.facts.system == "windows" and not case.is_listed),
    ("wsl1", lambda case: case.facts.system == "wsl1"),
    ("wsl_no_gpu", lambda case: case.facts.system == "wsl2" and case.facts.dxg is False),
    ("wsl_no_gpu", lambda case: case.facts.is_wsl and case.facts.nvml.state == "blocked"),
    ("gpu_lost", _nvml("gpu_lost")),
    ("driver_mismatch", _nvml("version_mismatch")),
    ("nouveau", lambda case: case.facts.nouveau is True and case.facts.nvml.state != "ok"),
    ("container_without_gpu", lambda case: case.facts.container and _no_library(case)),
    ("driver_missing", _no_library),
    ("secure_boot", lambda case: case.facts.secure_boot is True and case.facts.nvml.state == "driver_not_loaded"),
    ("kernel_module", _nvml("driver_not_loaded")),
    ("hidden", _hidden),
    ("built_without_cuda", lambda case: case.evidence.build is not None and not case.evidence.build.cuda),
    ("driver_too_old", _driver_too_old),
    (
        "wsl_library_path",
        lambda case: case.facts.wsl_libcuda is True and case.facts.libcuda != "wsl" and not case.is_listed,
    ),
    ("gpu_too_old", lambda case: case.capability is not None and case.capability < _OLDEST),
    ("gpu_too_new", lambda case: case.is_listed and _too_new(case)),
    ("cudnn_dropped_gpu", lambda case: case.is_listed and _cudnn_dropped(case)),
)
# What explains a card that does nothing where the log is silent.
_LIKELY: tuple[_Rule, ...] = (
    ("two_cuda_majors", lambda case: len(cuda_majors(case.facts)) > 1),
    ("cuda_libraries", lambda case: case.facts.library_path_cuda is True or case.facts.libcuda == "stub"),
    ("hidden", lambda case: case.facts.visible_devices is not None and not case.is_listed),
)
