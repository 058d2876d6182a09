"""Derives the checks, in order: driver, TensorFlow, its devices, and a computation on each device."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.core.doctor.facts import Facts, is_too_old
from app.core.doctor.trial import Trial
from app.core.messages import Message, message, text

CheckState: TypeAlias = Literal["ok", "fault", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result."""

    id: str  # driver, tensorflow, devices, cpu, gpu:0 …
    state: CheckState
    result: Message

    @property
    def title(self) -> str:
        return text(
            message(_TITLES[self.id]) if self.id in _TITLES else message("doctor.check_device", device=self.id)
        )

    @property
    def text(self) -> str:
        return text(self.result)


_TITLES = {
    "driver": "doctor.check_driver",
    "tensorflow": "doctor.check_tensorflow",
    "devices": "doctor.check_devices",
}


def checks(facts: Facts, trials: Sequence[Trial]) -> tuple[Check, ...]:
    return tuple(_checks(facts, {trial.target: trial for trial in trials}))


def _checks(facts: Facts, trials: dict[str, Trial]) -> Iterator[Check]:
    yield _driver(facts)
    listing = trials.get("list")
    if listing is None:
        return
    yield _tensorflow(listing)
    yield _devices(facts, listing)
    for target, trial in trials.items():
        if target != "list":
            yield _work(trial)


def _driver(facts: Facts) -> Check:
    nvml = facts.nvml
    if nvml.state == "ok" and nvml.gpus:
        gpus = [gpu.name for gpu in nvml.gpus]
        return Check("driver", "ok", message("doctor.driver_runs", version=nvml.driver or "n/a", gpus=gpus))
    if not facts.nvidia_cards and nvml.state != "crashes":
        return Check("driver", "skipped", message("doctor.driver_not_needed"))
    if nvml.state == "no_answer":  # some drivers take a long time to start; the trials show whether the GPUs work
        return Check("driver", "skipped", message("doctor.driver_timed_out"))
    if nvml.state == "error" and nvml.text:
        return Check("driver", "fault", message("doctor.driver_says", reason=nvml.text))
    return Check("driver", "fault", message(f"doctor.driver_state_{nvml.state}"))


def _tensorflow(listing: Trial) -> Check:
    if listing.status in ("cancelled", "absent"):
        said = message("status.cancelled" if listing.status == "cancelled" else "doctor.absent")
        return Check("tensorflow", "skipped", said)
    if listing.build is not None:
        version, cuda = listing.build.version, listing.build.cuda_version
        build = f"CUDA {cuda}" if listing.build.cuda else "CPU"
        return Check("tensorflow", "ok", message("doctor.starts", version=version, build=build))
    if listing.import_error:
        reason = first_line(listing.import_error)[:200]
        return Check("tensorflow", "fault", message("doctor.not_importable", reason=reason))
    if listing.status == "timed_out":
        return Check("tensorflow", "fault", message("doctor.no_answer", limit_s=listing.duration_s))
    return Check("tensorflow", "fault", message("doctor.process_ended"))


def first_line(error: str) -> str:
    return next((line.strip() for line in error.splitlines() if line.strip()), "")


def _devices(facts: Facts, listing: Trial) -> Check:
    if not listing.devices:
        return Check("devices", "skipped", message("doctor.not_reached"))
    names = [f"{device.id} ({device.name})" if device.name else device.id for device in listing.devices]
    # An old GPU that only drives the display doesn't count as missing.
    wanted = sum(not is_too_old(card.capability) for card in facts.nvidia_cards)
    missing = wanted > sum(device.id != "cpu" for device in listing.devices)
    if missing:
        return Check("devices", "fault", message("doctor.gpu_missing", devices=names))
    return Check("devices", "ok", message("doctor.devices_listed", devices=names))


def _work(trial: Trial) -> Check:
    if trial.status == "cancelled":
        return Check(trial.target, "skipped", message("status.cancelled"))
    done = _named(step.name for step in trial.steps if step.error is None)
    failed = _named(step.name for step in trial.steps if step.error is not None)
    if trial.status == "completed":
        took_s = sum(step.duration_s for step in trial.steps)
        return Check(trial.target, "ok", message("doctor.work_done", steps=done, took_s=took_s))
    if failed:
        return Check(trial.target, "fault", _result("doctor.steps_failed", done, steps=failed))
    if trial.status == "timed_out":
        return Check(trial.target, "fault", _result("doctor.no_answer", done, limit_s=trial.duration_s))
    return Check(trial.target, "fault", _result("doctor.process_ended", done))


def _result(code: str, done: Sequence[Message | str], **arguments: object) -> Message:
    result = message(code, **arguments)
    return message("doctor.some_worked", done=done, result=result) if done else result


def _named(steps: Iterable[str]) -> list[Message | str]:
    return [message(f"doctor.step_{name}") if name in STEPS else name for name in steps]


STEPS = ("matmul", "convolution", "xla", "gradients", "convolution_gradients")
