"""Times steps and epochs, sends events to the parent, and receives requests to stop."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Literal

import msgspec

from workloads.protocol import events

BLOCK_INTERVAL_S = 0.1  # at most ten blocks of steps per second


class Cancelled(Exception):  # noqa: N818 - an outcome, not an error
    """The parent requested cancellation."""


class Emitter:
    """Writes numbered, timestamped events to a stream. Thread-safe."""

    def __init__(self, stream: BinaryIO, clock: Callable[[], float] = time.perf_counter) -> None:
        self._stream = stream
        self._clock = clock
        self._start_s = clock()
        self._lock = threading.Lock()
        self._seq = 0

    def send(self, event: events.Event) -> None:
        """Send the event immediately. Raises OSError if the other end of the stream is closed."""
        with self._lock:
            now_s = self._clock() - self._start_s
            stamped = msgspec.structs.replace(event, seq=self._seq, t_s=now_s)
            self._stream.write(events.encode(stamped))
            self._stream.flush()
            self._seq += 1


def beat(emitter: Emitter, every_s: float = events.BEAT_S) -> None:
    """Start a thread that regularly reports that this process is alive."""

    def send() -> None:
        pause = threading.Event()
        with suppress(OSError, ValueError):  # the reader has ended, or the stream was closed
            while True:
                emitter.send(events.Alive())
                pause.wait(every_s)

    threading.Thread(target=send, daemon=True, name="beat").start()


class Reporter:
    """Times a training run. Any training loop can call it.

    Each call reads the clock first and sends events afterwards. Events are sent about ten times per second, which
    takes only a few microseconds each time.
    """

    def __init__(self, emitter: Emitter, clock: Callable[[], float] = time.perf_counter) -> None:
        self.send = emitter.send
        self.cancel_requested = threading.Event()
        self.enough = threading.Event()  # set when the parent has measured enough
        self.epoch_steps: int | None = None  # length of full epochs; shorter ones are sent in parts; None: any
        self.engine_ready_s = clock()  # when the engine was imported and set up
        self.steps_done = 0
        self._clock = clock
        self._phase: events.PhaseName = "import"
        self._kind: Literal["warmup", "measure", "start"] | None = None
        self._epoch = 0
        self._epoch_start_s = self._last_s = self._train_end_s = 0.0
        self._validation_start_s: float | None = None
        self._validation_s: float | None = None
        self._epoch_end_s: float | None = None
        self._outside_s = 0.0
        self._batch_end_s = 0.0
        self._batches_s: list[float] | None = None
        self._durations_s: list[float] = []
        self._first_index = 0
        self._sent_s = 0.0

    def phase(
        self,
        name: events.PhaseName,
        epochs: int | None = None,
        total_steps: int | None = None,
        budget_s: float | None = None,
    ) -> None:
        """Report the start of a phase and its time limit, if any."""
        self.check_cancel()
        self._phase = name
        self._kind = "warmup" if name == "warmup" else "measure"
        self.send(events.Phase(name=name, epochs=epochs, total_steps=total_steps, budget_s=budget_s))

    def time_parts(self) -> None:
        """From now on, report the first steps and the validation batches of deliberately short epochs."""
        self._kind = "start"
        self._batches_s = []
        self.epoch_steps = 0

    def check_cancel(self) -> None:
        if self.cancel_requested.is_set():
            raise Cancelled

    def epoch_begin(self, index: int) -> None:
        """Start timing an epoch and its first step."""
        self._epoch = index
        self._first_index = 0
        self._validation_start_s = self._validation_s = None
        self._durations_s = []
        self._epoch_start_s = self._last_s = self._train_end_s = self._sent_s = self._clock()
        if self._epoch_end_s is not None:
            self._outside_s += self._epoch_start_s - self._epoch_end_s

    def step_end(self, loss: float | None = None) -> float:
        """Record the end of a training step, and return the seconds since the start of the epoch."""
        now_s = self._clock()
        self._durations_s.append(now_s - self._last_s)
        self._last_s = self._train_end_s = now_s
        self.steps_done += 1
        if now_s - self._sent_s >= BLOCK_INTERVAL_S:
            self.flush(loss)
            self._sent_s = now_s
        if self.cancel_requested.is_set():
            self.flush(loss)
            raise Cancelled
        return now_s - self._epoch_start_s

    def validation_begin(self) -> None:
        self._validation_start_s = self._batch_end_s = self._clock()

    def validation_batch_end(self) -> None:
        """Record the end of a validation batch."""
        if self._batches_s is not None:
            now_s = self._clock()
            self._batches_s.append(now_s - self._batch_end_s)
            self._batch_end_s = now_s
        self.check_cancel()

    def validation_end(self) -> None:
        if self._validation_start_s is not None:
            self._validation_s = self._clock() - self._validation_start_s

    def epoch_end(
        self,
        loss: float | None = None,
        accuracy: float | None = None,
        val_loss: float | None = None,
        val_accuracy: float | None = None,
    ) -> None:
        """Send the remaining steps and, while measuring, the epoch."""
        end_s = self._epoch_end_s = self._clock()
        rest_s = max(0.0, end_s - self._train_end_s - (self._validation_s or 0.0))
        self._outside_s += rest_s
        self.flush(loss)
        if self._phase != "measure":
            return
        if self._kind == "start":
            if self._batches_s:
                batches_s = tuple(self._batches_s)
                self.send(events.Steps(phase="validate", epoch=self._epoch, first_index=0, durations_s=batches_s))
                self._batches_s = []
            self.send(events.Metric(key="epoch_rest_s", value=rest_s))
            return
        if self.epoch_steps is not None and self._first_index != self.epoch_steps:
            self.send(events.Metric(key="loss", value=loss))
            self.send(events.Metric(key="accuracy", value=accuracy))
            return
        self.send(
            events.Epoch(
                index=self._epoch,
                duration_s=end_s - self._epoch_start_s,
                train_s=self._train_end_s - self._epoch_start_s,
                validation_s=self._validation_s,
                steps=self._first_index,
                loss=loss,
                accuracy=accuracy,
                val_loss=val_loss,
                val_accuracy=val_accuracy,
            )
        )

    def training_end(self) -> None:
        """Report the time that whole or cut epochs spent outside their steps and validation, and between them."""
        if self._phase == "measure" and self._kind != "start" and self._epoch_end_s is not None:
            self._outside_s += self._clock() - self._epoch_end_s
            self.send(events.Metric(key="outside_steps_s", value=self._outside_s))
        self._epoch_end_s, self._outside_s = None, 0.0

    def flush(self, loss: float | None = None) -> None:
        """Send the remaining steps of an epoch or of another round."""
        if not self._durations_s:
            return
        self.send(
            events.Steps(
                phase=self._kind or "measure",
                epoch=self._epoch,
                first_index=self._first_index,
                durations_s=tuple(self._durations_s),
                loss=loss,
            )
        )
        self._first_index += len(self._durations_s)
        self._durations_s = []
