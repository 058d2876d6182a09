"""Display names of workloads, settings and other stored values."""

from app.core.messages import ENGLISH, Message, message, text
from workloads import CATALOGUE
from workloads.engines.registry import compiles_always
from workloads.protocol.spec import RunSpec
from workloads.settings import all_settings


def workload_title(name: str) -> str:
    """Return the title of a workload; an unknown name is returned unchanged."""
    return text(CATALOGUE[name].title) if name in CATALOGUE else name


def precision_title(precision: str) -> str:
    """Return the name of a precision: "mixed float16" for "mixed_float16"."""
    return precision.replace("_", " ")


def level_title(level: str) -> str:
    """Return the display name of the level of a verdict or reason, such as "Caution"."""
    return _known(message(f"level.{level}"), level)


def preset_title(preset: str) -> str:
    """Return the display name of a preset, such as "Quick"."""
    return _known(message(f"preset.{preset}"), preset)


def status_title(status: str) -> str:
    """Return the display name of a run's status, such as "Completed"."""
    return _known(message(f"status.{status}"), status)


def data_title(source: str | None) -> str:
    """Return the display name of a data source, such as "real data"; "" for None."""
    return _known(message(f"setting_value.data_{source}"), source) if source else ""


def cores_title(physical: int | None, logical: int | None) -> str:
    """Return core and thread counts as text, such as "2 cores, 4 threads"; "?" stands for None."""
    cores, threads = message("share.cores", count=physical or "?"), message("count.threads", count=logical or "?")
    return text(message("count.cores_and_threads", cores=cores, threads=threads))


def verdict_title(verdict: str | None) -> str:
    """Return the display name of a run's verdict; "n/a" for None."""
    return level_title(verdict) if verdict else "n/a"


def switch_title(name: str, is_on: bool | None) -> str:
    """Return a switch setting as text, such as "without oneDNN"; "" for None."""
    return "" if is_on is None else text(message(f"setting_value.{name}_{'on' if is_on else 'off'}"))


def throttle_message(reason: str) -> Message:
    """Return the reason why a GPU's clock is limited, such as "power cap"."""
    return message(f"throttle.{reason.replace(' ', '_')}")


def choice_title(choice: str) -> str:
    """Return a value as shown in a drop-down list. Names are unchanged."""
    return _known(message(f"value.{choice}"), choice)


def _known(name: Message, plain: str) -> str:
    """Return a display name, or the stored name if it is unknown to this version."""
    return text(name) if name.code in ENGLISH else plain


def differing(a: RunSpec, b: RunSpec) -> tuple[str, str]:
    """Describe how two specs differ, in one text for each spec; "A" and "B" if they don't differ."""
    apart = [setting for setting in all_settings() if setting.in_ab and setting.of(a) != setting.of(b)]
    if all(spec.jit == compiles_always(spec.engine) for spec in (a, b)):  # both use the engine's default
        apart = [setting for setting in apart if setting.name != "jit"]
    words = [", ".join(text(setting.phrase(setting.of(spec))) for setting in apart) for spec in (a, b)]
    return words[0] or "A", words[1] or "B"
