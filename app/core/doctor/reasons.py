"""Finds the reason why a device can't be used: the first row, causes first, that facts or a log support."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from app.core.doctor.evidence import Evidence
from app.core.doctor.facts import OLDEST_CAPABILITY, Facts, cuda_majors, numbers
from app.core.doctor.trial import Trial
from app.core.known_lines.signals import Signal, signal

# Minimum versions for TensorFlow's CUDA 12 builds, from the support matrix of cuDNN 9.
OLDEST_DRIVER, OLDEST_WINDOWS_DRIVER = (525, 60, 13), (527, 41)
# Compute capabilities: the oldest that cuDNN 9.11 supports, and the first that CUDA 12.5 doesn't support.
OLDEST_OF_NEW_CUDNN, _TOO_NEW = (7, 5), (10, 0)
_NEW_CUDNN = (9, 11)
# SIGILL and its equivalent on Windows.
_ILLEGAL_INSTRUCTION = (-4, 0xC000001D)


@dataclass(frozen=True, slots=True)
class _Case:
    """An NVIDIA GPU that doesn't work."""

    evidence: Evidence
    trial: Trial
    capability: tuple[int, ...] | None
    is_listed: bool

    @property
    def facts(self) -> Facts:
        return self.evidence.facts


def processor_reason(evidence: Evidence, target: str) -> Signal | None:
    """Return the row that explains why even the CPU doesn't work; None if no row does."""
    trial, said = evidence.trials[target], evidence.logs[target].faults
    lacks_avx = evidence.facts.avx is False and trial.status == "crashed"
    if trial.exit_code in _ILLEGAL_INSTRUCTION or lacks_avx:
        return signal("avx_missing")
    if said:
        return said[0].signal
    if target == "list" and evidence.facts.package("tensorflow-metal"):
        return signal("metal_plugin")
    hangs = trial.status == "timed_out" and evidence.facts.nvml.state == "no_answer"
    return signal("gpu_lost") if hangs else None


def card_reason(evidence: Evidence, target: str, capability: str | None) -> Signal | None:
    """Return the row that best explains why an NVIDIA GPU doesn't work; None if no row does.

    `target` is "list" for a GPU that TensorFlow doesn't list.
    """
    trial = evidence.trials[target]
    case = _Case(evidence, trial, numbers(capability), target != "list")
    relevant = [finding for finding in evidence.logs[target].findings if _may_explain(finding.signal, case)]
    said = [finding.signal for finding in relevant]
    if trial.import_error:
        return said[0] if said else None
    telling = [finding.signal for finding in relevant if not finding.is_symptom]  # facts explain symptoms better
    by_facts = next((signal_id for signal_id, holds in _CERTAIN if holds(case)), None)
    if by_facts is None and not telling:
        by_facts = next((signal_id for signal_id, holds in _LIKELY if holds(case)), None)
    return signal(by_facts) if by_facts else next(iter(telling or said), None)


def _may_explain(row: Signal, case: _Case) -> bool:
    """Return whether a row found in the log can be the reason. The row's lines may refer to another GPU."""
    if case.capability is not None and row.id in ("gpu_too_new", "cudnn_dropped_gpu"):
        return case.capability >= _TOO_NEW if row.id == "gpu_too_new" else case.capability < OLDEST_OF_NEW_CUDNN
    return row.severity == "fault" or row.id == "few_multiprocessors"


def _nvml(state: str) -> Callable[[_Case], bool]:
    return lambda case: case.facts.nvml.state == state


def _no_library(case: _Case) -> bool:
    return case.facts.nvml.state == "library_not_found" and not case.facts.is_wsl and not case.is_listed


def _no_card_in_container(case: _Case) -> bool:
    if not case.facts.container or case.is_listed:
        return False
    if case.facts.is_wsl:
        return case.facts.dxg is False
    return case.facts.nvml.state in ("library_not_found", "driver_not_loaded")


def _shut_out(case: _Case) -> bool:
    """Return whether the driver works, but not in this container or WSL. NVML has no error code for this case."""
    nvml, inside = case.facts.nvml, case.facts.container or case.facts.is_wsl
    return inside and nvml.state == "error" and "unknown error" in nvml.text.lower()


