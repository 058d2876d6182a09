"""Plans with real worker processes: their order, how they can end, and what is kept of them."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.analysis.ab import judge_pairs
from app.core.errors import AppError, UsageError
from app.core.messages import message
from app.core.paths import Paths
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, PlannedRun, RunSummary, Study
from app.core.runs.liveness import RunLimits
from app.core.runs.plan_session import PlanCallbacks, PlanSession, resume_plan, run_plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from tests.build import in_database
from tests.conftest import pretend_installed
from tests.saying import has_at_its_core, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec


def demo(step_s: float = 0.001, **parameters: Any) -> RunSpec:
    return CATALOGUE["demo"].default_spec(epochs=2, parameters={"step_s": step_s, **parameters})


def ab(a: RunSpec, b: RunSpec, pairs: int, **changes: Any) -> Plan:
    return Plan(kind="ab", order="pairs", specs=(a, b), rounds=pairs, label_a="one", label_b="two", **changes)


class Diary:
    """Keeps the calls of a plan, in order, and lets a test act when a run begins or an event arrives."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.runs: list[PlannedRun] = []
        self.ended: list[RunSummary] = []
        self.events: list[events.Event] = []
        self.heard = threading.Event()
        self.epoch_of: dict[int, threading.Event] = {number: threading.Event() for number in range(1, 10)}

    def callbacks(self, **changes: Any) -> PlanCallbacks:
        return PlanCallbacks(
            **{"on_event": self.listen, "on_run_started": self.begin, "on_run_ended": self.end} | changes
        )

    def listen(self, event: events.Event) -> None:
        self.events.append(event)
        if isinstance(event, events.Run):
            self.told.append(("event", event.run_id))
            self.heard.set()
        if isinstance(event, events.Epoch):
            self.epoch_of[len(self.runs)].set()

    def begin(self, planned: PlannedRun, run_id: int) -> None:
        self.heard.wait(0.02)  # the first event, if it came too early
        self.heard.clear()
        self.runs.append(planned)
        self.told.append(("begun", run_id))

    def end(self, planned: PlannedRun, summary: RunSummary) -> None:
        self.ended.append(summary)
        self.told.append(("ended", summary.id))


@pytest.fixture
def diary() -> Diary:
    return Diary()


def finish(session: PlanSession) -> None:
    assert session.wait(60), "the plan did not end"


def stored(paths: Paths, session: PlanSession) -> Group:
    return in_database(paths.database, load_group, sure(session.group_id))


RanPlan = Callable[..., tuple[PlanSession, Group]]


@pytest.fixture
def ran_plan(paths: Paths, machine: Machine, diary: Diary) -> RanPlan:
    def run(plan: Plan, **callbacks: Any) -> tuple[PlanSession, Group]:
        session = run_plan(plan, Runner(paths, machine), diary.callbacks(**callbacks))
        finish(session)
        return session, stored(paths, session)

    return run


def test_sides_alternate_so_that_drift_hits_both() -> None:
    assert [planned.side for planned in ab(demo(), demo(), 4).runs()] == list("ABBAABBA")
    assert [(planned.number, planned.count) for planned in ab(demo(), demo(), 1).runs()] == [(1, 2), (2, 2)]
    repeated = Plan(kind="repeat", specs=(demo(),), rounds=3).runs()
    assert [(planned.side, planned.label, planned.number) for planned in repeated] == [
        (None, "", n) for n in (1, 2, 3)
    ]


@pytest.mark.slow
def test_an_ab_runs_each_side_in_fresh_processes_and_finds_the_faster_one(ran_plan: RanPlan, diary: Diary) -> None:
    session, group = ran_plan(ab(demo(0.02), demo(0.005), 2))
    assert (session.status, session.trouble) == ("completed", None)
    ids = [run.id for run in group.runs]
    assert diary.told == [(what, run_id) for run_id in ids for what in ("begun", "event", "ended")]
    assert [run.side for run in group.runs] == ["A", "B", "B", "A"] == [planned.side for planned in diary.runs]
    assert [planned.label for planned in diary.runs] == ["one", "two", "two", "one"]
    assert list(group.runs) == diary.ended
    assert [group.numbers[run_id] for run_id in ids] == [1, 2, 3, 4]
    workers = [event.pid for event in diary.events if isinstance(event, events.Hello)]
    assert len(set(workers)) == 4
    assert sure(judge_pairs(group).ratio) > 1  # on a busy computer, two pairs are not enough to be sure


