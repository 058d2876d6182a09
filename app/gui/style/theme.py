"""The app's current theme, and the bundled font."""

from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.core.paths import RESOURCES
from app.gui.style.tokens import CARD_RADIUS_PX, DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, TEXT_PX, Tokens

# Style sheet. Only QFont sets fonts, because digits must remain tabular.
_RULES = """
QMainWindow, QDialog, QMessageBox {{ background: {window}; }}
QToolTip {{ background: {raised}; color: {text}; border: 1px solid {border}; padding: 6px 8px; }}
QLabel[muted="true"] {{ color: {muted}; }}
QLabel[tone="valid"] {{ color: {valid}; }}
QLabel[tone="caution"] {{ color: {caution}; }}
QLabel[tone="invalid"] {{ color: {invalid}; }}
QLabel[pill="true"] {{ border: 1px solid {border}; border-radius: 11px; padding: 2px 10px;
    background: {surface}; }}
QLabel[pill="true"][tone="caution"] {{ border-color: {caution}; }}
QLabel[pill="true"][tone="invalid"] {{ border-color: {invalid}; }}
QFrame#card {{ background: {surface}; border: 1px solid {border}; border-radius: {radius}px; }}
QFrame#sideBar {{ background: {surface}; border: none; border-right: 1px solid {border}; }}
QFrame#banner {{ background: {raised}; border: none; border-top: 1px solid {border}; }}
QFrame#banner[tone="invalid"] {{ border-color: {invalid}; }}
QFrame#banner[tone="caution"] {{ border-color: {caution}; }}
QLabel#command {{ background: {window}; border: 1px solid {border}; border-radius: 6px; padding: 4px 8px; }}
QLabel#dropLine {{ border: 1px dashed {control}; border-radius: 8px; padding: 6px; }}
QLabel#dropLine[lit="true"] {{ border: 1px dashed {accent}; background: {selected}; color: {text}; }}
QFrame#line {{ background: {border}; border: none; max-height: 1px; min-height: 1px; }}

QPushButton {{ background: {raised}; border: 1px solid {control}; border-radius: 8px; padding: 6px 14px;
    min-height: 20px; }}
QPushButton:hover {{ border-color: {text}; }}
QPushButton:focus {{ border: 2px solid {accent}; padding: 5px 13px; }}
QPushButton:pressed {{ background: {selected}; }}
QPushButton:disabled {{ color: {muted}; background: {window}; border-color: {border}; }}
QPushButton[kind="primary"] {{ background: {accent}; color: {on_accent}; border: 2px solid {accent}; }}
QPushButton[kind="primary"]:hover {{ border-color: {text}; }}
QPushButton[kind="primary"]:focus {{ border: 2px solid {text}; padding: 6px 14px; }}
QPushButton[kind="primary"]:disabled {{ background: {neutral_bar}; color: {muted}; border-color: {neutral_bar}; }}
QPushButton[kind="flat"] {{ background: transparent; border: 1px solid transparent; color: {accent};
    padding: 4px 8px; }}
QPushButton[kind="flat"]:hover {{ background: {selected}; }}
QPushButton[kind="flat"]:focus {{ border: 2px solid {accent}; padding: 3px 7px; }}
QPushButton[kind="segment"] {{ border-radius: 8px; padding: 6px 14px; text-align: left; }}
QPushButton[kind="segment"]:checked {{ background: {selected}; border-color: {accent}; }}
QPushButton[kind="segment"]:focus {{ border: 2px solid {text}; padding: 5px 13px; }}
QPushButton[kind="place"] {{ background: transparent; border: 1px solid transparent; color: {muted};
    text-align: left; padding: 8px 2px 8px 10px; }}
QPushButton[kind="place"]:hover {{ color: {text}; }}
QPushButton[kind="place"]:checked {{ background: {selected}; color: {text}; }}
QPushButton[kind="place"]:focus {{ border: 2px solid {accent}; padding: 7px 1px 7px 9px; }}

QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox, QPlainTextEdit, QTextEdit {{ background: {raised};
    border: 1px solid {control}; placeholder-text-color: {muted}; border-radius: 8px; padding: 5px 8px;
    min-height: 20px; selection-background-color: {accent}; selection-color: {on_accent}; }}
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QPlainTextEdit:focus {{
    border: 2px solid {accent}; padding: 4px 7px; }}
/* As high as before with the same padding, by which Qt takes the height of the list. */
QComboBox:focus {{ border: 2px solid {accent}; padding: 5px 7px; min-height: 18px; }}
QSpinBox, QDoubleSpinBox {{ padding: 3px 8px 4px 8px; }}  /* their text is higher: as high as a combo box */
QSpinBox:focus, QDoubleSpinBox:focus {{ padding: 2px 7px 3px 7px; }}
QComboBox:disabled, QSpinBox:disabled, QLineEdit:disabled {{ color: {muted}; background: {window};
    border-color: {border}; }}
QComboBox::drop-down {{ border: none; width: 20px; }}
QComboBox::down-arrow {{ image: url("{pictures}/chevron-down.svg"); width: 16px; height: 16px; }}
QComboBox QAbstractItemView {{ background: {raised}; border: 1px solid {border}; padding: 4px;
    selection-background-color: {selected}; selection-color: {text}; outline: none; }}
QSpinBox::up-button, QDoubleSpinBox::up-button {{ border: none; width: 18px; subcontrol-position: top right; }}
QSpinBox::down-button, QDoubleSpinBox::down-button {{ border: none; width: 18px;
    subcontrol-position: bottom right; }}
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {{ image: url("{pictures}/chevron-up.svg"); width: 12px;
    height: 12px; }}
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {{ image: url("{pictures}/chevron-down.svg"); width: 12px;
    height: 12px; }}
QCheckBox, QRadioButton {{ spacing: 8px; }}
QCheckBox::indicator {{ width: 14px; height: 14px; border: 1px solid {muted}; border-radius: 4px;
    background: {raised}; }}
QCheckBox::indicator:checked {{ background: {accent}; border-color: {accent};
    image: url("{pictures}/check.svg"); }}
QCheckBox::indicator:focus {{ border: 2px solid {text}; }}
QAbstractSpinBox QLineEdit {{ border: none; background: transparent; padding: 0; }}
QCheckBox:focus, QRadioButton:focus {{ color: {accent}; }}

QProgressBar {{ background: {grid}; border: none; border-radius: 4px; min-height: 8px; max-height: 8px; }}
QProgressBar::chunk {{ background: {accent}; border-radius: 4px; }}

QTableView {{ background: {surface}; border: 1px solid transparent; border-radius: 6px; gridline-color: {grid};
    outline: none; selection-background-color: {selected}; selection-color: {text};
    alternate-background-color: {surface}; }}
QTableView:focus {{ border: 1px solid {accent}; }}
QTableView::item {{ padding: 4px 14px 4px 6px; border-bottom: 1px solid {grid}; }}
QTableView::item:selected {{ background: {selected}; color: {text}; }}
QListWidget {{ background: transparent; border: 1px solid transparent; border-radius: 6px; outline: none; }}
QListWidget:focus {{ border: 1px solid {accent}; }}
QListWidget::item {{ padding: 5px 8px; border-radius: 6px; }}
QListWidget::item:hover {{ background: {raised}; }}
QListWidget::item:selected {{ background: {selected}; color: {text}; }}
QHeaderView {{ background: {surface}; }}
QHeaderView::section {{ background: {surface}; color: {muted}; border: none; border-bottom: 1px solid {border};
    padding: 6px 16px 6px 8px; }}
QHeaderView::down-arrow {{ image: url("{pictures}/chevron-down.svg"); width: 12px; height: 12px;
    margin-left: -12px; subcontrol-position: right center; }}
QHeaderView::up-arrow {{ image: url("{pictures}/chevron-up.svg"); width: 12px; height: 12px;
    margin-left: -12px; subcontrol-position: right center; }}
QTableCornerButton::section {{ background: {surface}; border: none; }}
QScrollArea, QScrollArea > QWidget > QWidget#scrolled {{ background: transparent; border: none; }}
QScrollArea:focus {{ border: 1px solid {accent}; border-radius: 6px; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 2px; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 2px; }}
QScrollBar::handle {{ background: {neutral_bar}; border-radius: 3px; min-height: 32px; min-width: 32px; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{ background: none;
    width: 0; height: 0; }}

QMenu {{ background: {raised}; border: 1px solid {border}; padding: 4px; }}
QMenu::item {{ padding: 6px 24px; border-radius: 6px; }}
QMenu::item:selected {{ background: {selected}; }}
QMenu::item:disabled {{ color: {muted}; }}
QMenu::separator {{ height: 1px; background: {border}; margin: 4px 8px; }}
QSplitter::handle {{ background: transparent; }}
"""


