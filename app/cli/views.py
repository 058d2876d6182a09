"""Displays a run in the terminal, as a stream of events or as text."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from app.cli.layout import GAP, live_text
from app.cli.terminal import VERDICT_INKS, Ink
from app.cli.text import LiveLine, complain, forget, in_line, is_broken_pipe, room, say, say_json
from app.core.analysis.headline import half_interval_pct
from app.core.messages import message, sentence
from app.core.metrics import amount_text
from app.core.plain_text import one_line
from app.core.records import PlannedRun
from app.core.report.run_texts import engine_line, machine_line
from app.core.runs.plan_session import Wait
from app.core.runs.state import RunState
from app.core.titles import preset_title
from app.core.verdict.rules import INTERVAL_PCT
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.workload import Workload

# Column widths of the epoch table, and the column that is omitted in narrow terminals.
_WIDTHS = (8, 8, 8, 8, 8, 12)
_VAL_LOSS = 4
_SAID_PHASES = ("import", "data", "build", "warmup", "evaluate", "finish")


class View:
    """Receives events in the session's thread. If its output fails, it cancels the run."""

    def __init__(self) -> None:
        self.error: OSError | None = None  # None also if the reader has simply stopped reading
        self._cancel: Callable[[], None] | None = None
        self._closed = False
        self._command = ""  # the latest one that the user had to run

    @property
    def is_lost(self) -> bool:
        return self._closed

    def begin(self, planned: PlannedRun, run_id: int) -> None:
        """Start showing the next run of the plan."""

    def may_cancel_by(self, cancel: Callable[[], None]) -> None:
        """Set the function that cancels the run. Events or an output failure may precede this call."""
        self._cancel = cancel
        if self._closed:
            cancel()

    def __call__(self, event: events.Event) -> None:
        self._attempt(lambda: self.show(event))

    def wait(self, planned: PlannedRun, wait: Wait) -> None:
        """Handle the wait before a run starts. A new command that the user must run is printed."""
        if wait.command is not None and wait.command != self._command:
            self._command = wait.command
            complain(in_line(wait.text))
            complain(f"    {in_line(wait.command)}")
        self._attempt(lambda: self.show_waiting(planned, wait))

    def show_waiting(self, planned: PlannedRun, wait: Wait) -> None:
        """Show that a run is waiting."""

    def _attempt(self, show: Callable[[], None]) -> None:
        if self._closed:
            return
        try:
            show()
        except OSError as error:
            self._closed = True
            forget(sys.stdout)
            self.error = None if is_broken_pipe(error) else error
            if self._cancel is not None:
                self._cancel()

    def show(self, event: events.Event) -> None:
        raise NotImplementedError


class JsonView(View):
    """Writes each event as one line of JSON. The stream of each run begins with a `run` event."""

    def show(self, event: events.Event) -> None:
        say_json(events.encode(event).decode(), end="", flush=True)


