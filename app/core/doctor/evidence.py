"""The input of a diagnosis: the facts, and each trial with the findings in its log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.core.doctor.facts import Facts
from app.core.doctor.trial import Build, Device, Trial
from app.core.known_lines.logs import LogDiagnosis, diagnose_log
from workloads.engines.registry import DEFAULT_ENGINE

# Rows from this rank on are about GPUs; earlier rows are about TensorFlow itself and the computer.
FIRST_RANK_OF_GPUS = 20
# Rows about the end of a process, with or without a GPU.
_RANKS_OF_PROCESSES = range(60, 70)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts, and the trials and diagnosed logs by target: a device or "list"."""

    facts: Facts
    trials: dict[str, Trial]
    logs: dict[str, LogDiagnosis]

    @property
    def listing(self) -> Trial | None:
        """The trial that lists the devices; None if it wasn't run."""
        return self.trials.get("list")

    @property
    def build(self) -> Build | None:
        return self.listing.build if self.listing else None

    @property
    def gpus(self) -> tuple[Device, ...]:
        devices = self.listing.devices if self.listing else ()
        return tuple(device for device in devices if device.id != "cpu")

    @property
    def complete(self) -> bool:
        return self.listing is not None and all(trial.status != "cancelled" for trial in self.trials.values())


def evidence_of(facts: Facts, trials: Sequence[Trial], engine: str = DEFAULT_ENGINE) -> Evidence:
    """Combine facts and an engine's trials. Errors of failed imports and steps are added to the logs."""
    return Evidence(
        facts, {trial.target: trial for trial in trials}, {trial.target: _log(trial, engine) for trial in trials}
    )


def _log(trial: Trial, engine: str) -> LogDiagnosis:
    said = (trial.import_error or "", *(step.error or "" for step in trial.steps), trial.log)
    diagnosis = diagnose_log("\n".join(said), engine)
    if trial.status == "completed":  # its results matter more than its messages
        diagnosis = replace(diagnosis, unknown_lines=(), unknown=False)
    if trial.target != "cpu":
        return diagnosis
    # GPUs are hidden from this trial. This causes errors in TensorFlow's log.
    own = tuple(
        finding
        for finding in diagnosis.findings
        if finding.signal.rank < FIRST_RANK_OF_GPUS or finding.signal.rank in _RANKS_OF_PROCESSES
    )
    return replace(diagnosis, findings=own)
