"""The lower edge of a running study: its point, the progress and the time left."""

from app.core.messages import sentence
from app.core.plans.study.points import point_name
from app.gui.run.plan_progress import HEIGHT_PX, PlanProgress
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme


class Foot(PlanProgress):
    """Shows a study's progress."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setFixedHeight(HEIGHT_PX)

    def show_progress(self, bridge: RunBridge) -> None:
        """Show the running point and the time left."""
        planned, plan, count = bridge.planned, bridge.plan, bridge.planned_runs
        if plan is None:
            return
        current = ""
        if planned is not None:
            name, number = point_name(plan, planned.spec), min(count, len(bridge.done) + 1)
            current = sentence("studies_page.run_of", number=number, planned=count, point=name)
        self.show_plan(bridge, current, bridge.left_s())
