"""Two runs in this process, each with its own worker, as if they were on two computers."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from app.core.cluster.member import Member
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.agreement import joint_spec
from app.core.runs.runner import Runner
from app.core.runs.session import Limits, Session
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.core.cluster.meeting import LOCAL, Meeting
from tests.waiting import wait_until
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec

PATIENCE_S = 120
Command = Callable[[RunSpec, Paths], WorkerCommand]


@dataclass
class Side:
    """The run of one of the computers."""

    member: Member
    session: Session
    seen: list[events.Event] = field(default_factory=list)

    @property
    def error(self) -> events.Error | None:
        return next((event for event in self.seen if isinstance(event, events.Error)), None)

    @property
    def said(self) -> Message:
        assert self.error is not None
        assert self.error.said is not None
        return self.error.said

    def steps(self) -> bool:
        return any(isinstance(event, events.Steps) for event in self.seen)

    def worker(self) -> psutil.Process:
        # The other computer's steps may arrive before this one's worker has said anything.
        wait_until(lambda: any(isinstance(event, events.Hello) for event in self.seen))
        return psutil.Process(next(event.pid for event in self.seen if isinstance(event, events.Hello)))


@contextmanager
def together(
    spec: RunSpec,
    paths: Paths,
    machine: Machine,
    limits: Limits | None = None,
    second: RunSpec | None = None,
    local: str = LOCAL,
    command: Command = worker_command,
) -> Iterator[tuple[Side, Side]]:
    """Start a spec on two computers that have already met. At the end, no process may be left.

    Args:
        spec: Spec for each of them.
        paths: The folders of both.
        machine: The computer of both.
        limits: Time limits; None for the usual ones.
        second: Spec for the second one; None for the same.
        local: Address of the first one.
        command: Of their workers.
    """
    others = _children()  # the fork server of other tests, for example
    meeting = Meeting(local=local)
    members = (meeting.host, meeting.join())
    meeting.finish()
    specs = (spec, second or spec)
    sides = [
        started(joint_spec(each, 2), paths, machine, limits, member, command)
        for each, member in zip(specs, members, strict=True)
    ]
    workers = _children() - others
    try:
        yield sides[0], sides[1]
    finally:
        for side in sides:
            side.session.kill()
            assert side.session.wait(PATIENCE_S)
    wait_until(lambda: not any(map(_is_alive, workers)))


def started(
    spec: RunSpec, paths: Paths, machine: Machine, limits: Limits | None, member: Member, command: Command
) -> Side:
    seen: list[events.Event] = []
    runner = Runner(paths, machine, limits, command=command, member=member)
    return Side(member, runner.start(spec, seen.append), seen)


def finished(paths: Paths, *sides: Side) -> list[Run]:
    for side in sides:
        assert side.session.wait(PATIENCE_S)
    with Database(paths.database) as database:
        return [load_run(database, side.session.run_id) for side in sides]


def _children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def _is_alive(pid: int) -> bool:
    try:
        return os.name == "nt" or psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
