"""The run settings, which apply to runs of any workload.

Forms, command-line options, A/B test keys, labels, records and comparisons are generated from these declarations.
A setting without a field in RunSpec is stored in `RunSpec.settings`, which the engines read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Parameter
from workloads.protocol.spec import DataChoice, ParameterValue, Precision, RunSpec, listed_gpus

Value = ParameterValue | None
AUTO = "auto"  # text for None: the engine chooses
SWITCH = {"on": True, "off": False}
_SWITCHED = {True: "on", False: "off", None: AUTO}
# Choices whose values are translated. All others are names.
_SPOKEN = ("data",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A run setting."""

    name: str  # name in specs
    # Type of the values: integer, one of several strings, on or off, device, or list of GPUs.
    kind: Literal["int", "choice", "switch", "device", "gpus"]
    default: Value = None  # None if the workload or the engine chooses
    flag: str = ""  # command-line option; "" for none
    choices: Callable[[], Iterable[str]] | None = None  # returns the values of a "choice"
    # Limits of an "int".
    minimum: int | None = None
    maximum: int | None = None
    unit: str = ""  # unit of an "int"; "" for a plain number
    zero_is_named: bool = False  # for an "int", whether 0 has a special meaning in a form, such as "all"
    may_be_auto: bool = False  # whether None is allowed, which lets the engine choose
    # How results with different values are compared: not at all ("must_match"), with a remark ("noted"), or
    # without one ("ignored").
    comparability: Literal["must_match", "noted", "ignored"] = "noted"
    # Whether the run form and the sides of an A/B test include the setting.
    in_form: bool = True
    in_ab: bool = True
    also: tuple[str, ...] = ()  # additional keys in an A/B test
    title: Callable[[str], str] = str  # returns the display title of a "choice", if it differs from the value

    @property
    def key(self) -> str:
        return self.flag.removeprefix("--")

    @property
    def is_choice(self) -> bool:
        """Whether there is anything to choose from. With a single engine, for example, there isn't."""
        return self.choices is None or len(self.allowed()) > 1

    @property
    def zero(self) -> Message | None:
        """Label for 0 in a form; None if 0 is an ordinary number."""
        return message(f"setting_zero.{self.name}") if self.zero_is_named else None

    def of(self, spec: RunSpec) -> Value:
        """Return the value of this setting in a spec."""
        if self.name in RunSpec.__struct_fields__:
            value: Value = getattr(spec, self.name)
            return value
        return spec.settings.get(self.name, self.default)

    @property
    def label(self) -> Message:
        """Display name in forms and lists."""
        return message(f"setting.{self.name}")

    @property
    def description(self) -> Message:
        return message(f"setting_help.{self.name}")

    def phrase(self, value: Value) -> Message:
        """Return a value as a self-contained phrase, such as "batch 64" or "without oneDNN"."""
        if value is None or isinstance(value, bool):
            return message(f"setting_value.{self.name}_{_SWITCHED[value]}")
        if self.kind == "device":
            return _device_phrase(str(value))
        if self.kind == "choice" and self.name in _SPOKEN and value in self.allowed():
            return message(f"setting_value.{self.name}_{value}")
        if isinstance(value, str) and self.kind in ("int", "switch"):  # supported only by another version
            return message("setting_value.unknown", label=self.label, value=value)
        shown = self.title(value) if isinstance(value, str) else value
        return message(f"setting_value.{self.name}", value=shown, count=value)

    def label_value(self, value: Value) -> Message:
        if value is None or isinstance(value, bool):
            return message(f"value.{_SWITCHED[value]}")
        return message("value.plain", value=self.title(value) if isinstance(value, str) else str(value))

    def parse(self, text: str, name: str = "") -> Value:
        """Parse user input. Raises WorkloadError, with `name` in the message."""
        if self.may_be_auto and text == AUTO:
            return None
        allowed = self.allowed()
        if allowed and text not in allowed:
            said = message(
                "setting.not_choice", name=name or self.key, choices=list(allowed), value=repr(text[:60])
            )
            raise WorkloadError("bad_parameters", said)
        if self.kind == "switch":
            return SWITCH[text]
        return int(text) if self.kind == "int" else text

    def check(self, value: Value) -> None:
        """Check a value. Raises WorkloadError with a message for the user if it is invalid."""
        if self.accepts(value):
            return
        shown = repr(value)[:60]
        if self.kind == "int":
            said = message("setting.not_in_range", name=self.label, value=shown, **self._limits())
        elif self.kind == "gpus":
            said = message("setting.not_gpus", value=shown)
        else:
            said = message("setting.not_choice", name=self.label, choices=list(self.allowed()), value=shown)
        raise WorkloadError("bad_parameters", said)

    def _limits(self) -> dict[str, int]:
        # 0 means no value in a form. In a spec, None does.
        least = 1 if self.default is None else 0
        return {"minimum": max(least, self.minimum or 0), "maximum": self.maximum or 2**31 - 1}

    def accepts(self, value: Value) -> bool:
        """Return whether a value is allowed."""
        if value is None:
            return self.may_be_auto or self.default is None
        if self.kind == "int":
            if not isinstance(value, int) or isinstance(value, bool):
                return False
            limits = self._limits()
            return limits["minimum"] <= value <= limits["maximum"]
        if self.kind == "switch":
            return isinstance(value, bool)
        if self.kind == "gpus":
            return bool(listed_gpus(value))
        return isinstance(value, str) and (self.choices is None or value in self.choices())

    def allowed(self) -> tuple[str, ...]:
        """Return the allowed values as text; () if they can't be listed."""
        automatic = (AUTO,) if self.may_be_auto else ()
        if self.kind == "switch":
            return (*SWITCH, *automatic)
        return (*self.choices(), *automatic) if self.choices is not None else ()

    def parameter(self, usual: Value = None, most: int | None = None) -> Parameter:
        """Return the parameter declaration for a form's editor.

        Args:
            usual: The workload's default, if it has one.
            most: The workload's maximum, if it differs from the setting's.
        """
        default = usual if self.default is None else self.default
        if self.kind == "int":
            most = most or self.maximum
            least = 0 if self.may_be_auto else self.minimum
            limits: dict[str, Any] = {"minimum": least, "maximum": most, "zero": self.zero, "unit": self.unit}
            return Parameter(self.name, "int", default or 0, self.description, **limits)
        if self.kind == "switch" and not self.may_be_auto:
            return Parameter(self.name, "bool", bool(default), self.description)
        shown = AUTO if default is None else str(default)
        return Parameter(self.name, "choice", shown, self.description, choices=self.allowed())

    def from_editor(self, value: ParameterValue) -> Value:
        """Convert an editor's value. 0 and "auto" let the workload or the engine choose."""
        if self.kind == "int":
            return None if value == 0 and self.default is None else value
        return self.parse(value) if isinstance(value, str) else value


