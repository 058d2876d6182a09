"""The first screen: three cards to choose from, one button, and more settings below it."""

import re
from collections import Counter

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.core.analysis.band import band
from app.core.analysis.published import comparable_rows, short_name
from app.core.engines.choices import Choice
from app.core.errors import UsageError
from app.core.formats import format_installed_memory
from app.core.messages import format_time_left, message, sentence, text
from app.core.plain_text import joined
from app.core.plans.suite.definition import NEWEST, RUN_S, SUITES
from app.core.records import Plan
from app.core.runs.current_network import current_network, peers
from app.core.runs.memory_check import memory_problem
from app.core.runs.plan_session import REPEATS_LIMIT
from app.core.runs.runner import exact_spec
from app.core.storage.queries import expected_duration_s
from app.core.titles import preset_title, workload_title
from app.core.verdict.context import gpu_index
from app.gui.pages.benchmark.cards import ChoiceCard
from app.gui.pages.benchmark.dataset_row import DatasetRow
from app.gui.pages.benchmark.device_row import DeviceRow
from app.gui.pages.benchmark.gpu_boxes import GpuBoxes
from app.gui.pages.benchmark.known_hardware import KnownHardware
from app.gui.run.preflight import PreflightLine
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, ElidedLabel, column, give_way, guard_wheel, label, row, title
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.form import ParameterForm
from app.gui.widgets.form_scroll import FormScroll
from app.gui.widgets.timers import timer
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import DEFAULT_ENGINE, compiles_always, engine_title
from workloads.protocol.machine import Machine
from workloads.protocol.parameters import OnOff, Parameter, Whole
from workloads.protocol.spec import ParameterValue, Preset, RunSpec
from workloads.settings import all_settings
from workloads.workload import Workload

# Spin boxes change too quickly to start a thread for each change.
ESTIMATE_MS = 150
CARDS = ("standard", "current", "suite")
PRESETS: tuple[Preset, ...] = ("quick", "standard", "sustained")
_MINUTES = {"quick": 1, "sustained": 10}


