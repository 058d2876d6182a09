"""Derives a diagnosis from facts and trials: which devices work, why others don't, and how to fix them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.doctor.checks import checks, first_line
from app.core.doctor.diagnosis import DeviceDiagnosis, Diagnosis
from app.core.doctor.evidence import Evidence, evidence_of
from app.core.doctor.facts import Facts, is_too_old, numbers
from app.core.doctor.nvml import NvidiaGpu
from app.core.doctor.reasons import OLDEST_OF_NEW_CUDNN, card_reason, processor_reason
from app.core.doctor.trial import Device, Trial
from app.core.known_lines.logs import LogFinding, importance
from app.core.known_lines.signals import Signal, signal
from app.core.messages import Message, message, sentence
from app.core.runs.worker import explain_exit
from workloads.engines.registry import DEFAULT_ENGINE, engine_title

# A healthy GPU never takes this long for a small step, unless its driver compiles code first.
_SLOW_STEP_S = 30.0
REPAIR = "python3 start.py --repair"
_OTHER_VENDORS = {"amd": ("amd_gpu", "AMD GPU"), "intel": ("intel_gpu", "Intel GPU")}


def diagnose(facts: Facts, trials: Sequence[Trial]) -> Diagnosis:
    """Derive the diagnosis from the collected facts and trials; missing trials count as not run yet."""
    evidence = evidence_of(facts, trials)
    is_absent = evidence.listing is not None and evidence.listing.status == "absent"
    devices = () if is_absent else (_processor(evidence), *_cards(evidence), *_others(evidence.facts))
    logs = evidence.logs.values()
    return Diagnosis(
        facts=facts,
        trials=tuple(trials),
        checks=checks(facts, trials),
        devices=devices,
        findings=_each_once(finding for log in logs for finding in log.findings),
        harmless=_each_once(finding for log in logs for finding in log.harmless),
        unknown_lines=tuple(dict.fromkeys(line for log in logs for _, line in log.unknown_lines)),
        conclusion=tuple(_conclusion(devices, is_complete=evidence.complete)),
        complete=evidence.complete,
    )


def _each_once(findings: Iterator[LogFinding]) -> tuple[LogFinding, ...]:
    first: dict[str, LogFinding] = {}
    for finding in findings:
        first.setdefault(finding.signal.id, finding)
    return tuple(sorted(first.values(), key=importance))


def _processor(evidence: Evidence) -> DeviceDiagnosis:
    trial = evidence.trials.get("cpu") or evidence.listing
    plain = DeviceDiagnosis(id="cpu", name="CPU", vendor="cpu")
    if trial is None or trial.status == "cancelled":
        return plain
    if trial.status == "completed":
        return _usable(plain, trial) if trial.target == "cpu" else plain
    return _unusable(plain, evidence.facts, processor_reason(evidence, trial.target), failure_of(trial))


def _cards(evidence: Evidence) -> list[DeviceDiagnosis]:
    """Diagnose each NVIDIA GPU, then other devices that TensorFlow lists as GPUs."""
    cards, left = evidence.facts.nvidia_cards, list(evidence.gpus)
    named = [_take(left, [device for device in left if device.name == card.name]) for card in cards]
    devices = []
    for card, listed in zip(cards, named, strict=True):
        # Sources may name the same GPU differently. A GPU that is too old can't be the one that TensorFlow lists.
        likely = [device for device in left if device.name is None or device.capability is not None]
        device = listed or (None if is_too_old(card.capability) else _take(left, likely))
        devices.append(_unlisted(evidence, card) if device is None else _listed(evidence, device, card))
    devices += [_listed(evidence, device, None) for device in left]
    # If one of them works, a GPU that is too old for TensorFlow isn't a fault.
    works = any(card.state != "not usable" for card in devices)
    return [
        replace(card, is_fault=False) if works and card.signal_id == "gpu_too_old" else card for card in devices
    ]


def _take(left: list[Device], fitting: list[Device]) -> Device | None:
    """Remove the first fitting device from those left, and return it."""
    if not fitting:
        return None
    left.remove(fitting[0])
    return fitting[0]


def _unlisted(evidence: Evidence, card: NvidiaGpu) -> DeviceDiagnosis:
    plain = DeviceDiagnosis(id=None, name=card.name, vendor="nvidia")
    if evidence.listing is None or evidence.listing.status == "cancelled":
        return plain
    reason = card_reason(evidence, "list", card.capability)
    return _unusable(plain, evidence.facts, reason, message("doctor.not_listed"), card)


def _listed(evidence: Evidence, device: Device, card: NvidiaGpu | None) -> DeviceDiagnosis:
    name = device.name or (card.name if card else "GPU")
    vendor = "nvidia" if card or device.capability else "other"
    plain = DeviceDiagnosis(id=device.id, name=name, vendor=vendor)
    trial = evidence.trials.get(device.id)
    if trial is None or trial.status == "cancelled":
        return plain
    log = evidence.logs[device.id]
    compiles = any(finding.signal.id == "ptx_jit" for finding in log.findings)
    took_long = any(step.duration_s > _SLOW_STEP_S for step in trial.steps)
    if trial.status == "completed" and not compiles and not took_long:
        return _usable(plain, trial)
    if trial.status == "completed" or (trial.status == "timed_out" and compiles and not log.faults):
        slow, row = replace(plain, state="slow path"), signal("ptx_jit")
        reason = message("doctor.slow", meaning=row.meaning)
        if trial.status != "completed":
            reason = message("doctor.slow_and_busy", limit_s=trial.duration_s, meaning=row.meaning)
        return with_row(slow, evidence.facts, row, (reason,))
    card = card or NvidiaGpu(name)
    card = replace(card, capability=device.capability or card.capability)
    explanation = card_reason(evidence, device.id, card.capability)
    listed_but_failed = message("doctor.listed_but_failed", failure=failure_of(trial))
    return _unusable(plain, evidence.facts, explanation, listed_but_failed, card)


def _others(facts: Facts) -> Iterator[DeviceDiagnosis]:
    """Yield a diagnosis for each GPU from another vendor, and for WSL without a GPU."""
    named = [(gpu.vendor, gpu.name) for gpu in facts.gpus if gpu.vendor != "nvidia"]
    vendors_named = {vendor for vendor, _ in named}
    # A virtual display isn't expected to be a usable GPU.
    on_bus = [vendor for vendor in facts.pci or () if vendor in _OTHER_VENDORS and vendor not in vendors_named]
    for vendor, name in (*named, *((vendor, _OTHER_VENDORS[vendor][1]) for vendor in on_bus)):
        row_id = "apple_gpu" if vendor == "apple" else _OTHER_VENDORS.get(vendor, ("other_gpu", ""))[0]
        plain = DeviceDiagnosis(id=None, name=name, vendor=vendor)
        yield _unusable(plain, facts, signal(row_id), None)
    if facts.is_wsl and not facts.nvidia_cards and (facts.system == "wsl1" or not facts.dxg):
        # WSL can't show whether Windows has a GPU, so this isn't a fault.
        plain = DeviceDiagnosis(id=None, name=sentence("doctor.gpu_of_windows"), vendor="other")
        row_id = "container_without_gpu" if facts.container else "wsl_no_gpu"
        row = signal("wsl1" if facts.system == "wsl1" else row_id)
        yield with_row(plain, facts, row, (_row_message(row),))


def _usable(plain: DeviceDiagnosis, trial: Trial) -> DeviceDiagnosis:
    took_s = sum(step.duration_s for step in trial.steps)
    return replace(plain, state="usable", reasons=(message("doctor.passed", took_s=took_s),))


def _unusable(
    plain: DeviceDiagnosis,
    facts: Facts,
    row: Signal | None,
    otherwise: Message | None,
    card: NvidiaGpu | None = None,
) -> DeviceDiagnosis:
    """Diagnose an unusable device with the row that explains it, or else with `otherwise`."""
    if row is None:
        reasons = () if otherwise is None else (otherwise,)
        return replace(plain, reasons=reasons, fix=sentence("doctor.ask"), is_fault=True)
    diagnosis = with_row(plain, facts, row, (_row_message(row), *_memory(row, card)), card)
    return replace(diagnosis, is_fault=row.severity == "fault")


def _row_message(row: Signal) -> Message:
    return message("doctor.row_found", title=row.title, meaning=row.meaning)


def with_row(
    plain: DeviceDiagnosis, facts: Facts, row: Signal, reasons: tuple[Message, ...], card: NvidiaGpu | None = None
) -> DeviceDiagnosis:
    """Return a diagnosis with a row's fix, commands and link."""
    return replace(
        plain,
        reasons=reasons,
        fix=row.fix,
        commands=_own_commands(row, facts.system, card),
        signal_id=row.id,
        link=row.link,
    )


