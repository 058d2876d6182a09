"""From facts and trials to a diagnosis: which device can be used, which not, why, what to do. Pure functions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.core.doctor.checks import Check, checks
from app.core.doctor.evidence import Evidence, evidence_of
from app.core.doctor.facts import NAMELESS, Facts
from app.core.doctor.logs import LogFinding
from app.core.doctor.nvml import NvidiaGpu
from app.core.doctor.reasons import card_reason, processor_reason
from app.core.doctor.signals import Signal, signal
from app.core.doctor.trial import Device, Trial
from app.core.running.worker import explain_exit

State: TypeAlias = Literal["usable", "slow path", "not usable"]
# Longer than any healthy card takes for a small step; a driver that compiles first takes minutes.
_SLOW_STEP_S = 30.0
_UNTRIED = "It was not tried."
_OTHER_VENDORS = {"amd": ("amd_gpu", "AMD graphics"), "intel": ("intel_gpu", "Intel graphics")}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDiagnosis:
    """What is known of one device.

    Attributes:
        id: As runs are asked for it ("cpu", "gpu:0"); None for what TensorFlow does not list.
        why: A sentence or two.
        fix: What to do next; "" when there is nothing to do.
        commands: What to type for it on this system.
        signal_id: The row of the table behind it; None when no row is.
        is_fault: Whether something is broken or missing; not every device that cannot be used is that.
    """

    id: str | None
    name: str
    vendor: str  # cpu, nvidia, amd, intel, apple, other
    state: State
    why: str
    fix: str = ""
    commands: tuple[str, ...] = ()
    signal_id: str | None = None
    link: str | None = None
    is_fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All that was found out.

    Attributes:
        devices: The processor first.
        findings: What the trials' logs say, each row once, causes first.
        harmless: Rows that are nothing to worry about.
        unknown_lines: What looks like trouble in a trial's log and is in no row.
        overall: The answer in one sentence.
        complete: Whether all was looked at: False when it was cancelled.
    """

    facts: Facts
    trials: tuple[Trial, ...]
    checks: tuple[Check, ...]
    devices: tuple[DeviceDiagnosis, ...]
    findings: tuple[LogFinding, ...]
    harmless: tuple[LogFinding, ...]
    unknown_lines: tuple[str, ...]
    overall: str
    complete: bool

    @property
    def has_fault(self) -> bool:
        """Whether something is broken; that there is no GPU is no fault."""
        broken = any(device.is_fault for device in self.devices)
        return broken or any(check.state == "fault" for check in self.checks)


def diagnose(facts: Facts, trials: Sequence[Trial]) -> Diagnosis:
    """Judge what is known; trials that are missing are taken for not yet made."""
    evidence = evidence_of(facts, trials)
    devices = (_processor(evidence), *_cards(evidence), *_others(facts))
    logs = evidence.logs.values()
    return Diagnosis(
        facts=facts,
        trials=tuple(trials),
        checks=checks(facts, trials),
        devices=devices,
        findings=_each_once(finding for log in logs for finding in log.findings),
        harmless=_each_once(finding for log in logs for finding in log.harmless),
        unknown_lines=tuple(dict.fromkeys(line for log in logs for _, line in log.unknown_lines)),
        overall=_overall(devices) if evidence.complete else "The examination was stopped before its end.",
        complete=evidence.complete,
    )


def _each_once(findings: Iterator[LogFinding]) -> tuple[LogFinding, ...]:
    first: dict[str, LogFinding] = {}
    for finding in findings:
        first.setdefault(finding.signal.id, finding)
    order = ("fault", "caution", "harmless")
    return tuple(sorted(first.values(), key=lambda one: (order.index(one.signal.severity), one.signal.rank)))


def _processor(evidence: Evidence) -> DeviceDiagnosis:
    trial = evidence.trials.get("cpu") or evidence.listing
    plain = DeviceDiagnosis(id="cpu", name="Processor", vendor="cpu", state="not usable", why=_UNTRIED)
    if trial is None or trial.status == "cancelled":
        return plain
    if trial.status == "completed":
        return _usable(plain, trial) if trial.target == "cpu" else plain
    return _unusable(plain, evidence.facts, processor_reason(evidence, trial.target), _failure(trial))


def _cards(evidence: Evidence) -> Iterator[DeviceDiagnosis]:
    """Yield a diagnosis for each NVIDIA card, and for whatever else TensorFlow lists as a GPU."""
    left = list(evidence.gpus)
    for card in evidence.facts.nvidia_cards:
        device = _take(left, card)
        yield _unlisted(evidence, card) if device is None else _listed(evidence, device, card.name, "nvidia")
    for device in left:
        yield _listed(evidence, device, device.name or "GPU", "nvidia" if device.capability else "other")


def _take(left: list[Device], card: NvidiaGpu) -> Device | None:
    """Take the listed device that is the card, by its name; without names, in their order."""
    for device in left:
        if card.name in (device.name, NAMELESS) or device.name is None:
            left.remove(device)
            return device
    return None


def _unlisted(evidence: Evidence, card: NvidiaGpu) -> DeviceDiagnosis:
    plain = DeviceDiagnosis(id=None, name=card.name, vendor="nvidia", state="not usable", why=_UNTRIED)
    if evidence.listing is None or evidence.listing.status == "cancelled":
        return plain
    reason = card_reason(evidence, "list", card.capability)
    return _unusable(plain, evidence.facts, reason, "TensorFlow does not list it and does not say why.")


