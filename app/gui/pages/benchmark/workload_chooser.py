"""A dialog for choosing a workload, with search, durations and memory requirements."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QAbstractItemView, QDialog, QLineEdit, QTableView, QWidget

from app.core.errors import AppError
from app.core.formats import format_memory
from app.core.messages import format_time_left, sentence, text
from app.core.metrics import headline_kind
from app.core.runs.probe import probe_duration_s
from app.core.runs.session import Session
from app.core.runs.workload_estimates import WorkloadEstimate, probe_key, workload_estimates
from app.core.titles import data_title, workload_title
from app.gui.pages.benchmark.workload_box import Star
from app.gui.services.bundle import Services
from app.gui.style.icons import icon
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import Button, Card, ClampedLabel, ElidedLabel, column, label, plain_tip, row
from app.gui.widgets.segments import Segments
from app.gui.widgets.tables import Column, Index, TableModel, set_up_table
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

COLUMNS = (
    Column("label.workload", 270),
    Column("heading.study", 146),
    Column("heading.whole_run", 148),
    Column("part.memory", 96),
    Column("setting.data", 124),
)
_MEMORY = 3
ROW_PX = 32


class WorkloadModel(TableModel):
    """The workloads of one kind whose texts contain all search words."""

    columns = COLUMNS

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._theme, self._preferences = services.theme, services.preferences
        self._entries: Sequence[WorkloadEstimate] = ()
        self._probed_s: Mapping[tuple[str, str, str], float] = {}
        self._kind = ""
        self._words: tuple[str, ...] = ()
        self.rows: list[WorkloadEstimate] = []

    def show_entries(
        self, entries: Sequence[WorkloadEstimate], probed_s: Mapping[tuple[str, str, str], float]
    ) -> None:
        """Set the workloads to list. `probed_s` contains durations from probes, by `probe_key`."""
        self._entries, self._probed_s = entries, probed_s
        self._filter()

    def look_for(self, kind: str, words: str) -> None:
        """Filter by kind ("" for any) and by search words."""
        self._kind, self._words = kind, tuple(words.casefold().split())
        self._filter()

    def duration_s(self, entry: WorkloadEstimate) -> float | None:
        """Return the duration of a full run on this computer in seconds; None if unknown."""
        return self._probed_s.get(entry.key, entry.duration_s)

    def count(self) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._texts(entry)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(text(entry.problem or entry.workload.summary))
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 0 and self._is_favourite(entry):
            return icon("star-filled", self._theme.tokens.accent)
        if role == Qt.ItemDataRole.ForegroundRole and entry.problem and index.column() == _MEMORY:
            return QColor(self._theme.tokens.invalid)
        return None

    def _is_favourite(self, entry: WorkloadEstimate) -> bool:
        return entry.workload.id in self._preferences.settings.favourite_workloads

    def _texts(self, entry: WorkloadEstimate) -> tuple[str, ...]:
        duration_s = self.duration_s(entry)
        return (
            workload_title(entry.workload.id),
            entry.workload.study_name or "–",
            format_time_left(duration_s) if duration_s is not None else sentence("workloads.duration_unknown"),
            format_memory(entry.memory_bytes) if entry.memory_bytes else "n/a",
            data_title(entry.data),
        )

    def _filter(self) -> None:
        self.beginResetModel()
        self.rows = [entry for entry in self._entries if self._fits(entry)]
        self.endResetModel()

    def _fits(self, entry: WorkloadEstimate) -> bool:
        workload = entry.workload
        study = f"study {workload.study} {workload.study_name}" if workload.study else ""
        texts = (text(workload.title), text(workload.summary))
        all_text = " ".join((workload.id, *texts, workload.source, study, workload.kind))
        return self._kind in ("", workload.kind) and all(word in all_text.casefold() for word in self._words)


class WorkloadTable(QTableView):
    """A table of workloads."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.entries = WorkloadModel(services)
        services.preferences.changed.connect(self.viewport().update)
        set_up_table(self, self.entries, sentence("workloads.table"), ROW_PX)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)

    @property
    def chosen(self) -> WorkloadEstimate | None:
        row = self.currentIndex().row()
        return self.entries.rows[row] if 0 <= row < len(self.entries.rows) else None

    def choose(self, workload_id: str) -> None:
        """Select a workload, or the first one if it isn't listed."""
        ids = [entry.workload.id for entry in self.entries.rows]
        if ids:
            self.selectRow(ids.index(workload_id) if workload_id in ids else 0)
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)


