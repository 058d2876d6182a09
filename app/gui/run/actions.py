"""Actions for stored results, available in all views: saving and copying pictures and text, and exporting."""

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QDir, QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.analysis.own_runs import run_name
from app.core.errors import AppError, UsageError
from app.core.files import closing
from app.core.messages import message, sentence
from app.core.plain_text import safe_text
from app.core.records import Group
from app.core.storage.database import Database
from app.core.titles import workload_title
from app.core.verdict.judged_run import JudgedRun
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.widgets.dialogs import ask

# Exports and pictures are imported on demand, so that pages open faster.
if TYPE_CHECKING:
    from app.core.exchange.sharing import SharedResult
    from app.core.plans.report import Report
    from app.core.report.card import ShareCard
    from app.core.report.formats.export_format import ExportFormat, PlanTable

FILE_NAME_LIMIT = 100


class ResultActions:
    """Saves and copies results, and notifies the user of the outcome."""

    def __init__(self, services: Services, window: QWidget) -> None:
        self._services = services
        self._window = window
        self._copies = Latest()  # a slow picture must not replace a later copy

    def save_picture(
        self,
        run: JudgedRun,
        group: Group | None = None,
        path: Path | None = None,
        *,
        again: Callable[[], object] | None = None,
    ) -> None:
        """Save the share picture in the current theme.

        If `path` is None, ask for a file. If the run has a caution and can be repeated by calling `again`, open
        the share dialog instead.
        """
        from app.core.plans.experiments import report_of
        from app.core.report.share import check_shown

        try:  # check first, so that a file is requested only if the picture can be drawn
            if group is None:
                check_shown(run.summary)
            else:
                report_of(group).check_card()
        except AppError as error:
            self._services.complain(error)
            return
        if path is None and _may_improve(run, group) and again is not None:
            self.share(run, group, again=again)
            return
        if path is None:
            path = self._ask_for_picture(_file_name(run, group))
        if path is not None:
            from app.core.exchange.sharing import picture_and_file

            self._save(partial(picture_and_file, run=run, group=group), path)

    def _save(self, load: "Callable[[Database], tuple[ShareCard, bytes]]", target: Path) -> None:
        """Save a picture with its embedded result file, both loaded in the background."""
        from app.gui.run.share_picture import save_share_picture

        tokens = self._services.theme.tokens

        def done(_: None) -> None:
            self._report_saved(sentence("picture.saved", name=target.name), target)

        def write(database: Database) -> None:
            _check_is_file(target)
            card, enclosed = load(database)
            save_share_picture(card, tokens, target, enclosed)

        self._services.query(write, done)

    def share(
        self, run: JudgedRun, group: Group | None = None, *, again: Callable[[], object] | None = None
    ) -> None:
        """Open the share dialog, which offers to repeat a run with a caution by calling `again`."""
        from app.core.exchange.sharing import shared_result

        offered = again if _may_improve(run, group) else None
        self._preview(partial(shared_result, run=run, group=group), _file_name(run, group), offered)

    def share_report(self, report: "Report", name: str, chart: int) -> None:
        """Open the share dialog for a plan with this chart. `name` is a file name without a suffix."""
        from app.core.exchange.sharing import shared_report

        self._preview(partial(shared_report, report=report, chart=chart), name)

    def _preview(
        self, load: "Callable[..., SharedResult]", name: str, again: Callable[[], object] | None = None
    ) -> None:
        from app.gui.run.share_dialog import ShareDialog

        places = QStandardPaths.StandardLocation

        def ask(title: str, ending: str, kinds: str) -> Path | None:
            place = places.PicturesLocation if ending == ".png" else places.DocumentsLocation
            return self._ask(title, f"{name}{ending}", kinds, place)

        ShareDialog(self._services, self._window, load, ask, self._report_saved, again=again).open()

    def save_card(self, card: "ShareCard", name: str, ids: Sequence[int]) -> None:
        """Ask for a file, and save the picture of several runs with the results of these runs."""
        from app.core.report.formats.result_document import enclosed_file

        path = self._ask_for_picture(name)
        if path is not None:
            self._save(lambda database: (card, enclosed_file(database, ids)), path)

    def copy_card(self, card: "ShareCard") -> None:
        from app.gui.run.share_picture import paint_share_picture

        self._put_picture(paint_share_picture(card, self._services.theme.tokens))

    def _put_picture(self, picture: QImage) -> None:
        self._copies.drop()
        QGuiApplication.clipboard().setImage(picture)
        self._services.notify(sentence("picture.copied"), "", "", None)

    def copy_plain(self, text: str) -> None:
        self._copies.drop()
        QGuiApplication.clipboard().setText(safe_text(text))
        self._services.notify(sentence("result.copied"), "", "", None)

    def export_plan(self, name: str, table: "Callable[[], PlanTable]") -> None:
        """Ask for a file, and export a plan to it in the format indicated by its suffix.

        `name` is a file name without a suffix.
        """
        from app.core.report.export import PLAN_FORMATS, format_of, plan_lines, write_lines

        target = self._ask_for_file(sentence("plan_page.export_title"), name, PLAN_FORMATS)
        if target is None:
            return

        def write() -> None:
            _check_is_file(target)
            write_lines(target, plan_lines(table(), format_of(target, PLAN_FORMATS).name))

        def done(_: None) -> None:
            self._report_saved(sentence("plan_page.exported", name=target.name), target)

        self._services.tasks.start(write, done, self._services.complain)

    def copy_picture(self, run: JudgedRun, group: Group | None = None) -> None:
        from app.core.exchange.sharing import picture_card
        from app.gui.run.share_picture import paint_share_picture

        tokens = self._services.theme.tokens

        def paint(database: Database) -> QImage:
            return paint_share_picture(picture_card(database, run, group), tokens)

        self._services.query(paint, self._copies.only(self._put_picture))

    def copy_text(self, run: JudgedRun, group: Group | None = None) -> None:
        from app.core.plans.experiments import report_of
        from app.core.report.run_texts import result_text

        self.copy_plain(result_text(run) if group is None else replace(report_of(group), run=run).text())

    def copy_group(self, group: Group) -> None:
        from app.core.plans.experiments import report_of

        self.copy_plain(report_of(group).listing())

    def export(self, ids: Sequence[int], path: Path | None = None) -> None:
        """Export runs as CSV or JSON, depending on the file's suffix. If there are no `ids`, export all runs."""
        from app.core.report.export import FORMATS

        if path is None:
            what = sentence("export.chosen" if ids else "export.all")
            path = self._ask_for_file(what, "epochmark-runs", FORMATS)
        if path is None:
            return
        target = path

        def write(database: Database) -> int:
            _check_is_file(target)
            return _write(target, database, ids)

        def done(count: int) -> None:
            self._report_saved(sentence("export.done", count=count, name=target.name), target)

        self._services.query(write, done)

    def _report_saved(self, text: str, target: Path) -> None:
        folder = target.absolute().parent

        def show() -> None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

        self._services.notify(text, "", sentence("button.show_in_folder"), show)
        if str(folder) != self._services.preferences.settings.save_folder:
            # The file is saved. Failing to remember its folder isn't worth an error.
            with contextlib.suppress(AppError):
                self._services.preferences.change(save_folder=str(folder))

    def _ask_for_picture(self, name: str) -> Path | None:
        pictures = QStandardPaths.StandardLocation.PicturesLocation
        return self._ask(sentence("button.save_picture"), f"{name}.png", sentence("picture.png"), pictures)

    def _ask_for_file(self, title: str, name: str, formats: "Mapping[str, ExportFormat]") -> Path | None:
        kinds = ";;".join(f"{sentence(each.title)} (*{each.ending})" for each in formats.values())
        return self._ask(title, name, kinds, QStandardPaths.StandardLocation.DocumentsLocation)

    def _ask(self, title: str, name: str, kinds: str, place: QStandardPaths.StandardLocation) -> Path | None:
        """Ask for a file, and add the suffix of the selected type. Returns None if the user cancels.

        The dialog starts in the most recently used folder or, if there is none, in the usual folder for such
        files. Not every home folder has one; without it, Qt would start in the current folder.
        """
        usual = (self._services.preferences.settings.save_folder, QStandardPaths.writableLocation(place))
        folder = next((each for each in usual if each and Path(each).is_dir()), QDir.homePath())
        chosen, kind = QFileDialog.getSaveFileName(self._window, title, str(Path(folder) / name), kinds)
        # Keep the suffix of another type, because the user typed it deliberately. "v1.2" has no suffix.
        if not chosen or chosen.lower().endswith(tuple(_endings(kinds))):
            return Path(chosen) if chosen else None
        path = Path(chosen + _endings(kind or kinds)[0])
        # The dialog has only checked the name without the suffix.
        return path if not os.path.exists(path) or self._may_overwrite(path) else None

    def _may_overwrite(self, path: Path) -> bool:
        text = sentence("file.ask_to_replace", name=path.name)
        return ask(self._window, sentence("file.exists"), text, sentence("file.replace"))


