"""What a terminal shows of a run while it happens: a stream of events, or lines for people."""

import sys
from collections.abc import Callable

from app.cli.text import LiveLine, in_line, is_broken_pipe, say, say_json
from app.core.metrics import format_time_left, format_value, headline_kind
from app.core.plain_text import one_line
from app.core.records import Machine
from app.core.report.wording import engine_line, machine_line
from app.core.runs.state import RunState
from workloads.protocol import events
from workloads.protocol.spec import RunSpec
from workloads.workload import Workload


class View:
    """Gets the events in the session's thread; when its output cannot be written any more, it cancels the run.

    Attributes:
        error: Why the output was lost; None while it is not, or when its reader just went away.
    """

    def __init__(self) -> None:
        self.error: OSError | None = None
        self._cancel: Callable[[], None] | None = None
        self._closed = False

    def may_cancel_by(self, cancel: Callable[[], None]) -> None:
        """Say how the run is cancelled; its first events, and the loss of the output, may have come before."""
        self._cancel = cancel
        if self._closed:
            cancel()

    def __call__(self, event: events.Event) -> None:
        """Take the next event of the run."""
        if self._closed:
            return
        try:
            self.show(event)
        except OSError as error:
            self._closed = True
            self.error = None if is_broken_pipe(error) else error
            if self._cancel is not None:
                self._cancel()

    def show(self, event: events.Event) -> None:
        """Show one event."""
        raise NotImplementedError


class JsonView(View):
    """Writes every event as one line of JSON."""

    def show(self, event: events.Event) -> None:
        """Write the event's line."""
        say_json(events.encode(event).decode(), end="", flush=True)


class TextView(View):
    """Prints lines that stay, and, on a terminal, one that is drawn over and over."""

    def __init__(self, workload: Workload, spec: RunSpec, machine: Machine, *, quiet: bool) -> None:
        super().__init__()
        self._workload = workload
        self._spec = spec
        self._machine = machine
        self._quiet = quiet
        self._state = RunState(spec)
        self._has_epochs = workload.has_epochs
        self._trains = workload.trains
        self._live = LiveLine(sys.stdout, wanted=not quiet)
        self._told: set[str] = set()  # codes of the verdict so far
        self.preflight: list[str] = []  # lines that are told with the beginning of the run

    def show(self, event: events.Event) -> None:
        """Print what lasts, and draw the line that does not."""
        self._state.follow(event)
        if isinstance(event, events.Warn):
            self._told.add(event.code)
            self._line(f"Note: {in_line(event.message)}", always=True)
        if isinstance(event, events.Error):
            self._line(f"The run failed: {in_line(event.message)}", always=True)
        if isinstance(event, events.End):
            self._live.erase()
        line = self._lasting(event)
        if line:
            self._line(line)
        elif self._live.is_live and isinstance(event, events.Steps | events.Phase):
            self._draw()

    def _lasting(self, event: events.Event) -> str | None:
        """Return the line that an event leaves on the screen, or None."""
        line = None
        match event:
            case events.Run():
                count = self._workload.parameters_count
                network = f" · {count:,} parameters" if count else ""
                title = f"{self._workload.title}{network} · batch {self._spec.batch_size}"
                line = f"{title} · {self._spec.preset}\nMachine  {in_line(machine_line(self._machine))}"
                line = "\n".join([line, *self.preflight])
            case events.Environment():
                device = event.device_name or event.device
                engine = engine_line(
                    event.engine, event.engine_version, device, precision=event.precision, jit=event.jit
                )
                line = f"Engine   {in_line(engine)}"
            case events.Dataset():
                source = "real data" if event.source == "real" else "synthetic twin (same shapes and counts)"
                source = "input of the workload's own" if event.name == "generated" else source
                counts = f"{event.samples:,} examples, {event.validation_samples:,} to validate"
                line = f"Data     {one_line(event.name, 100)} · {source} · {counts}"
            case events.Phase(name="measure") if self._spec.preset != "quick" and self._has_epochs:
                learning = "" if not self._trains else "      loss  accuracy  val loss  val accuracy"
                line = f"\n   {'round' if self._workload.steps else 'epoch'}   seconds{learning}"
            case events.Phase(name="measure") if self._spec.preset == "quick":
                line = "\nTiming steps until the answer is within ± 2 %, or the time is up …"
            case events.Judged():
                line = self._verdict(event)
            case events.Epoch():
                line = self._epoch(event)
        return line

    def _verdict(self, event: events.Judged) -> str | None:
        """Return what is new in the verdict so far."""
        news = [reason for reason in event.reasons if reason.level != "fact" and reason.code not in self._told]
        self._told.update(reason.code for reason in news)
        return "\n".join(f"{reason.level.capitalize()}: {reason.text}" for reason in news) or None

    def _epoch(self, event: events.Epoch) -> str:
        number = f"{event.index + 1}/{self._spec.epochs}"
        cells = [f"{number:>8}", f"{event.duration_s:>8.2f}"]
        if not self._trains:
            return "  ".join(cells)
        for value, width, percent in (
            (event.loss, 8, False),
            (event.accuracy, 8, True),
            (event.val_loss, 8, False),
            (event.val_accuracy, 12, True),
        ):
            text = "n/a" if value is None else f"{value:.1%}" if percent else f"{value:.4f}"
            cells.append(f"{text:>{width}}")
        return "  ".join(cells)

    def _estimated(self) -> str:
        """Return the estimate so far, with its interval."""
        found, metric = self._state.series.latest_estimate, self._workload.metric
        assert found is not None
        text = f"about {format_value(metric, found.value)} {headline_kind(metric).unit}"
        if found.low is not None and found.high is not None:
            text += f" ± {50 * (found.high - found.low) / found.value:.1f} %"
        return text

    def _draw(self) -> None:
        progress, estimate = self._state.progress, self._state.series.latest_estimate
        if self._spec.preset == "quick" and estimate is not None and progress.phase == "measure":
            text = f"{self._estimated()} · {estimate.steps} steps"
            if progress.remaining_s is not None:
                text += f" · at most {format_time_left(progress.remaining_s)} left"
        elif progress.phase == "measure" and self._spec.preset != "standard":
            text = f"epoch {progress.epoch + 1} · step {progress.step}"
            if progress.remaining_s is not None:
                text += f" · {format_time_left(progress.remaining_s)} left"
        elif progress.steps_per_epoch and progress.phase in ("warmup", "measure"):
            parts = [f"epoch {min(progress.epoch + 1, progress.epochs)}/{progress.epochs}"]
            parts.append(f"step {progress.step}/{progress.steps_per_epoch}")
            if progress.loss is not None:
                parts.append(f"loss {progress.loss:.3f}")
            if progress.step_s:
                parts.append(f"{1 / progress.step_s:.1f} steps/s")
            if progress.remaining_s is not None:
                parts.append(f"{format_time_left(progress.remaining_s)} left")
            text = " · ".join(parts)
        else:
            words = {
                "import": "Starting the engine …",
                "data": "Preparing the data …",
                "build": "Building the network …",
                "evaluate": "Evaluating on the test set …",
            }
            text = words.get(progress.phase or "", "")
        self._live.draw(text)

    def _line(self, text: str, *, always: bool = False) -> None:
        if self._quiet and not always:
            return
        self._live.erase()
        say(text, flush=True)
