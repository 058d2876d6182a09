"""The lower edge of a running suite: its part, the progress and the time left."""

from app.core.messages import sentence
from app.gui.run.plan_progress import HEIGHT_PX, PlanProgress
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme
from workloads import CATALOGUE


class Foot(PlanProgress):
    """Shows a suite's progress."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setFixedHeight(HEIGHT_PX)

    def show_progress(self, bridge: RunBridge) -> None:
        """Show the running part and the time left."""
        planned, count = bridge.planned, bridge.planned_runs
        current = ""
        if planned is not None:
            part, number = CATALOGUE[planned.spec.workload].title, min(count, len(bridge.done) + 1)
            current = sentence("suite_page.run_of", number=number, planned=count, part=part)
        self.show_plan(bridge, current, bridge.left_s())
