"""From facts and trials to a diagnosis: which device can be used, which not, why, what to do. Pure functions."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

from app.core.doctor.checks import Check, checks
from app.core.doctor.evidence import Evidence, evidence_of
from app.core.doctor.facts import Facts, is_too_old, numbers
from app.core.doctor.logs import LogFinding
from app.core.doctor.nvml import NvidiaGpu
from app.core.doctor.reasons import OLDEST_OF_NEW_CUDNN, card_reason, processor_reason
from app.core.doctor.signals import Signal, inside, signal
from app.core.doctor.trial import Device, Trial
from app.core.runs.worker import explain_exit

State: TypeAlias = Literal["usable", "slow path", "not usable"]
# Longer than any healthy card takes for a small step; a driver that compiles first takes minutes.
_SLOW_STEP_S = 30.0
_UNTRIED = "It was not tried."
_ASK = "Ask with what `python3 start.py doctor --report` prints: the reason is in no row of our table."
_REPAIR = "python3 start.py --repair"
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
    cards = tuple(_cards(evidence))
    devices = (_processor(evidence), *_excused(cards), *_others(facts))
    logs = evidence.logs.values()
    return Diagnosis(
        facts=facts,
        trials=tuple(trials),
        checks=checks(facts, trials),
        devices=devices,
        findings=_each_once(finding for log in logs for finding in log.findings),
        harmless=_each_once(finding for log in logs for finding in log.harmless),
        unknown_lines=tuple(dict.fromkeys(line for log in logs for _, line in log.unknown_lines)),
        overall=_overall(devices, facts) if evidence.complete else "The examination was stopped before its end.",
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
    cards, left = evidence.facts.nvidia_cards, list(evidence.gpus)
    named = [_take(left, partial(_has_name, card.name)) for card in cards]
    for card, known in zip(cards, named, strict=True):
        # Sources name the same card differently; what is too old is not what TensorFlow lists.
        device = known or (None if is_too_old(card.capability) else _take(left, _may_be_nvidia))
        yield _unlisted(evidence, card) if device is None else _listed(evidence, device, card)
    for device in left:
        yield _listed(evidence, device, None)


def _has_name(name: str, device: Device) -> bool:
    return device.name == name


def _may_be_nvidia(device: Device) -> bool:
    return device.name is None or device.capability is not None


def _take(left: list[Device], fits: Callable[[Device], bool]) -> Device | None:
    """Take the first device that fits out of those that are left."""
    for device in left:
        if fits(device):
            left.remove(device)
            return device
    return None


def _excused(cards: Sequence[DeviceDiagnosis]) -> Iterator[DeviceDiagnosis]:
    """Yield the cards; beside one that works, a card that is only too old for TensorFlow is no fault."""
    works = any(card.state != "not usable" for card in cards)
    for card in cards:
        excused = works and card.signal_id == "gpu_too_old"
        yield replace(card, is_fault=False) if excused else card


def _unlisted(evidence: Evidence, card: NvidiaGpu) -> DeviceDiagnosis:
    plain = DeviceDiagnosis(id=None, name=card.name, vendor="nvidia", state="not usable", why=_UNTRIED)
    if evidence.listing is None or evidence.listing.status == "cancelled":
        return plain
    reason = card_reason(evidence, "list", card.capability)
    otherwise = "TensorFlow does not list it and does not say why."
    return _unusable(plain, evidence.facts, reason, otherwise, card)


def _listed(evidence: Evidence, device: Device, card: NvidiaGpu | None) -> DeviceDiagnosis:
    """Judge a device that TensorFlow lists, and the card that it is, by what it did."""
    name = device.name or (card.name if card else "GPU")
    vendor = "nvidia" if card or device.capability else "other"
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
        slow = replace(plain, state="slow path")
        return _with_row(slow, evidence.facts, signal("ptx_jit"), f"{ended}.")
    card = card or NvidiaGpu(name)
    card = replace(card, capability=device.capability or card.capability)
    reason = card_reason(evidence, device.id, card.capability)
    otherwise = f"TensorFlow lists it, but {_failure(trial, small=True)}"
    return _unusable(plain, evidence.facts, reason, otherwise, card)


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
        row_id = "container_without_gpu" if facts.container else "wsl_no_gpu"
        row = signal("wsl1" if facts.system == "wsl1" else row_id)
        yield _with_row(plain, facts, row, f"{row.title}.")


def _usable(plain: DeviceDiagnosis, trial: Trial) -> DeviceDiagnosis:
    took_s = sum(step.duration_s for step in trial.steps)
    why = f"Matrix product, convolution and a step compiled by XLA gave right results in {took_s:.1f} s."
    return replace(plain, state="usable", why=why)


def _unusable(
    plain: DeviceDiagnosis, facts: Facts, row: Signal | None, otherwise: str, card: NvidiaGpu | None = None
) -> DeviceDiagnosis:
    if row is None:
        return replace(plain, why=otherwise, fix=_ASK, is_fault=True)
    found = _with_row(plain, facts, row, f"{row.title}.", card)
    return replace(found, is_fault=row.severity == "fault")


def _with_row(
    plain: DeviceDiagnosis, facts: Facts, row: Signal, begin: str, card: NvidiaGpu | None = None
) -> DeviceDiagnosis:
    return replace(
        plain,
        why=f"{begin} {row.meaning}{_memory(row, card)}",
        fix=row.fix,
        commands=_own_commands(row, facts.system, card),
        signal_id=row.id,
        link=row.link,
    )


def _memory(row: Signal, card: NvidiaGpu | None) -> str:
    """Say how full the card was, where that may be the reason."""
    if row.id not in ("out_of_memory", "library_handle") or card is None:
        return ""
    if card.memory_bytes is None or card.memory_used_bytes is None:
        return ""
    used_gib, whole_gib = card.memory_used_bytes / 2**30, card.memory_bytes / 2**30
    return f" Before the trial, {used_gib:.1f} of {whole_gib:.1f} GiB were in use."


def _own_commands(row: Signal, system: str, card: NvidiaGpu | None) -> tuple[str, ...]:
    """Return the row's commands as they help Epochmark's own environment, which pip would not find."""
    capability = numbers(card.capability) if card else None
    profile = "cuda-legacy" if capability and capability < OLDEST_OF_NEW_CUDNN else "cuda"
    own = (_REPAIR if text.startswith("pip ") else text for text in row.commands.on(system))
    return tuple(dict.fromkeys(text.replace("=cuda ", f"={profile} ") for text in own))


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


def _overall(devices: Sequence[DeviceDiagnosis], facts: Facts) -> str:
    cpu, gpus = devices[0], devices[1:]
    usable = _names([gpu for gpu in gpus if gpu.state != "not usable"], gpus)
    broken = [gpu for gpu in gpus if gpu.is_fault]
    can = f"{usable} and the processor" if usable else "the processor"
    if cpu.is_fault:
        text = f"TensorFlow does not work here, not even on the processor{_because([cpu])}."
    elif broken:
        can = can[:1].upper() + can[1:]
        text = f"TensorFlow cannot use {_names(broken, gpus)}{_because(broken)}. {can} can be used."
    elif usable:
        text = f"TensorFlow can use {can}."
    else:
        where = "in sight" if facts.container or facts.is_wsl else "in this computer"
        text = (
            f"There is no graphics card {where} that TensorFlow could use. That is no fault: "
            "the processor can be used, and Epochmark measures it."
        )
    return text


def _because(broken: Sequence[DeviceDiagnosis]) -> str:
    """Say in a few words why, where one reason explains all."""
    reasons = {device.signal_id for device in broken}
    reason = reasons.pop() if len(reasons) == 1 else None
    return f": {inside(signal(reason).title)}" if reason else ""


def _names(some: Sequence[DeviceDiagnosis], gpus: Sequence[DeviceDiagnosis]) -> str:
    """Name some of the GPUs; of equal ones, say how many."""
    names = []
    for name, count in Counter(gpu.name for gpu in some).items():
        all_of_them = sum(gpu.name == name for gpu in gpus)
        whole = {1: "the", 2: "both"}.get(count, f"all {count}")
        which = whole if count == all_of_them else f"{count} of {all_of_them}"
        names.append(f"{which} {name}")
    return ", ".join(names)
