"""The setup of a run: network and preset, with device, data and more settings in a collapsible form."""

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.core.analysis.published import short_name
from app.core.engines.choices import Choice, most_gpus, offered_workloads
from app.core.errors import UsageError
from app.core.formats import format_gpu_memory, format_installed_memory
from app.core.messages import Message, message, sentence, text
from app.core.records import Plan
from app.core.runs.current_network import current_network, newest_card
from app.core.runs.memory_check import memory_problem
from app.core.runs.runner import exact_spec
from app.core.runs.workload_estimates import probe_key
from app.core.storage.queries import expected_duration_s
from app.core.titles import cores_title, workload_title
from app.core.verdict.context import gpu_index
from app.gui.pages.benchmark.dataset_row import DatasetRow
from app.gui.pages.benchmark.device_row import DeviceRow
from app.gui.pages.benchmark.gpu_boxes import GpuBoxes
from app.gui.pages.benchmark.known_hardware import KnownHardware
from app.gui.pages.benchmark.parameter_form import run_form
from app.gui.pages.benchmark.workload_box import Star, WorkloadBox
from app.gui.run.preflight import PreflightLine
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX, LABEL_PX
from app.gui.widgets.basics import (
    Button,
    Card,
    ClampedLabel,
    ElidedLabel,
    column,
    label,
    row,
    set_tip,
    title,
)
from app.gui.widgets.editors import in_editor
from app.gui.widgets.form_scroll import FormScroll
from app.gui.widgets.pills import PillRow
from app.gui.widgets.segments import Tiles
from app.gui.widgets.timers import timer
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import DEFAULT_ENGINE, compiles_always, engine_title
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Preset, RunSpec
from workloads.settings import Value, all_settings
from workloads.workload import Workload

# Spin boxes change too quickly to start a thread for each change.
ESTIMATE_MS = 150
FORM_MAX_PX = 720  # a wider form would only look emptier; on large screens, the ranking gets the space
PRESETS: tuple[Preset, ...] = ("quick", "standard", "sustained")
NETWORKS = ("standard", "current", "other")