def _device_phrase(device: str) -> Message:
    kind, _, number = device.partition(":")
    if kind == "gpu" and number:
        return message("setting_value.device_gpu", number=number)
    return (
        message(f"setting_value.device_{device}")
        if device in ("auto", "cpu")
        else message("value.plain", value=device)
    )


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="epochs",
        kind="int",
        flag="--epochs",
        minimum=1,
        maximum=100_000,
        comparability="ignored",
        in_ab=False,
    ),
    Setting(
        name="steps",
        kind="int",
        flag="--steps",
        minimum=0,
        zero_is_named=True,
        comparability="ignored",
        in_ab=False,
    ),
    Setting(name="batch_size", kind="int", flag="--batch", minimum=1, maximum=2**20, comparability="must_match"),
    Setting(
        name="engine",
        kind="choice",
        default=DEFAULT_ENGINE,
        flag="--engine",
        choices=lambda: ENGINES,
        in_form=False,  # chosen together with the device
        title=engine_title,
    ),
    Setting(
        name="device",
        kind="device",
        default="auto",
        flag="--device",
        in_form=False,  # has its own control there
    ),
    Setting(
        name="devices",
        kind="int",
        default=1,
        flag="--devices",
        minimum=1,
        maximum=64,
        in_form=False,  # chosen together with the device
    ),
    Setting(
        name="gpus",  # only if they aren't consecutive
        kind="gpus",
        in_form=False,
        in_ab=False,
        title=lambda numbers: numbers.replace(",", ", "),
    ),
    Setting(
        name="machines",
        kind="int",
        default=1,
        minimum=1,
        maximum=64,
        in_form=False,  # set when a run on several computers starts
        in_ab=False,
    ),
    Setting(
        name="precision",
        kind="choice",
        default="float32",
        flag="--precision",
        choices=lambda: get_args(Precision),
        comparability="must_match",
    ),
    Setting(name="jit", kind="switch", default=False, flag="--jit", also=("xla",)),
    Setting(name="onednn", kind="switch", flag="--onednn", may_be_auto=True),
    Setting(
        name="tf32",
        kind="switch",
        flag="--tf32",
        may_be_auto=True,
        in_form=False,  # rarely useful
    ),
    Setting(
        name="threads",
        kind="int",
        flag="--threads",
        minimum=1,
        maximum=4_096,
        may_be_auto=True,
        zero_is_named=True,
    ),
    Setting(
        name="cpus", kind="int", flag="--cpus", minimum=1, maximum=4_096, may_be_auto=True, zero_is_named=True
    ),
    Setting(
        name="power_limit_w",
        kind="int",
        flag="--power-limit",
        minimum=1,
        maximum=10_000,
        unit="W",
        may_be_auto=True,
        zero_is_named=True,
        comparability="ignored",  # the limit in force is recorded and compared
        in_form=False,  # only the user can change it, outside Epochmark
    ),
    Setting(
        name="data",
        kind="choice",
        flag="--data",
        choices=lambda: get_args(DataChoice),
        in_form=False,  # has its own control there
    ),
    Setting(name="seed", kind="int", default=0, flag="--seed", minimum=0, comparability="ignored"),
)
# Settings with their own column in records, for the requested or the actual value.
COLUMNS = frozenset(
    {
        *("epochs", "steps", "batch_size", "engine", "device", "precision", "jit", "threads", "data", "seed"),
        "power_limit_w",
    }
)


