"""The run settings, which apply to runs of any workload.

Forms, command-line options, A/B test keys, labels, records and comparisons are generated from these declarations.
A setting without a field in RunSpec is stored in `RunSpec.settings`, which the engines read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import AUTO, Choice, Kind, OnOff, Parameter, Whole
from workloads.protocol.spec import DataChoice, ParameterValue, Precision, RunSpec, listed_gpus

Value = ParameterValue | None
LARGEST = 2**31 - 1


def _text_of(value: Value) -> str:
    if value is None:
        return AUTO
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """A run setting."""

    name: str  # name in specs
    kind: Kind
    # Whether other values than the workload's change only the speed, or also the losses, which the loss bands
    # then don't apply to. A precision has its own bands.
    changes: Literal["speed", "learning"]
    default: Value = None  # None if the workload or the engine chooses
    flag: str = ""  # command-line option; "" for none
    may_be_auto: bool = False  # whether None is allowed, which lets the engine choose
    # How results with different values are compared: not at all ("must_match"), with a remark ("noted"), or
    # without one ("ignored").
    comparability: Literal["must_match", "noted", "ignored"] = "noted"
    # Whether the run form and the sides of an A/B test include the setting.
    in_form: bool = True
    in_ab: bool = True
    also: tuple[str, ...] = ()  # additional keys in an A/B test

    @property
    def key(self) -> str:
        return self.flag.removeprefix("--")

    @property
    def is_choice(self) -> bool:
        """Whether there is anything to choose from. With a single engine, for example, there isn't."""
        return len(self.allowed()) != 1

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
            return message(f"setting_value.{self.name}_{_text_of(value)}")
        if isinstance(value, str) and not self.kind.is_text:  # supported only by another version
            return message("setting_value.unknown", label=self.label, value=value)
        return self.kind.phrase(self.name, value)

    def label_value(self, value: Value) -> Message:
        if value is None or isinstance(value, bool):
            return message(f"value.{_text_of(value)}")
        return message("value.plain", value=self.kind.title(str(value)))

    def parse(self, text: str, name: str = "") -> Value:
        """Parse user input. Raises WorkloadError, with `name` in the message."""
        if self.may_be_auto and text == AUTO:
            return None
        allowed = self.allowed()
        if allowed and text not in allowed:
            raise self._refusal(name or self.key, text)
        try:
            return self.kind.parse(text)
        except ValueError:
            raise self._refusal(name or self.key, text) from None

    def check(self, value: Value) -> None:
        """Check a value. Raises WorkloadError with a message for the user if it is invalid."""
        if not self.accepts(value):
            raise self._refusal(self.label, value)

    def _refusal(self, name: str | Message, value: Value) -> WorkloadError:
        kind = Choice(choices) if (choices := self.allowed()) else self.kind
        return WorkloadError("bad_parameters", kind.refusal(name, repr(value)[:60]))

    def accepts(self, value: Value) -> bool:
        """Return whether a value is allowed."""
        if value is None:
            return self.may_be_auto or self.default is None
        return self.kind.accepts(value)

    def allowed(self) -> tuple[str, ...]:
        """Return the allowed values as text; () if they can't be listed."""
        values = self.kind.allowed()
        return (*values, AUTO) if values and self.may_be_auto else values

    def parameter(self, default: Value = None, most: int | None = None) -> Parameter:
        """Return the parameter declaration for a form's editor.

        Args:
            default: The workload's default, if it has one.
            most: The workload's maximum, if it differs from the setting's.
        """
        value = self.in_editor(self.default if default is None else default)
        kind = self.kind.in_form(may_be_auto=self.may_be_auto, most=most)
        return Parameter(self.name, kind, value, self.description, own_label=self.label)

    def in_editor(self, value: Value) -> ParameterValue:
        """Convert a value for its editor. 0 and "auto" let the workload or the engine choose."""
        if value is None:
            return 0 if self.kind.zero else AUTO
        return _text_of(value) if isinstance(value, bool) and self.may_be_auto else value

    def from_editor(self, value: ParameterValue) -> Value:
        if self.kind.zero and value == 0:
            return None
        return self.parse(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Device(Kind):
    """The name of a device, such as "cpu" or "gpu:0"."""

    metavar = "auto|cpu|gpu:N"

    def phrase(self, name: str, value: ParameterValue) -> Message:
        kind, _, number = str(value).partition(":")
        if kind == "gpu" and number:
            return message("setting_value.device_gpu", number=number)
        if value in (AUTO, "cpu"):
            return message(f"setting_value.device_{value}")
        return message("value.plain", value=value)


@dataclass(frozen=True)
class Gpus(Kind):
    """A list of GPUs that aren't consecutive, such as "0,2"."""

    name = "gpus"

    def accepts(self, value: object) -> bool:
        return bool(listed_gpus(value))

    def title(self, value: str) -> str:
        return value.replace(",", ", ")


def _counted(name: str, most: int, unit: str | None = None) -> Whole:
    """Return the kind of a number whose 0 has a name in forms."""
    return Whole(1, most, unit, message(f"setting_zero.{name}"))


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="epochs",
        changes="speed",
        kind=Whole(1, 100_000),
        flag="--epochs",
        comparability="ignored",
        in_ab=False,
    ),
    Setting(
        name="steps",
        changes="speed",
        kind=_counted("steps", LARGEST),
        flag="--steps",
        comparability="ignored",
        in_ab=False,
    ),
    Setting(
        name="batch_size", kind=Whole(1, 2**20), flag="--batch", comparability="must_match", changes="learning"
    ),
    Setting(
        name="engine",
        changes="speed",
        kind=Choice(ENGINES, engine_title),
        default=DEFAULT_ENGINE,
        flag="--engine",
        in_form=False,  # chosen together with the device
    ),
    Setting(
        name="device",
        changes="speed",
        kind=Device(),
        default="auto",
        flag="--device",
        in_form=False,  # has its own control there
    ),
    Setting(
        name="devices",
        changes="speed",
        kind=Whole(1, 64),
        default=1,
        flag="--devices",
        in_form=False,  # chosen together with the device
    ),
    Setting(
        name="gpus", changes="speed", kind=Gpus(), in_form=False, in_ab=False
    ),  # only if they aren't consecutive
    Setting(
        name="machines",
        changes="speed",
        kind=Whole(1, 64),
        default=1,
        in_form=False,  # set when a run on several computers starts
        in_ab=False,
    ),
    Setting(
        name="precision",
        changes="speed",
        kind=Choice(get_args(Precision)),
        default="float32",
        flag="--precision",
        comparability="must_match",
    ),
    Setting(
        name="attention",
        changes="speed",
        kind=Choice(("plain", "fused"), is_translated=True),
        flag="--attention",
        may_be_auto=True,
    ),
    Setting(name="jit", changes="speed", kind=OnOff(), default=False, flag="--jit", also=("xla",)),
    Setting(name="onednn", changes="speed", kind=OnOff(), flag="--onednn", may_be_auto=True),
    Setting(
        name="tf32", changes="speed", kind=OnOff(), flag="--tf32", may_be_auto=True, in_form=False
    ),  # rarely useful
    Setting(name="threads", changes="speed", kind=_counted("threads", 4_096), flag="--threads", may_be_auto=True),
    Setting(name="cpus", changes="speed", kind=_counted("cpus", 4_096), flag="--cpus", may_be_auto=True),
    Setting(
        name="power_limit_w",
        changes="speed",
        kind=_counted("power_limit_w", 10_000, "W"),
        flag="--power-limit",
        may_be_auto=True,
        comparability="ignored",  # the limit in force is recorded and compared
        in_form=False,  # only the user can change it, outside Epochmark
    ),
    Setting(
        name="data",
        changes="speed",
        kind=Choice(get_args(DataChoice), is_translated=True),
        flag="--data",
        in_form=False,  # has its own control there
    ),
    Setting(
        name="seed", changes="speed", kind=Whole(0, LARGEST), default=0, flag="--seed", comparability="ignored"
    ),
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
    return " ".join(f"{name}={_text_of(value)}" for name, value in values)


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
