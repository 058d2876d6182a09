"""Basic widgets: labels, cards, buttons and tooltips, and helpers for layouts."""

import html
from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, SignalInstance
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.core.plain_text import safe_text
from app.gui.style.icons import icon
from app.gui.style.theme import Theme, font
from app.gui.style.tokens import GAP_PX, TEXT_PX, TITLE_PX, WIDE_WINDOW_PX

_Box = TypeVar("_Box", QHBoxLayout, QVBoxLayout)
Tone = Literal["", "valid", "caution", "invalid"]
_WORD_PX, _LEAST_PX = 40, 90  # minimum widths of a word, and of a label with any text
HEAD_PX = 34  # height of buttons and of the line with the page title


def label(
    text: str = "",
    size_px: int = TEXT_PX,
    weight: QFont.Weight = QFont.Weight.Normal,
    *,
    muted: bool = False,
    wrap: bool = False,
) -> QLabel:
    result = QLabel(text)
    _dress(result, size_px, weight, muted=muted)
    result.setWordWrap(wrap)
    return result


def _dress(widget: QLabel, size_px: int, weight: QFont.Weight = QFont.Weight.Normal, *, muted: bool) -> None:
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setFont(font(size_px, weight))
    widget.setProperty("muted", muted)


def title(text: str = "") -> QLabel:
    """Return a page title as tall as a button, so that its position is the same on all pages."""
    result = label(text, TITLE_PX, QFont.Weight.DemiBold)
    result.setMinimumHeight(HEAD_PX)
    return result


class ElidedLabel(QLabel):
    """A one-line label that is elided if it doesn't fit. The tooltip contains the full text."""

    def __init__(
        self,
        text: str = "",
        size_px: int = TEXT_PX,
        weight: QFont.Weight = QFont.Weight.Normal,
        *,
        muted: bool = False,
    ) -> None:
        super().__init__()
        _dress(self, size_px, weight, muted=muted)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._whole = ""
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Change the text. The position and size of the label don't change."""
        text = safe_text(text)  # device names aren't trusted
        if text != self._whole:
            self._whole = text
            self.setAccessibleName(text)
            self._elide()
            self.updateGeometry()

    @property
    def whole_text(self) -> str:
        return self._whole

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.fontMetrics().height())

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self._whole) + 2, self.fontMetrics().height())

    def _elide(self) -> None:
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, self.width())
        if shown != self._whole and shown[-2:-1] in (" ", "·"):  # cut between two parts
            shown = f"{shown[:-1].rstrip(' ·')} …"
        if shown != self.text():
            self.setText(shown)
        set_tip(self, self._whole if shown != self._whole else "")


class ClampedLabel(QLabel):
    """A label with a limited number of lines, elided if it doesn't fit. The tooltip contains the full text.

    `kept` lines are reserved, so that widgets below don't jump when the text changes.
    """

    def __init__(self, lines: int, size_px: int = TEXT_PX, *, muted: bool = True, kept: int = 0) -> None:
        super().__init__()
        _dress(self, size_px, muted=muted)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._room_px = lines * self.fontMetrics().lineSpacing() + 2
        self._kept_px = kept * self.fontMetrics().lineSpacing() + 2 if kept else 0
        self._shorter: tuple[str, ...] = ()
        self.whole_text = ""
        self.is_elided = False  # whether even the shortest text is elided
        self._clamp()

    def show_text(self, text: str, shorter: Iterable[str] = ()) -> None:
        """Change the text. If it doesn't fit, the first of the `shorter` texts that fits is shown."""
        self.whole_text, self._shorter = safe_text(text), tuple(map(safe_text, shorter))
        self.setAccessibleName(self.whole_text)
        self._clamp()

    def fits(self, width_px: int) -> bool:
        return self._height(self.whole_text, width_px) <= self._room_px

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._clamp()

    def sizeHint(self) -> QSize:
        return QSize(0, self._wanted_px(self.text()))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.fontMetrics().lineSpacing())

    def _clamp(self) -> None:
        texts = [" ".join(map(self._fitting, each.split())) for each in (self.whole_text, *self._shorter)]
        shown = next((each for each in texts if self._height(each) <= self._room_px), texts[-1])
        words = shown.split() if self.width() >= _LEAST_PX else []
        shown = shown if words else ""
        while words and self._height(shown) > self._room_px:
            words.pop()
            shown = f"{' '.join(words)} …"
        self.is_elided = shown.split() not in [each.split() for each in (self.whole_text, *self._shorter)]
        set_tip(self, self.whole_text if shown.split() != self.whole_text.split() else "")
        self.setFixedHeight(self._wanted_px(shown))
        if shown != self.text():
            self.setText(shown)

    def _fitting(self, word: str) -> str:
        """Elide a word to fit the width, because Qt breaks lines only between words."""
        return self.fontMetrics().elidedText(word, Qt.TextElideMode.ElideMiddle, max(_WORD_PX, self.width()))

    def _wanted_px(self, text: str) -> int:
        return max(self._kept_px, min(self._height(text), self._room_px))

    def _height(self, text: str, width_px: int | None = None) -> int:
        box = QRect(0, 0, max(40, self.width() if width_px is None else width_px), 10_000)
        return self.fontMetrics().boundingRect(box, Qt.TextFlag.TextWordWrap, text).height()


