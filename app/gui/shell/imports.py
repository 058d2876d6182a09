"""Imports other people's results from dropped, chosen or pasted files, or from pasted text."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.storage.database import Database
from app.gui.services.bundle import Services
from app.gui.services.picture_code import scan, scan_file
from app.gui.widgets.basics import Tone

if TYPE_CHECKING:
    from app.core.exchange.importing import Outcome

# Modules that read imported files are imported late, because opening the window doesn't need them.
_log = logging.getLogger(__name__)
_LOOKED_AT = 20  # more than a suite's results
OWN_LIMIT = 100
# The outcomes, the workload of the newest result ("" for none), whether it is part of a suite, and who is faster.
Answer: TypeAlias = "tuple[list[Outcome], str, bool, str]"


class ResultImports(QObject):
    """Imports results in the background, also from files dropped on the window, and notifies the user.

    New results appear immediately on the Compare page, so it isn't offered if `is_compared`.
    """

    compare_wanted = Signal(str)
    suite_wanted = Signal()  # the user wants to see the imported score of a suite
    run_wanted = Signal(int)
    changed = Signal(str)  # results were added, the newest one of this workload
    dragged = Signal(bool)  # the user started or stopped dragging files over the window

    def __init__(self, services: Services, window: QWidget, is_compared: Callable[[], bool]) -> None:
        super().__init__(window)
        self._is_compared = is_compared
        self._services = services
        self._window = window
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DragLeave:
            self.dragged.emit(False)
        if isinstance(event, QDropEvent) and event.type() in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
            if paths:
                event.acceptProposedAction()
                self.dragged.emit(isinstance(event, QDragEnterEvent))
                if not isinstance(event, QDragEnterEvent):
                    self.start(paths)
                return True
        return super().eventFilter(watched, event)

    def choose(self) -> None:
        from app.core.exchange.importing import ENDINGS, PICTURES

        endings = [f"*{ending}" for ending in dict.fromkeys((*ENDINGS, *PICTURES))]
        folder = self._services.preferences.settings.save_folder or ""
        title, kinds = sentence("imports_page.title"), sentence("imports_page.files", endings=endings)
        names, _ = QFileDialog.getOpenFileNames(self._window, title, folder, kinds)
        if names:
            self.start([Path(name) for name in names])

    def paste(self) -> None:
        """Import the clipboard's content: files, a picture with a QR code, or the text of results."""
        from app.core.exchange.importing import import_text

        clipboard = QGuiApplication.clipboard()
        content: QMimeData | None = clipboard.mimeData()  # None if the clipboard is empty
        urls = content.urls() if content is not None else []
        paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
        text = clipboard.text() or scan(clipboard.image())
        if paths:
            self.start(paths)
        elif text.strip():
            self._run(lambda database: [import_text(database, text)])
        else:
            self._services.notify(sentence("imports_page.nothing_to_paste"), "caution", "", None)

    def start(self, paths: Sequence[Path]) -> None:
        from app.core.exchange.importing import import_files

        self._run(lambda database: list(import_files(database, paths, scan_file)))

    def _run(self, do: "Callable[[Database], list[Outcome]]") -> None:
        def work(database: Database) -> Answer:
            outcomes = do(database)
            workloads = _workloads_of(database, outcomes)
            workload, is_suite = workloads[-1] if workloads else "", _is_suite(workloads)
            return outcomes, workload, is_suite, "" if is_suite else _who_is_faster(database, workload)

        self._services.query(work, self._on_done)

    def _on_done(self, answer: Answer) -> None:
        outcomes, workload, is_suite, faster = answer
        refused = [str(outcome.refusal) for outcome in outcomes if outcome.refusal is not None]
        count = sum(outcome.count for outcome in outcomes)
        for reason in refused:
            _log.info("Not imported: %s", reason)
        parts = [sentence("imports_page.done", count=count)] if count else []
        if more := len(refused[1:]):
            parts.append(sentence("imports_page.more_refused", reason=refused[0], count=more))
        else:
            parts += refused
        if not parts:
            duplicates = sum(len(outcome.added.duplicates) for outcome in outcomes)
            parts.append(sentence("imports_page.no_new", count=max(1, duplicates)))
        parts += [faster] if faster else []
        tone: Tone = "invalid" if refused and not count else "caution" if refused else ""
        own = [run_id for outcome in outcomes for run_id in outcome.added.own_runs]
        follow: Callable[[], None] = partial(self.compare_wanted.emit, workload)
        action = "" if self._is_compared() or not workload else sentence("page.compare")
        if own and not workload:
            action, follow = sentence("button.open"), partial(self.run_wanted.emit, own[0])
        elif is_suite:
            action, follow = sentence("group.kind_suite"), self.suite_wanted.emit
        self._services.notify(" ".join(parts), tone, action, follow)
        if count:
            self.changed.emit(workload)


def _workloads_of(database: Database, outcomes: "Sequence[Outcome]") -> list[str]:
    """Return the workloads of the last `_LOOKED_AT` new results or, if none is new, of the last duplicates."""
    from app.core.storage.imported_results import load_result

    added = [outcome.added for outcome in outcomes]
    new = [number for each in added for number in (*each.imported, *each.upgraded)]
    ids = new or [number for each in added for number in each.duplicates]
    try:
        return [load_result(database, number).spec.workload for number in ids[-_LOOKED_AT:]]
    except UsageError:  # a duplicate that only a newer version can read
        return []


def _who_is_faster(database: Database, workload: str) -> str:
    """Compare the newest imported result of a workload with the best own run; "" if one is missing."""
    from app.core.analysis.bars import bars
    from app.core.analysis.own_runs import best_first
    from app.core.analysis.position import friend_answer
    from app.core.storage.imported_results import list_results
    from app.core.storage.queries import own_runs

    own = best_first(own_runs(database, workload, OWN_LIMIT)) if workload else []
    return friend_answer(bars(workload, own[0], imported=list_results(database, workload, 1))) if own else ""


def _is_suite(workloads: "Sequence[str]") -> bool:
    from app.core.plans.suite.definition import DEMO, SUITES

    suites = [definition for number, definition in SUITES.items() if number != DEMO.number]
    return any({part.workload for part in suite.parts} <= set(workloads) for suite in suites)
