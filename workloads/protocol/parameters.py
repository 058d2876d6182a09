"""Declarations of parameters. Forms, command-line options and validation are generated from these declarations."""

import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from workloads.protocol.errors import WorkloadError
from workloads.protocol.folders import is_folder
from workloads.protocol.messages import Message, message, quoted
from workloads.protocol.spec import ParameterValue

AUTO = "auto"  # text for None: the engine chooses
FOLDERS_LIMIT = 8


class Kind:
    """The values that a parameter or a run setting may have."""

    name: ClassVar[str]  # of the kind, in JSON and in the sentence that refuses a value
    is_text: ClassVar[bool] = True  # whether values are strings
    is_number: ClassVar[bool] = False
    metavar: ClassVar[str] = ""  # stands for a value in a command's help
    unit: str | None = None
    zero: Message | None = None  # label for 0, such as "automatic", if it has a special meaning; otherwise None

    def parse(self, text: str) -> ParameterValue:
        """Convert text to a value, which may not be allowed. Raises ValueError if it can't be converted."""
        return text

    def accepts(self, value: object) -> bool:
        """Return whether a value is allowed. Raises WorkloadError if there is more to say than that it isn't."""
        return isinstance(value, str)

    def allowed(self) -> tuple[str, ...]:
        """Return the allowed values as text; () if they can't be listed."""
        return ()

    def title(self, value: str) -> str:
        return value

    def phrase(self, name: str, value: ParameterValue) -> Message:
        """Return a setting's value as a self-contained phrase, such as "batch 64"."""
        shown = self.title(value) if isinstance(value, str) else value
        return message(f"setting_value.{name}", value=shown, count=value)

    def in_form(self, *, may_be_auto: bool, most: float | None) -> "Kind":
        """Return the kind of a form's editor.

        Args:
            may_be_auto: Whether the engine may choose the value.
            most: The workload's maximum, if it differs.
        """
        values = self.allowed()
        return Choice((*values, AUTO)) if values and may_be_auto else self

    def refusal(self, name: str | Message, value: str) -> Message:
        """Return the sentence that refuses a value, given as text."""
        return message(f"parameter.not_{self.name}", name=name, value=value, **self._expected())

    def _expected(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Fraction(Kind):
    """Finite numbers."""

    minimum: float | None = None  # None for no limit
    maximum: float | None = None
    unit: str | None = None
    zero: Message | None = None

    name = "float"
    is_text = False
    is_number = True
    metavar = "N"
    _types: ClassVar[Any] = (int, float)

    def parse(self, text: str) -> ParameterValue:
        return float(text)

    def accepts(self, value: Any) -> bool:
        # Written so that NaN and infinity are outside every range, and huge integers aren't converted to float.
        if not isinstance(value, self._types) or isinstance(value, bool):
            return False
        low, high = self.minimum, self.maximum
        is_within = (low is None or low <= value) and (high is None or value <= high)
        return bool(is_within and -math.inf < value < math.inf)

    def in_form(self, *, may_be_auto: bool, most: float | None) -> Kind:
        return replace(self, minimum=0 if self.zero else self.minimum, maximum=most or self.maximum)

    def _expected(self) -> dict[str, Any]:
        unit = message("parameter.in_unit", unit=self.unit) if self.unit else None
        return {"limits": self._limits(), "unit": unit}

    def _limits(self) -> Message | None:
        if self.minimum is not None and self.maximum is not None:
            return message("parameter.range", minimum=self.minimum, maximum=self.maximum)
        if self.minimum is not None:
            return message("parameter.minimum", minimum=self.minimum)
        return None if self.maximum is None else message("parameter.maximum", maximum=self.maximum)


@dataclass(frozen=True)
class Whole(Fraction):
    """Integers."""

    name = "int"
    _types = int

    def parse(self, text: str) -> ParameterValue:
        return int(text)


@dataclass(frozen=True)
class OnOff(Kind):
    """On or off."""

    name = "bool"
    is_text = False

    def parse(self, text: str) -> ParameterValue:
        switches = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
        if text.lower() not in switches:
            raise ValueError(text)
        return switches[text.lower()]

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def allowed(self) -> tuple[str, ...]:
        return ("on", "off")


@dataclass(frozen=True)
class Choice(Kind):
    """One of several strings."""

    choices: Collection[str]
    title_of: Callable[[str], str] = str  # returns a value's display title
    is_translated: bool = False  # whether the phrases of values are translated; otherwise, they are names

    name = "choice"

    def accepts(self, value: object) -> bool:
        return value in self.choices

    def allowed(self) -> tuple[str, ...]:
        return tuple(self.choices)

    def title(self, value: str) -> str:
        return self.title_of(value)

    def phrase(self, name: str, value: ParameterValue) -> Message:
        if self.is_translated and value in self.choices:
            return message(f"setting_value.{name}_{value}")
        return super().phrase(name, value)

    def _expected(self) -> dict[str, Any]:
        return {"choices": list(self.choices)}


@dataclass(frozen=True)
class Folders(Kind):
    """One or more paths of folders, separated as in PATH."""

    name = "folders"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        _check_folders(folders_of(value))
        return True

    def _expected(self) -> dict[str, Any]:
        return {"separator": os.pathsep}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a workload."""

    name: str
    kind: Kind
    default: ParameterValue
    description: Message
    # Whether non-default values change the network, so that results are compared only within the same variant.
    in_variant: bool = True
    required: bool = False  # for folders, whether a run needs at least one folder

    @property
    def label(self) -> Message:
        """Display name without the unit, such as "Step" for "step_s". The unit is shown next to the value."""
        return message(f"parameter_label.{self.name}")

    def parse(self, text: str) -> ParameterValue:
        """Parse user input into a valid value. Raises WorkloadError with a message for the user."""
        try:
            return self.check(self.kind.parse(text))
        except ValueError:
            raise self._refusal(text) from None

    def check(self, value: ParameterValue) -> ParameterValue:
        """Return the value if it is valid. Otherwise, raise WorkloadError with a message for the user."""
        if not self.kind.accepts(value):
            raise self._refusal(value)
        return value

    def _refusal(self, value: object) -> WorkloadError:
        return WorkloadError("bad_parameters", self.kind.refusal(self.name, quoted(str(value)[:60])))


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
