"""Writes docs/gpu-troubleshooting.md from the doctor's table: python3 -m tests.doctor_page.

A test fails when it is out of date.
"""

from app.core.doctor.signals import Signal, signals
from tests.conftest import ROOT
from workloads.engines.registry import DEFAULT_ENGINE

PAGE = ROOT / "docs" / "gpu-troubleshooting.md"
INTRODUCTION = """# My GPU isn't used

<!-- Made by tests/doctor_page.py: change that, or resources/doctor/signals.toml. -->

Run the doctor first:

```
python3 start.py doctor                       # checks the driver, TensorFlow and each device, in about ten seconds
python3 start.py doctor --log training.log    # explains the lines of a log
python3 start.py doctor --report              # text to paste into a question, without names or serial numbers
```

In the window, the doctor is on the *Hardware* page. *Help* → *Why isn't my GPU used?* starts it directly.

**Supported GPUs:** TensorFlow uses NVIDIA GPUs (GTX 10 series or newer) on Linux and in WSL 2. On Windows itself,
on macOS, and on computers with AMD, Intel or Apple GPUs, TensorFlow runs on the CPU. This is normal. PyTorch
supports more GPUs; see [Engines](using.md#engines).

**What the doctor does:** the doctor doesn't just list devices. In a separate process, it has each device compute a
matrix product, a convolution and a step compiled by XLA, and checks the results.

## What messages mean

"""
HEAD = ("what you see", "what it means", "what to do")
# Ranks from here on are for GPUs that TensorFlow never uses, and for harmless lines.
_CARDS_OF_OTHERS = 70


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    rows = sorted((row for row in _rows() if row.rank < _CARDS_OF_OTHERS), key=lambda row: row.rank)
    harmless = "".join(f"- {row.title}\n" for row in _rows() if row.severity == "harmless")
    table = [HEAD, ("---",) * len(HEAD), *map(_row, rows)]
    lines = "".join(f"| {' | '.join(cells)} |\n" for cells in table)
    return f"{INTRODUCTION}{lines}\n## Harmless messages\n\n{harmless}"


def _rows() -> list[Signal]:
    return [row.of(DEFAULT_ENGINE) for row in signals()]


def _row(row: Signal) -> tuple[str, ...]:
    cells = (f"`{row.seen}`", f"[{row.title}]({row.link})", row.fix)
    return tuple(cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    main()