class SetupView(QWidget):
    """The Benchmark page before a run.

    Signals:
        run_requested: The user clicked Run. Arguments are the RunSpec and the Machine.
        install_wanted: The user wants to install the engine with this name.
    """

    run_requested = Signal(object, object)
    install_wanted = Signal(str)
    import_wanted = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.machine_name = ElidedLabel(sentence("setup.looking"), weight=QFont.Weight.DemiBold)
        self.machine_name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.facts = PillRow()
        self._latest, self._busy = Latest(), ""
        self._estimated: tuple[RunSpec, Machine] | None = None
        self._soon = timer(self, ESTIMATE_MS, once=True)
        self._soon.timeout.connect(self._estimate)
        self.workload, self.device_row = WorkloadBox(services), DeviceRow(services)
        self.device, self.star = self.device_row.list, Star(services)
        self.gpus = GpuBoxes()
        self._network_tiles, self._preset_tiles = Tiles(services.theme, NETWORKS), Tiles(services.theme, PRESETS)
        self.networks, self.presets = self._network_tiles.buttons, self._preset_tiles.buttons
        self.browse_button = self.networks["other"]
        self._current: RunSpec | None = None  # the offered current network; None until the computer is known
        self._network_tiles.name("standard", workload_title(STANDARD), sentence("setup.standard_network"))
        self._count_workloads(None)
        self.probed_s: dict[tuple[str, str, str], float] = {}  # probed durations by workload, engine and device
        self.summary = ClampedLabel(4, LABEL_PX)
        self.summary.keep_room_for(map(_description, CATALOGUE.values()))
        self._notes: dict[str, str] = {}
        self.preset_note = ClampedLabel(1, LABEL_PX)
        self.dataset = DatasetRow(services)
        self.advanced_button = Button(
            services.theme, sentence("setup.more_settings"), "chevron-right", kind="flat"
        )
        self.advanced_button.setCheckable(True)
        self.more = QWidget()
        self.more.hide()
        self._advanced = QVBoxLayout()
        self.conditions = ElidedLabel("", LABEL_PX, muted=True)
        self.problem = label(wrap=True)
        self.problem.setProperty("tone", "invalid")
        self.preflight = PreflightLine(services)
        self.run_button = Button(services.theme, sentence("menu.run"), "play", kind="primary")
        self.run_button.setMinimumHeight(48)
        self.run_button.setFont(_large(self.run_button.font()))
        self.run_button.setEnabled(False)
        self.known = KnownHardware(services)
        settings = services.preferences.settings
        self._preferred = (settings.preset, settings.data)
        self.presets[settings.preset or "quick"].setChecked(True)
        self._lay_out()
        self._connect()
        self._on_workload()

    @property
    def chosen_workload(self) -> Workload:
        return CATALOGUE[self.workload.chosen_id]

    @property
    def repeats(self) -> int:
        return int(self.form.values()["repeat"])

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines to compare; () to run only the selected engine."""
        is_wanted = bool(self.form.values().get("all_engines"))
        return tuple(self._services.engines.installed) if is_wanted else ()

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        self._busy = reason
        self._check()

    def spec(self) -> RunSpec:
        """Return the spec. Raises UsageError with a message for the user if it is invalid."""
        return self._spec(next(name for name in PRESETS if self.presets[name].isChecked()))

    def refresh(self) -> None:
        """Reload anything that may have changed: data sets, engines and durations of runs."""
        self._services.engines.look()
        self.dataset.show_dataset(self.chosen_workload.dataset)
        self.known.refresh()
        self._estimate_soon()

    def run(self) -> None:
        """Request a run if the setup is valid."""
        machine = self._services.finder.machine
        if machine is None or not self.run_button.isEnabled():
            return
        self.run_requested.emit(self.spec(), machine)

    def refill(self, plan: Plan) -> None:
        """Fill in the form from a plan's first run and number of runs. Values without an editor are ignored."""
        spec = plan.specs[0]
        self.workload.choose(spec.workload)
        self.presets[spec.preset].setChecked(True)
        self._choose_device(spec)
        self.dataset.choose(spec.data)
        workload = self.chosen_workload
        values: dict[str, Value] = {
            parameter.name: spec.parameters.get(parameter.name, parameter.default)
            for parameter in workload.parameters
        }
        values |= {setting.name: setting.of(spec) for setting in all_settings()}
        if spec.preset != "standard":  # the plan doesn't contain a number of epochs
            values |= {"epochs": workload.epochs, "steps": None}
        values |= {"repeat": plan.rounds, "all_engines": len(plan.specs) > 1}
        edited = self.form.values()
        for parameter in (*workload.parameters, *workload.setting_parameters()):
            self.form.set_value(parameter.name, in_editor(values[parameter.name], parameter))
        for name in ("repeat", "all_engines"):
            if name in edited:
                value = values[name]
                assert value is not None
                self.form.set_value(name, value)
        first = self.gpus.listed if spec.device == "auto" else gpu_index(spec.device)
        if first is not None:
            self.gpus.check(spec.gpus_from(first))

    def choose(self, workload_id: str) -> None:
        """Select a workload. For the suggested current network, also apply its published results' settings."""
        if self._current is not None and workload_id == self._current.workload:
            self._on_current()
        else:
            self.workload.choose(workload_id)

    def browse(self) -> None:
        machine = self._services.finder.machine
        if machine is None:
            self._show_network()
            return
        from app.gui.pages.benchmark.workload_chooser import WorkloadChooser  # opening doesn't need it

        chooser = WorkloadChooser(
            self._services,
            machine,
            self.chosen_workload.id,
            self.probed_s,
            parent=self.window(),
            chosen=(self.device.engine or DEFAULT_ENGINE, self.device.device or "auto"),
        )
        if chooser.exec():
            self.workload.choose(chooser.chosen_id)
        chooser.deleteLater()
        self._show_network()
        self._estimate_soon()

    def _choose_device(self, spec: RunSpec) -> None:
        """Select an engine and a device. "Automatic" is kept if it resolves to the same engine."""
        if spec.device != "auto":
            self.device.select(spec.engine, spec.device)
            return
        self.device.setCurrentIndex(0)
        if self.device.engine != spec.engine:
            for device in ("cpu", "gpu:0"):  # unavailable devices are ignored
                self.device.select(spec.engine, device)

    def _spec(self, preset: Preset) -> RunSpec:
        values = self.form.values()
        workload = self.chosen_workload
        own = {parameter.name: values[parameter.name] for parameter in workload.parameters}
        chosen = {
            setting.name: setting.from_editor(values[setting.name])
            for setting in all_settings()
            if setting.name in values
        }
        chosen |= {"engine": self.device.engine, "device": self.device.device, "data": self.dataset.data}
        chosen |= self.gpus.settings
        if preset != "standard":
            chosen |= {"epochs": 1, "steps": None}
        return exact_spec(workload.default_spec(preset, **chosen, parameters=own))

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.networks["standard"].clicked.connect(lambda: self.workload.choose(STANDARD))
        self.networks["current"].clicked.connect(self._on_current)
        self.browse_button.clicked.connect(self.browse)
        for button in self.presets.values():
            button.toggled.connect(self._on_choice)
        self.device_row.changed.connect(self._on_choice)
        self.gpus.changed.connect(self._on_gpus)
        self.device_row.install_wanted.connect(self.install_wanted)
        self._services.engines.changed.connect(self._on_engines)
        self.dataset.changed.connect(self._on_choice)
        self.dataset.import_wanted.connect(self.import_wanted)
        self.preflight.changed.connect(self._on_preflight)
        self.advanced_button.toggled.connect(self._on_advanced)
        self.run_button.clicked.connect(self.run)
        self.known.bars.slot_chosen.connect(self.run)
        self._services.preferences.changed.connect(self._on_preferences)
        self._services.finder.found.connect(self._on_machine)
        if self._services.finder.machine is not None:
            self._on_machine()

    def _on_preferences(self) -> None:
        settings = self._services.preferences.settings
        if (settings.preset, settings.data) != self._preferred:
            self._preferred = (settings.preset, settings.data)
            self.presets[settings.preset or "quick"].setChecked(True)
            self._offer_sustained()
            self.dataset.choose(settings.data)

    def _on_machine(self) -> None:
        machine = self._services.finder.machine
        assert machine is not None
        self.machine_name.show_text(machine.cpu_name or sentence("setup.unknown_cpu"))
        self.facts.show_facts(machine_facts(machine))
        if most_gpus(machine) > 1:
            self._count_workloads(machine)
        self._on_choice()

    def _count_workloads(self, machine: Machine | None) -> None:
        count = len(offered_workloads(machine))
        self._network_tiles.name("other", sentence("setup.browse"), sentence("setup.workloads", count=count))

    def _on_workload(self) -> None:
        workload = self.chosen_workload
        self.summary.show_text(_description(workload))
        self.star.show_workload(workload.id)
        set_tip(self.workload, workload.source)
        self.dataset.show_dataset(workload.dataset)
        same = workload.fixed_duration_s is not None
        brief = "" if same else "preset.quick_brief"
        self._name("quick", "preset.same_as_standard" if same else "preset.quick_note", brief)
        self._offer_sustained()
        self._make_form(workload)
        if any(parameter.required for parameter in workload.parameters):
            self.advanced_button.setChecked(True)
            # Wait for the layout, and then scroll so that required fields are visible.
            QTimer.singleShot(0, self, lambda: self.form_area.ensureWidgetVisible(self.form))
        self.known.show_workload(workload.id)
        self._on_choice()

    def _offer_sustained(self) -> None:
        """Offer the Sustained preset if the workload supports it. Otherwise, disable it and deselect it."""
        offered, button = self.chosen_workload.can_sustain, self.presets["sustained"]
        brief = "preset.sustained_brief" if offered else ""
        self._name("sustained", "preset.sustained_note" if offered else "preset.not_offered", brief)
        set_tip(button, "" if offered else sentence("preset.not_sustained"))
        button.setEnabled(offered)
        if button.isChecked() and not offered:
            self.presets["standard"].setChecked(True)

    def _make_form(self, workload: Workload) -> None:
        while (item := self._advanced.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.form = run_form(workload, several_engines=len(self._services.engines.installed) > 1)
        self.form.changed.connect(self._on_choice)
        self._advanced.addWidget(self.form)

    def _on_engines(self) -> None:
        self._make_form(self.chosen_workload)  # the form depends on the number of engines
        self._on_choice()

    def _on_advanced(self, shown: bool) -> None:
        self.advanced_button.show_icon("chevron-down" if shown else "chevron-right")
        self.more.setVisible(shown)

    def _on_current(self) -> None:
        spec = self._current
        if spec is None:
            self._show_network()
            return
        self.workload.choose(spec.workload)
        for name in ("batch_size", "precision"):
            self.form.set_value(name, getattr(spec, name))

    def _show_network(self) -> None:
        """Mark the selected network if it is a suggested one; show any other network by name."""
        machine, choice = self._services.finder.machine, self.device.choice
        if machine is not None:
            # Without an engine, the one to be installed may be any.
            self._current = spec = current_network(choice or Choice(DEFAULT_ENGINE, "cpu"), machine)
            card = sentence("setup.against", card=newest_card(spec.workload))
            self._network_tiles.name("current", workload_title(spec.workload), card)
            tip = sentence("setup.against_tip", card=newest_card(spec.workload))
            set_tip(self.networks["current"], tip)
        chosen = self.workload.chosen_id
        current = self._current.workload if self._current is not None else None
        name = {STANDARD: "standard", current: "current"}.get(chosen, "other")
        self.networks[name].setChecked(True)
        self._other.setVisible(name == "other")

    def _on_gpus(self) -> None:
        """Show a checked GPU in the device list, if the one shown was cleared."""
        choice, listed = self.device.choice, f"gpu:{self.gpus.listed}"
        if choice is not None and choice.device != listed:
            self.device.select(choice.engine, listed)
        self._on_choice()

    def _on_choice(self) -> None:
        self.device_row.offer(self.chosen_workload)
        workload, choice = self.chosen_workload, self.device.choice
        is_able = workload.divides_batches or workload.least_devices > 1
        listed = None if choice is None else gpu_index(choice.device)
        self.gpus.offer(self.device.gpus if is_able else {}, listed, workload.least_devices)
        self._show_network()
        self._show_note()
        source = self.dataset.source
        gpus = sentence("setup.gpus_chosen", gpus=list(self.gpus.checked)) if self.gpus.checked[1:] else ""
        parts = [self.device.name, gpus, sentence(f"setup.data_{source}") if source else ""]
        self.conditions.show_text(" · ".join(filter(None, parts)))
        engine = self.device.engine or DEFAULT_ENGINE
        reason = sentence("setup.always_compiled", engine=engine_title(engine)) if compiles_always(engine) else ""
        self.form.keep_on("jit", reason)
        # The other presets are limited by time.
        self.form.enable(("epochs", "steps"), is_enabled=self.presets["standard"].isChecked())
        self._check()
        self._estimate_soon()

    def _check(self) -> None:
        """Show problems with the setup immediately instead of after clicking Run."""
        machine, variant = self._services.finder.machine, self._services.engines.variant
        spec, choice = None, self.device.choice
        try:
            spec = self.spec()
            unfit = memory_problem(spec, machine, variant(spec.engine)) if machine is not None else None
            problem = self._busy or (text(unfit) if unfit is not None else "")
            if machine is not None:
                self.preflight.show_choice(spec, machine)
        except UsageError as error:
            problem = str(error)
        self.known.show_setup(spec, choice.device if choice is not None else None)
        self.problem.setText(problem or "")
        can_train = choice is not None or self.chosen_workload.is_demo
        can_run = not problem and machine is not None and can_train
        self.run_button.setEnabled(can_run)
        self.known.allow_run(allowed=can_run or machine is None)
        self.problem.setVisible(bool(self.problem.text()))

    def _on_preflight(self) -> None:
        self.run_button.setText(sentence("setup.run_anyway" if self.preflight.cautions else "menu.run"))

    def _estimate_soon(self) -> None:
        """Hide the previous estimate, and start a new one unless the setup changes again shortly."""
        self._latest.drop()
        asked = self._standard()
        if asked is None or asked != self._estimated:
            self._show_time("setup.time_unknown")
        self._soon.start()

    def _standard(self) -> tuple[RunSpec, Machine] | None:
        """Return the setup as a Standard run, regardless of the preset; None if it can't be run."""
        machine = self._services.finder.machine
        try:
            return None if machine is None else (self._spec("standard"), machine)
        except UsageError:
            return None

    def _estimate(self) -> None:
        """Estimate the duration of a Standard run from earlier runs; unknown if there are none."""
        asked = self._standard()
        if asked is not None:
            done = self._latest.only(self._on_expected)
            self._services.query(lambda database: expected_duration_s(database, *asked), done)

    def _on_expected(self, duration_s: float | None) -> None:
        self._estimated = self._standard()
        if duration_s is None:
            duration_s = self._probed()
        if duration_s is not None:
            duration_s *= self.repeats
        if duration_s:
            self._show_time("setup.time", duration_s=duration_s)
        else:
            self._show_time("setup.time_after_first_run")

    def _probed(self) -> float | None:
        """Return the result of a probe if it applies to the current setup; otherwise None."""
        if self._estimated is None:
            return None
        spec, _ = self._estimated
        workload = CATALOGUE[spec.workload]
        usual = workload.default_spec(data=spec.data, engine=spec.engine, device=spec.device)
        return self.probed_s.get(probe_key(spec)) if spec == usual else None

    def _show_time(self, code: str, **arguments: float) -> None:
        values = self.form.values()
        length = message("share.epochs", count=values["epochs"])
        if values["steps"]:
            length = message("setup.short_epochs", epochs=values["epochs"], steps=values["steps"])
        if self.repeats > 1:
            length = message("setup.repeated", repeats=self.repeats, length=length)
        brief = message("share.epochs", count=values["epochs"])
        if "duration_s" in arguments:
            brief = message("preset.standard_brief", **arguments)
        self._name("standard", code, brief, length=length, **arguments)

    def _name(self, preset: Preset, code: str, brief: Message | str, **arguments: object) -> None:
        """Show the name of a preset with a brief note.

        The full note is shown below while the preset is selected.
        """
        name, note = sentence(f"preset.{preset}"), sentence(code, **arguments)
        short = brief and text(brief if isinstance(brief, Message) else message(brief))
        self._preset_tiles.name(preset, name, short or note, note)
        self._notes[preset] = note
        self._show_note()

    def _show_note(self) -> None:
        chosen = [name for name, button in self.presets.items() if button.isChecked()]
        self.preset_note.show_text("".join(self._notes.get(name, "") for name in chosen))

    def _lay_out(self) -> None:
        self._other = QWidget()
        other = row(self.workload, self.star)
        other.setStretch(0, 1)
        self._other.setLayout(other)
        self.advanced_button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.more.setLayout(
            column(
                _field("setting.device", self.device, self.gpus),
                _field("setting.data", self.dataset),
                self._advanced,
            )
        )
        more = row(self.advanced_button, self.conditions, spacing_px=2 * GAP_PX)
        more.setStretch(1, 1)
        form = QWidget()
        form.setLayout(
            column(
                _field("label.workload", self._network_tiles, self._other, self.summary),
                _field("label.preset", self._preset_tiles, self.preset_note),
                self.device_row,
                more,
                self.more,
                None,
                spacing_px=GAP_PX,
            )
        )
        self.form_area = FormScroll(form)
        left = Card()
        left.setMaximumWidth(FORM_MAX_PX)
        left.body.addWidget(self.form_area)
        left.body.addWidget(self.problem)
        left.body.addWidget(self.preflight)
        left.body.addWidget(self.run_button)
        left.body.addStretch(1)
        halves = QHBoxLayout()
        halves.setSpacing(2 * GAP_PX)
        halves.addWidget(left, stretch=6)
        halves.addWidget(self.known, stretch=5)
        promise = ElidedLabel(sentence("setup.promise"), muted=True)
        question = row(title(sentence("setup.question")), promise, spacing_px=2 * GAP_PX)
        question.setStretch(1, 1)
        machine = row(self.machine_name, self.facts)
        machine.setStretch(1, 1)
        whole = column(column(question, machine, spacing_px=0), halves, spacing_px=GAP_PX)
        whole.setStretch(1, 1)
        self.setLayout(whole)


def _field(code: str, *items: QWidget) -> QVBoxLayout:
    return column(label(sentence(code), weight=QFont.Weight.Medium), *items, spacing_px=2)


def _description(workload: Workload) -> str:
    """Return a description of a workload and, if it is timed by epochs, of an epoch."""
    parts = [text(workload.summary)]
    if workload.metric == "seconds_per_epoch_s" and workload.epoch_text is not None:
        parts.append(sentence("setup.epoch", epoch=text(workload.epoch_text)))
    return " ".join(parts)


def _large(font: QFont) -> QFont:
    font.setPixelSize(16)
    return font


def machine_facts(machine: Machine) -> list[str]:
    cores = cores_title(machine.physical_cores, machine.logical_cores)
    gpus = [
        f"{short_name(gpu.name)} · {format_gpu_memory(gpu.memory_bytes)}"
        if gpu.memory_bytes
        else short_name(gpu.name)
        for gpu in machine.gpus
    ]
    virtual = [sentence("compare.virtual")] if machine.virtual_machine else []
    return [cores, format_installed_memory(machine.memory_bytes), *gpus, machine.os_name, *virtual]
