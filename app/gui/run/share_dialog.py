"""The share dialog: previews a result's fields, its picture, and its text for different forums."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.core.exchange.sharing import TEXT_FORMS, SharedResult
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.report.export import write_lines
from app.core.storage.database import Database
from app.gui.run.share_picture import paint_share_picture, save_share_picture
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import DARK, GAP_PX, LIGHT, Tokens
from app.gui.widgets.basics import Button, Card, column, label, panel, row, scrolled, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.segments import Segments

PICTURE_PX, FIELDS_PX, HEIGHT_PX = 640, 300, 600
Ask = Callable[[str, str, str], Path | None]
ReportSaved = Callable[[str, Path], None]


class ShareDialog(QDialog):
    """Previews the content to share, and lets the user exclude fields.

    `load` returns the content, given the `database` and the names of the `hidden` fields. `ask` asks for a file,
    given title, suffix and types. Unless `again` is None, the dialog offers to repeat the run.
    """

    def __init__(
        self,
        services: Services,
        parent: QWidget,
        load: Callable[..., SharedResult],
        ask: Ask,
        report_saved: ReportSaved,
        *,
        again: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(parent)
        self._services, self._load = services, load
        self._ask, self._report_saved = ask, report_saved
        self._latest = Latest()
        self.shared: SharedResult | None = None
        self.boxes: dict[str, QCheckBox] = {}
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(sentence("share_dialog.title"))
        self._make_parts()
        self._lay_out()
        self._again = again
        self.again_line.setVisible(again is not None)
        self._connect()
        self._refresh()

    def _make_parts(self) -> None:
        theme = self._services.theme
        self.view = Segments(
            theme,
            sentence("share_dialog.show"),
            (("picture", sentence("share_dialog.picture")), ("text", sentence("share_dialog.text"))),
        )
        self.view.select("picture")
        self.colours = ChoiceBox(sentence("share_dialog.colours"))
        for name in ("dark", "light"):
            self.colours.addItem(sentence(f"settings.theme_{name}"), name)
        self.colours.setCurrentIndex(0 if theme.tokens is DARK else 1)
        self.form = ChoiceBox(sentence("share_dialog.form"))
        for name in TEXT_FORMS:
            self.form.addItem(sentence(f"share_dialog.form_{name}"), name)
        self.picture = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self.text = QPlainTextEdit(readOnly=True)
        self.text.setAccessibleName(sentence("share_dialog.text"))
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.copy_picture_button = Button(theme, sentence("menu.copy_picture"), "image")
        self.copy_button = Button(theme, sentence("button.copy_text"), "copy")
        self.more_button = Button(theme, "", "ellipsis", name=sentence("results_page.more"))
        self.more = QMenu(self)
        self.save_file = self.more.addAction(sentence("share_dialog.save_file"))
        self.close_button = Button(theme, sentence("button.close"))
        self.again_line = QWidget()
        self.again_button = Button(theme, sentence("button.run_again"), "rotate-ccw")
        self.doubt = label(wrap=True)
        self.doubt.setProperty("tone", "caution")
        self.again_line.setLayout(row(self.doubt, self.again_button, stretch=0))

    def _lay_out(self) -> None:
        self._fields = QVBoxLayout()
        self._fields.setSpacing(GAP_PX)
        fields = panel(self._fields)
        inside = Card(sentence("share_dialog.inside"))
        inside.setFixedWidth(FIELDS_PX)
        self.note = label(sentence("share_dialog.note"), muted=True, wrap=True)
        inside.body.addWidget(self.note)
        inside.body.addWidget(scrolled(fields, None), stretch=1)
        self._stack = QStackedWidget()
        for part in (self.picture, self.text):
            self._stack.addWidget(part)
        self._stack.setMinimumSize(PICTURE_PX, PICTURE_PX * 630 // 1200)
        shown = column(row(self.view, None, self.colours, self.form), self._stack, spacing_px=GAP_PX)
        buttons = row(
            self.close_button, None, self.more_button, self.copy_button, self.copy_picture_button, self.save_button
        )
        content = row(inside, shown, spacing_px=2 * GAP_PX)
        whole = column(content, self.again_line, buttons, spacing_px=2 * GAP_PX)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        room_px = self.screen().availableGeometry().height() - 10 * GAP_PX  # without the title bar
        self.resize(self.sizeHint().width(), min(HEIGHT_PX, room_px))

    def _connect(self) -> None:
        self.view.chosen.connect(self._show)
        self.colours.currentIndexChanged.connect(self._show)
        self.form.currentIndexChanged.connect(self._show)
        self.save_button.clicked.connect(self._save_picture)
        self.copy_picture_button.clicked.connect(self._copy_picture)
        self.copy_button.clicked.connect(self._copy_text)
        self.save_file.triggered.connect(self._save_file)
        self.more_button.clicked.connect(self._open_more)
        self.close_button.clicked.connect(self.reject)
        self.again_button.clicked.connect(self._run_again)

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(name for name, box in self.boxes.items() if not box.isChecked())

    def _refresh(self) -> None:
        """Rebuild the shared content in the background, because a group may have many runs."""
        self.shared = None  # prevents sharing fields that were just excluded
        self._allow()
        hidden = self.hidden

        def look(database: Database) -> SharedResult:
            return self._load(database=database, hidden=hidden)

        self._services.query(look, self._latest.only(self._on_looked))

    def _on_looked(self, shared: SharedResult) -> None:
        self.shared = shared
        if not self._fields.count():
            self._show_fields(shared)
        self._show()
        self._allow()

    def done(self, result: int) -> None:
        self._latest.drop()
        super().done(result)

    def _allow(self) -> None:
        shared = self.shared
        for button in (self.save_button, self.copy_picture_button, self.copy_button):
            button.setEnabled(shared is not None)
        self.save_file.setEnabled(shared is not None and bool(shared.enclosed))

    def _show_fields(self, shared: SharedResult) -> None:
        for field in shared.fields:
            if field.removable:
                box = QCheckBox(field.label)
                box.setChecked(True)
                set_tip(box, field.text)
                box.toggled.connect(self._refresh)
                self.boxes[field.name] = box
                self._fields.addLayout(column(box, label(field.text, muted=True, wrap=True), spacing_px=0))
        if kept := [field.label for field in shared.fields if not field.removable]:
            always = label(sentence("share_dialog.always", names=kept), muted=True, wrap=True)
            self._fields.addWidget(always)
        self._fields.addStretch(1)
        self.note.setVisible(bool(self.boxes))

    @property
    def _tokens(self) -> Tokens:
        return DARK if self.colours.currentData() == "dark" else LIGHT

    def _painted(self) -> QImage:
        assert self.shared is not None
        return paint_share_picture(self.shared.card, self._tokens)

    def _show(self) -> None:
        is_text = self.view.value == "text"
        self._stack.setCurrentIndex(int(is_text))
        self.colours.setVisible(not is_text)
        self.form.setVisible(is_text)
        if self.shared is None:
            return
        self.doubt.setText(sentence("share_dialog.doubtful", verdict=self.shared.card.badge[0]))
        self.text.setPlainText(self.shared.text_as(self.form.currentData()))
        ratio = self.devicePixelRatioF()
        picture = self._painted().scaledToWidth(
            round(PICTURE_PX * ratio), Qt.TransformationMode.SmoothTransformation
        )
        picture.setDevicePixelRatio(ratio)
        painter = QPainter(picture)  # on a dialog in the same colour, the picture's edges would be invisible
        painter.setPen(QColor(self._services.theme.tokens.border))
        size = picture.deviceIndependentSize()
        painter.drawRect(QRectF(0.5, 0.5, size.width() - 1, size.height() - 1))
        painter.end()
        self.picture.setPixmap(QPixmap.fromImage(picture))
        self.picture.setAccessibleName(sentence("share_dialog.picture_says", text=self.shared.text))

    def _open_more(self) -> None:
        self.more.popup(self.more_button.mapToGlobal(self.more_button.rect().bottomLeft()))

    def _run_again(self) -> None:
        self.reject()
        if self._again is not None:
            self._again()

    def _save_picture(self) -> None:
        target = self._ask(sentence("button.save_picture"), ".png", sentence("picture.png"))
        if target is not None and self.shared is not None:
            there, tokens = self.shared, self._tokens
            write = partial(save_share_picture, there.card, tokens, target, there.enclosed)
            self._write(write, target, "picture.saved")

    def _save_file(self) -> None:
        title, kind = sentence("share_dialog.save_file"), sentence("export.result")
        target = self._ask(title, ".epochmark.json", f"{kind} (*.epochmark.json)")
        if target is not None and self.shared is not None:
            content = self.shared.enclosed
            self._write(lambda: write_lines(target, [content.decode()]), target, "share_dialog.file_saved")

    def _write(self, write: Callable[[], object], target: Path, code: str) -> None:
        done = sentence(code, name=target.name)
        self._services.tasks.start(write, lambda _: self._report_saved(done, target), self._services.complain)

    def _copy_picture(self) -> None:
        if self.shared is not None:
            QGuiApplication.clipboard().setImage(self._painted())
            self._services.notify(sentence("picture.copied"), "", "", None)

    def _copy_text(self) -> None:
        if self.shared is not None:
            form = self.form.currentData()
            QGuiApplication.clipboard().setText(safe_text(self.shared.text_as(form)))
            self._services.notify(sentence("share_dialog.copied", form=self.form.currentText()), "", "", None)
