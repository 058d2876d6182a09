"""Trains a Keras model in several processes, one per device, with PyTorch's DistributedDataParallel.

All processes run the same workload. The first one is the leader. It alone stops the training, starts validations
and reports. Before each step, it sends a command to the others.
"""

import datetime as dt
import os
import socket
from collections.abc import Callable
from typing import Any

from workloads.engines.computers import meet
from workloads.engines.engine import StepWatch
from workloads.engines.keras_feed import Batch, part_of
from workloads.engines.peers import STORE, WORLD_SIZE, host, not_connected, rank

_STEP, _COUNT, _METRICS, _VALIDATE, _END = range(5)
# A step of a large network can take minutes on a CPU. Followers also wait while the leader validates.
_LEADER_WAITS = dt.timedelta(minutes=10)
# Well below the largest float32, so that the sum of 64 devices is still a number.
_LARGEST_SUM = 1e30
_FOLLOWER_WAITS = dt.timedelta(days=1)
# Another computer may have been lost without closing its connection.
_OTHERS_WAIT = dt.timedelta(seconds=100)


class Ended(Exception):  # noqa: N818 - an outcome, not an error
    """The leader has ended the training of a follower."""


class Ranks:
    """The processes of a run, connected to each other.

    Args:
        device: This process's device, as named by PyTorch.

    Attributes:
        leads: Whether this is the process that reports.
    """

    def __init__(self, device: str) -> None:
        import torch
        import torch.distributed

        self._torch, self._distributed = torch, torch.distributed
        self._rank, self._size = rank(), int(os.environ[WORLD_SIZE])
        self._device = device
        self.leads = self._rank == 0
        self._watch: StepWatch | None = None
        self._validation: Callable[[], object] | None = None
        self._is_validating = False
        waits = _LEADER_WAITS if self.leads else _FOLLOWER_WAITS
        if host():
            waits = _OTHERS_WAIT
        store = _store(self._distributed, self._rank, self._size)
        meet(RanksStore, str(torch.__version__))
        # Commands are sent between the processors, gradients between the devices.
        on_cards = device.startswith("cuda") and self._distributed.is_nccl_available()
        self._distributed.init_process_group(
            "cpu:gloo,cuda:nccl" if on_cards else "gloo",
            store=store,
            rank=self._rank,
            world_size=self._size,
            timeout=waits,
        )

    def part(self, batch: Batch) -> Batch:
        return part_of(batch, self._rank, self._size)

    def share(self, model: Any) -> None:
        """Make a compiled model average its gradients across all processes."""
        index = None if self._device == "cpu" else [self._torch.device(self._device).index]
        distributed = self._torch.nn.parallel.DistributedDataParallel(model, device_ids=index)
        step, caller = type(model).train_step, _Caller(model, distributed)
        model.train_step = lambda data: step(caller, data)

    def command(self, model: Any, watch: StepWatch | None) -> None:
        """Make the leader send a command before each of a model's steps, and the other processes wait for it.

        Args:
            model: The model, already shared.
            watch: Counts the examples of this process's steps; None if they aren't counted.
        """
        self._model, self._watch = model, watch
        usual: Callable[[Any], Any] = model.train_step

        def step(data: Any) -> Any:
            self._agree(_STEP)
            return usual(data)

        model.train_step = step
        self._result, model._get_metrics_result_or_logs = model._get_metrics_result_or_logs, self._results

    def validate(self, model: Any, own: Callable[[], object] | None) -> None:
        """Make all processes validate when the leader does, each with its part of the data.

        Args:
            model: The model, which is about to be trained.
            own: Validates with a follower's part; None for the leader, or if there is no validation.
        """
        self._validation = own
        if not self.leads:
            return
        usual = type(model).evaluate

        def evaluate(*arguments: Any, **named: Any) -> Any:
            self._send(_VALIDATE)
            return self._validated(lambda: usual(model, *arguments, **named))

        model.evaluate = evaluate

    def end(self) -> None:
        self._send(_END)

    def examples(self) -> int:
        """Return the number of examples counted in all processes. Only the leader may call this method."""
        self._send(_COUNT)
        return self._count()

    def alike(self, model: Any) -> int:
        """Return the number of processes whose weights equal the leader's. All processes must call this method."""
        weights = [weight.value.detach().double().sum().cpu() for weight in model.trainable_variables]
        mine = self._torch.stack(weights)
        all_sums = [self._torch.empty_like(mine) for _ in range(self._size)]
        self._distributed.all_gather(all_sums, mine)
        return sum(self._torch.equal(sums, all_sums[0]) for sums in all_sums)

    def of_all(self, numbers: list[float]) -> list[float]:
        """Collect numbers from all processes, and return them by rank. All processes must call this method."""
        mine = self._torch.tensor(numbers, dtype=self._torch.float64)
        of_each = [self._torch.empty_like(mine) for _ in range(self._size)]
        self._distributed.all_gather(of_each, mine)
        return [number for each in of_each for number in each.tolist()]

    def all_reduce_step(self, size_bytes: int) -> Callable[[], float]:
        """Return a function that adds the float32 arrays of all processes, and returns how many arrays were added.

        The other processes wait for the leader before each sum.
        """
        numbers = self._torch.ones(size_bytes // 4, device=self._device)
        before = [1.0]

        def step() -> float:
            self._agree(_STEP)
            if before[0] > _LARGEST_SUM:
                numbers.fill_(1.0)
                before[0] = 1.0
            self._distributed.all_reduce(numbers)
            factor = float(numbers[-1]) / before[0]
            before[0] *= factor
            return factor

        return step

    def _results(self, logs: Any) -> Any:
        """Return the metrics. Keras calls this method once at the end of each epoch and once after validation."""
        if self._is_validating:
            self._add_metrics()
        elif self._model.training:
            self._agree(_METRICS)
            if self.leads:
                self._add_metrics()
        return self._result(logs)

    def _validated(self, validate: Callable[[], Any]) -> Any:
        self._is_validating = True
        try:
            return validate()
        finally:
            self._is_validating = False

    def _agree(self, command: int) -> None:
        """Send a command (leader), or execute commands up to this one (follower)."""
        if self.leads:
            self._send(command)
        else:
            self._obey(command)

    def _send(self, command: int) -> None:
        self._distributed.broadcast(self._torch.tensor([command]), src=0)

    def _obey(self, last: int) -> None:
        """Execute commands up to this one. Raises Ended if the leader has ended the training."""
        command = self._torch.tensor([_END])
        while True:
            self._distributed.broadcast(command, src=0)
            if command == _END:
                raise Ended
            self._carry_out(int(command))
            if command == last:
                return

    def _carry_out(self, command: int) -> None:
        if command == _COUNT:
            self._count()
        elif command == _METRICS:
            self._add_metrics()
        elif command == _VALIDATE and self._validation is not None:
            # Between two training steps, where Keras doesn't expect it
            self._validated(self._validation)
            self._model.reset_metrics()
            self._model.train()

    def _count(self) -> int:
        seen = self._torch.tensor(self._watch.examples() if self._watch is not None else 0)
        self._distributed.all_reduce(seen)
        return int(seen)

    def _add_metrics(self) -> None:
        """Add up, over all processes, the sums and counts from which the metrics are computed."""
        values = [variable.value for variable in self._model.metrics_variables]
        sums = self._torch.stack([value.detach().to("cpu", self._torch.float64) for value in values])
        self._distributed.all_reduce(sums)
        for variable, value in zip(self._model.metrics_variables, sums, strict=True):
            variable.assign(value)


class _Caller:
    """A model whose forward pass goes through DistributedDataParallel, for Keras's own training step."""

    def __init__(self, model: Any, distributed: Any) -> None:
        self._model, self._distributed = model, distributed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._distributed(*arguments, **named)


class RanksStore:
    """PyTorch's store, through a connection of its own."""

    def __init__(self) -> None:
        import torch.distributed

        self._store = _connected(torch.distributed, is_master=False)
        self.put, self.drop = self._store.set, self._store.delete_key

    def wait_for(self, key: str, timeout_s: float) -> str:
        self._store.wait([key], dt.timedelta(seconds=timeout_s))
        return str(self._store.get(key).decode())


def _store(distributed: Any, rank: int, size: int) -> Any:
    """Return the store through which the processes find each other. On several computers, rank 0 listens."""
    if not host():
        return distributed.FileStore(os.environ[STORE], size)
    return _connected(distributed, is_master=rank == 0)


def _connected(distributed: Any, *, is_master: bool) -> Any:
    name, _, number = host().rpartition(":")
    address, port = name.strip("[]"), int(number)
    listener = None
    try:
        if is_master:  # by itself, PyTorch would listen on all addresses
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.create_server((address, port), family=family).detach()
        return distributed.TCPStore(
            address,
            port,
            is_master=is_master,
            timeout=_LEADER_WAITS,
            wait_for_workers=False,
            master_listen_fd=listener,
        )
    except (OSError, RuntimeError) as error:
        raise not_connected(error) from error
