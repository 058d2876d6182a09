"""The verb `ab`: two ways to run the same workload, in turn, and which of them is faster."""

import argparse
from typing import Any

from app.cli.groups import carry_out
from app.cli.specs import make_spec
from app.cli.values import quoted, read_whole
from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.plain_text import safe_text
from app.core.runs.runner import known_workload
from app.core.runs.sequence import LABEL_LIMIT, PAIRS_LIMIT, Plan
from app.core.settings import load_settings
from workloads.protocol.errors import WorkloadError
from workloads.settings import AUTO, Setting, all_settings

USUAL = "as usual"


def ab(options: argparse.Namespace, paths: Paths) -> int:
    """Run an A/B; returns 0 done, 1 failed, 130 cancelled."""
    if not 1 <= options.pairs <= PAIRS_LIMIT:
        raise UsageError(f"--pairs must be at least 1 and at most {PAIRS_LIMIT}, not {options.pairs}.")
    asked = options.preset or options.epochs or options.steps
    if not asked and load_settings(paths.settings).preset == "sustained":
        options.preset = "quick"  # a wish for single runs: an A/B of it would take hours
    specs = tuple(make_spec(_side(options, name), paths) for name in ("a", "b"))
    if specs[0] == specs[1] and not options.by_hand:
        raise UsageError(
            "Both sides are the same.",
            "Say with --a and --b what differs, or use --by-hand for what you change yourself.",
        )
    labels = [_label(options, name) for name in ("a", "b")]
    if labels[0] == labels[1]:
        labels = ["A", "B"]
    plan = Plan(
        kind="ab",
        specs=specs,
        times=options.pairs,
        label_a=labels[0],
        label_b=labels[1],
        by_hand=options.by_hand,
    )
    return carry_out(plan, options, paths)


def _label(options: argparse.Namespace, side: str) -> str:
    """Return what a side is called: as the user says, or else what is special about it."""
    asked = " ".join((getattr(options, f"label_{side}") or "").split())
    if len(asked) > LABEL_LIMIT:
        raise UsageError(f"--label-{side} may have {LABEL_LIMIT} characters, not {len(asked)}.")
    label = asked or " ".join(getattr(options, side).split()) or USUAL
    return safe_text(label)[:LABEL_LIMIT]  # also because the database takes no halves of characters


def _side(options: argparse.Namespace, side: str) -> argparse.Namespace:
    """Return the options with what one side has of its own."""
    changed = argparse.Namespace(**vars(options))
    changed.settings = list(options.settings)
    parameters = [parameter.name for parameter in known_workload(options.workload).parameters]
    seen: set[str] = set()
    for part in getattr(options, side).split(",") if getattr(options, side).strip() else ():
        name, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise UsageError(f"--{side} takes KEY=VALUE, several separated by commas, not {quoted(part.strip())}.")
        setting = side_keys().get(name)
        sets = setting.name if setting else name
        if sets in seen:
            raise UsageError(f"--{side} says {name} twice.")
        seen.add(sets)
        if setting is not None:
            try:
                setattr(changed, setting.name, _typed(setting, f"{name} in --{side}", text))
            except WorkloadError as error:
                raise UsageError(error.said) from error
        elif name in parameters:
            changed.settings.append(f"{name}={text}")
        else:
            known = ", ".join((*side_keys(), *parameters))
            raise UsageError(f"--{side} has {quoted(name)}, which is none of: {known}.")
    return changed


def _typed(setting: Setting, name: str, text: str) -> Any:
    """Read what a side says of a setting, as the option of that name takes it."""
    if setting.kind != "int" or (setting.may_be_auto and text == AUTO):
        setting.typed(text, name)
        return text
    try:
        return read_whole(text)
    except UsageError as error:
        raise UsageError(f"{name} {error}.") from None


def side_keys() -> dict[str, Setting]:
    """Return the run settings that the sides of an A/B may differ in, by each of their names."""
    return {key: setting for setting in all_settings() if setting.in_ab for key in (setting.key, *setting.also)}
