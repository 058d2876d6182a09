"""Names, numbers and sizes as systems write them in their files: what each piece of text is read as."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.hardware.gpu import linux, nvidia, pci_ids, windows
from app.core.hardware.machine import firmware_kind
from app.core.hardware.part_texts import split_virtualization
from app.core.hardware.parts.cpu import cache_bytes, linux_instruction_sets
from app.core.hardware.system_files import tidy_name

READERS: dict[str, Callable[[str], object]] = {
    each.__name__: each
    for each in (
        *(pci_ids.bracketed, linux.generation_from, nvidia.driver_version_from, nvidia.model_from, tidy_name),
        *(windows.nvidia_version, linux_instruction_sets, cache_bytes, firmware_kind),
    )
} | {"gfx_name": lambda number: linux.gfx_name(int(number))}
TEXTS = tomllib.loads((Path(__file__).parents[2] / "data/machines/texts.toml").read_text(encoding="utf-8"))
CASES = [
    (reader, text, expected)
    for reader, texts in TEXTS.items()
    for text, expected in (texts | dict.fromkeys(texts.get("none", ()))).items()
    if text != "none"
]


def test_a_container_in_a_virtual_machine_is_told_apart() -> None:
    read = [split_virtualization(kinds) for kinds in (None, "kvm", "docker", "docker in Xen")]
    assert read == [(None, None), ("kvm", None), (None, "docker"), ("Xen", "docker")]


@pytest.mark.parametrize(("reader", "text", "expected"), CASES)
def test_each_text_is_read_as_what_it_means(reader: str, text: str, expected: Any) -> None:
    read = READERS[reader](text)
    assert (list(read) if isinstance(read, tuple) else read) == expected