def style_sheet(tokens: Tokens, pictures: str) -> str:
    """Return the style sheet of a theme. `pictures` is the folder with its arrow images."""
    colours = {name: getattr(tokens, name) for name in tokens.__dataclass_fields__ if name != "dark"}
    return _RULES.format(**colours, radius=CARD_RADIUS_PX, pictures=pictures)


Choice = Literal["system", "light", "dark"]
FAMILY = "Inter"
FONTS = ("Inter-Regular", "Inter-Medium", "Inter-SemiBold", "Inter-Bold")


class Theme(QObject):
    """The theme of an app.

    By default, it follows the system's light or dark mode. High contrast always follows the system.
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
        self._choice = choice
        hints = self._application.styleHints()
        if choice == "system":
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if choice == "dark" else Qt.ColorScheme.Light)
        self._on_scheme(hints.colorScheme())

    def dress(self, window: QWidget) -> None:
        """Style a window and its dialogs, now and whenever the theme changes.

        Styling the whole app would take four times as long, because charts have hidden menus that are never
        opened.
        """
        window.setStyleSheet(self.sheet)
        self._sheet_changed.connect(window.setStyleSheet)

    def _on_contrast(self, contrast: Qt.ContrastPreference) -> None:
        self._contrast = contrast
        self._on_scheme(self._application.styleHints().colorScheme())

    def _on_scheme(self, scheme: Qt.ColorScheme) -> None:
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
    """Register the bundled font with Qt. Call this once per app."""
    for name in FONTS:
        QFontDatabase.addApplicationFont(str(RESOURCES / "fonts" / f"{name}.ttf"))


def font(size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the bundled font with hinting disabled.

    Hinting makes small text up to 10 % wider, and is enabled by default on Windows and some Linux desktops.
    """
    chosen = QFont(FAMILY)
    chosen.setPixelSize(size_px)
    chosen.setWeight(weight)
    chosen.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return chosen


def tabular_font(size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the bundled font with tabular digits, so that changing numbers don't move.

    Don't use it for words, because it also widens hyphens.
    """
    chosen = font(size_px, weight)
    chosen.setFeature(QFont.Tag("tnum"), 1)
    return chosen


def palette(tokens: Tokens) -> QPalette:
    """Return the palette for widgets that the style sheet doesn't cover."""
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