class SetupView(QWidget):
    """The Benchmark page before a run."""

    run_requested = Signal(object, object)  # the user clicked Run, with this RunSpec and Machine
    suite_wanted = Signal(str, str)  # the user wants to run the suite on an engine and a device
    install_wanted = Signal(str)  # the user wants to install the engine with this name
    import_wanted = Signal()
    doctor_wanted = Signal()  # the user asks why no graphics card is used

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._latest, self._busy = Latest(), ""
        self._estimated: tuple[RunSpec, Machine] | None = None
        self._standard_s: float | None = None  # duration of a Standard run with the current setup
        self._soon = timer(self, ESTIMATE_MS, once=True)
        self._soon.timeout.connect(self._estimate)
        self._workload_id, self._other_id = STANDARD, ""  # the other network takes the place of the current one
        self._current: RunSpec | None = None  # the offered current network; None until the computer is known
        self._is_untouched = True
        self.machine_line = ElidedLabel(sentence("setup.looking"), muted=True)
        self.doctor_button = Button(services.theme, sentence("setup.gpu_not_used"), kind="flat")
        self.doctor_button.hide()
        self.cards = {name: ChoiceCard(services.theme) for name in CARDS}
        self.cards["standard"].setChecked(True)
        self.device_row = DeviceRow(services)
        self.device, self.gpus = self.device_row.list, GpuBoxes()
        self.length = ChoiceBox(sentence("label.preset"))
        self.dataset = DatasetRow(services)
        self.browse_button = Button(services.theme, sentence("setup.browse"), kind="flat")
        self.advanced_button, self.experiments_button = (
            _fold(services, "setup.more_settings"),
            _fold(services, "setup.experiments"),
        )
        self.more, self.experiments = Card(), QWidget()
        self._usual, self._rest = QVBoxLayout(), QVBoxLayout()
        self.problem = label(wrap=True)
        self.problem.setProperty("tone", "invalid")
        self.preflight = PreflightLine(services, kept=0)
        self.run_button = Button(services.theme, sentence("menu.run"), "play", kind="primary")
        self.run_button.setMinimumHeight(48)
        self.run_button.setFont(_large(self.run_button.font()))
        self.run_button.setEnabled(False)
        self.known = KnownHardware(services)
        self.form = ParameterForm(())
        self._offer_lengths(services.preferences.settings.preset or "quick")
        self._lay_out()
        self._make_form(self.chosen_workload)
        self._connect()
        self._on_workload()

    @property
    def chosen_workload(self) -> Workload:
        return CATALOGUE[self._workload_id]

    @property
    def preset(self) -> Preset:
        return next(name for name in PRESETS if name == self.length.currentData())

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
        return self._spec(self.preset)

    def refresh(self) -> None:
        """Reload anything that may have changed: data sets, engines and durations of runs."""
        self._services.engines.look()
        self.dataset.show_dataset(self.chosen_workload.dataset)
        self.known.refresh()
        self._estimate_soon()

    def run(self) -> None:
        machine = self._services.finder.machine
        if machine is None or not self.run_button.isEnabled():
            return
        if self.cards["suite"].isChecked():
            self.suite_wanted.emit(self.device.engine or "auto", self.device.device or "auto")
        else:
            self.run_requested.emit(self.spec(), machine)

    def choose_length(self, preset: str) -> None:
        """Select a preset as if the user had done so. Presets that aren't offered are ignored."""
        if (place := self.length.findData(preset)) >= 0:
            self.length.setCurrentIndex(place)

    def refill(self, plan: Plan) -> None:
        """Fill in the form from a plan's first run and number of runs. Values without an editor are ignored."""
        spec = plan.specs[0]
        self._take(spec.workload)
        self.choose_length(spec.preset)
        self._choose_device(spec)
        self.dataset.choose(spec.data)
        workload = self.chosen_workload
        values: dict[str, ParameterValue] = {
            parameter.name: spec.parameters.get(parameter.name, parameter.default)
            for parameter in workload.parameters
        }
        values |= {setting.name: setting.in_editor(setting.of(spec)) for setting in all_settings()}
        if spec.preset != "standard":  # the plan doesn't contain a number of epochs
            values |= {"epochs": workload.epochs, "steps": 0}
        values |= {"repeat": plan.rounds, "all_engines": len(plan.specs) > 1}
        for name in self.form.values().keys() & values:
            self.form.set_value(name, values[name])
        first = self.gpus.listed if spec.device == "auto" else gpu_index(spec.device)
        if first is not None:
            self.gpus.check(spec.gpus_from(first))

    def choose(self, workload_id: str) -> None:
        """Select a workload. For the suggested current network, also apply its published results' settings."""
        self._take(workload_id)
        if self._current is not None and workload_id == self._current.workload:
            for name in ("batch_size", "precision"):
                self.form.set_value(name, getattr(self._current, name))

    def browse(self) -> None:
        machine = self._services.finder.machine
        if machine is None:
            return
        from app.gui.run.workload_chooser import WorkloadChooser  # opening doesn't need it

        chosen = (self.device.engine or DEFAULT_ENGINE, self.device.device or "auto")
        chooser = WorkloadChooser(self._services, machine, self._workload_id, self.window(), chosen=chosen)
        if chooser.exec():
            self.choose(chooser.chosen_id)
        chooser.deleteLater()

    def _take(self, workload_id: str) -> None:
        self._is_untouched = False
        current = self._current.workload if self._current is not None else ""
        if workload_id != STANDARD:
            self._other_id = "" if workload_id == current else workload_id
        self.cards["standard" if workload_id == STANDARD else "current"].setChecked(True)
        if workload_id != self._workload_id:
            self._workload_id = workload_id
            self._on_workload()
        else:
            self._on_choice()

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
        self.cards["standard"].clicked.connect(lambda: self.choose(STANDARD))
        self.cards["current"].clicked.connect(self._on_second)
        self.cards["suite"].clicked.connect(self._on_suite)
        self.browse_button.clicked.connect(self.browse)
        self.doctor_button.clicked.connect(self.doctor_wanted)
        self.length.currentIndexChanged.connect(self._on_choice)
        self.device_row.changed.connect(self._on_choice)
        self.gpus.changed.connect(self._on_gpus)
        self.device_row.install_wanted.connect(self.install_wanted)
        self._services.engines.changed.connect(self._on_engines)
        self.dataset.changed.connect(self._on_choice)
        self.dataset.import_wanted.connect(self.import_wanted)
        for button, folded in ((self.advanced_button, self.more), (self.experiments_button, self.experiments)):
            button.toggled.connect(folded.setVisible)
        self.run_button.clicked.connect(self.run)
        self.known.bars.slot_chosen.connect(self.run)
        self._services.finder.found.connect(self._on_machine)
        if self._services.finder.machine is not None:
            self._on_machine()

    def _on_machine(self) -> None:
        machine = self._services.finder.machine
        assert machine is not None
        self.machine_line.show_text(machine_line(machine))
        self._on_choice()

    def _on_second(self) -> None:
        self.choose(self._other_id or (self._current.workload if self._current is not None else STANDARD))

    def _on_suite(self) -> None:
        self._is_untouched = False
        self._on_choice()

    def _on_workload(self) -> None:
        workload = self.chosen_workload
        self.dataset.show_dataset(workload.dataset)
        self._offer_lengths(self.length.currentData())
        self._make_form(workload)
        if any(parameter.required for parameter in workload.parameters):
            self.advanced_button.setChecked(True)
            # Wait for the layout, and then scroll so that required fields are visible.
            QTimer.singleShot(0, self, lambda: self.form_area.ensureWidgetVisible(self.form))
        self.known.show_workload(workload.id)
        self._on_choice()

    def _offer_lengths(self, wanted: str) -> None:
        """Offer the presets that make a difference, and keep the selected one if it is among them."""
        workload = self.chosen_workload
        offered = [
            preset
            for preset in PRESETS
            if preset == "quick"
            or (workload.can_sustain if preset == "sustained" else not workload.fixed_duration_s)
        ]
        with QSignalBlocker(self.length):
            self.length.clear()
            for preset in offered:
                self.length.addItem("", preset)
            self.length.setCurrentIndex(max(0, self.length.findData(wanted)))

    def _make_form(self, workload: Workload) -> None:
        for old in (self.form, self.form.rest):
            old.hide()
            old.deleteLater()
        self.form = _run_form(workload, several_engines=len(self._services.engines.installed) > 1)
        self.form.changed.connect(self._on_choice)
        self._usual.addWidget(self.form)
        self._rest.addWidget(self.form.rest)

    def _on_engines(self) -> None:
        self._make_form(self.chosen_workload)  # the form depends on the number of engines
        self._on_choice()

    def _show_cards(self) -> None:
        """Show what each card offers. With a graphics card, the current network is chosen at first."""
        machine, choice = self._services.finder.machine, self.device.choice
        before = self._current.workload if self._current is not None else ""
        if machine is not None:
            # Without an engine, the one to be installed may be any.
            self._current = current_network(choice or Choice(DEFAULT_ENGINE, "cpu"), machine)
        has_moved = self.cards["current"].isChecked() and not self._other_id and self._workload_id == before
        if self._current is not None and has_moved and self._current.workload != before:
            self.choose(self._current.workload)
        elif self._is_untouched and choice is not None and choice.gpu is not None:
            self._on_second()
            if self.cards["standard"].hasFocus():
                self.cards["current"].setFocus()
        self._show_second(choice)
        quick = sentence("setup.quick_text", network=workload_title(STANDARD))
        self.cards["standard"].show_choice(sentence("setup.quick_title"), self._time(STANDARD), quick)
        suite = SUITES[NEWEST]
        minutes = RUN_S * len(suite.parts) * suite.rounds / 60
        self.cards["suite"].show_choice(
            sentence("setup.suite_title"),
            sentence("setup.minutes", minutes=minutes),
            sentence("setup.suite_text", count=len(suite.parts)),
        )

    def _show_second(self, choice: Choice | None) -> None:
        card = self.cards["current"]
        if self._other_id:
            devices = {published.short_name for published in comparable_rows(self._other_id)}
            compares = sentence("setup.other_text", count=len(devices)) if devices else ""
            about = " ".join(filter(None, (text(CATALOGUE[self._other_id].summary), compares)))
            card.show_choice(workload_title(self._other_id), self._time(self._other_id), about)
        elif self._current is not None:
            gpu = choice.gpu if choice is not None else None
            normal = band(self._current.workload, gpu.name, self._current.precision) if gpu is not None else None
            if normal is not None:
                card.show_choice(
                    sentence("setup.normal_title", device=normal.device),
                    self._time(self._current.workload),
                    sentence(
                        "setup.normal_text",
                        network=workload_title(self._current.workload),
                        count=normal.computers,
                        device=normal.device,
                    ),
                )
                return
            count, peer = peers(self._current)
            is_half = self._current.precision != "float32"
            network = workload_title(self._current.workload)
            code = "setup.current_text_half" if is_half else "setup.current_text"
            card.show_choice(
                sentence("setup.current_title" if gpu is not None else "setup.current_title_cpu"),
                self._time(self._current.workload),
                sentence(code, network=network, count=count, peer=peer),
            )

    def _time(self, workload_id: str) -> str:
        workload, preset = CATALOGUE[workload_id], self.preset
        if workload.fixed_duration_s:
            return format_time_left(workload.fixed_duration_s * self.repeats)
        if preset in _MINUTES:
            return sentence("setup.minutes", minutes=_MINUTES[preset] * self.repeats)
        if workload_id == self._workload_id:
            return self._standard_time()
        return sentence("share.epochs", count=workload.epochs)

    def _standard_time(self) -> str:
        if self._standard_s is not None:
            return format_time_left(self._standard_s * self.repeats)
        return sentence("share.epochs", count=self.form.values()["epochs"])

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
        self.doctor_button.setVisible(choice is not None and choice.gpu is None)
        engine = self.device.engine or DEFAULT_ENGINE
        reason = sentence("setup.always_compiled", engine=engine_title(engine)) if compiles_always(engine) else ""
        self.form.keep_on("jit", reason)
        # The other presets are limited by time.
        self.form.enable(("epochs", "steps"), is_enabled=self.preset == "standard")
        self._estimate_soon()
        self._show_times()
        self._check()

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
        if is_suite := self.cards["suite"].isChecked():
            problem = self._busy
        self.known.show_suite(is_shown=is_suite)
        self.known.show_setup(spec, choice)
        self.problem.setText(problem or "")
        can_train = choice is not None or self.chosen_workload.is_demo
        can_run = not problem and machine is not None and can_train
        self.run_button.setEnabled(can_run)
        self.known.allow_run(allowed=can_run or machine is None)
        self.problem.setVisible(bool(self.problem.text()))

    def _estimate_soon(self) -> None:
        """Forget the previous estimate, and start a new one unless the setup changes again shortly."""
        self._latest.drop()
        setup = self._standard()
        if setup is None or setup != self._estimated:
            self._standard_s = None
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
        setup = self._standard()
        if setup is not None:
            done = self._latest.only(self._on_expected)
            self._services.query(lambda database: expected_duration_s(database, *setup), done)

    def _on_expected(self, duration_s: float | None) -> None:
        self._estimated, self._standard_s = self._standard(), duration_s
        self._show_times()

    def _show_times(self) -> None:
        self._show_cards()
        for place in range(self.length.count()):
            preset = self.length.itemData(place)
            takes = self._standard_time() if preset == "standard" else ""
            if preset in _MINUTES:
                takes = sentence("setup.minutes", minutes=_MINUTES[preset])
            with_time = sentence("preset.with_note", preset=preset_title(preset), note=takes)
            self.length.setItemText(place, with_time)

    def _lay_out(self) -> None:
        give_way(self.length)
        guard_wheel(self.length)
        self.experiments.setLayout(column(_field("setting.data", self.dataset), self._rest))
        form = QWidget()
        form.setLayout(
            column(
                _field("setting.device", self.device, self.gpus),
                _field("label.preset", self.length),
                self._usual,
                self.experiments_button,
                self.experiments,
                None,
                spacing_px=GAP_PX,
            )
        )
        self.form_area = FormScroll(form)
        self.more.body.addWidget(self.form_area)
        self.more.body.addStretch(1)
        for folded in (self.more, self.experiments):
            folded.hide()
        head = row(self.machine_line, self.doctor_button, stretch=0)
        cards = row(*self.cards.values(), spacing_px=GAP_PX + 4)
        commands = row(self.run_button, self.browse_button, self.advanced_button, self.preflight, stretch=3)
        below = QHBoxLayout()
        below.setSpacing(2 * GAP_PX)
        below.addWidget(self.more, stretch=2)
        below.addWidget(self.known, stretch=3)
        question = title(sentence("setup.question"))
        whole = column(
            column(question, head, spacing_px=0),
            cards,
            self.device_row,
            self.problem,
            commands,
            below,
            spacing_px=GAP_PX + 4,
        )
        whole.setStretch(5, 1)
        for number in range(len(CARDS)):
            cards.setStretch(number, 1)
        self.setLayout(whole)


