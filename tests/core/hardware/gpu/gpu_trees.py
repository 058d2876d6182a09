"""Proc and sys folders of real computers, built from flat texts in tests/data/machines."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

DATA = Path(__file__).parents[3] / "data/machines/gpus"

_opened: list[list[str]] = []


def plant(root: Path, *names: str, ids: bool = True) -> Path:
    for name in names:
        folder = root
        for line in (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if match := re.fullmatch(r"\[(.+)\]", line):
                folder = root / match[1]
                if re.fullmatch(r"[0-9a-f]{4}:.*", folder.name) and "sys/devices" in match[1]:
                    link(
                        root / "sys/bus/pci/devices" / folder.name,
                        os.path.relpath(folder, root / "sys/bus/pci/devices"),
                    )
            elif match := re.fullmatch(r"(\S+) -> (\S+)", line):
                target = match[2] if "/" in match[2] else f"../../../bus/drivers/{match[2]}"
                link(folder / match[1], target)
            elif match := re.fullmatch(r"(\S+) =(?: (.*))?", line):
                content = (match[2] or "").encode("latin-1").decode("unicode_escape").encode("latin-1")
                write(
                    folder / match[1], content if content.endswith(b"\n") or "metrics" in line else content + b"\n"
                )
    if ids:
        for name, path in (("pci.ids", "usr/share/misc/pci.ids"), ("amdgpu.ids", "usr/share/libdrm/amdgpu.ids")):
            write(root / path, (DATA / name).read_bytes())
    return root


def write(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def device(root: Path, address: str) -> Path:
    return (root / "sys/bus/pci/devices" / address).resolve()


def known(record: Gpu | GpuTelemetry) -> dict[str, object]:
    return {name: value for name, value in asdict(record).items() if value not in (None, ())}


@contextmanager
def opened_files() -> Iterator[list[str]]:
    if not hasattr(sys, "_gpu_tree_hook"):
        sys._gpu_tree_hook = True  # type: ignore[attr-defined]  # hooks stay for good
        sys.addaudithook(_note)
    names: list[str] = []
    _opened.append(names)
    try:
        yield names
    finally:
        _opened.remove(names)


def _note(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and _opened:
        for names in _opened:
            names.append(str(args[0]))
