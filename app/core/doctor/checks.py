"""The checks in their order: driver, TensorFlow, its list, and real work on each device. A pure function."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.core.doctor.facts import Facts, is_too_old
from app.core.doctor.trial import Trial

CheckState: TypeAlias = Literal["ok", "fault", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One look, with what came of it in a sentence."""

    id: str  # driver, tensorflow, devices, cpu, gpu:0 …
    title: str
    state: CheckState
    text: str


def checks(facts: Facts, trials: Sequence[Trial]) -> tuple[Check, ...]:
    """Return the checks that are decided so far, in their order."""
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
    title, nvml = "NVIDIA driver", facts.nvml
    if nvml.state == "ok" and nvml.gpus:
        names = ", ".join(gpu.name for gpu in nvml.gpus)
        return Check("driver", title, "ok", f"Version {nvml.driver or 'unknown'} runs and lists {names}.")
    if not facts.nvidia_cards:
        found = "its driver does nothing" if nvml.state == "driver_not_loaded" else "no driver is needed"
        return Check("driver", title, "skipped", f"No NVIDIA card is in sight, so {found}.")
    if nvml.state == "no_answer":  # some take long to start; whether it works, the cards themselves show
        return Check("driver", title, "skipped", "The driver gave no answer in time.")
    words = {
        "ok": "The driver runs, but lists no card.",
        "library_not_found": "The driver is not installed, or this system cannot reach it.",
        "driver_not_loaded": "The driver is installed, but not running.",
        "version_mismatch": "The driver was updated; the computer must be restarted.",
        "gpu_lost": "The driver lost contact with the card.",
        "blocked": "The system does not let the driver at the card.",
        "error": f"The driver says: {nvml.text or 'an error'}.",
    }
    return Check("driver", title, "fault", words[nvml.state])


def _tensorflow(listing: Trial) -> Check:
    title = "TensorFlow"
    if listing.status == "cancelled":
        return Check("tensorflow", title, "skipped", "It was cancelled.")
    if listing.build is not None:
        build = listing.build
        cuda = f"built for CUDA {build.cuda_version}" if build.cuda else "built for the processor only"
        return Check("tensorflow", title, "ok", f"TensorFlow {build.tensorflow} starts; it is {cuda}.")
    if listing.import_error:
        line = next((line.strip() for line in listing.import_error.splitlines() if line.strip()), "")
        return Check("tensorflow", title, "fault", f"It cannot be imported: {line[:200]}")
    if listing.status == "timed_out":
        return Check("tensorflow", title, "fault", f"It does not start within {listing.duration_s:.0f} s.")
    return Check("tensorflow", title, "fault", "Its process ended before it could answer.")


def _devices(facts: Facts, listing: Trial) -> Check:
    title = "Devices that TensorFlow lists"
    if not listing.devices:
        return Check("devices", title, "skipped", "It did not come so far.")
    names = [f"{device.id} ({device.name})" if device.name else device.id for device in listing.devices]
    text = f"{', '.join(names)}."
    # An old card that only serves the screen is missed by nobody.
    wanted = sum(not is_too_old(card.capability) for card in facts.nvidia_cards)
    missing = wanted > sum(device.id != "cpu" for device in listing.devices)
    return Check("devices", title, "fault" if missing else "ok", f"{text} A card is missing." if missing else text)


def _work(trial: Trial) -> Check:
    title = f"Real work on {trial.target}"
    if trial.status == "cancelled":
        return Check(trial.target, title, "skipped", "It was cancelled.")
    done = [step.name for step in trial.steps if step.error is None]
    failed = [step.name for step in trial.steps if step.error is not None]
    if trial.status == "completed":
        took_s = sum(step.duration_s for step in trial.steps)
        return Check(trial.target, title, "ok", f"{_listed(done)}: right results, {took_s:.1f} s.")
    came = f"{_listed(done)} worked; " if done else ""
    if failed:
        return Check(trial.target, title, "fault", f"{came}{_listed(failed, first=not came)} failed.")
    ended = (
        f"no answer within {trial.duration_s:.0f} s" if trial.status == "timed_out" else "its process broke off"
    )
    return Check(trial.target, title, "fault", f"{came}{ended if came else ended.capitalize()}.")


def _listed(names: Sequence[str], *, first: bool = True) -> str:
    words = {"matmul": "matrix product", "convolution": "convolution", "xla": "XLA step"}
    text = ", ".join(words.get(name, name) for name in names)
    return text[:1].upper() + text[1:] if first else text
