"""Fills the setup of a run with what a stored run or plan was asked for."""

from app.core.records import Plan
from app.gui.pages.benchmark.setup import SetupView
from app.gui.widgets.editors import in_editor
from workloads.protocol.spec import RunSpec
from workloads.settings import Value, all_settings


def refill(setup: SetupView, plan: Plan) -> None:
    """Set the form to a plan's first run and its number of runs, as far as the form has a place for each value."""
    spec = plan.specs[0]
    setup.workload.choose(spec.workload)
    setup.presets[spec.preset].setChecked(True)
    _choose_device(setup, spec)
    setup.dataset.choose(spec.data)
    workload = setup.chosen_workload
    values: dict[str, Value] = {
        parameter.name: spec.parameters.get(parameter.name, parameter.default) for parameter in workload.parameters
    }
    values |= {setting.name: setting.of(spec) for setting in all_settings()}
    if spec.preset != "standard":  # which has no epochs to choose
        values |= {"epochs": workload.epochs, "steps": None}
    values |= {"repeat": plan.rounds, "all_engines": len(plan.specs) > 1}
    edited = setup.form.values()
    for parameter in (*workload.parameters, *workload.setting_parameters()):
        setup.form.set_value(parameter.name, in_editor(values[parameter.name], parameter))
    for name in ("repeat", "all_engines"):
        if name in edited:
            value = values[name]
            assert value is not None
            setup.form.set_value(name, value)


def _choose_device(setup: SetupView, spec: RunSpec) -> None:
    """Choose engine and device; "automatic" is the first entry if that stands for the same engine."""
    if spec.device != "auto":
        setup.device.select(spec.engine, spec.device)
        return
    setup.device.setCurrentIndex(0)
    if setup.device.engine != spec.engine:
        for device in ("cpu", "gpu:0"):  # the last one that is there stays
            setup.device.select(spec.engine, device)
