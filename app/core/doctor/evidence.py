"""What a diagnosis is made from: the facts, and each trial with what its log says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.core.doctor.facts import Facts
from app.core.doctor.logs import LogDiagnosis, diagnose_log
from app.core.doctor.trial import Build, Device, Trial

# Rows of the table from here on are about graphics cards, those before about TensorFlow itself.
FIRST_RANK_OF_GPUS = 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts and trials, by the device or "list" that each was about."""

    facts: Facts
    trials: dict[str, Trial]
    logs: dict[str, LogDiagnosis]

    @property
    def listing(self) -> Trial | None:
        """The trial that lists the devices, None if it was not made."""
        return self.trials.get("list")

    @property
    def build(self) -> Build | None:
        """How TensorFlow was built, None if it did not say."""
        return self.listing.build if self.listing else None

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The GPUs that TensorFlow lists."""
        devices = self.listing.devices if self.listing else ()
        return tuple(device for device in devices if device.id != "cpu")

    @property
    def complete(self) -> bool:
        """Whether nothing was cancelled."""
        return self.listing is not None and all(trial.status != "cancelled" for trial in self.trials.values())


def evidence_of(facts: Facts, trials: Sequence[Trial]) -> Evidence:
    """Put facts and trials together; what failed imports and steps say counts as said in the log."""
    return Evidence(
        facts,
        {trial.target: trial for trial in trials},
        {trial.target: _log(trial) for trial in trials},
    )


def _log(trial: Trial) -> LogDiagnosis:
    diagnosis = diagnose_log(_said(trial))
    if trial.status == "completed":  # what it did matters more than what it muttered
        diagnosis = replace(diagnosis, unknown_lines=(), unknown=False)
    if trial.target != "cpu":
        return diagnosis
    # Graphics cards are hidden from this one, about which TensorFlow complains.
    own = tuple(finding for finding in diagnosis.findings if finding.signal.rank < FIRST_RANK_OF_GPUS)
    return replace(diagnosis, findings=own)


def _said(trial: Trial) -> str:
    return "\n".join([trial.import_error or "", *(step.error or "" for step in trial.steps), trial.log])
