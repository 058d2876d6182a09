"""Plain text for terminals: tables, bars, the machine in a line."""

import math
import sys
from collections.abc import Sequence

from app.core.compare import Bar, engine_name, ratio_text
from app.core.metrics import format_bytes, format_seconds
from app.core.model import Machine, RunSummary

BAR_WIDTH = 36
NAME_WIDTH = 44
LINE_WIDTH = 118
# What app.core.hardware calls containers; they say nothing about the machine that they run on.
_CONTAINERS = ("docker", "kubernetes", "lxc", "podman")


def machine_line(machine: Machine) -> str:
    """Return the machine in one line: processor, cores, memory, GPUs, system."""
    cores = f"{machine.physical_cores or '?'} cores / {machine.logical_cores or '?'} threads"
    parts = [machine.cpu_name or "unknown processor", cores, format_bytes(machine.memory_bytes)]
    parts += [gpu.name for gpu in machine.gpus]
    parts.append(machine.os_name)
    kind, container = virtualization(machine)
    virtual = ("virtual machine" + (f" ({kind})" if kind else "")) if machine.virtual_machine else kind
    parts.append(", ".join(part for part in (virtual, f"in {container}" if container else None) if part))
    return " · ".join(part for part in parts if part)


def virtualization(machine: Machine) -> tuple[str | None, str | None]:
    """Return what the machine is virtual by, and the container: "docker in Xen" is ("Xen", "docker")."""
    first, _, rest = (machine.virtualization or "").partition(" in ")
    return (rest or None, first) if first in _CONTAINERS else (machine.virtualization, None)


def engine_line(engine: str, version: str | None, device: str | None, *, precision: str, jit: bool) -> str:
    """Return what computes, in one line: engine, device, precision, compiler."""
    xla = "with XLA" if jit else "without XLA"
    return f"Engine   {engine_name(engine, version)} on {device or 'device n/a'} · {precision} · {xla}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows in columns; `right` are the columns that are set flush right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def aligned(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(map(aligned, lines))


def bar_chart(bars: Sequence[Bar], baseline: Bar | None) -> str:
    """Return the bars with their values, fastest first, lengths on a logarithmic scale."""
    if not bars:
        return ""
    low, high = bars[0].seconds_per_epoch_s, bars[-1].seconds_per_epoch_s
    names = [bar.name[:NAME_WIDTH] for bar in bars]
    name_width = max(map(len, names))
    values = [format_seconds(bar.seconds_per_epoch_s) for bar in bars]
    value_width = max(map(len, values))
    full, you = ("▒", "█") if _can_print("▒█") else ("-", "#")
    lines = []
    for bar, name, value in zip(bars, names, values, strict=True):
        share = math.log(bar.seconds_per_epoch_s / low) / math.log(high / low) if high > low > 0 else 1.0
        drawn = (you if bar.kind == "you" else full) * round(4 + share * (BAR_WIDTH - 4))
        remarks = list(bar.remarks)
        if baseline is not None and baseline is not bar:
            remarks.insert(0, ratio_text(baseline.seconds_per_epoch_s / bar.seconds_per_epoch_s))
        line = f"  {name:<{name_width}}  {drawn:<{BAR_WIDTH}}  {value:>{value_width}}  {' · '.join(remarks)}"
        lines.append(line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 3].rstrip() + "...")
    return "\n".join(line.rstrip() for line in lines)


def headline(run: RunSummary) -> str:
    """Return a run's result in a line or two."""
    value = format_seconds(run.seconds_per_epoch_s)
    if run.seconds_per_epoch_s is None:
        if run.steps is not None and run.step_median_s is not None:
            rate = run.batch_size / run.step_median_s
            return (
                f"{run.step_median_s * 1000:.1f} ms per step, {rate:,.0f} examples per second\n"
                f"A short run: {run.steps} of {run.steps_per_epoch} steps an epoch, so it has no epoch time."
            )
        return "No whole epoch was measured."
    limits = f"{format_seconds(run.minimum_s)} to {format_seconds(run.maximum_s)}"
    spread = f" · spread {run.spread_pct:.1f} %" if run.spread_pct is not None else ""
    if run.basis == "estimate":
        return f"about {value} s per epoch\nan estimate from timed steps, no whole epoch · {limits}{spread}"
    if run.basis == "first_epoch":
        return f"{value} s per epoch\nthe first and only epoch: starting up is in it"
    first = f" · first epoch {format_seconds(run.first_epoch_s)}"
    if run.epochs_done == 2:
        return f"{value} s per epoch\nepoch 2{first}"
    return f"{value} s per epoch\nmedian of epochs 2 to {run.epochs_done} · {limits}{spread}{first}"


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