def _hidden(case: _Case) -> bool:
    """Return whether CUDA_VISIBLE_DEVICES hides all GPUs. CUDA ignores all numbers after the first invalid one."""
    value = case.facts.visible_devices
    if value is None or value == "other" or case.is_listed:
        return False
    return not value.split(",")[0].strip().isdigit()


def _partly_hidden(case: _Case) -> bool:
    """Return whether CUDA_VISIBLE_DEVICES contains fewer GPUs than are installed."""
    value, count = case.facts.visible_devices, len(case.facts.nvidia_cards)
    if value is None or case.is_listed:
        return False
    shown = {part.strip() for part in value.split(",")}
    return value == "other" or len(shown & {str(index) for index in range(count)}) < count


def _driver_too_old(case: _Case) -> bool:
    of_windows = case.facts.system == "windows" or case.facts.is_wsl
    driver = numbers(case.facts.nvml.driver or case.facts.kernel_driver)
    return driver is not None and driver < (OLDEST_WINDOWS_DRIVER if of_windows else OLDEST_DRIVER)


def _too_new(case: _Case) -> bool:
    """Return whether TensorFlow has no code for the GPU, and its CUDA version can't generate any."""
    if case.capability is None or case.capability < _TOO_NEW or case.trial.status == "timed_out":
        return False
    build = case.evidence.build
    built_for = {re.sub(r"\D", "", name) for name in build.capabilities} if build else set()
    return "".join(map(str, case.capability)) not in built_for


def _cudnn_dropped(case: _Case) -> bool:
    cudnn = numbers(case.facts.package("nvidia-cudnn-cu12"))
    if case.capability is None or cudnn is None:
        return False
    return OLDEST_CAPABILITY <= case.capability < OLDEST_OF_NEW_CUDNN and cudnn >= _NEW_CUDNN


_Rule: TypeAlias = tuple[str, Callable[[_Case], bool]]
# Conditions that are certain, whatever a log contains.
_CERTAIN: tuple[_Rule, ...] = (
    ("windows_native", lambda case: case.facts.system == "windows" and not case.is_listed),
    ("wsl1", lambda case: case.facts.system == "wsl1"),
    ("container_without_gpu", lambda case: case.facts.is_wsl and _no_card_in_container(case)),
    ("wsl_no_gpu", lambda case: case.facts.system == "wsl2" and case.facts.dxg is False),
    ("wsl_no_gpu", lambda case: case.facts.is_wsl and case.facts.nvml.state == "blocked"),
    ("gpu_lost", _nvml("gpu_lost")),
    ("driver_mismatch", _nvml("version_mismatch")),
    ("nouveau", lambda case: case.facts.nouveau is True and case.facts.nvml.state != "ok"),
    ("container_without_gpu", _no_card_in_container),
    ("container_lost_gpu", _shut_out),
    ("driver_missing", _no_library),
    ("kernel_module", _nvml("driver_not_loaded")),
    ("hidden", _hidden),
    ("built_without_cuda", lambda case: case.evidence.build is not None and not case.evidence.build.cuda),
    # Checked before the driver's age, because a newer driver would no longer support such a GPU.
    ("gpu_too_old", lambda case: case.capability is not None and case.capability < OLDEST_CAPABILITY),
    ("driver_too_old", _driver_too_old),
    # Causes the same errors as a container without a GPU.
    (
        "cuda_libraries",
        lambda case: case.facts.libcuda == "stub" and not case.facts.container and not case.is_listed,
    ),
    (
        "wsl_library_path",
        lambda case: case.facts.wsl_libcuda is True and case.facts.libcuda != "wsl" and not case.is_listed,
    ),
    ("gpu_too_new", lambda case: case.is_listed and _too_new(case)),
    ("cudnn_dropped_gpu", lambda case: case.is_listed and _cudnn_dropped(case)),
)
# Likely reasons for an unused GPU if the log doesn't explain it.
_LIKELY: tuple[_Rule, ...] = (
    ("two_cuda_majors", lambda case: len(cuda_majors(case.facts)) > 1),
    ("cuda_libraries", lambda case: case.facts.library_path_cuda is True or case.facts.libcuda == "stub"),
    ("hidden", _partly_hidden),
    ("gpu_lost", _nvml("no_answer")),
)
