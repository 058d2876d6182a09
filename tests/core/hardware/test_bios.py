"""The version of the BIOS, as the systems tell it."""

from pathlib import Path

import pytest

from app.core.hardware import machine, registry
from tests.core.hardware.made_up import write
from tests.sure import sure


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("F12", "F12"),
        (" American  Megatrends 1.40\x00", "American Megatrends 1.40"),
        ("", None),
        ("\n", None),
        ("x" * 500, "x" * 57 + "..."),
    ],
)
def test_linux_tells_it_in_a_file(
    tmp_path: Path, text: str, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    read = machine.read_bios_version(write(tmp_path, {"sys/class/dmi/id/bios_version": text}))
    if version is None:
        assert read is None
    else:
        assert len(sure(read)) <= 60
        assert sure(read)[:20].replace("\u2400", "").startswith(version[:20])


def test_a_computer_without_one_has_none(tmp_path: Path) -> None:
    assert machine.read_bios_version(tmp_path) is None


def test_windows_has_it_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr(registry, "read_text", lambda _, name: "1.2.3" if name == "BIOSVersion" else "")
    assert machine.read_bios_version() == "1.2.3"