@pytest.mark.slow
def test_cancel_ends_run_and_plan_and_keeps_what_is_there(paths: Paths, machine: Machine, diary: Diary) -> None:
    plan = ab(demo(0.001), demo(0.1), 2)
    session = run_plan(plan, Runner(paths, machine), diary.callbacks())
    assert diary.epoch_of[2].wait(30)
    session.cancel()
    finish(session)
    assert session.status == "cancelled"
    assert [run.status for run in stored(paths, session).runs] == ["completed", "cancelled"]
    assert diary.ended[-1].epochs_done >= 1


@pytest.mark.slow
def test_cancel_between_two_runs_starts_no_more(paths: Paths, machine: Machine, diary: Diary) -> None:
    holder: list[PlanSession] = []
    ready = threading.Event()

    def end(planned: PlannedRun, summary: RunSummary) -> None:
        ready.wait(30)
        holder[0].cancel()

    plan = Plan(kind="repeat", specs=(demo(),), rounds=3)
    holder.append(run_plan(plan, Runner(paths, machine), diary.callbacks(on_run_ended=end)))
    ready.set()
    finish(holder[0])
    assert (holder[0].status, len(diary.runs)) == ("cancelled", 1)


@pytest.mark.slow
def test_kill_ends_a_deaf_run_and_the_plan(paths: Paths, machine: Machine, diary: Diary) -> None:
    plan = Plan(kind="repeat", specs=(demo(outcome="hang"),), rounds=2)
    session = run_plan(plan, Runner(paths, machine, RunLimits(exit_s=1)), diary.callbacks())
    assert diary.epoch_of[1].wait(30)
    session.kill()
    finish(session)
    assert session.status == "cancelled"
    assert [run.status for run in stored(paths, session).runs] == ["cancelled"]


@pytest.mark.slow
def test_a_failed_run_ends_the_plan_which_keeps_the_others(ran_plan: RanPlan) -> None:
    asked: list[PlannedRun] = []
    session, group = ran_plan(ab(demo(), demo(outcome="crash"), 3), confirm=asked.append)
    assert not asked, "Epochmark sets it itself"
    assert (session.status, session.trouble) == ("failed", None)
    assert [run.status for run in group.runs] == ["completed", "failed"]
    assert said("ab.no_pair").is_all_of(report_of(group).sentence)


@pytest.mark.slow
def test_the_user_is_asked_before_each_change_and_can_stop(ran_plan: RanPlan) -> None:
    asked: list[tuple[int, str | None]] = []

    def ask(planned: PlannedRun) -> bool:
        asked.append((planned.number, planned.side))
        return planned.number < 4

    session, group = ran_plan(ab(demo(), demo(), 3, by_hand=True), confirm=ask)
    assert asked == [(1, "A"), (2, "B"), (4, "A")]
    assert session.status == "cancelled"
    assert [run.side for run in group.runs] == ["A", "B", "B"]


@pytest.mark.slow
def test_a_plan_without_sides_asks_before_each_other_configuration(ran_plan: RanPlan) -> None:
    specs = (demo(), demo(step_s=0.002))
    asked: list[PlannedRun] = []

    def ask(planned: PlannedRun) -> bool:
        asked.append(planned)
        return True

    session, _ = ran_plan(Plan(kind="study", specs=specs, rounds=2, by_hand=True, study=Study()), confirm=ask)
    assert [planned.number for planned in asked] == [1, 2, 3, 4]
    assert session.status == "completed"


