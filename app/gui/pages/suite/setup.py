"""The setup of a suite: device, list of tests, and Run button."""

from PySide6.QtGui import QFont

from app.core.engines.choices import device_choices
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.suite.definition import NEWEST, POINTS, RUN_S, SUITES, SuitePart, suite_name
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.texts import points_text
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.gui.run.plan_page import PlanSetup
from app.gui.run.preflight import PreflightLine
from app.gui.services.bundle import Services
from app.gui.widgets.basics import Button, ElidedLabel, column, give_way, guard_wheel, label, scrolled, set_tone
from app.gui.widgets.device_list import DeviceList

PART_GAP_PX = 4


class SuiteSetup(PlanSetup):
    """The card that sets up a suite."""

    def __init__(self, services: Services) -> None:
        self._definition = SUITES[NEWEST]
        super().__init__(suite_name(NEWEST))
        self._services = services
        self._busy, self._is_planning = "", False
        self.devices = DeviceList(engine=self._definition.engine)
        self.problem = label(wrap=True)
        self.preflight = PreflightLine(services)
        run = sentence("suite_page.run", name=suite_name(NEWEST))
        self.run_button = Button(services.theme, run, "play", kind="primary")
        self._lay_out()
        self.run_button.clicked.connect(self.run)
        self.devices.currentIndexChanged.connect(self._on_device)
        services.finder.found.connect(self._offer)
        services.engines.changed.connect(self._offer)
        self._offer()

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        self._busy = reason
        self._show_problem("")

    def run(self) -> None:
        """Create the plan in the background, and request it if it can be run."""
        machine, choice = self._services.finder.machine, self.devices.choice
        if machine is None or choice is None or not self.run_button.isEnabled():
            return
        runner, number = Runner(self._services.paths, machine), self._definition.number
        self._is_planning = True
        self._show_problem("")

        def plan() -> Plan:
            return plan_suite(runner, choice.engine, choice.device, number)

        def done(planned: Plan) -> None:
            self._is_planning = False
            self._show_problem("")
            if not self._busy:
                self.run_requested.emit(planned, machine)

        def failed(error: AppError) -> None:
            self._is_planning = False
            self._show_problem(str(error))

        self._services.tasks.start(plan, done, failed)

    def _offer(self) -> None:
        machine = self._services.finder.machine
        if machine is not None:
            self.devices.offer(device_choices(self._services.engines.installed, machine))
        self._on_device()

    def _on_device(self) -> None:
        machine, choice = self._services.finder.machine, self.devices.choice
        if machine is not None and choice is not None:
            first = self._definition.parts[0]
            spec = first.spec(engine=choice.engine, device=choice.device, without_tf32=choice.device != "cpu")
            self.preflight.show_choice(spec, machine)
        self._show_problem("")

    def _show_problem(self, problem: str) -> None:
        problem = self._busy or problem
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        set_tone(self.problem, "" if self._busy else "invalid")
        self.run_button.setEnabled(not self._busy and not self._is_planning and self.devices.choice is not None)

    def _lay_out(self) -> None:
        self.note.hide()
        self.devices.setAccessibleName(sentence("setting.device"))
        give_way(self.devices)
        guard_wheel(self.devices)
        self.run_button.setMinimumHeight(40)
        parts = self._definition.parts
        rounds = self._definition.rounds
        takes = sentence(
            "suite_page.takes",
            count=len(parts),
            rounds=rounds,
            minutes=RUN_S * len(parts) * rounds / 60,
            points=points_text(POINTS),
            machine=self._definition.machine,
        )
        titles = [
            column(ElidedLabel(each.title), ElidedLabel(_detail(each), muted=True), spacing_px=0) for each in parts
        ]
        heading = label(sentence("suite_page.parts"), muted=True, weight=QFont.Weight.Normal)
        content = column(label(takes, wrap=True), heading, *titles, None, spacing_px=PART_GAP_PX)
        self.body.addWidget(scrolled(content), stretch=1)
        device = label(sentence("setting.device"), muted=True, weight=QFont.Weight.Normal)
        self.body.addLayout(column(device, self.devices, self.problem, self.preflight, self.run_button))


def _detail(part: SuitePart) -> str:
    """Describe what a test measures, with its batch size."""
    purpose = sentence(f"suite.purpose_{part.purpose}")
    if part.batch_size is None:
        return purpose
    return sentence("suite_page.part", purpose=purpose, batch_size=part.batch_size)