def _memory(row: Signal, card: NvidiaGpu | None) -> tuple[Message, ...]:
    if row.id not in ("out_of_memory", "library_handle") or card is None:
        return ()
    if card.memory_bytes is None or card.memory_used_bytes is None:
        return ()
    sizes = {"used_bytes": card.memory_used_bytes, "size_bytes": card.memory_bytes}
    return (message("doctor.memory_in_use", **sizes),)


def _own_commands(row: Signal, system: str, card: NvidiaGpu | None) -> tuple[str, ...]:
    """Adapt a row's commands to Epochmark's own environment, because plain pip would use another one."""
    capability = numbers(card.capability) if card else None
    profile = "cuda-legacy" if capability and capability < OLDEST_OF_NEW_CUDNN else "cuda"
    own = (REPAIR if command.startswith("pip ") else command for command in row.commands.on(system))
    return tuple(dict.fromkeys(command.replace("=cuda ", f"={profile} ") for command in own))


def failure_of(trial: Trial) -> Message:
    """Describe the failure of a trial that no row explains."""
    if trial.status == "timed_out":
        return message("doctor.no_answer", limit_s=trial.duration_s)
    if trial.import_error:
        return message("doctor.not_importable", reason=first_line(trial.import_error)[:300])
    for step in trial.steps:
        if step.error:
            return message("doctor.step_failed", step=step.name, reason=first_line(step.error)[:300])
    return message("doctor.process_exit", exit=explain_exit(trial.exit_code))