def test_a_plan_with_an_impossible_run_is_refused_before_it_is_stored(paths: Paths, machine: Machine) -> None:
    wrong = CATALOGUE["demo"].default_spec(batch_size=5_000)
    with pytest.raises(UsageError, match=said("workload.batch_too_large", batch_size="5,000").pattern):
        run_plan(ab(demo(), wrong, 2), Runner(paths, machine))
    assert not paths.database.exists()


@pytest.mark.slow
def test_a_database_problem_ends_the_plan_and_is_reported(paths: Paths, machine: Machine, diary: Diary) -> None:
    def end(planned: PlannedRun, summary: RunSummary) -> None:
        with Database(paths.database) as database:
            database.connection.execute("PRAGMA user_version = 99")

    plan = Plan(kind="repeat", specs=(demo(),), rounds=3)
    session = run_plan(plan, Runner(paths, machine), diary.callbacks(on_run_ended=end))
    finish(session)
    assert session.status == "failed"
    assert isinstance(session.trouble, AppError)
    assert said("database.too_new").is_in(str(session.trouble))
    assert len(diary.runs) == 1


@pytest.mark.slow
def test_comparing_engines_goes_on_after_a_failed_run(paths: Paths, ran_plan: RanPlan, second_engine: str) -> None:
    pretend_installed(second_engine, paths)  # its packages are empty: it fails at once
    specs = tuple(
        CATALOGUE["demo"].default_spec(epochs=2, engine=engine) for engine in (DEFAULT_ENGINE, second_engine)
    )
    session, group = ran_plan(
        Plan(kind="engines", order="there_and_back", survives_failures=True, specs=specs, rounds=2)
    )
    assert session.status == "completed"
    usual, second = ("none", "completed"), (second_engine, "failed")
    assert [(run.engine, run.status) for run in group.runs] == [usual, second, second, usual]
    assert said("engines_table.only_one", engine="TensorFlow", workload="demo").is_all_of(
        report_of(group).sentence
    )


@pytest.mark.slow
def test_a_study_skips_larger_batches_than_one_that_ran_out_of_memory(ran_plan: RanPlan) -> None:
    sizes = (20, 10, 40, 30)
    specs = tuple(msgspec.structs.replace(demo(outcome="out_of_memory"), batch_size=size) for size in sizes)
    plan = Plan(kind="study", specs=specs, survives_failures=True, study=Study(axes=("batch_size",)))
    session, group = ran_plan(plan)
    assert session.status == "completed"
    assert [run.batch_size for run in sorted(group.runs, key=lambda run: run.id)] == [20, 10]
    _, whole = ran_plan(replace(plan, kind="engines", study=None))
    assert len(whole.runs) == len(sizes), "only a study can do without them"


@pytest.mark.slow
def test_two_resumes_of_a_plan_make_each_run_once(paths: Paths, machine: Machine, diary: Diary) -> None:
    runner, plan = Runner(paths, machine), Plan(kind="repeat", specs=(demo(0.02),), rounds=3)

    def act(planned: PlannedRun, run_id: int) -> None:
        diary.begin(planned, run_id)
        session.cancel()

    session = run_plan(plan, runner, diary.callbacks(on_run_started=act))
    with pytest.raises(UsageError) as refused, Database(paths.database) as database:
        resume_plan(load_group(database, sure(session.group_id)), plan.runs(), runner)
    assert has_at_its_core(refused.value.message, message("groups.under_way", group_id=session.group_id))
    assert session.wait(60)
    group = in_database(paths.database, load_group, sure(session.group_id))
    resumed = resume_plan(group, plan.runs(), runner)
    with pytest.raises(UsageError, match=said("groups.under_way").pattern):
        resume_plan(group, plan.runs(), runner)
    assert resumed.wait(60)
    again = resume_plan(group, plan.runs(), runner)  # read before the first resume
    assert again.wait(60)
    whole = in_database(paths.database, load_group, sure(session.group_id))
    assert len(whole.runs) == 1 + 3, "the cancelled one, and each of the plan's once"
    assert not list(paths.database.with_name("owners").glob("group-*"))
