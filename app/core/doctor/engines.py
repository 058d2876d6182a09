"""Diagnoses the installed engines other than TensorFlow: usable devices, problems and fixes."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.core.doctor.diagnosis import DeviceDiagnosis, EngineDiagnosis
from app.core.doctor.evidence import Evidence, evidence_of
from app.core.doctor.facts import Facts
from app.core.doctor.rules import REPAIR, failure_of, with_row
from app.core.doctor.trial import Device, Trial, run_trial
from app.core.engines.builds import BuildFit, builds_for, cards_for, idle_cards, no_build
from app.core.engines.locations import engine_folder, installable
from app.core.engines.stamp import Stamp
from app.core.known_lines.signals import Signal
from app.core.messages import Message, message, sentence
from app.core.paths import Paths
from workloads.engines.registry import DEFAULT_ENGINE, engine_title
from workloads.protocol.machine import Gpu, Machine

# Two fixed bugs of PyTorch: wrong convolutions (#192212), and backward passes 30 times slower (#193349).
OLDEST_RIGHT_MPS = (2, 15)


def examine_engines(
    paths: Paths, facts: Facts, machine: Machine, on_step: Callable[[Message], None], cancel: threading.Event
) -> tuple[EngineDiagnosis, ...]:
    """List and test the devices of each installed engine except the default one.

    The arguments are as for `examination.examine`.
    """
    diagnoses = []
    others = [name for name in installable() if name != DEFAULT_ENGINE]  # examined earlier
    for engine in others:
        seen = engine_folder(paths, engine).look()
        if seen.state == "absent" or cancel.is_set():
            continue
        trials: list[Trial] = []
        if seen.problem is None:
            title = engine_title(engine)
            on_step(message("doctor.starting_engine", engine=title))
            trials.append(run_trial("list", paths, cancel, engine=engine))
            for device in trials[0].devices:
                if not cancel.is_set():
                    on_step(message("doctor.testing_with", device=device.id, engine=title))
                    trials.append(run_trial(device.id, paths, cancel, engine=engine))
        diagnosed = diagnose_engine(engine, seen.stamp, facts, machine, trials)
        diagnoses.append(replace(diagnosed, problem=seen.problem))
    return tuple(diagnoses)


def diagnose_engine(
    engine: str, stamp: Stamp | None, facts: Facts, machine: Machine, trials: Sequence[Trial]
) -> EngineDiagnosis:
    """Diagnose an engine from the collected facts and trials. A pure function."""
    evidence = evidence_of(facts, trials, engine)
    cards = cards_for(engine, machine)
    listed = list(evidence.gpus)
    devices = [_processor(engine, evidence)] if trials else []
    for card in cards if trials else ():
        device = next((each for each in listed if each.name in (card.name, None)), listed[0] if listed else None)
        if device is None:
            devices.append(_unlisted(engine, stamp, machine, card, evidence))
        else:
            listed.remove(device)
            devices.append(_tried(engine, evidence, device, card))
    devices += [_tried(engine, evidence, device, None) for device in listed]
    tried = {device.name for device in devices}
    without = idle_cards(engine, machine) if trials else ()
    for card in without:
        if card.name not in tried:  # the lack of a build isn't considered a fault
            reasons = (no_build(engine, card, machine),)
            devices.append(DeviceDiagnosis(id=None, name=card.name, vendor=card.vendor, reasons=reasons))
    return EngineDiagnosis(
        engine=engine,
        title=engine_title(engine),
        version=stamp.version if stamp is not None else None,
        variant=stamp.variant if stamp is not None else None,
        problem=None,
        devices=tuple(devices),
        trials=tuple(trials),
    )


def _processor(engine: str, evidence: Evidence) -> DeviceDiagnosis:
    plain = DeviceDiagnosis(id="cpu", name="CPU", vendor="cpu")
    trial = evidence.trials.get("cpu") or evidence.listing
    if trial is None or trial.status == "cancelled" or (trial.target == "list" and trial.status == "completed"):
        return plain
    return _judged(engine, plain, evidence, trial)


def _tried(engine: str, evidence: Evidence, device: Device, card: Gpu | None) -> DeviceDiagnosis:
    name = device.name or (card.name if card is not None else "GPU")
    vendor = card.vendor if card is not None else "other"
    plain = DeviceDiagnosis(id=device.id, name=name, vendor=vendor)
    trial = evidence.trials.get(device.id)
    if trial is None or trial.status == "cancelled":
        return plain
    judged = _judged(engine, plain, evidence, trial)
    version = evidence.build.version if evidence.build is not None else ""
    if vendor == "apple" and _numbers(version) < OLDEST_RIGHT_MPS:
        said = message("doctor.old_mps", version=version, oldest=".".join(map(str, OLDEST_RIGHT_MPS)))
        fix = sentence("doctor.update_it")
        return replace(judged, state="not usable", reasons=(said,), is_fault=True, fix=fix)
    return judged


def _judged(engine: str, plain: DeviceDiagnosis, evidence: Evidence, trial: Trial) -> DeviceDiagnosis:
    if trial.status == "completed":
        took_s = sum(step.duration_s for step in trial.steps)
        return replace(plain, state="usable", reasons=(message("doctor.passed_work", took_s=took_s),))
    faults = evidence.logs[trial.target].faults
    if faults:
        return _by_row(engine, plain, evidence.facts, faults[0].signal)
    return replace(plain, reasons=(failure_of(trial),), fix=sentence("doctor.ask"), is_fault=True)


def _unlisted(
    engine: str, stamp: Stamp | None, machine: Machine, card: Gpu, evidence: Evidence
) -> DeviceDiagnosis:
    plain = DeviceDiagnosis(id=None, name=card.name, vendor=card.vendor)
    if evidence.listing is not None and evidence.listing.status == "cancelled":
        return plain
    on_offer = builds_for(engine, machine)
    variant = stamp.variant if stamp is not None else None
    other = next((offer for offer in on_offer if card in offer.gpus and offer.variant.name != variant), None)
    own = next((offer for offer in on_offer if offer.variant.name == variant), None)
    if other is not None and (own is None or card not in own.gpus):
        code = "doctor.other_build_untried" if other.variant.is_untried else "doctor.other_build"
        said = message(code, variant=str(variant), other=other.variant.name)
        command = f"{_install(engine)} --variant {other.variant.name}"
        # A build uses cards from one vendor. If it uses one, leaving another vendor's card idle is a choice.
        is_fault = own is None or not own.gpus
        fix = sentence("doctor.install_build")
        return replace(plain, reasons=(said,), fix=fix, commands=(command,), is_fault=is_fault)
    obstacle = _obstacle(on_offer, card)
    if obstacle is not None:
        # A driver can be updated, but an old card can't be fixed.
        return replace(plain, reasons=(obstacle,), is_fault=obstacle.code != "engines.not_for_this_card")
    if evidence.listing is not None and (faults := evidence.logs["list"].faults):
        return _by_row(engine, plain, evidence.facts, faults[0].signal)
    said = message("doctor.not_listed_by", engine=engine_title(engine))
    return replace(plain, reasons=(said,), fix=sentence("doctor.ask"), is_fault=True)


def _obstacle(on_offer: Sequence[BuildFit], card: Gpu) -> Message | None:
    """Return the reason why no build can use a card; None if one can."""
    if any(card in offer.gpus for offer in on_offer):
        return None
    return next((offer.obstacle for offer in on_offer if offer.variant.vendor == card.vendor), None)


def _by_row(engine: str, plain: DeviceDiagnosis, facts: Facts, row: Signal) -> DeviceDiagnosis:
    said = message("doctor.row_found", title=row.title, meaning=row.meaning)
    diagnosis = with_row(plain, facts, row, (said,))
    # Commands that repair TensorFlow don't repair this engine.
    commands = tuple(_install(engine) if REPAIR in command else command for command in diagnosis.commands)
    return replace(diagnosis, commands=tuple(dict.fromkeys(commands)), is_fault=row.severity == "fault")


def _install(engine: str) -> str:
    return f"python3 start.py engine install {engine}"


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.partition("+")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