def _may_improve(run: JudgedRun, group: Group | None) -> bool:
    if group is not None or run.verdict.level != "caution":
        return False
    cautions = (reason.advised for reason in run.verdict.reasons if reason.level == "caution")
    return any(advised is None or advised.code != "advice.varies" for advised in cautions)


def _file_name(run: JudgedRun, group: Group | None) -> str:
    """Return the name of a result's files, without a suffix, such as "Epochmark CIFAR-10 CNN, RTX 4090"."""
    from app.core.plans.experiments import report_of

    what = workload_title(run.summary.workload) if group is None else report_of(group).name
    return re.sub(r'[<>:"/\\|?*]', "-", f"Epochmark {what}, {run_name(run.summary)}")[:FILE_NAME_LIMIT]


def _check_is_file(path: Path) -> None:
    """Raise UsageError for devices and pipes. Writing to them could block the GUI."""
    if os.path.exists(path) and not path.is_file() and not path.is_dir():
        raise UsageError(message("file.is_device", name=path.name), message("export.choose_another"))


def _endings(kinds: str) -> list[str]:
    """Return the suffixes of a file dialog's types, such as ".csv" for "CSV table (*.csv)"."""
    return re.findall(r"\*((?:\.\w+)+)", kinds)


def _write(target: Path, database: Database, ids: Sequence[int]) -> int:
    from app.core.report.export import format_of, write_lines
    from app.core.report.formats.result_document import FORMAT as RESULT_FILE
    from app.core.report.formats.result_document import results_of
    from app.core.result_file.canonical import file_bytes
    from app.core.storage.runs import all_ids

    if format_of(target) is RESULT_FILE:
        results = results_of(database, ids)
        write_lines(target, [file_bytes(results).decode("utf-8")])
        return len(results)
    # Close the reader before the database, even if the file can't be written.
    with closing(format_of(target).lines(database, ids)) as lines:
        write_lines(target, lines)
    return len(ids) or len(all_ids(database))