class TextualView(View):
    """Prints permanent lines and, on a terminal, a live line that is redrawn in place."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._live = LiveLine(sys.stdout, wanted=not quiet)
        self.preflight: list[str] = []  # lines to print when the first run starts

    def _line(self, text: str, *, always: bool = False, lead: Ink | None = None, ink: Ink | None = None) -> None:
        self._live.erase()
        if always or not self._quiet:
            say(text, lead=lead, ink=ink, flush=True)


class TextView(TextualView):
    """Shows a single run."""

    def __init__(self, workload: Workload, spec: RunSpec, machine: Machine, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._workload = workload
        self._spec = spec
        self._machine = machine
        self._state = RunState(spec)
        self._shown: set[str] = set()  # codes of the reasons printed so far

    def show(self, event: events.Event) -> None:
        """Print an event's permanent line, if any, and update the live line."""
        self._state.follow(event)
        if isinstance(event, events.Warn):
            self._shown.add(event.code)
            self._line(sentence("cli.note", note=in_line(event.message)), always=True)
        if isinstance(event, events.Error):
            reason = in_line(event.message)
            self._line(sentence("cli.run_failed_because", reason=reason), always=True, ink=Ink.BAD)
        if isinstance(event, events.End):
            self._live.erase()
        line = self._lasting(event)
        if isinstance(event, events.Judged):
            self._show_verdict(event)
        elif line:
            self._line(line, ink=Ink.MUTED if isinstance(event, events.Phase) else None)
            for caution in self.preflight if isinstance(event, events.Run) else ():
                self._line(caution, lead=Ink.CAUTION)
        elif self._live.is_live and isinstance(event, events.Steps | events.Phase):
            progress = self._state.progress
            share = progress.fraction if progress.phase == "measure" else None
            self._live.draw(live_text(share, self._progress(), self._live.room))

    def _lasting(self, event: events.Event) -> str | None:
        line = None
        match event:
            case events.Run():
                line = "\n".join(self._head())
            case events.Environment():
                device = event.device_name or event.device
                engine = engine_line(
                    event.engine, event.engine_version, device, precision=event.precision, jit=event.jit
                )
                line = sentence("cli.run_engine", engine=in_line(engine))
            case events.Dataset():
                line = _data_line(event)
            case events.Phase(name="measure") if self._spec.preset != "quick" and self._workload.has_epochs:
                line = "\n" + self._columns()
            case events.Phase(name="measure") if self._spec.preset == "quick":
                line = "\n" + sentence("cli.timing_steps", half_pct=INTERVAL_PCT)
            case events.Epoch():
                line = self._epoch(event)
        return line

    def _show_verdict(self, event: events.Judged) -> None:
        news = [reason for reason in event.reasons if reason.level != "fact" and reason.code not in self._shown]
        self._shown.update(reason.code for reason in news)
        for reason in news:
            line = sentence(f"cli.found_{reason.level}", reason=reason.text)
            self._line(line, lead=VERDICT_INKS.get(reason.level))

    def _head(self) -> list[str]:
        workload, batch_size, preset = self._workload, self._spec.batch_size, preset_title(self._spec.preset)
        arguments: dict[str, Any] = {"workload": workload.title, "batch_size": batch_size, "preset": preset}
        if workload.parameters_count:
            title = sentence("cli.network_title", **arguments, parameters=workload.parameters_count)
        else:
            title = sentence("cli.plan_title", **arguments)
        return [title, sentence("cli.run_machine", machine=in_line(machine_line(self._machine)))]

    def _columns(self) -> str:
        cells = [sentence("result.round" if self._workload.steps else "result.epoch"), sentence("column.seconds")]
        if self._workload.trains:
            cells += [sentence(f"column.{name}") for name in ("loss", "accuracy", "val_loss", "val_accuracy")]
        return _in_columns(cells)

    def _epoch(self, event: events.Epoch) -> str:
        number = f"{event.index + 1}/{self._spec.epochs}"
        cells = [number, f"{event.duration_s:.2f}"]
        if self._workload.trains:
            for loss, accuracy in ((event.loss, event.accuracy), (event.val_loss, event.val_accuracy)):
                cells.append("n/a" if loss is None else f"{loss:.4f}")
                cells.append("n/a" if accuracy is None else f"{accuracy:.1%}")
        return _in_columns(cells)

    def _estimated(self) -> str:
        estimate, metric = self._state.series.latest_estimate, self._workload.metric
        assert estimate is not None
        value = amount_text(metric, estimate.value)
        half_pct = half_interval_pct(metric, estimate.value, estimate.low, estimate.high)
        if half_pct is None:
            return sentence("result.about", value=value)
        return sentence("cli.about_within", value=value, half_pct=half_pct)

    def _progress(self) -> list[str]:
        """Return the parts of the live line, most important first."""
        progress, estimate = self._state.progress, self._state.series.latest_estimate
        left = "cli.time_left"
        if self._spec.preset == "quick" and estimate is not None and progress.phase == "measure":
            parts = [self._estimated(), sentence("cli.steps_timed", steps=estimate.steps)]
            left = "cli.at_most_left"
        elif progress.phase == "measure" and self._spec.preset != "standard":
            epoch, step = progress.epoch + 1, progress.step
            parts = [sentence("cli.at_epoch", epoch=epoch), sentence("cli.at_step", step=step)]
        elif progress.steps_per_epoch and progress.phase in ("warmup", "measure"):
            number = min(progress.epoch + 1, progress.epochs)
            parts = [sentence("cli.epoch_of", number=number, planned=progress.epochs)]
            parts.append(sentence("cli.step_of", number=progress.step, planned=progress.steps_per_epoch))
            if progress.loss is not None:
                parts.append(sentence("cli.loss", loss=progress.loss))
            if progress.step_s:
                parts.append(sentence("chart.step_rate", steps_per_s=1 / progress.step_s))
        else:
            return [sentence(f"phase.{progress.phase}")] if progress.phase in _SAID_PHASES else []
        if progress.remaining_s is not None:
            parts.insert(0, sentence(left, remaining_s=progress.remaining_s))
        return parts


def _in_columns(cells: Sequence[str]) -> str:
    """Return a line of the epoch table. The validation loss is omitted if it doesn't fit."""
    width = room()
    is_narrow = width is not None and width < sum(_WIDTHS) + len(GAP) * (len(_WIDTHS) - 1)
    shown = [f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=False)]
    return GAP.join(cell for number, cell in enumerate(shown) if not (is_narrow and number == _VAL_LOSS))


def _data_line(event: events.Dataset) -> str:
    source = "cli.real_data" if event.source == "real" else "cli.synthetic_data"
    return sentence(
        "cli.data_line",
        name=one_line(event.name, 100),
        source=message("cli.generated_data" if event.name == "generated" else source),
        samples=event.samples,
        validation_samples=event.validation_samples,
    )
