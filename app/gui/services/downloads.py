"""Downloads of data sets, one at a time. All pages can show their progress."""

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.core.datasets.install import InstalledDataset, fetch_dataset
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.paths import Paths
from app.gui.services.rate import Rate
from app.gui.services.tasks import Tasks
from app.gui.widgets.basics import Tone
from app.gui.widgets.timers import timer

TICK_MS = 200


class DownloadCancelledError(Exception):
    """The user cancelled the download. Received data is kept."""


class Download:
    """A download that runs in a thread. The GUI reads its progress."""

    def __init__(
        self, paths: Paths, dataset: InstalledDataset, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.dataset = dataset
        self.cancelled = False
        self._done_bytes = 0
        self._waiting = False
        self._rate = Rate(clock)
        self._fetch = partial(fetch_dataset, paths, dataset.id, None, self.report, self._on_waiting)

    @property
    def share(self) -> float:
        """Share of the download that is completed, 0 to 1."""
        return min(1.0, self._done_bytes / self._total_bytes)

    def sentence(self) -> str:
        if self.cancelled:
            return sentence("run.cancelling")
        if self._waiting:
            return sentence("data_row.waiting")
        done_bytes, total_bytes = self._done_bytes, self._total_bytes
        if done_bytes >= total_bytes:
            return sentence("data_row.unpacking")
        share_pct = 100 * done_bytes // total_bytes
        arrived = {"done_bytes": done_bytes, "total_bytes": total_bytes, "share_pct": share_pct}
        rate_bytes = self._rate.bytes_per_s(done_bytes)
        if rate_bytes is None:
            return sentence("data_row.downloaded", **arrived)
        return sentence("data_row.downloaded_at", **arrived, rate_bytes=rate_bytes)

    def run(self) -> bool:
        """Download and install the data set. Returns False if cancelled."""
        try:
            self._fetch()
        except DownloadCancelledError:
            return False
        return True

    def report(self, done_bytes: int, _: int) -> None:
        """Record progress from the download's thread. Raises DownloadCancelledError if cancelled."""
        self._rate.note(done_bytes)
        self._done_bytes = done_bytes
        self._waiting = False
        if self.cancelled:
            raise DownloadCancelledError

    @property
    def _total_bytes(self) -> int:
        return self.dataset.size_bytes or 1  # known for all data sets that can be downloaded

    def _on_waiting(self) -> None:
        self._waiting = True
        if self.cancelled:
            raise DownloadCancelledError


class Downloads(QObject):
    """Runs downloads, and notifies the user. `ended` names the data set, and whether it is now installed."""

    moved = Signal()
    ended = Signal(str, bool)

    def __init__(
        self,
        tasks: Tasks,
        notify: Callable[[str, Tone, str, Callable[[], None] | None], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._tasks, self._notify = tasks, notify
        self.current: Download | None = None
        self._timer = timer(self, TICK_MS)
        self._timer.timeout.connect(self.moved)

    def start(self, paths: Paths, dataset: InstalledDataset) -> None:
        if self.current is not None:
            return
        self.current = Download(paths, dataset)
        self._timer.start()
        self._tasks.start(self.current.run, self._on_done, self._on_failed)
        self.moved.emit()

    def cancel(self) -> None:
        if self.current is not None:
            self.current.cancelled = True
            self.moved.emit()

    def of(self, dataset_id: str) -> Download | None:
        return self.current if self.current is not None and self.current.dataset.id == dataset_id else None

    def _on_done(self, installed: bool) -> None:
        self._end(installed=installed)
        code = "data_row.now_installed" if installed else "data_row.download_cancelled"
        self._notify(sentence(code), "", "", None)

    def _on_failed(self, error: AppError) -> None:
        self._end(installed=False)
        self._notify(str(error), "invalid", "", None)

    def _end(self, *, installed: bool) -> None:
        self._timer.stop()
        assert self.current is not None
        dataset_id, self.current = self.current.dataset.id, None
        self.ended.emit(dataset_id, installed)
