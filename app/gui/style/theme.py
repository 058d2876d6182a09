"""The window's current theme, and the bundled font."""

from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.core.paths import RESOURCES
from app.gui.style.style_sheet import style_sheet
from app.gui.style.tokens import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, TEXT_PX, Tokens

Choice = Literal["system", "light", "dark"]
FAMILY = "Inter"
FONTS = ("Inter-Regular", "Inter-Medium", "Inter-SemiBold", "Inter-Bold")


class Theme(QObject):
    """The theme of one application; follows the system unless the user chose one, and its contrast always.

    Attributes:
        sheet: The style sheet of the dressed windows.

    Signals:
        changed: The tokens changed.
    """

    changed = Signal()
    _sheet_changed = Signal(str)

    def __init__(self, application: QApplication, choice: Choice = "system") -> None:
        super().__init__(application)
        self._application = application
        self._choice: Choice = choice
        self.tokens = LIGHT
        self.sheet = ""
        load_fonts()
        application.setStyle("Fusion")
        application.setFont(font(TEXT_PX))
        hints = application.styleHints()
        self._contrast = hints.accessibility().contrastPreference()
        hints.colorSchemeChanged.connect(self._on_scheme)
        hints.accessibility().contrastPreferenceChanged.connect(self._on_contrast)
        self.choose(choice)

    def choose(self, choice: Choice) -> None:
        """Use light, dark, or the system's theme."""
        self._choice = choice
        hints = self._application.styleHints()
        if choice == "system":
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if choice == "dark" else Qt.ColorScheme.Light)
        self._on_scheme(hints.colorScheme())

    def dress(self, window: QWidget) -> None:
        """Style a window with all that belongs to it, its dialogs too, now and after each change.

        The application as a whole would take four times as long: charts have hidden menus, which nobody opens.
        """
        window.setStyleSheet(self.sheet)
        self._sheet_changed.connect(window.setStyleSheet)

    def _on_contrast(self, contrast: Qt.ContrastPreference) -> None:
        """Apply high contrast, or no longer."""
        self._contrast = contrast
        self._on_scheme(self._application.styleHints().colorScheme())

    def _on_scheme(self, scheme: Qt.ColorScheme) -> None:
        """Apply the light or dark theme of `scheme`."""
        dark = self._choice == "dark" or (self._choice == "system" and scheme == Qt.ColorScheme.Dark)
        if self._contrast == Qt.ContrastPreference.HighContrast:
            tokens = DARK_CONTRAST if dark else LIGHT_CONTRAST
        else:
            tokens = DARK if dark else LIGHT
        if tokens is self.tokens and self.sheet:
            return
        self.tokens = tokens
        self._application.setPalette(palette(tokens))
        pictures = RESOURCES / "theme" / ("dark" if dark else "light")
        self.sheet = style_sheet(tokens, pictures.as_posix())
        self._sheet_changed.emit(self.sheet)
        self.changed.emit()


def load_fonts() -> None:
    """Register the bundled font with Qt; call once per application."""
    for name in FONTS:
        QFontDatabase.addApplicationFont(str(RESOURCES / "fonts" / f"{name}.ttf"))


def font(size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the bundled font.

    Without hinting, which makes small text up to a tenth wider: usual on Windows, and on some Linux desktops.
    """
    chosen = QFont(FAMILY)
    chosen.setPixelSize(size_px)
    chosen.setWeight(weight)
    chosen.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return chosen


def figures(size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the bundled font with figures of equal width, so that changing numbers don't move.

    Not for words: it widens hyphens too.
    """
    chosen = font(size_px, weight)
    chosen.setFeature(QFont.Tag("tnum"), 1)
    return chosen


def palette(tokens: Tokens) -> QPalette:
    """Return the colours for widgets that the style sheet doesn't cover."""
    result = QPalette()
    role = QPalette.ColorRole
    for name, colour in (
        (role.Window, tokens.window),
        (role.WindowText, tokens.text),
        (role.Base, tokens.surface),
        (role.AlternateBase, tokens.window),
        (role.Text, tokens.text),
        (role.PlaceholderText, tokens.muted),
        (role.Button, tokens.raised),
        (role.ButtonText, tokens.text),
        (role.ToolTipBase, tokens.raised),
        (role.ToolTipText, tokens.text),
        (role.Highlight, tokens.accent),
        (role.HighlightedText, tokens.on_accent),
        (role.Link, tokens.accent),
        (role.Mid, tokens.border),
    ):
        result.setColor(name, QColor(colour))
    for name in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, name, QColor(tokens.muted))
    return result
