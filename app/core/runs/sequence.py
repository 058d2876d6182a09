"""Several runs that belong together, one after the other, each in a fresh process: repetitions, or an A/B."""

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from app.core.errors import AppError
from app.core.records import RunSummary
from app.core.runs.runner import Runner
from app.core.runs.session import Listener, Session
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.storage.runs import list_runs
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

REPEATS_LIMIT, PAIRS_LIMIT = 100, 100
LABEL_LIMIT = 60
Side = Literal["A", "B"]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_LIMIT)]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked.

    Attributes:
        specs: What is run: one to repeat, or A and B.
        times: How often each of them runs; of an A/B, the number of pairs.
        label_a, label_b: What the sides are called.
        by_hand: Whether something that Epochmark cannot set is changed between the sides.
    """

    kind: Literal["repeat", "ab"]
    specs: tuple[RunSpec, ...]
    times: Annotated[int, msgspec.Meta(ge=1, le=100)]
    label_a: Label = "A"
    label_b: Label = "B"
    by_hand: bool = False

    def steps(self) -> list["Step"]:
        """Return the runs in their order.

        An A/B goes A B B A A B B A …: each pair is two neighbours, and what gets slower or faster over time hits
        both sides alike.
        """
        sides: list[tuple[Side | None, RunSpec]] = [(None, self.specs[0])] * self.times
        if self.kind == "ab":
            a: tuple[Side | None, RunSpec] = ("A", self.specs[0])
            b: tuple[Side | None, RunSpec] = ("B", self.specs[1])
            sides = list(itertools.islice(itertools.cycle((a, b, b, a)), 2 * self.times))
        labels = {"A": self.label_a, "B": self.label_b}
        return [
            Step(number, len(sides), side, labels[side] if side else "", spec)
            for number, (side, spec) in enumerate(sides, 1)
        ]


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a plan.

    Attributes:
        number: From 1.
        count: How many runs the plan has.
        side: None where there are no sides.
        label: What the side is called.
    """

    number: int
    count: int
    side: Side | None
    label: str
    spec: RunSpec


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told, all in other threads than the caller's.

    Attributes:
        listener: Each event of each run, as of a single run.
        begun: A run was stored; with its number, before its first event.
        ended: A run is over, as it is stored.
        ask: The side changes, also at the beginning; only of plans "by hand". False ends the plan. It must come
            back soon after `Sequence.cancel`.
    """

    listener: Listener = lambda _: None
    begun: Callable[[Step, int], None] = lambda _, __: None
    ended: Callable[[Step, RunSummary], None] = lambda _, __: None
    ask: Callable[[Step], bool] = lambda _: True


class Sequence:
    """A plan while it is carried out. `cancel`, `kill` and `wait` are for any thread, as with a session.

    Attributes:
        group_id: Of the stored group.
        status: running, then completed, cancelled (also where `ask` said no) or failed.
        trouble: Why it could not go on, beside a run that failed by itself; or None.
    """

    def __init__(self, plan: Plan, runner: Runner, watch: Watch, group_id: int) -> None:
        self.plan = plan
        self.group_id = group_id
        self.status: str = "running"
        self.trouble: AppError | None = None
        self._runner = runner
        self._watch = watch
        self._session: Session | None = None
        self._cancel = threading.Event()
        self._kill = threading.Event()
        # Not a daemon: a program that ends must not cut the storing of its run short.
        self._thread = threading.Thread(target=self._main, name=f"group-{group_id}")

    @property
    def is_cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ask the run that is going on to stop, and begin no other one."""
        self._cancel.set()
        if self._session is not None:
            self._session.cancel()

    def kill(self) -> None:
        """End the run that is going on now, and begin no other one."""
        self._kill.set()
        self._cancel.set()
        if self._session is not None:
            self._session.kill()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the plan; returns whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def start(self) -> None:
        """Begin; called once, by `run_plan`."""
        self._thread.start()

    def _main(self) -> None:
        status = "failed"
        try:
            status = self._carry_out()
        except AppError as error:
            self.trouble = error
        finally:
            self.status = status

    def _carry_out(self) -> str:
        side: Side | None = None
        for step in self.plan.steps():
            if self.plan.by_hand and step.side != side and not self._cancel.is_set() and not self._watch.ask(step):
                return "cancelled"
            side = step.side
            if self._cancel.is_set():
                return "cancelled"
            status = self._run(step)
            if status != "completed":
                return "cancelled" if status == "cancelled" else "failed"
        return "completed"

    def _run(self, step: Step) -> str:
        begun = threading.Event()

        def listener(event: events.Event) -> None:
            begun.wait()  # a moment, and only at the first event
            self._watch.listener(event)

        session = self._runner.start(step.spec, listener, (self.group_id, step.side))
        self._session = session
        try:
            # Whoever asked to stop before there was a session could not tell it.
            if self._kill.is_set():
                session.kill()
            elif self._cancel.is_set():
                session.cancel()
            self._watch.begun(step, session.run_id)
        finally:
            begun.set()
            session.wait()
            self._session = None
        if session.trouble is not None:
            raise session.trouble
        with Database(self._runner.paths.database) as database:
            summary = next(list_runs(database, ids=[session.run_id]), None)
        if summary is not None:  # nobody has deleted it in this moment
            self._watch.ended(step, summary)
        return session.status


def run_plan(plan: Plan, runner: Runner, watch: Watch | None = None) -> Sequence:
    """Check and store the plan, then begin it in the background.

    Args:
        plan: What to run.
        runner: Starts the runs.
        watch: Who is told.

    Raises:
        UsageError: One of its runs cannot be run; nothing was stored.
        DatabaseError: The results cannot be written.
    """
    for spec in plan.specs:
        runner.check(spec)
    with Database(runner.paths.database) as database:
        group_id = begin_group(database, plan.kind, msgspec.to_builtins(plan))
    sequence = Sequence(plan, runner, watch or Watch(), group_id)
    sequence.start()
    return sequence