def all_settings() -> tuple[Setting, ...]:
    """Return the settings in the order used in forms."""
    return SETTINGS


def settings_by_key() -> dict[str, Setting]:
    """Return the settings in which the sides of an A/B test or a study's configurations may differ, by key."""
    return {key: setting for setting in all_settings() if setting.in_ab for key in (setting.key, *setting.also)}


def split_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values by setting name to RunSpec fields. Values without a field are put into `settings`."""
    fields = {name: value for name, value in values.items() if name in RunSpec.__struct_fields__}
    others = {setting.name: setting for setting in all_settings() if setting.name not in RunSpec.__struct_fields__}
    extra = {
        name: value
        for name, value in values.items()
        if name in others and value is not None and value != others[name].default
    }
    return fields | ({"settings": extra} if extra else {})


def gpu_settings(numbers: Iterable[int]) -> dict[str, Value]:
    """Return the run settings for training on these GPUs. `numbers` has at least one element and no duplicates."""
    gpus = sorted(numbers)
    settings: dict[str, Value] = {"device": f"gpu:{gpus[0]}", "devices": len(gpus)}
    if gpus[-1] - gpus[0] >= len(gpus):
        settings["gpus"] = ",".join(map(str, gpus))
    return settings


def recorded_text(spec: RunSpec) -> str:
    """Return the non-default settings that have no column, as "name=value …"."""
    others = (setting for setting in all_settings() if setting.name not in COLUMNS)
    values = ((setting.name, setting.of(spec)) for setting in others if setting.of(spec) != setting.default)
    return " ".join(f"{name}={_typed_text(value)}" for name, value in values)


def read_recorded(text: str) -> dict[str, Value]:
    """Parse "name=value …" into values by name. Values of unknown names are kept as text."""
    rows = {setting.name: setting for setting in all_settings()}
    parts = (part.partition("=") for part in text.split())
    return {name: _read(rows.get(name), value) for name, _, value in parts}


def text_without(text: str, *names: str) -> str:
    """Return a recorded text without these settings."""
    return " ".join(part for part in text.split() if part.partition("=")[0] not in names)


def unknown_recorded(text: str) -> list[str]:
    """Return the parts of a recorded text that this version doesn't support, sorted."""
    rows = {setting.name: setting for setting in all_settings()}
    return sorted(
        f"{name}={value}" if value != "" else name
        for name, value in read_recorded(text).items()
        if name not in rows or not rows[name].accepts(value)
    )


def _read(setting: Setting | None, text: str) -> Value:
    try:
        return text if setting is None else setting.parse(text)
    except (WorkloadError, ValueError):
        return text


def _typed_text(value: Value) -> str:
    if value is None:
        return AUTO
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
