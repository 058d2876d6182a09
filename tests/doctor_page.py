"""Writes the README's section about GPUs from the doctor's table: python3 -m tests.doctor_page.

A test says when it is old.
"""

from app.core.doctor.signals import Signal, signals
from tests.conftest import ROOT

README = ROOT / "README.md"
BEGIN, END = "<!-- doctor: made by tests/doctor_page.py -->\n", "<!-- /doctor -->\n"
INTRODUCTION = """## My GPU is not used

```
python3 start.py doctor                       # looks at driver, TensorFlow and every device, in about ten seconds
python3 start.py doctor --log training.log    # says what the lines of a log mean
python3 start.py doctor --report              # the text to copy into a question; names no user, folder or serial
```

TensorFlow uses NVIDIA cards from the GTX 10 series on, under Linux and in WSL 2. Under Windows itself, on macOS,
and with AMD, Intel and Apple graphics it runs on the processor: nothing is broken then. The doctor does not trust
a list of devices: each one computes a matrix product, a convolution and a step compiled by XLA in a process of its
own, and the results are checked.

"""
HEAD = ("what you see", "what it means", "what to do")
# Ranks from here on are of cards that TensorFlow does not use anyway, and of harmless lines.
_CARDS_OF_OTHERS = 70


def main() -> None:
    """Write the section."""
    text = README.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    README.write_text(before + section() + after, encoding="utf-8")


def section() -> str:
    """Return the section with its marks."""
    rows = sorted((row for row in signals() if row.rank < _CARDS_OF_OTHERS), key=lambda row: row.rank)
    harmless = "; ".join(row.title for row in signals() if row.severity == "harmless")
    table = [HEAD, ("---",) * len(HEAD), *map(_row, rows)]
    lines = "".join(f"| {' | '.join(cells)} |\n" for cells in table)
    return f"{BEGIN}{INTRODUCTION}{lines}\nHarmless, however red it looks: {harmless}.\n{END}"


def _row(row: Signal) -> tuple[str, ...]:
    cells = (f"`{row.seen}`", f"[{row.title}]({row.link})", row.fix)
    return tuple(cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    main()
