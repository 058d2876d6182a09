"""Where a table of everybody's machines comes from, and where results are collected: nowhere unless entered."""

from PySide6.QtWidgets import QLineEdit

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import checked_address
from app.gui.pages.settings.parts import setting
from app.gui.services.bundle import Services
from app.gui.services.community_table import CommunityTable
from app.gui.widgets.basics import Button, Card, line, row

ADDRESS_PX = 320


class SharingCard(Card):
    """Two addresses, and what fetches the table."""

    def __init__(self, services: Services) -> None:
        super().__init__(sentence("settings.others"))
        self._services = services
        self.table = CommunityTable(services, self)
        self.table_address = self._address("settings.table_address", "table_address")
        self.collection_address = self._address("settings.collection_address", "collection_address")
        self.get_button = Button(services.theme, sentence("settings.get_table"), "download")
        self.previous_button = Button(services.theme, sentence("settings.previous_table"), "history")
        self.get_button.clicked.connect(self.table.get)
        self.previous_button.clicked.connect(self.table.use_previous)
        self.table.busy.connect(self._on_busy)
        self.table.changed.connect(self.refresh)
        note = sentence("settings.table_note")
        self.body.addLayout(setting(sentence("settings.table_address"), note, self.table_address))
        self.body.addLayout(row(None, self.previous_button, self.get_button))
        self.body.addWidget(line())
        note = sentence("settings.collection_note")
        self.body.addLayout(setting(sentence("settings.collection_address"), note, self.collection_address))
        services.preferences.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what is stored."""
        settings = self._services.preferences.settings
        for editor, address in (
            (self.table_address, settings.table_address),
            (self.collection_address, settings.collection_address),
        ):
            if not editor.isModified() or not editor.hasFocus():
                editor.setText(address)
        self.get_button.setEnabled(bool(settings.table_address))
        self.previous_button.setVisible(self._services.paths.previous_table.exists())

    def _address(self, label: str, name: str) -> QLineEdit:
        editor = QLineEdit(maxLength=2_000, placeholderText="https://")
        editor.setAccessibleName(sentence(label))
        editor.setFixedWidth(ADDRESS_PX)
        editor.editingFinished.connect(lambda: self._store(editor, name))
        return editor

    def _store(self, editor: QLineEdit, name: str) -> None:
        if not editor.isModified():
            return
        editor.setModified(False)
        try:
            self._services.preferences.change(**{name: checked_address(editor.text())})
        except AppError as error:
            self._services.complain(error)
        self.refresh()

    def _on_busy(self, is_busy: bool) -> None:
        for button in (self.get_button, self.previous_button):
            button.setEnabled(not is_busy)
        if not is_busy:
            self.refresh()