KINDS = (
    ("", "workloads.all"),
    ("image", "workloads.image"),
    ("text", "workloads.text"),
    ("dense", "workloads.dense"),
    ("limits", "workloads.limits"),
    ("storage", "workloads.storage"),
)


class WorkloadChooser(QDialog):
    """Lets the user choose a workload. `chosen_id` is set when the dialog is accepted.

    Args:
        probed_s: Durations from probes in seconds, by `probe_key`. New ones are added.
        chosen: Engine and device to use for workloads that support them.
    """

    def __init__(
        self,
        services: Services,
        machine: Machine,
        workload_id: str,
        probed_s: dict[tuple[str, str, str], float],
        parent: QWidget | None = None,
        *,
        chosen: tuple[str, str] = (DEFAULT_ENGINE, "auto"),
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("workloads.choose_one"))
        self.resize(844, 640)
        self._services, self._machine, self._probed_s = services, machine, probed_s
        self._chosen = chosen
        self._entries: list[WorkloadEstimate] = []
        self._session: Session | None = None
        self._probing = False
        self._probed_id = ""
        self._answer = ("", "")  # the workload, and the result of its probe as text
        self.chosen_id = workload_id
        self.kinds = Segments(
            services.theme, sentence("workloads.kind"), tuple((kind, sentence(code)) for kind, code in KINDS)
        )
        self.kinds.select("")
        self.search = QLineEdit(placeholderText=sentence("label.search"))
        self.search.setAccessibleName(sentence("label.search"))
        self.search.setClearButtonEnabled(True)
        self.table = WorkloadTable(services)
        self.title = ElidedLabel("", TITLE_PX - 2, QFont.Weight.DemiBold)
        self.summary = ClampedLabel(2)
        self.facts = ClampedLabel(3)
        self.answer = ClampedLabel(2, muted=False)
        self.star = Star(services)
        self.probe_button = Button(services.theme, sentence("workloads.probe"), "gauge")
        self.choose_button = Button(services.theme, sentence("workloads.choose"), "check", kind="primary")
        self.close_button = Button(services.theme, sentence("button.cancel"))
        self._lay_out()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        paths, machine, chosen = self._services.paths, self._machine, self._chosen
        self._services.tasks.start(
            lambda: workload_estimates(paths, machine, *chosen), self._on_entries, self._services.complain
        )

    def probe(self) -> None:
        entry = self.table.chosen
        if entry is None or self._probing:
            return
        self._probing = True
        self._show()
        paths, machine, spec = self._services.paths, self._machine, entry.spec
        self._probed_id = entry.workload.id

        def measure() -> tuple[RunSpec, float]:
            return spec, probe_duration_s(spec, paths, machine, self._keep)

        self._services.tasks.start(measure, self._on_probed, self._on_not_probed)

    def done(self, result: int) -> None:
        if self._session is not None:
            self._session.cancel()
        if result == QDialog.DialogCode.Accepted and self.table.chosen is not None:
            self.chosen_id = self.table.chosen.workload.id
        super().done(result)

    def _keep(self, session: Session) -> None:
        self._session = session

    def _connect(self) -> None:
        self.kinds.chosen.connect(self._on_filter)
        self.search.textChanged.connect(self._on_filter)
        self.search.returnPressed.connect(self.table.setFocus)
        self.table.selectionModel().selectionChanged.connect(self._show)
        self.table.activated.connect(self._on_activated)
        self.probe_button.clicked.connect(self.probe)
        self.choose_button.clicked.connect(self.accept)
        self.close_button.clicked.connect(self.reject)

    def _on_entries(self, entries: Sequence[WorkloadEstimate]) -> None:
        self._entries = list(entries)
        self._fill()

    def _on_filter(self) -> None:
        kept = self._kept()
        self.table.entries.look_for(self.kinds.value, self.search.text())
        self.table.choose(kept)
        self._show()

    def _on_activated(self) -> None:
        if self.choose_button.isEnabled():
            self.accept()

    def _on_probed(self, answer: tuple[RunSpec, float]) -> None:
        spec, duration_s = answer
        self._probed_s[probe_key(spec)] = duration_s
        self._end_probe(spec.workload, sentence("workloads.duration", duration_s=duration_s))
        self._fill()

    def _on_not_probed(self, error: AppError) -> None:
        self._end_probe(self._probed_id, str(error))

    def _end_probe(self, workload_id: str, answer: str) -> None:
        self._probing, self._session = False, None
        self._answer = (workload_id, answer)
        self._show()

    def _fill(self) -> None:
        kept = self._kept()
        self.table.entries.show_entries(self._entries, self._probed_s)
        self.table.choose(kept)
        self._show()

    def _kept(self) -> str:
        return self.table.chosen.workload.id if self.table.chosen else self.chosen_id

    def _show(self) -> None:
        entry = self.table.chosen
        self.choose_button.setEnabled(entry is not None)
        self.star.show_workload(entry.workload.id if entry else "")
        self.probe_button.setEnabled(entry is not None and not self._probing and not entry.problem)
        if entry is None:
            self.title.show_text(sentence("workloads.nothing_found" if self._entries else "label.checking"))
            for line in (self.summary, self.facts):
                line.show_text("")
            self.answer.show_text("")
            return
        workload = entry.workload
        self.title.show_text(f"{workload_title(workload.id)} ({workload.id})")
        self.summary.show_text(text(workload.summary))
        self.facts.show_text(" · ".join(_facts(entry)))
        answer = (
            self._answer[1] if self._answer[0] == workload.id else text(entry.problem) if entry.problem else ""
        )
        self.answer.show_text(sentence("workloads.probing") if self._probing else answer)

    def _lay_out(self) -> None:
        detail = Card()
        detail.body.addLayout(column(self.title, self.summary, self.facts, self.answer, None, spacing_px=4))
        detail.setMinimumHeight(192)  # enough for all lines, so that the layout doesn't jump
        buttons = row(self.star, self.probe_button, None, self.close_button, self.choose_button)
        head = row(self.kinds, None, label(""), self.search)
        head.setStretch(3, 1)
        whole = column(head, self.table, detail, buttons, spacing_px=GAP_PX + 4)
        whole.setStretch(1, 1)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self.choose_button.setDefault(True)
        self.search.setFocus()


def _facts(entry: WorkloadEstimate) -> list[str]:
    workload = entry.workload
    parts = [headline_kind(workload.metric).label]
    if workload.parameters_count:
        parts.append(sentence("workloads.parameters", parameters=workload.parameters_count))
    if workload.has_epochs:
        parts.append(sentence("share.batch", batch_size=workload.batch_size))
    if workload.epoch_text:
        is_epoch = workload.has_epochs
        epoch_text = text(workload.epoch_text)
        parts.append(sentence("workloads.epoch", epoch=epoch_text) if is_epoch else epoch_text)
    if workload.loss_band:
        low, high = workload.loss_band
        parts.append(sentence("workloads.loss_band", low=low, high=high))
    rows, usual = entry.published
    parts.append(
        sentence("workloads.published", rows=rows, usual=usual) if rows else sentence("workloads.none_published")
    )
    parts.append(workload.source)
    return [part for part in parts if part]