def _fold(services: Services, code: str) -> Button:
    button = Button(services.theme, sentence(code), "chevron-right", kind="flat")
    button.setCheckable(True)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.toggled.connect(lambda shown: button.show_icon("chevron-down" if shown else "chevron-right"))
    return button


def _field(code: str, *items: QWidget) -> QVBoxLayout:
    return column(label(sentence(code), weight=QFont.Weight.Medium), *items, spacing_px=2)


def _large(font: QFont) -> QFont:
    font.setPixelSize(16)
    return font


def machine_line(machine: Machine) -> str:
    gpus = Counter(short_name(gpu.name) for gpu in machine.gpus)
    cards = [
        sentence("compare.several_devices", count=count, name=name) if count > 1 else name
        for name, count in gpus.items()
    ]
    cpu = re.sub(r" \d+-Core Processor$", "", short_name(machine.cpu_name or sentence("setup.unknown_cpu")))
    memory = sentence("setup.memory", memory=format_installed_memory(machine.memory_bytes))
    return sentence("setup.machine", parts=joined((cpu, memory, *(cards or [sentence("setup.no_gpu")]))))


def _run_form(workload: Workload, *, several_engines: bool) -> ParameterForm:
    """Return the form for a run: the workload's parameters, run settings, repetitions and engines."""
    rows = [
        *workload.parameters,
        *workload.setting_parameters(),
        Parameter("repeat", Whole(1, REPEATS_LIMIT), 1, message("setup.repeat")),
    ]
    if several_engines:
        rows.append(Parameter("all_engines", OnOff(), False, message("setup.all_engines")))
    usual = {"epochs", "repeat", *(parameter.name for parameter in workload.parameters if parameter.required)}
    folded = {row.name for row in rows} - usual
    return ParameterForm(rows, folded)
