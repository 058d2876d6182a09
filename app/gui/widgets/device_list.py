"""Lists of engines and devices, either as pairs (for a run) or separately (for a side of an A/B test)."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QStandardItemModel

from app.core.analysis.published import short_name
from app.core.engines.choices import Choice, automatic_choice
from app.core.messages import sentence
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.choice_box import ChoiceBox
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, engine_title
from workloads.protocol.machine import Gpu

AUTO = "auto"


class DeviceList(ChoiceBox):
    """Lists devices with the engines that would use them. The best one is also available as "Automatic".

    Engines are named only if there are several. In `brief` lists, for narrow columns, GPU names are shown only as
    tooltips. If `engine` is installed, its best device is listed instead of "Automatic".
    """

    def __init__(self, *, brief: bool = False, engine: str | None = None) -> None:
        super().__init__()
        self._brief = brief
        self._first_engine = engine
        self._choices: tuple[Choice, ...] = ()
        self._wanted: tuple[str, str] | None = None  # the user's choice; None for automatic
        self.currentIndexChanged.connect(self._on_index)

    @property
    def choice(self) -> Choice | None:
        """The choice that a run would use, even if "Automatic" is selected; None until the devices are known."""
        number = self.currentIndex()
        return self._choices[number - 1] if number > 0 else automatic_choice(self._choices, self._first_engine)

    @property
    def engine(self) -> str | None:
        choice = self.choice
        return None if choice is None else choice.engine

    @property
    def device(self) -> str | None:
        """The selected device as written in a spec; None until the devices are known."""
        choice = self.choice
        if choice is None or self.currentIndex() > 0:
            return None if choice is None else choice.device
        # If the device is "auto", an engine uses its first GPU, or the CPU if it can't use any.
        has_cards = any(each.gpu is not None and each.engine == choice.engine for each in self._choices)
        return AUTO if choice.device == ("gpu:0" if has_cards else "cpu") else choice.device

    @property
    def gpus(self) -> dict[int, Gpu]:
        own = (each for each in self._choices if each.engine == self.engine)
        return {int(each.device.removeprefix("gpu:")): each.gpu for each in own if each.gpu is not None}

    @property
    def name(self) -> str:
        """The name of the device that a run would use, and its engine if there are several; "" until known."""
        return "" if self.choice is None else self._text(self.choice, with_number=False)

    def offer(self, choices: Sequence[Choice]) -> None:
        """List these choices without emitting signals, and restore the user's choice if it is available."""
        if tuple(choices) == self._choices:
            return  # leave the box unchanged, because its list may be open
        self._choices = tuple(choices)
        with QSignalBlocker(self):
            self._fill()
            self.setCurrentIndex(self._place(self._wanted))

    def select(self, engine: str, device: str) -> None:
        """Select a pair as if the user had done so. Unknown pairs are ignored."""
        place = self._place((engine, device))
        if place:
            self.setCurrentIndex(place)

    def _on_index(self, number: int) -> None:
        choice = self._choices[number - 1] if number > 0 else None
        self._wanted = None if choice is None else (choice.engine, choice.device)

    def _place(self, wanted: tuple[str, str] | None) -> int:
        pairs = [(choice.engine, choice.device) for choice in self._choices]
        return 1 + pairs.index(wanted) if wanted in pairs else 0

    def _fill(self) -> None:
        self.clear()
        best = automatic_choice(self._choices, self._first_engine)
        if best is None:
            return
        is_usual = best.engine == self._first_engine
        code = "setup.usual_device" if is_usual else "setup.automatic_device"
        automatic = sentence(code, device=self._text(best, with_number=False))
        self.addItem(sentence("settings.data_auto") if self._brief else automatic, AUTO)
        for choice in self._choices:
            self.addItem(self._text(choice), choice.device)
            if self._brief and choice.gpu is not None:
                self.setItemData(self.count() - 1, plain_tip(choice.gpu.name), Qt.ItemDataRole.ToolTipRole)

    def _text(self, choice: Choice, *, with_number: bool = True) -> str:
        several = len({each.engine for each in self._choices}) > 1
        number = choice.device.removeprefix("gpu:")
        if choice.gpu is None:
            device = sentence("part.cpu")
        elif self._brief:
            device = sentence("setting_value.device_gpu", number=number)
        elif not several:
            name = choice.gpu.name
            device = sentence("setup.gpu", number=number, name=name) if with_number else name
        else:
            cards = [each for each in self._choices if each.gpu is not None and each.engine == choice.engine]
            name = short_name(choice.gpu.name)
            device = sentence("setup.gpu", number=number, name=name) if len(cards) > 1 else name
        if not several:
            return device
        return sentence("setup.device_with_engine", device=device, engine=engine_title(choice.engine))


class EngineList(ChoiceBox):
    """Lists all engines by title. Unavailable engines are disabled."""

    def __init__(self) -> None:
        super().__init__()
        for name in ENGINES:
            self.addItem(engine_title(name), name)
        self.offer((DEFAULT_ENGINE,), tuple(ENGINES))

    @property
    def engine(self) -> str:
        return str(self.currentData())

    def select(self, engine: str) -> None:
        self.setCurrentIndex(self.findData(engine))

    def select_other(self, engine: str) -> None:
        able = [self.itemData(number) for number in range(self.count()) if self._is_enabled(number)]
        self.select(next((name for name in able if name != engine), engine))

    def offer(self, installed: Sequence[str], able: Sequence[str]) -> None:
        """Enable the available engines without emitting signals. Keep the selected one or select the default."""
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        for number in range(self.count()):
            name = self.itemData(number)
            tip = "" if name in installed else sentence("setup.engine_not_installed", engine=engine_title(name))
            if name not in able:
                tip = sentence("setup.engine_not_able", engine=engine_title(name))
            model.item(number).setEnabled(not tip)
            self.setItemData(number, plain_tip(tip), Qt.ItemDataRole.ToolTipRole)
        if self.currentIndex() < 0 or not self._is_enabled(self.currentIndex()):
            with QSignalBlocker(self):
                self.select(DEFAULT_ENGINE)

    def _is_enabled(self, number: int) -> bool:
        return bool(self.model().flags(self.model().index(number, 0)) & Qt.ItemFlag.ItemIsEnabled)