def _conclusion(devices: Sequence[DeviceDiagnosis], *, is_complete: bool) -> Iterator[Message]:
    if not devices:  # not a fault, because other engines may be installed
        yield message("engine.not_installed", engine=engine_title(DEFAULT_ENGINE))
        yield message("engines.install_it", engine=DEFAULT_ENGINE)
        return
    if not is_complete:
        yield message("doctor.stopped")
        return
    cpu, gpus = devices[0], devices[1:]
    usable = _names([gpu for gpu in gpus if gpu.state != "not usable"], gpus)
    broken = [gpu for gpu in gpus if gpu.is_fault]
    if cpu.is_fault:
        yield _with_reason("doctor.nothing_works", "doctor.nothing_works_because", [cpu])
    elif broken:
        names = _names(broken, gpus)
        yield _with_reason("doctor.gpus_not_usable", "doctor.gpus_not_usable_because", broken, gpus=names)
        yield message("doctor.can_use", gpus=usable) if usable else message("doctor.cpu_usable")
    elif usable:
        yield message("doctor.can_use", gpus=usable)
    else:
        yield message("doctor.no_gpu")
        yield message("part.no_gpu_is_fine")


def _with_reason(
    code: str, code_with_reason: str, broken: Sequence[DeviceDiagnosis], **arguments: object
) -> Message:
    reason, *others = {device.signal_id for device in broken}
    if reason is None or others:
        return message(code, **arguments)
    return message(code_with_reason, reason=signal(reason).title, **arguments)


def _names(some: Sequence[DeviceDiagnosis], gpus: Sequence[DeviceDiagnosis]) -> list[Message]:
    names = []
    for name, number in Counter(gpu.name for gpu in some).items():
        all_of_them = sum(gpu.name == name for gpu in gpus)
        if number != all_of_them:
            names.append(message("doctor.some_of_gpus", name=name, number=number, of=all_of_them))
        elif number > 1:
            names.append(message("doctor.all_of_gpus", name=name, number=number))
        else:
            names.append(message("doctor.the_gpu", name=name))
    return names