class Card(QFrame):
    """A surface with a heading. `body` is for the content, `corner` for widgets next to the heading."""

    def __init__(self, heading: str = "", note: str = "", margin_px: int = 2 * GAP_PX) -> None:
        super().__init__()
        self.setObjectName("card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(margin_px, margin_px - 4, margin_px, margin_px - 4)
        self.body.setSpacing(GAP_PX)
        self.corner = QHBoxLayout()
        self.corner.setSpacing(GAP_PX)
        self.heading = label(heading, weight=QFont.Weight.DemiBold)
        self.note = ElidedLabel(note, muted=True)
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight)
        if heading:
            self.setAccessibleName(heading)
            line = row(self.heading, self.note, self.corner, spacing_px=2 * GAP_PX)
            line.setStretch(1, 1)
            self.body.addLayout(line)


class Button(QPushButton):
    """A button with an icon in the theme's colours. In narrow windows, its text is hidden if it doesn't fit.

    Args:
        kind: "primary" (one per page), "plain", "flat" (a link), "segment" (one of several) or "place" (in the
            sidebar).
        gives_way: Whether the text may be hidden in any window, for example in a row of many buttons.
        do: Called when the button is clicked.
        name: Name for screen readers; "" for the text.
    """

    def __init__(
        self,
        theme: Theme,
        text: str,
        icon_name: str = "",
        kind: Literal["primary", "plain", "flat", "segment", "place"] = "plain",
        *,
        gives_way: bool = False,
        do: Callable[..., object] | SignalInstance | None = None,
        name: str = "",
    ) -> None:
        super().__init__()
        self._theme = theme
        self._kind = kind
        self._icon_name = icon_name
        self._gives_way = gives_way
        self._whole, self._is_brief = "", False
        self.setText(text)
        self.setProperty("kind", kind)
        self.setFont(font(TEXT_PX, QFont.Weight.DemiBold if kind == "primary" else QFont.Weight.Medium))
        if kind in ("segment", "place"):
            self.setCheckable(True)
            self.setAutoExclusive(True)
            self._stop_here(checked=False)
            self.toggled.connect(lambda checked: self._stop_here(checked=checked))
        if icon_name:
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)  # see minimumSizeHint
            self.setIconSize(QSize(18, 18))
            theme.changed.connect(self._colour)
            self._colour()
        if do is not None:
            self.clicked.connect(do)
        if name:
            self.setAccessibleName(name)

    def setText(self, text: str) -> None:
        """Change the text. A small gap separates the text from the icon."""
        self._whole = f" {text}" if self._icon_name and text else text
        self._show_whole(is_brief=False)
        self._fit()
        self.updateGeometry()  # Qt doesn't notice a change of hidden text
        self.setAccessibleName(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def sizeHint(self) -> QSize:
        return super().sizeHint() + QSize(self._text_px() if self._is_brief else 0, 0)

    def minimumSizeHint(self) -> QSize:
        """Return the minimum size, which excludes the text if it may be hidden."""
        whole = self.sizeHint()
        return whole - QSize(self._text_px(), 0) if self._can_be_brief() else whole

    def _fit(self) -> None:
        if self._is_brief or self._can_be_brief():
            self._show_whole(is_brief=self._can_be_brief() and self.width() < self.sizeHint().width())

    def _can_be_brief(self) -> bool:
        return bool(self._icon_name and self._whole) and (self._gives_way or is_narrow(self))

    def _text_px(self) -> int:
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, self._whole).width()

    def _show_whole(self, *, is_brief: bool) -> None:
        self._is_brief = is_brief
        super().setText("" if is_brief else self._whole)
        if is_brief != bool(self.property("brief")):  # keep a custom tooltip
            self.setProperty("brief", is_brief)
            if is_brief and not self.toolTip():
                set_tip(self, self._whole.strip())
            elif self.toolTip() == plain_tip(self._whole.strip()):
                set_tip(self, "")

    def show_icon(self, icon_name: str) -> None:
        self._icon_name = icon_name
        self._colour()

    def _stop_here(self, *, checked: bool) -> None:
        """Make Tab stop only at a group's checked button. Qt does so only once a button has had the focus."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if checked else Qt.FocusPolicy.ClickFocus)

    def _colour(self) -> None:
        tokens = self._theme.tokens
        colour, chosen = {
            "primary": (tokens.on_accent, None),
            "flat": (tokens.accent, None),
            "place": (tokens.muted, tokens.accent),
        }.get(self._kind, (tokens.text, None))
        self.setIcon(icon(self._icon_name, colour, chosen))


class Fold(QWidget):
    """A button that shows and hides its content."""

    def __init__(self, theme: Theme, title: str, *content: QWidget | QLayout | None) -> None:
        super().__init__()
        self.button = Button(theme, title, "chevron-right", kind="flat")
        self.button.setCheckable(True)
        self.button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._content = QWidget()
        self._content.setLayout(column(*content))
        self._content.hide()
        self.button.toggled.connect(self._on_toggled)
        self.setLayout(column(self.button, self._content))

    def _on_toggled(self, is_open: bool) -> None:
        self._content.setVisible(is_open)
        self.button.show_icon("chevron-down" if is_open else "chevron-right")


def is_narrow(widget: QWidget) -> bool:
    window = widget.window()
    return isinstance(window, QMainWindow) and window.width() < WIDE_WINDOW_PX


def set_tone(widget: QWidget, tone: Tone) -> None:
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def give_way(combo: QComboBox) -> None:
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(12)


class WheelGuard(QObject):
    """Lets the mouse wheel change an editor only if the editor has the focus. Otherwise, the wheel scrolls."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass wheel events on to the parent, unless the editor has the focus."""
        if event.type() != QEvent.Type.Wheel or not isinstance(watched, QWidget) or watched.hasFocus():
            return False
        event.ignore()
        return True


