"""A run on two computers: both store the results of the first, and if it ends on one, it ends on both."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.core.errors import UsageError
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.runs.agreement import claim_of, joint_spec
from app.core.runs.runner import Runner, checked_workload
from app.core.runs.session import Limits
from app.core.verdict.rules import judge
from tests.core.cluster.meeting import LOCAL, Meeting
from tests.core.cluster.together import Side, finished, together
from tests.core.runs.running import Recorder, demo, fake_worker, finish, stored
from tests.saying import said
from tests.sure import sure
from tests.waiting import wait_until
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

LONG = 1.0  # seconds per step, so that the run doesn't end before the test has acted


@pytest.mark.slow
def test_both_store_the_results_of_the_first(paths: Paths, machine: Machine) -> None:
    with together(demo(), paths, machine) as sides:
        first, second = finished(paths, *sides)
    for run in (first, second):
        assert run.summary.status == "completed", run.summary.error_message
        assert run.summary.settings == "devices=2 machines=2"
        assert (run.summary.device_count, run.summary.machine_count) == (2, 2)
        assert "several_computers" in {reason.code for reason in judge(run).reasons}
    assert [epoch.duration_s for epoch in second.epochs] == [epoch.duration_s for epoch in first.epochs]
    assert [epoch.val_loss for epoch in second.epochs] == [epoch.val_loss for epoch in first.epochs]
    assert sum((block.durations_s for block in second.steps), ()) == sum(
        (block.durations_s for block in first.steps), ()
    )
    assert second.summary.value == first.summary.value


@pytest.mark.slow
@pytest.mark.parametrize("faster", [0, 1])
def test_the_second_completes_when_the_first_does(faster: int, paths: Paths, machine: Machine) -> None:
    fast, slow = demo(step_s=0.001), demo(step_s=0.05)
    specs = (fast, slow) if faster == 0 else (slow, fast)
    with together(specs[0], paths, machine, second=specs[1]) as sides:
        first, second = finished(paths, *sides)
    assert [run.summary.status for run in (first, second)] == ["completed"] * 2
    assert len(second.epochs) == 3
    assert second.summary.value == first.summary.value


def kill_worker(side: Side) -> None:
    side.worker().kill()


def cancel(side: Side) -> None:
    side.session.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("act", "reason"), [(kill_worker, "run.crashed"), (cancel, "cluster.cancelled")], ids=["kill", "cancel"]
)
def test_if_it_ends_on_one_it_ends_on_both_with_a_reason(
    act: Callable[[Side], None], reason: str, rank: int, paths: Paths, machine: Machine
) -> None:
    with together(demo(step_s=LONG), paths, machine) as sides:
        wait_until(lambda: all(side.steps() for side in sides))
        act(sides[rank])
        runs = finished(paths, *sides)
        other = sides[1 - rank]
    assert runs[rank].summary.status == ("cancelled" if act is cancel else "failed")
    assert runs[1 - rank].summary.status == "failed"
    assert (other.said.code, other.said.arguments["rank"]) == ("cluster.ended", rank)
    inner = other.said.arguments["reason"]
    assert (inner["code"] if isinstance(inner, dict) else inner.code) == reason


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows suspends no process like this")
def test_a_suspended_worker_ends_the_run_on_both(paths: Paths, machine: Machine) -> None:
    with together(demo(step_s=LONG), paths, machine, Limits(unheard_s=4.0)) as sides:
        wait_until(lambda: all(side.steps() for side in sides))
        sides[1].worker().suspend()
        finished(paths, *sides)
    assert sides[1].said.code == "run.hung"
    assert sides[0].said.code == "cluster.ended"


def running_workers() -> Iterator[psutil.Process]:
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # a process of an earlier test that has ended
            if "workloads" in " ".join(process.cmdline()):
                yield process


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows suspends no process like this")
def test_a_worker_suspended_at_its_very_start_ends_the_run_on_both(paths: Paths, machine: Machine) -> None:
    with together(demo(step_s=LONG), paths, machine, Limits(loads_s=3.0)) as sides:
        wait_until(lambda: any(running_workers()))
        next(running_workers()).suspend()
        finished(paths, *sides)
    assert {side.said.code for side in sides} == {"run.hung", "cluster.ended"}


@pytest.mark.slow
def test_steps_that_take_far_longer_than_before_are_reported_on_both(paths: Paths, machine: Machine) -> None:
    limits = Limits(slow_s=1.0, hung_s=4.0, hung_steps=1.0)
    with together(demo(outcome="hang", step_s=0.02), paths, machine, limits) as sides:
        runs = finished(paths, *sides)
    for run in runs:
        assert [sure(warning.said).code for warning in run.warnings if warning.code == "slow_peers"] == [
            "run.slow_peers"
        ]


@pytest.mark.slow
def test_a_lost_computer_ends_the_run_and_epochs_are_kept(paths: Paths, machine: Machine) -> None:
    with together(demo(step_s=0.05), paths, machine) as sides:
        wait_until(lambda: any(isinstance(event, events.Epoch) for event in sides[0].seen))
        sides[1].member.end("completed", None)  # its connection ends, as if its process had been killed
        sides[1].session.kill()
        first, _ = finished(paths, *sides)
    assert (first.summary.status, first.summary.error_code) == ("failed", "crashed")
    assert first.epochs
    assert sides[0].said == message("cluster.lost_gone", rank=1, address=LOCAL)


@pytest.mark.slow
def test_the_cause_on_another_computer_replaces_an_engine_s_own_error(
    paths: Paths, machine: Machine, recorder: Recorder, tmp_path: Path
) -> None:
    body = """
    say(HELLO + b'{"type":"error","code":"internal","message":"Connection reset by peer"}\\n')
    time.sleep(60)
    """
    meeting = Meeting()
    guest = meeting.join()
    meeting.finish()
    runner = Runner(paths, machine, command=fake_worker(tmp_path, body), member=meeting.host)
    session = runner.start(joint_spec(demo(), 2), recorder)
    wait_until(lambda: recorder.of(events.Hello))
    cause = message("worker.out_of_memory")
    guest.end("failed", events.Error(code="out_of_memory", said=cause))
    finish(session)
    assert said("cluster.ended", rank="1", reason=said("worker.out_of_memory")).is_in(
        stored(paths, session).summary.error_message or ""
    )


def test_the_computers_agree_on_everything_but_their_own_settings(paths: Paths) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(seed=3, data="synthetic")
    claim = claim_of(spec, paths)
    alike = claim_of(CATALOGUE["mnist_mlp"].default_spec(seed=3, data="auto", device="cpu", threads=1), paths)
    assert alike == claim
    for other in (
        CATALOGUE["mnist_mlp"].default_spec(seed=4),
        CATALOGUE["mnist_mlp"].default_spec(seed=3, batch_size=256),
        CATALOGUE["mnist_mlp"].default_spec(seed=3, engine="torch"),
        CATALOGUE["mnist_cnn"].default_spec(seed=3),
        CATALOGUE["mnist_mlp"].default_spec("quick", seed=3),
    ):
        assert claim_of(other, paths) != claim


@pytest.mark.parametrize(
    ("workload", "count", "changes", "code"),
    [
        ("mnist_mlp", 3, {"engine": "torch"}, "workload.batch_not_divisible"),
        ("matmul", 2, {"engine": "torch"}, "workload.one_device"),
        ("mnist_mlp", 65, {"engine": "torch"}, "setting.not_in_range"),
        ("demo", 2, {"devices": 2}, "workload.one_device"),
    ],
)
def test_what_several_computers_cannot_do_is_refused(
    workload: str, count: int, changes: dict[str, Any], code: str
) -> None:
    spec = CATALOGUE[workload].default_spec(**changes)
    with pytest.raises(UsageError) as caught:
        checked_workload(joint_spec(spec, count))
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == code


def test_a_stored_run_on_several_computers_is_not_repeated_on_one(paths: Paths, machine: Machine) -> None:
    with pytest.raises(UsageError) as caught:
        Runner(paths, machine).check(joint_spec(demo(), 2))
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == "run.needs_computers"


def test_a_spec_with_an_impossible_number_of_devices_is_refused(paths: Paths, machine: Machine) -> None:
    spec = RunSpec(workload="mnist_mlp", engine="torch", settings={"machines": 2, "devices": 3}, batch_size=30)
    with pytest.raises(UsageError) as caught:
        Runner(paths, machine).check(spec)
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == "workload.devices_not_divisible"
