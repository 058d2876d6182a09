"""An engine in the settings, with its state, the devices that it could use, and the available actions."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QProgressBar, QStackedWidget, QWidget

from app.core.engines.builds import BuildFit
from app.core.engines.overview import EngineRow
from app.core.messages import sentence, text
from app.gui.pages.settings.engine_work import EngineWork
from app.gui.services.bundle import Services
from app.gui.widgets.basics import (
    HEAD_PX,
    Button,
    ClampedLabel,
    column,
    give_way,
    guard_wheel,
    label,
    row,
    set_tone,
)
from app.gui.widgets.choice_box import ChoiceBox
from workloads.protocol.machine import Gpu

PERMILLE = 1_000
VARIANT_PX = 196
# States that reinstalling can repair. An engine whose folder can't be read is left alone.
REPAIRED = frozenset({"damaged", "other_python"})


class EngineLine(QWidget):
    """Displays an engine with its buttons, or the progress of its installation."""

    variant_changed = Signal()

    def __init__(self, services: Services, engine_row: EngineRow) -> None:
        super().__init__()
        self.row = engine_row
        theme, title = services.theme, engine_row.title
        self.title = label(weight=QFont.Weight.Medium)
        self.note = ClampedLabel(2)
        self.variant = ChoiceBox(sentence("engines_card.variant", title=title))
        self.variant.setMinimumWidth(VARIANT_PX)
        give_way(self.variant)
        guard_wheel(self.variant)
        self.variant.currentIndexChanged.connect(self.variant_changed)
        self.install_button = Button(theme, sentence("engines_card.install"), "download")
        self.check_button = Button(theme, sentence("engines_card.check"), "check")
        self.check_button.setAccessibleName(sentence("engines_card.check_named", title=title))
        self.remove_button = Button(theme, sentence("button.remove"), "trash-2")
        self.remove_button.setAccessibleName(sentence("settings.remove_named", title=title))
        self.progress = QProgressBar(maximum=PERMILLE, textVisible=False)
        self.progress.setAccessibleName(sentence("engines_card.progress", title=title))
        self.progress_text = label(muted=True)
        self.cancel_button = Button(theme, sentence("button.cancel"), "x")
        self.cancel_button.setAccessibleName(sentence("engines_card.cancel", title=title))
        self._below = QStackedWidget()
        self._lay_out()

    @property
    def offer(self) -> BuildFit | None:
        """The selected build; None if none supports this computer."""
        number = self.variant.currentIndex()
        return self.row.offers[number] if 0 <= number < len(self.row.offers) else None

    def show_row(self, engine_row: EngineRow, *, busy: bool) -> None:
        """Update the row. Only useful buttons are shown. While `busy`, they are disabled."""
        self.row = engine_row
        self._fill_variants()
        stamp, version = engine_row.stamp, engine_row.version
        title = engine_row.title
        if version is not None and stamp is not None:
            code = "engines_card.title_with_variant"
            title = sentence(code, title=title, version=version.partition("+")[0], variant=stamp.variant)
        elif version is not None:
            title = sentence("engines_card.title_with_version", title=title, version=version)
        self.title.setText(title)
        self._below.setVisible(bool(engine_row.offers) or stamp is not None)
        self._below.setCurrentIndex(0)
        self._show_choice(busy=busy)

    def prefer_recommended(self) -> None:
        """Select the recommended build, even if another is installed."""
        self.variant.setCurrentIndex(0)

    def show_work(self, work: EngineWork) -> None:
        self._below.setCurrentIndex(1)
        self.cancel_button.setEnabled(not work.cancelled)
        self.progress_text.setText(sentence("run.cancelling") if work.cancelled else work.status_text())
        # The bar is indeterminate if the share is unknown.
        self.progress.setMaximum(0 if work.share is None else PERMILLE)
        self.progress.setValue(round(PERMILLE * (work.share or 0)))

    def _show_choice(self, *, busy: bool) -> None:
        state, stamp, offer = self.row.state, self.row.stamp, self.offer
        is_other = offer is not None and stamp is not None and offer.variant.name != stamp.variant
        action = "engines_card.install"
        if state in REPAIRED:
            action = "engines_card.install_again"
        elif state == "ready" and self.row.is_outdated and not is_other:
            action = "engines_card.update"
        self.install_button.setText(sentence(action))
        named = sentence("engines_card.install_named", action=sentence(action), title=self.row.title)
        self.install_button.setAccessibleName(named)
        can_install = offer is not None and (state in REPAIRED | {"absent"} or self.row.is_outdated or is_other)
        offers = self.row.offers
        has_choice = len(offers) > 1 and any(offered.gpus or offered.obstacle for offered in offers)
        for part, is_of_use in (
            (self.variant, has_choice),
            (self.install_button, can_install),
            (self.check_button, state == "ready"),
            (self.remove_button, state not in ("absent", "unreachable")),
        ):
            part.setVisible(is_of_use)
            part.setEnabled(not busy)
        self.note.show_text(self._note(is_other=is_other))
        set_tone(self.note, "invalid" if self.row.problem is not None else "")

    def _note(self, *, is_other: bool) -> str:
        engine_row, offer = self.row, self.offer
        if engine_row.problem is not None:
            return text(engine_row.problem)
        if engine_row.is_included:
            there = engine_row.state == "ready"
            device = _device(engine_row.gpus)
            return sentence("engines_card.included", device=device) if there else sentence("engines_card.missing")
        if engine_row.stamp is not None and not is_other:
            size_bytes, device = engine_row.stamp.size_bytes, _device(engine_row.gpus)
            return sentence("engines_card.installed", size_bytes=size_bytes, device=device)
        if offer is None:
            return sentence("engines_card.not_here")
        return _offered(offer, is_other=is_other)

    def _fill_variants(self) -> None:
        """List the builds for this computer, and select the installed one or, if none is, the recommended one."""
        offers = self.row.offers
        texts = [
            sentence("engines_card.recommended", variant=offer.variant.name)
            if offer.is_recommended and len(offers) > 1
            else offer.variant.name
            for offer in offers
        ]
        stamp = self.row.stamp
        state = (texts, None if stamp is None else stamp.variant, self.row.state)
        if state == self.variant.property("filled"):
            return  # leave the box unchanged, because its list may be open
        self.variant.setProperty("filled", state)
        self.variant.blockSignals(True)
        self.variant.clear()
        self.variant.addItems(texts)
        names = [offer.variant.name for offer in offers]
        installed = stamp is not None and self.row.state == "ready" and stamp.variant in names
        self.variant.setCurrentIndex(names.index(stamp.variant) if installed and stamp is not None else 0)
        self.variant.blockSignals(False)

    def _lay_out(self) -> None:
        buttons, working = QWidget(), QWidget()
        buttons.setLayout(row(self.variant, self.install_button, None, self.check_button, self.remove_button))
        work = row(column(None, self.progress_text, self.progress, None, spacing_px=4), self.cancel_button)
        work.setStretch(0, 1)
        working.setLayout(work)
        self._below.addWidget(buttons)
        self._below.addWidget(working)
        self._below.setFixedHeight(HEAD_PX + 6)
        self.setLayout(column(self.title, self.note, self._below, spacing_px=4))


def _device(gpus: tuple[Gpu, ...]) -> str:
    names = [gpu.name for gpu in gpus]
    return sentence("engines.your_gpus", gpus=names) if names else sentence("engines.your_cpu")


def _offered(offer: BuildFit, *, is_other: bool) -> str:
    if offer.obstacle is not None:
        return text(offer.obstacle)
    variant, device = offer.variant, _device(offer.gpus)
    use = sentence("engines_card.offer", device=device)
    if is_other:
        use = sentence("engines_card.other_variant", device=device, variant=variant.name)
    if variant.download_bytes is None:
        return use
    cost = sentence("engines_card.cost", download_bytes=variant.download_bytes)
    if variant.disk_bytes is not None:
        sizes = {"download_bytes": variant.download_bytes, "disk_bytes": variant.disk_bytes}
        cost = sentence("engines_card.cost_with_disk", **sizes)
    if variant.source is not None:
        cost = f"{cost} · {sentence('engines.untried', source=variant.source)}"
    return f"{use} · {cost}"
