"""Fills the setup of an A/B with what a stored one was asked for."""

from app.core.records import Plan
from app.core.runs.plan_session import LABEL_LIMIT
from app.gui.pages.ab.setup import AbSetup, SideForm, side_settings
from app.gui.widgets.editors import in_editor, set_edited
from workloads.protocol.spec import RunSpec
from workloads.settings import differing


def refill(setup: AbSetup, plan: Plan) -> None:
    """Set the form to a plan, as far as it has a place for each value: folders to measure have none."""
    place = setup.workload.findData(plan.specs[0].workload)
    if place < 0:
        return
    setup.workload.setCurrentIndex(place)
    if plan.specs[0].preset in setup.preset.buttons:
        setup.preset.select(plan.specs[0].preset)
        setup.preset.chosen.emit(plan.specs[0].preset)
    setup.pairs.setValue(plan.rounds)
    setup.by_hand.setChecked(plan.by_hand)
    labels = (plan.label_a, plan.label_b)
    for side, spec, label, own in zip(setup.sides, plan.specs, labels, differing(*plan.specs[:2]), strict=False):
        _refill_side(side, spec)
        # A name that the settings give anyway is left to them, so that it changes with them.
        side.name.setText("" if label in (side.side, own[:LABEL_LIMIT]) else label)


def _refill_side(side: SideForm, spec: RunSpec) -> None:
    side.engine.select(spec.engine)
    side.device.select(spec.engine, spec.device)
    if spec.device == "auto":
        side.device.setCurrentIndex(0)
    for setting in side_settings():
        editor = side.editors[setting.name]
        if setting.name not in ("engine", "device") and editor.isEnabled():  # some engines leave no choice
            set_edited(editor, in_editor(setting.of(spec), setting.parameter()))
