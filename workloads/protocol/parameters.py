"""Declarations of parameters. Forms, command-line options and validation are generated from these declarations."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workloads.protocol.errors import WorkloadError
from workloads.protocol.folders import is_folder
from workloads.protocol.messages import Message, message, quoted
from workloads.protocol.spec import ParameterValue

FOLDERS_LIMIT = 8


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a workload."""

    name: str
    kind: Literal["int", "float", "bool", "choice", "folders"]
    default: ParameterValue
    description: Message
    unit: str | None = None
    minimum: float | None = None  # of numbers; None for no limit
    maximum: float | None = None
    # Allowed values of a "choice". The value of a "folders" parameter is one or more paths, separated as in PATH.
    choices: tuple[str, ...] = ()
    zero: Message | None = None  # label for 0, such as "automatic", if it has a special meaning; otherwise None
    # Whether non-default values change the network, so that results are compared only within the same variant.
    in_variant: bool = True
    required: bool = False  # for "folders", whether a run needs at least one folder

    @property
    def label(self) -> Message:
        """Display name without the unit, such as "Step" for "step_s". The unit is shown next to the value."""
        return message(f"parameter_label.{self.name}")

    def parse(self, text: str) -> ParameterValue:
        """Parse user input into a valid value. Raises WorkloadError with a message for the user."""
        try:
            if self.kind == "int":
                return self.check(int(text))
            if self.kind == "float":
                return self.check(float(text))
        except ValueError:
            raise self._refusal(text) from None
        if self.kind == "bool":
            switches = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
            if text.lower() not in switches:
                raise self._refusal(text)
            return switches[text.lower()]
        return self.check(text)

    def check(self, value: ParameterValue) -> ParameterValue:
        """Return the value if it is valid. Otherwise, raise WorkloadError with a message for the user."""
        allowed: bool
        if self.kind == "choice":
            allowed = value in self.choices
        elif self.kind == "bool":
            allowed = isinstance(value, bool)
        elif self.kind == "folders":
            allowed = isinstance(value, str)
            _check_folders(folders_of(str(value)))
        else:
            numbers = (int,) if self.kind == "int" else (int, float)
            allowed = isinstance(value, numbers) and not isinstance(value, bool) and self._in_range(value)
        if not allowed:
            raise self._refusal(value)
        return value

    def _in_range(self, value: Any) -> bool:
        # Written so that NaN and infinity are outside every range, and huge integers aren't converted to float.
        return bool(
            (self.minimum is None or value >= self.minimum)
            and (self.maximum is None or value <= self.maximum)
            and -math.inf < value < math.inf
        )

    def _refusal(self, value: object) -> WorkloadError:
        given = quoted(str(value)[:60])
        said = message(f"parameter.not_{self.kind}", name=self.name, value=given, **self._allowed())
        return WorkloadError("bad_parameters", said)

    def _allowed(self) -> dict[str, Any]:
        if self.kind == "choice":
            return {"choices": list(self.choices)}
        if self.kind == "folders":
            return {"separator": os.pathsep}
        if self.kind == "bool":
            return {}
        unit = message("parameter.in_unit", unit=self.unit) if self.unit else None
        return {"limits": self._limits(), "unit": unit}

    def _limits(self) -> Message | None:
        if self.minimum is not None and self.maximum is not None:
            return message("parameter.range", minimum=self.minimum, maximum=self.maximum)
        if self.minimum is not None:
            return message("parameter.minimum", minimum=self.minimum)
        return None if self.maximum is None else message("parameter.maximum", maximum=self.maximum)


def folders_of(text: str) -> list[Path]:
    return [Path(part) for part in text.split(os.pathsep) if part]


def _check_folders(folders: list[Path]) -> None:
    """Check that all folders are writable. Raises WorkloadError with a message for the user."""
    if len(folders) > FOLDERS_LIMIT:
        said = message("folder.too_many", limit=FOLDERS_LIMIT, given=len(folders))
        raise WorkloadError("bad_parameters", said)
    seen: dict[Path, Path] = {}
    for folder in folders:
        if problem := _folder_problem(folder):
            raise WorkloadError("bad_parameters", problem)
        if (same := seen.setdefault(folder.resolve(), folder)) is not folder:
            said = message("folder.twice", first=str(same), second=str(folder))
            raise WorkloadError("bad_parameters", said)


def _folder_problem(folder: Path) -> Message | None:
    name = quoted(str(folder)[:1_000])
    if not folder.is_absolute():
        return message("folder.not_absolute", folder=name)
    try:
        if not is_folder(folder):
            return message("folder.missing", folder=name)
    except OSError as error:
        return message("folder.unreadable", folder=name, reason=str(error.strerror))
    if not os.access(folder, os.W_OK | os.X_OK):
        return message("folder.not_writable", folder=name)
    return None
