"""The Settings page: appearance, this computer, engines, data sets and privacy."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import ZOOM_STEPS_PCT
from app.gui.pages.settings.data_card import DataCard
from app.gui.pages.settings.engine_line import EngineLine
from app.gui.pages.settings.engines_card import EnginesCard
from app.gui.pages.settings.parts import ask, open_folder, setting
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, ElidedLabel, Fold, column, guard_wheel, label, row, title
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.segments import Segments

WIDTH_PX = 880


class SettingsPage(QWidget):
    """Lets the user change the settings, which are saved immediately, and asks the window to show other pages."""

    data_changed = Signal()
    zoom_wanted = Signal(int)  # the user chose a zoom in percent, which isn't saved yet
    hardware_wanted = Signal()
    doctor_wanted = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._wanted_engine, self._installs = "", False
        theme = services.theme
        themes = [(theme, sentence(f"settings.theme_{theme}")) for theme in ("system", "light", "dark")]
        self.theme = Segments(theme, sentence("settings.theme"), themes)
        self.zoom = ChoiceBox(sentence("settings.zoom"))
        guard_wheel(self.zoom)
        for zoom_pct in ZOOM_STEPS_PCT:
            self.zoom.addItem(f"{zoom_pct} %", zoom_pct)
        self.hardware_button = Button(theme, sentence("settings.hardware"), "cpu")
        self.doctor_button = Button(theme, sentence("menu.doctor"), "search")
        self.engines_card = EnginesCard(services)
        self.data_card = DataCard(services)
        self.results_button = Button(theme, sentence("settings.open_folder"), "folder-open")
        self.results_button.setAccessibleName(sentence("settings.open_results"))
        self.logs_button = Button(theme, sentence("settings.open_folder"), "folder-open")
        self.logs_button.setAccessibleName(sentence("settings.open_logs"))
        self.reset_button = Button(theme, sentence("settings.reset"), "rotate-ccw")
        self._lay_out()
        self._connect()
        self._on_changed()

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the lists of installed engines and data sets."""
        super().showEvent(event)
        self.engines_card.refresh()
        self.data_card.refresh()

    def show_engines(self, engine: str, *, install: bool = False) -> None:
        """Scroll to an engine, now or as soon as engines are listed, and perhaps install it immediately."""
        self._wanted_engine, self._installs = engine, install
        self._on_engines()

    def show_data_sets(self) -> None:
        self.data_card.fold.button.setChecked(True)
        QTimer.singleShot(0, self, lambda: self.view.ensureWidgetVisible(self.data_card))  # after the layout

    def _on_engines(self) -> None:
        wanted = self.engines_card.rows.get(self._wanted_engine)
        if wanted is not None:
            engine, self._wanted_engine = self._wanted_engine, ""
            wanted.prefer_recommended()
            if self._installs:
                self.engines_card.install(engine)
            QTimer.singleShot(0, self, lambda: self._reveal(wanted))  # after the layout

    def _reveal(self, wanted: EngineLine) -> None:
        self.view.ensureWidgetVisible(self.engines_card)
        wanted.install_button.setFocus()

    def _connect(self) -> None:
        services = self._services
        self.theme.chosen.connect(self._on_theme)
        self.zoom.activated.connect(lambda _: self.zoom_wanted.emit(self.zoom.currentData()))
        self.hardware_button.clicked.connect(self.hardware_wanted)
        self.doctor_button.clicked.connect(self.doctor_wanted)
        self.data_card.changed.connect(self.data_changed)
        self.engines_card.filled.connect(self._on_engines)
        self.results_button.clicked.connect(lambda: open_folder(services, services.paths.data))
        self.logs_button.clicked.connect(lambda: open_folder(services, services.paths.logs))
        self.reset_button.clicked.connect(self._on_reset)
        services.preferences.changed.connect(self._on_changed)

    def _lay_out(self) -> None:
        appearance, computer = Card(sentence("settings.appearance")), Card(sentence("compare.you"))
        appearance.body.addLayout(setting(sentence("settings.theme"), "", self.theme))
        appearance.body.addLayout(setting(sentence("settings.zoom"), "", self.zoom))
        computer.body.addLayout(row(self.hardware_button, self.doctor_button, None))
        paths = self._services.paths
        privacy = Card(sentence("settings.privacy"))
        privacy.body.addWidget(label(sentence("settings.privacy_note"), muted=True, wrap=True))
        folders = [
            setting(name, ElidedLabel(str(folder), muted=True), button)
            for name, folder, button in (
                (sentence("page.results"), paths.data, self.results_button),
                (sentence("settings.logs"), paths.logs, self.logs_button),
            )
        ]
        reset = setting(sentence("settings.all"), sentence("settings.reset_note"), self.reset_button)
        self.advanced = Fold(self._services.theme, sentence("settings.advanced"), *folders, reset)
        content = QWidget()
        content.setObjectName("scrolled")
        content.setMaximumWidth(WIDTH_PX)
        cards = (appearance, computer, self.engines_card, self.data_card, privacy, self.advanced)
        content.setLayout(column(*cards, None, spacing_px=2 * GAP_PX))
        self.view = QScrollArea(widgetResizable=True)
        self.view.setFrameShape(QFrame.Shape.NoFrame)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.setSpacing(GAP_PX + 4)
        layout.addWidget(title(sentence("page.settings")))
        layout.addWidget(self.view, stretch=1)

    def _on_changed(self) -> None:
        settings = self._services.preferences.settings
        self.theme.select(settings.theme)
        self.zoom.setCurrentIndex(self.zoom.findData(settings.zoom_pct))

    def _on_theme(self, theme: str) -> None:
        self._services.change(theme=theme)
        self._services.theme.choose(self._services.preferences.settings.theme)

    def _on_reset(self) -> None:
        text = sentence("settings.ask_to_reset")
        ask(self, text, sentence("settings.reset"), self._reset)

    def _reset(self) -> None:
        try:
            self._services.preferences.reset()
        except AppError as error:
            self._services.complain(error)
        self._services.theme.choose(self._services.preferences.settings.theme)
        self.data_card.refresh()
        self.data_changed.emit()
