"""The `ab` command: runs a workload in two configurations alternately and reports which one is faster."""

import argparse

from app.cli.grammar import WORKLOAD, add_run_options, command, flag, option
from app.cli.groups import carry_out
from app.cli.parser import Parser
from app.cli.specs import make_spec
from app.cli.values import check_range, quoted, whole
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plain_text import safe_text
from app.core.plans.ab import ab_plan
from app.core.plans.experiments import EXPERIMENTS
from app.core.runs.plan_session import LABEL_LIMIT, PAIRS_LIMIT
from app.core.runs.runner import known_workload
from app.core.settings import load_settings
from workloads.protocol.errors import WorkloadError
from workloads.settings import settings_by_key

PAIRS = EXPERIMENTS["ab"].rounds


def _add_sides(parser: Parser, _: str) -> None:
    parser.description = f"{parser.description} {sentence('help.ab_keys', keys=list(settings_by_key()))}"
    add_run_options(parser)
    for side in ("a", "b"):
        help_text = sentence(f"help.ab_{side}")
        parser.add_argument(f"--{side}", default="", metavar="KEY=VALUE,…", help=help_text)
        parser.add_argument(f"--label-{side}", metavar="TEXT", help=sentence(f"help.ab_label_{side}"))


@command(
    "ab",
    WORKLOAD,
    _add_sides,
    option("--pairs", arguments={"pairs": PAIRS}, type=whole, default=PAIRS, metavar="N"),
    flag("--by-hand"),
)
def ab(options: argparse.Namespace, paths: Paths) -> int:
    check_range("--pairs", options.pairs, 1, PAIRS_LIMIT)
    asked = options.preset or options.epochs or options.steps
    if not asked and load_settings(paths.settings).preset == "sustained":
        options.preset = "quick"  # the user's preset is meant for single runs; an A/B test would take hours
    specs = make_spec(_side(options, "a"), paths), make_spec(_side(options, "b"), paths)
    labels = _label(options, "a"), _label(options, "b")
    if labels[0] == labels[1]:
        labels = "A", "B"
    return carry_out(ab_plan(specs, options.pairs, labels, by_hand=options.by_hand), options, paths)


def _label(options: argparse.Namespace, side: str) -> str:
    asked = " ".join((getattr(options, f"label_{side}") or "").split())
    if len(asked) > LABEL_LIMIT:
        option, given = f"--label-{side}", len(asked)
        raise UsageError(message("cli.label_too_long", option=option, limit=LABEL_LIMIT, given=given))
    label = asked or " ".join(getattr(options, side).split()) or sentence("compare.as_usual")
    return safe_text(label)[:LABEL_LIMIT]  # because the database rejects lone surrogates


def _side(options: argparse.Namespace, side: str) -> argparse.Namespace:
    changed = argparse.Namespace(**vars(options))
    changed.settings = list(options.settings)
    parameters = [parameter.name for parameter in known_workload(options.workload).parameters]
    seen: set[str] = set()
    for part in getattr(options, side).split(",") if getattr(options, side).strip() else ():
        name, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise UsageError(message("cli.bad_side", option=f"--{side}", value=quoted(part.strip())))
        setting = settings_by_key().get(name)
        sets = setting.name if setting else name
        if sets in seen:
            raise UsageError(message("cli.set_twice", option=f"--{side}", name=name))
        seen.add(sets)
        if setting is not None:
            try:
                setting.parse(text, f"{name} in --{side}")
            except WorkloadError as error:
                raise UsageError(error.message) from error
            setattr(changed, setting.name, text)
        elif name in parameters:
            changed.settings.append(f"{name}={text}")
        else:
            keys = [*settings_by_key(), *parameters]
            raise UsageError(message("cli.unknown_key", option=f"--{side}", name=quoted(name), known=keys))
    return changed
