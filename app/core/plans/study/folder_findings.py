"""Findings of studies that read from folders: the bottleneck of each phase, and the smallest sufficient setup.

The bottleneck is inferred by comparing configurations: either more CPUs or another folder made a phase faster in
all rounds, or neither did and reading from memory was equally fast. Pure functions.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.messages import sentence
from app.core.plans.study.axes import FOLDERS, axis_value
from app.core.plans.study.details import Details
from app.core.plans.study.points import Point, StudyResult
from app.core.plans.study.units import count_text

# Storage test case of each phase, with the corresponding case that reads from memory ("" if there is none).
PHASES = {"preprocess": "", "train_jpeg": "train_cache", "infer_jpeg": "infer_cache"}
# Speeds whose ratio is at least this count as equal.
CLOSE = 0.95


@dataclass(frozen=True, slots=True)
class _Spot:
    """Speed, in images per second, of a configuration in one phase: the median and range of its rounds."""

    cpus: int
    folder: str
    rate: float
    low: float
    high: float
    from_memory: float | None
    is_gpu: bool


def phase_title(case: str) -> str:
    return sentence(f"studies.phase_{case}")


def reading_findings(done: Sequence[Point], details: Details) -> list[str]:
    """Return sentences about the number of CPUs that is sufficient for all phases, and about each phase."""
    lines: list[str] = []
    enough: list[set[tuple[int, str]]] = []
    for case in PHASES:
        if not (spots := _spots(done, details, case)):
            continue
        best = max(spot.rate for spot in spots)
        near = [spot for spot in spots if spot.rate >= CLOSE * best]
        enough.append({(spot.cpus, spot.folder) for spot in near})
        lines += [_limit(case, spots), _smallest(case, near)]
    everywhere = set.intersection(*enough) if enough else set()
    if everywhere:
        cpus = min(cpus for cpus, _ in everywhere)
        folders = sorted(folder for count, folder in everywhere if count == cpus)
        lines.insert(0, sentence("studies.reading_enough", setup=_setup(cpus, folders)))
    elif enough:
        lines.insert(0, sentence("studies.reading_none"))
    if lines and any(len(rounds) < 2 for rates in details.phases.values() for rounds in rates.values()):
        lines.append(sentence("studies.reading_once"))
    return lines


def folder_lines(result: StudyResult) -> list[str]:
    """Return the names of the folders, for the user only, because they must not be shared."""
    if FOLDERS not in result.axes:
        return []
    place = result.axes.index(FOLDERS)
    names = {point.place[place]: str(axis_value(FOLDERS, point.spec)) for point in result.points}
    return [sentence("studies.folder_is", name=name, folder=names[name]) for name in sorted(names)]


def _spots(done: Sequence[Point], details: Details, case: str) -> list[_Spot]:
    spots = []
    for point in done:
        rates = details.phases.get(point.name, {})
        if (rounds := rates.get(case, ())) and min(rounds) > 0:
            device = (point.runs[-1].device or "") if point.runs else ""
            cpus = int(axis_value("cpus", point.spec) or 0)
            cached = rates.get(PHASES[case])
            memory, middle = statistics.median(cached) if cached else None, statistics.median(rounds)
            ends = min(rounds), max(rounds)
            spots.append(_Spot(cpus, point.place[-1], middle, *ends, memory, device.startswith("gpu")))
    return spots


def _limit(case: str, spots: Sequence[_Spot]) -> str:
    """Return a sentence about a phase's bottleneck, found by comparing the fastest configuration with others."""
    best = max(spots, key=lambda spot: spot.rate)
    fewer = min((spot for spot in spots if spot.folder == best.folder), key=lambda spot: spot.cpus)
    slower = min((spot for spot in spots if spot.cpus == best.cpus), key=lambda spot: spot.rate)
    phase, more, other = phase_title(case), _gain(best, fewer), _gain(best, slower)
    if best.is_gpu and best.from_memory is not None and best.rate >= CLOSE * best.from_memory:
        return sentence("studies.phase_gpu", phase=phase, share_pct=100 * best.rate / best.from_memory)
    if CLOSE * other > 1 and other >= more:
        return sentence("studies.phase_io", phase=phase, times=other, fast=best.folder, slow=slower.folder)
    if CLOSE * more > 1:
        return sentence("studies.phase_cpu", phase=phase, times=more, cpus=best.cpus, fewer=fewer.cpus)
    return sentence("studies.phase_open", phase=phase)


def _gain(best: _Spot, other: _Spot) -> float:
    """Return the ratio of the best configuration's speed to the other one's; 1.0 if their ranges overlap."""
    return best.rate / other.rate if best.low > other.high else 1.0


def _smallest(case: str, near: Sequence[_Spot]) -> str:
    cpus = min(spot.cpus for spot in near)
    chosen = [spot for spot in near if spot.cpus == cpus]
    setup = _setup(cpus, sorted(spot.folder for spot in chosen))
    rate = count_text(max(spot.rate for spot in chosen))
    return sentence("studies.phase_smallest", phase=phase_title(case), setup=setup, rate=rate)


def _setup(cpus: int, folders: Sequence[str]) -> str:
    """Return the number of CPUs and the alternative folders as text, without CPUs if they can't be limited."""
    if not cpus:
        return sentence("studies.setup_folder", folders=folders)
    return sentence("studies.setup", count=cpus, folders=folders)
