"""Made-up computers: Linux's files in a folder, and Windows' registry."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    return root


def fake_windows(monkeypatch: pytest.MonkeyPatch, keys: Mapping[str, Mapping[str, Any]]) -> None:
    @contextmanager
    def open_key(hive: int, key: str) -> Iterator[str]:
        if key not in keys:
            raise FileNotFoundError(key)
        yield key

    def query_value(key: str, name: str) -> tuple[Any, int]:
        if name not in keys[key]:
            raise FileNotFoundError(name)
        return keys[key][name], 1

    def below(key: str) -> list[str]:
        return [name.removeprefix(f"{key}\\") for name in keys if name.startswith(f"{key}\\")]

    winreg = ModuleType("winreg")
    vars(winreg).update(HKEY_LOCAL_MACHINE=1, OpenKey=open_key, QueryValueEx=query_value)
    vars(winreg).update(QueryInfoKey=lambda key: (len(below(key)), 0, 0), EnumKey=lambda key, at: below(key)[at])
    monkeypatch.setitem(sys.modules, "winreg", winreg)
    monkeypatch.setattr(sys, "platform", "win32")
