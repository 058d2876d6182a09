"""The list of engines and devices, and a hint if a graphics card would be idle."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.core.analysis.published import short_name
from app.core.engines.choices import GpuHelp, device_choices, engine_to_install, gpu_help, unused_card
from app.core.messages import sentence, text
from app.gui.services.bundle import Services
from app.gui.widgets.basics import Button, ClampedLabel, give_way, guard_wheel, row
from app.gui.widgets.device_list import DeviceList
from workloads.engines.registry import engine_title
from workloads.protocol.machine import Machine
from workloads.workload import Workload


class DeviceRow(QWidget):
    """Shows a hint if a graphics card would be idle. The `list` of engines and devices is laid out elsewhere."""

    changed = Signal()
    install_wanted = Signal(str)  # the user wants to install the engine with this name

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._help: GpuHelp | None = None
        self._first: str | None = None  # the engine to install if there is none
        self.list = DeviceList()
        self.list.setAccessibleName(sentence("setting.device"))
        give_way(self.list)
        guard_wheel(self.list)
        self.list.currentIndexChanged.connect(self.changed)
        self.help_text = ClampedLabel(4, muted=False)
        self.help_button = Button(services.theme, "", do=self._on_help)
        self.first_button = Button(services.theme, "", "download", kind="primary", do=self._on_first)
        self.first_button.hide()
        self.setLayout(row(self.help_text, self.help_button, self.first_button, stretch=0))
        self.hide()

    def offer(self, workload: Workload) -> None:
        machine, installed = self._services.finder.machine, self._services.engines.installed
        if machine is None:
            return
        self.list.offer(device_choices(installed, machine, workload.engines))
        choice = self.list.choice
        is_first = not installed and not workload.is_demo
        self.first_button.setVisible(is_first)
        if is_first:
            self._offer_first(machine, workload)
            return
        self._help = None if choice is None else gpu_help(choice, installed, machine, workload.engines)
        idle = None if choice is None else unused_card(choice, machine, workload.engines)
        if self._help is not None:
            self._show(_help_text(self._help, machine))
            self.help_button.setText(_action(self._help))
        elif idle is not None:
            self._show(text(idle))
        self.help_button.setVisible(self._help is not None or idle is None)
        self.setVisible(self._help is not None or idle is not None)

    def _offer_first(self, machine: Machine, workload: Workload) -> None:
        """Offer to install the engine that suits this computer, because none is installed."""
        best = engine_to_install(machine, workload.engines)
        if best is None:
            self._show(sentence("setup.no_engine_fits"), is_kept=False)
        else:
            self._first, variant = best[0], best[1].variant
            engine, size_bytes = engine_title(self._first), variant.download_bytes
            code = "setup.first_engine" if size_bytes is None else "setup.first_engine_sized"
            self._show(sentence(code, engine=engine, download_bytes=size_bytes), is_kept=False)
            self.first_button.setText(sentence("setup.install_first", engine=engine))
        self.first_button.setVisible(best is not None)
        self.help_button.hide()
        self.show()

    def _show(self, line: str, *, is_kept: bool = True) -> None:
        # From now on its space is reserved, because otherwise everything below would jump at each choice. This
        # doesn't apply to the first engine, which is offered only once.
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(is_kept)
        self.setSizePolicy(policy)
        self.help_text.show_text(line)

    def _on_first(self) -> None:
        if self._first is not None:
            self.install_wanted.emit(self._first)

    def _on_help(self) -> None:
        if self._help is None:
            return
        if self._help.choice is None:
            self.install_wanted.emit(self._help.engine)
        else:
            self.list.select(self._help.choice.engine, self._help.choice.device)


def _help_text(help_: GpuHelp, machine: Machine) -> str:
    gpu, engine = short_name(help_.gpu.name), engine_title(help_.engine)
    if help_.choice is not None:
        return sentence("setup.gpu_runs_with", gpu=gpu, engine=engine)
    if help_.engine == help_.instead_of:
        return sentence("setup.gpu_needs_other_build", gpu=gpu, engine=engine)
    instead_of = engine_title(help_.instead_of)
    if help_.is_systems_fault:
        system = machine.os_name.partition(" ")[0]
        return sentence("setup.gpu_not_on_system", instead_of=instead_of, gpu=gpu, system=system, engine=engine)
    return sentence("setup.gpu_needs_engine", instead_of=instead_of, gpu=gpu, engine=engine)


def _action(help_: GpuHelp) -> str:
    if help_.choice is not None:
        return sentence("setup.use_gpu")
    return sentence("setup.install_engine", engine=engine_title(help_.engine))