def guard_wheel(editor: QWidget) -> None:
    """Prevent the mouse wheel from changing or focusing an editor while the user scrolls past it."""
    editor.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    editor.installEventFilter(WheelGuard(editor))


def plain_tip(text: str) -> str:
    """Escape and wrap text for a tooltip or a question. Otherwise, Qt might interpret it as HTML."""
    return f"<qt>{html.escape(text)}</qt>" if text else ""


def set_tip(widget: QWidget, text: str) -> None:
    """Set a plain-text tooltip; "" for none. Screen readers get the text without the escaping."""
    tip = plain_tip(text)
    if tip != widget.toolTip():
        widget.setToolTip(tip)
        widget.setAccessibleDescription(text)


def line() -> QFrame:
    result = QFrame()
    result.setObjectName("line")
    return result


def row(*items: QWidget | QLayout | None, spacing_px: int = GAP_PX, stretch: int | None = None) -> QHBoxLayout:
    """Lay out widgets side by side. None is a stretchable gap. The item with the number `stretch` grows."""
    return _filled(QHBoxLayout(), items, spacing_px, stretch)


def column(*items: QWidget | QLayout | None, spacing_px: int = GAP_PX, stretch: int | None = None) -> QVBoxLayout:
    """Lay out widgets one below the other. None is a stretchable gap. For `stretch`, see `row`."""
    return _filled(QVBoxLayout(), items, spacing_px, stretch)


def instructions(heading: str, steps: Iterable[tuple[str, str]], below: QWidget | None = None) -> QWidget:
    lines = []
    for sign_text, step_text in steps:
        sign = label(sign_text, TITLE_PX, QFont.Weight.DemiBold)
        sign.setFixedWidth(16)
        step = row(sign, label(step_text, muted=True, wrap=True), spacing_px=2 * GAP_PX)
        step.setStretch(1, 1)
        lines.append(step)
    page = QWidget()
    head = label(heading, TITLE_PX, QFont.Weight.DemiBold)
    rest = (None, None) if below is None else (below, None)
    page.setLayout(column(None, head, *lines, *rest, spacing_px=2 * GAP_PX))
    return page


def scrolled(*items: QWidget | QLayout | None) -> QScrollArea:
    content = QWidget()
    content.setObjectName("scrolled")
    content.setLayout(column(*items))
    scroll = QScrollArea(widgetResizable=True)
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    scroll.setWidget(content)
    return scroll


def panel(layout: QLayout) -> QWidget:
    result = QWidget()
    result.setLayout(layout)
    return result


def _filled(
    layout: _Box, items: Iterable[QWidget | QLayout | None], spacing_px: int, stretch: int | None = None
) -> _Box:
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing_px)
    for item in items:
        if item is None:
            layout.addStretch(1)
        elif isinstance(item, QLayout):
            layout.addLayout(item)
        else:
            layout.addWidget(item)
    if stretch is not None:
        layout.setStretch(stretch, 1)
    return layout
