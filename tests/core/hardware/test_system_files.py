"""Names, numbers and sizes as systems write them: what each piece of text is read as."""

from collections.abc import Callable
from typing import Any

import pytest

from app.core.hardware.gpu import linux, nvidia, pci_ids, windows
from app.core.hardware.machine import firmware_kind
from app.core.hardware.part_texts import split_virtualization
from app.core.hardware.parts.cpu import cache_bytes, linux_instruction_sets
from app.core.hardware.system_files import tidy_name
from tests.core.hardware.parts.test_cpu import RASPBERRY, ZEN_4

READ: dict[Callable[[Any], object], dict[Any, object]] = {
    # What a card is sold as.
    pci_ids.bracketed: {
        "DG2 [Arc A770]": "Arc A770",
        "Phoenix1": "Phoenix1",
        "A [B] [C]": "C",
        "A []": "A",
        "[": "",
    },
    linux.generation_from: {
        "2.5 GT/s PCIe": 1,
        "5 GT/s": 2,
        "8.0 GT/s PCIe": 3,
        "16.0 GT/s PCIe": 4,
        "32.0 GT/s PCIe": 5,
        "64.0 GT/s PCIe": 6,
        "Unknown": None,
        "1.0 GT/s": None,
    },
    # AMD's architectures.
    linux.gfx_name: {
        80_003: "gfx803",
        90_010: "gfx90a",
        90_402: "gfx942",
        100_306: "gfx1036",
        110_501: "gfx1151",
        120_001: "gfx1201",
        0: None,
        500: None,
        10**12: None,
    },
    nvidia.driver_version_from: {
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n": "535.129.03",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.91.07  Release Build  (x)\nGCC": "595.91.07",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  384.81": "384.81",
        "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build": "540.4.0",
        "GCC version:  gcc version 13.2.0": None,
        "": None,
    },
    nvidia.model_from: {"Model: \t\t Unknown\nIRQ: 1\n": None},
    # NVIDIA's own number of a driver.
    windows.nvidia_version: {
        "32.0.15.8165": "581.65",
        "31.0.15.3623": "536.23",
        "27.21.14.5671": "456.71",
        "10.18.13.0500": "305.00",
        "32.0.15": "32.0.15",
        "a.b.c.d": "a.b.c.d",
        "": "",
    },
    linux_instruction_sets: {
        ZEN_4: ("AVX2", "AVX-512", "VNNI", "BF16"),
        "flags\t: avx2 avx512f amx_tile amx_bf16\n": ("AVX2", "AVX-512", "BF16", "AMX"),
        "flags\t: fpu sse2\n": (),
        RASPBERRY: ("NEON",),
        "model name\t: x\n": None,
        "": None,
    },
    cache_bytes: {"48K": 49_152, "12M": 12 * 2**20, "512": 512, "": None, "x": None, "0K": None},
    tidy_name: {
        "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz": "Intel Core i7-8700K",
        "Intel(R) Xeon(R) CPU           X5650  @ 2.67GHz": "Intel Xeon X5650",
        "13th Gen Intel(R) Core(TM) i9-13900K": "13th Gen Intel Core i9-13900K",
        "QEMU Virtual CPU version 2.5+": "QEMU Virtual CPU version 2.5+",
        "Apple M2 Pro": "Apple M2 Pro",
        "  ": None,
        "unknown": None,
        None: None,
    },
    # Which names of firmware mean a virtual machine.
    firmware_kind: {
        "VMware, Inc. VMware Virtual Platform": "VMware",
        "innotek GmbH VirtualBox": "VirtualBox",
        "Microsoft Corporation Virtual Machine": "Hyper-V",
        "Microsoft Corporation Surface Pro": None,
        "Google Google Compute Engine": "Google Compute Engine",
        "Google Eve": None,
        "Amazon EC2 m5.large": "Amazon EC2",
        "Amazon EC2 m6g.metal": None,
        "Xenia Systems Box": None,
        "": None,
    },
    split_virtualization: {
        None: (None, None),
        "kvm": ("kvm", None),
        "docker": (None, "docker"),
        "docker in Xen": ("Xen", "docker"),
    },
}


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [(read, *case) for read, cases in READ.items() for case in cases.items()],
    ids=lambda value: value.__name__ if callable(value) else repr(value)[:60],
)
def test_each_text_is_read_as_what_it_means(read: Callable[[Any], object], text: Any, expected: object) -> None:
    assert read(text) == expected
