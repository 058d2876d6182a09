"""A language made by code: every sentence accented, in ⟦ ⟧, and 40 % longer, as translations are."""

import re
import string
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache

import pytest

from app.core.analysis.published import reference_rows, short_name
from app.core.messages import ENGLISH
from workloads import CATALOGUE
from workloads.datasets import DATASETS
from workloads.protocol.machine import Machine
from workloads.workload import STUDIES

LONGER = 0.4
# Power plans of Linux.
GOVERNORS = ("performance", "powersave", "schedutil", "ondemand", "conservative", "intel_pstate", "acpi-cpufreq")
# Names, which are the same in every language: of products, formats, units and files, and abbreviations.
_NAMES = re.compile(
    r"Epochmark|TensorFlow|PyTorch|JAX|Keras|oneDNN|TF32|XLA|CPU|TPU|GPU|\bvCPU|\bx86_64|\bext4|\bdocker|\bL[123]\b|"
    r"(?:mixed_)?b?float(?:16|32)|AVX\S*|VNNI|BF16|EPYC|AMD|Colab|GTX|RTX|GRID|Tesla|Titan|\bTi\b|"
    r"MX150|Demo|[iKMP]\d\S*|\drc\d|"
    r"Linux|Debian|GNU|\b(?:cuda\w*|cuda-legacy|rocm|xpu|cpu)\b|\b[kKMG]?B(?:/s)?\b|\bGHz|\bms|\bk?Wh|\bkJ|n/a|https?://\S*|"
    r"\S+\.(?:json|txt|py)\b|/\S+|\b[0-9a-f]{16,}\b"
)
_ACCENTED = str.maketrans("aceinouyACEINOUY", "áčéíñóúýÁČÉÍÑÓÚÝ")
_FILLER = "éñá séñ "


def speak_pseudo(monkeypatch: pytest.MonkeyPatch, *, is_marked: bool = True) -> None:
    """Replace every sentence of the catalogue until the test ends; without marks, it is only longer."""
    for code, said in ENGLISH.items():
        both = (said,) if isinstance(said, str) else said
        others = tuple(pseudo(template, is_marked=is_marked) for template in both)
        monkeypatch.setitem(ENGLISH, code, others[0] if isinstance(said, str) else others)


def pseudo(template: str, *, is_marked: bool = True) -> str:
    """Return a template in the pseudo-language; its placeholders stay, and stand outside of the marks."""
    before, after = ("⟦", "⟧") if is_marked else ("", "")
    parts, length = [], 0
    for literal, name, spec, _ in string.Formatter().parse(template):
        length += len(literal)
        accented = literal.replace("{", "{{").replace("}", "}}").translate(_ACCENTED)
        parts.append(f"{before}{accented}{after}" if any(map(str.isalpha, literal)) else accented)
        if name is not None:
            parts.append("{" + name + (f":{spec}" if spec else "") + "}")
    filler = (_FILLER * (length // len(_FILLER) + 1))[: round(LONGER * length)].rstrip()
    return "".join(parts) + (f"{before}{filler}{after}" if filler else "")


def unmarked(text: str) -> str:
    depth, left = 0, []
    for letter in text:
        depth += (letter == "⟦") - (letter == "⟧")
        left.append(letter if depth == 0 and letter != "⟧" else " ")
    return re.sub(r"\s+", " ", "".join(left)).strip()


def names_of(machine: Machine) -> list[str]:
    strings, left = list[str](), list[object]([asdict(machine)])
    while left:
        part = left.pop()
        if isinstance(part, str):
            strings += [part, *re.findall(r"[\w.+-]{2,}", part)]
        elif isinstance(part, dict):
            left += [value for key, value in part.items() if key != "kind"]  # of a disk, which is translated
        elif isinstance(part, list | tuple):
            left += part
    return [*filter(None, strings), *GOVERNORS]


@cache
def _known() -> frozenset[str]:
    """Names of workloads and of what was published."""
    rows = {
        name
        for row in reference_rows()
        for name in (row.short_name, short_name(row.device), row.hardware, *row.software_parts[:1])
    }
    sources = {workload.source for workload in CATALOGUE.values()}
    return frozenset(
        {*rows, *sources, *CATALOGUE, *STUDIES.values(), *(data.SOURCE.title for data in DATASETS.values())}
    )


@cache
def _names(more: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(_known() | more, key=len, reverse=True))))


def english_in(text: str, names: Iterable[str]) -> str:
    """Return what of a text is neither from the catalogue nor a name, if there are letters in it."""
    # Checksums first, because a name such as "312" may be part of one.
    left = re.sub(r"https?://\S*|\b[0-9A-F]{4}-[0-9A-F]{4}\b", " ", unmarked(text))
    left = _names(frozenset(names)).sub(" ", left)
    return left if re.search(r"[A-Za-z]{2}", _NAMES.sub(" ", left)) else ""