def _listed(evidence: Evidence, device: Device, name: str, vendor: str) -> DeviceDiagnosis:
    """Judge a device that TensorFlow lists by what it did."""
    plain = DeviceDiagnosis(id=device.id, name=name, vendor=vendor, state="not usable", why=_UNTRIED)
    trial = evidence.trials.get(device.id)
    if trial is None or trial.status == "cancelled":
        return plain
    log = evidence.logs[device.id]
    compiles = any(finding.signal.id == "ptx_jit" for finding in log.findings)
    took_long = any(step.duration_s > _SLOW_STEP_S for step in trial.steps)
    if trial.status == "completed" and not compiles and not took_long:
        return _usable(plain, trial)
    if trial.status == "completed" or (trial.status == "timed_out" and compiles and not log.faults):
        ended = "It works" if trial.status == "completed" else f"It was still busy after {trial.duration_s:.0f} s"
        return _with_row(plain, evidence.facts, signal("ptx_jit"), "slow path", f"{ended}.")
    reason = card_reason(evidence, device.id, device.capability)
    return _unusable(plain, evidence.facts, reason, f"TensorFlow lists it, but {_failure(trial, small=True)}")


def _others(facts: Facts) -> Iterator[DeviceDiagnosis]:
    """Yield a diagnosis for each GPU of another maker, and for WSL that shows none at all."""
    named = [(gpu.vendor, gpu.name) for gpu in facts.gpus if gpu.vendor != "nvidia"]
    known = {vendor for vendor, _ in named}
    # Virtual displays are no graphics cards that anybody would miss.
    on_bus = [vendor for vendor in facts.pci or () if vendor in _OTHER_VENDORS and vendor not in known]
    for vendor, name in (*named, *((vendor, _OTHER_VENDORS[vendor][1]) for vendor in on_bus)):
        row_id = "apple_gpu" if vendor == "apple" else _OTHER_VENDORS.get(vendor, ("other_gpu", ""))[0]
        plain = DeviceDiagnosis(id=None, name=name, vendor=vendor, state="not usable", why="")
        yield _unusable(plain, facts, signal(row_id), "")
    if facts.is_wsl and not facts.nvidia_cards and (facts.system == "wsl1" or not facts.dxg):
        # Whether Windows has a card cannot be seen from here, so this is no fault yet.
        plain = DeviceDiagnosis(
            id=None, name="graphics card of Windows, if any", vendor="other", state="not usable", why=""
        )
        row = signal("wsl1" if facts.system == "wsl1" else "wsl_no_gpu")
        yield _with_row(plain, facts, row, "not usable", f"{row.title}.")


def _usable(plain: DeviceDiagnosis, trial: Trial) -> DeviceDiagnosis:
    took_s = sum(step.duration_s for step in trial.steps)
    why = f"Matrix product, convolution and a step compiled by XLA gave right results in {took_s:.1f} s."
    return DeviceDiagnosis(id=plain.id, name=plain.name, vendor=plain.vendor, state="usable", why=why)


def _unusable(plain: DeviceDiagnosis, facts: Facts, row: Signal | None, otherwise: str) -> DeviceDiagnosis:
    if row is not None:
        return _with_row(plain, facts, row, "not usable", f"{row.title}.", is_fault=row.severity == "fault")
    return DeviceDiagnosis(
        id=plain.id,
        name=plain.name,
        vendor=plain.vendor,
        state="not usable",
        why=otherwise,
        fix="Ask with what `epochmark doctor --report` prints: the reason is in no row of our table.",
        is_fault=True,
    )


def _with_row(
    plain: DeviceDiagnosis, facts: Facts, row: Signal, state: State, begin: str, *, is_fault: bool = False
) -> DeviceDiagnosis:
    return DeviceDiagnosis(
        id=plain.id,
        name=plain.name,
        vendor=plain.vendor,
        state=state,
        why=f"{begin} {row.meaning}",
        fix=row.fix,
        commands=row.commands.on(facts.system),
        signal_id=row.id,
        link=row.link,
        is_fault=is_fault,
    )


def _failure(trial: Trial, *, small: bool = False) -> str:
    """Say in words how a trial failed of which no row says more."""
    if trial.status == "timed_out":
        text = f"it gave no answer within {trial.duration_s:.0f} s."
    elif trial.import_error:
        text = f"TensorFlow cannot be imported ({_first_line(trial.import_error)})."
    else:
        text = f"its process {explain_exit(trial.exit_code)}."
        for step in trial.steps:
            if step.error:
                text = f"its {step.name} failed ({_first_line(step.error)})."
                break
    return text if small else text[:1].upper() + text[1:]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def _overall(devices: Sequence[DeviceDiagnosis]) -> str:
    cpu, gpus = devices[0], devices[1:]
    usable = _names([gpu for gpu in gpus if gpu.state != "not usable"])
    broken = _names([gpu for gpu in gpus if gpu.is_fault])
    if cpu.is_fault:
        text = "TensorFlow does not work here, not even on the processor."
    elif broken:
        text = f"TensorFlow cannot use {broken}; {f'{usable} and ' if usable else ''}the processor can be used."
    elif usable:
        text = f"TensorFlow can use {usable} and the processor."
    else:
        text = (
            "There is no graphics card in this computer that TensorFlow could use. That is no fault: "
            "the processor can be used, and Epochmark measures it."
        )
    return text


def _names(gpus: Sequence[DeviceDiagnosis]) -> str:
    return ", ".join(f"the {name}" for name in dict.fromkeys(gpu.name for gpu in gpus))
