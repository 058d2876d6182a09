"""Records of a diagnosis: for a device, for an engine, and for the whole computer."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.core.doctor.checks import Check
from app.core.doctor.facts import Facts
from app.core.doctor.trial import Trial
from app.core.known_lines.logs import LogFinding
from app.core.messages import Message, message, sentence, text

State: TypeAlias = Literal["usable", "slow path", "not usable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDiagnosis:
    """The diagnosis of one device. Without a state, it hasn't been tested."""

    # Device as in run settings, such as "cpu" or "gpu:0"; None for a GPU that TensorFlow doesn't list.
    id: str | None
    name: str
    vendor: str  # cpu, nvidia, amd, intel, apple, other
    state: State = "not usable"
    reasons: tuple[Message, ...] = (message("doctor.untried"),)  # one or two messages that explain the state
    fix: str = ""  # the next step for the user; "" if there is nothing to do
    commands: tuple[str, ...] = ()  # commands for the fix on this system
    signal_id: str | None = None  # id of the matching row of the table; None if there is none
    link: str | None = None
    is_fault: bool = False  # Whether something is broken or missing. A device can be unusable without a fault.

    @property
    def why(self) -> str:
        return " ".join(map(text, self.reasons))

    @property
    def state_text(self) -> str:
        return sentence(f"doctor.device_{self.state.replace(' ', '_')}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDiagnosis:
    """The diagnosis of one engine."""

    engine: str
    title: str
    version: str | None  # None if not recorded in its folder, like the variant
    variant: str | None
    problem: Message | None  # reason why it can't be started at all; None if it can
    devices: tuple[DeviceDiagnosis, ...]  # the CPU first, then the GPUs it supports
    trials: tuple[Trial, ...]

    @property
    def name(self) -> str:
        return f"{self.title} {self.version or ''}".strip()

    @property
    def has_fault(self) -> bool:
        return self.problem is not None or any(device.is_fault for device in self.devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The whole diagnosis."""

    facts: Facts
    trials: tuple[Trial, ...]
    checks: tuple[Check, ...]
    devices: tuple[DeviceDiagnosis, ...]  # the CPU first
    findings: tuple[LogFinding, ...]  # rows that match the trials' logs, without duplicates, causes first
    harmless: tuple[LogFinding, ...]  # matching rows that need no attention
    unknown_lines: tuple[str, ...]  # lines in the trials' logs that look like errors but match no row
    conclusion: tuple[Message, ...]  # one or two messages; the first is the headline
    complete: bool  # whether the diagnosis was completed rather than cancelled
    engines: tuple[EngineDiagnosis, ...] = ()  # installed engines other than TensorFlow

    @property
    def overall(self) -> str:
        return " ".join(map(text, self.conclusion))

    @property
    def has_fault(self) -> bool:
        """Whether something is broken; having no GPU isn't a fault."""
        broken = any(part.is_fault for part in self.devices) or any(part.has_fault for part in self.engines)
        return broken or any(check.state == "fault" for check in self.checks)
