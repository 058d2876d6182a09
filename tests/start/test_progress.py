"""How far the first set-up is: on a terminal in one line, otherwise in a few plain ones."""

import io
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOWNLOAD = "  Downloading https://mirror/tensorflow-2.21.0-cp311-manylinux_2_27_x86_64.whl (100.0 MB)"
FILE = "tensorflow-2.21.0-cp311-manylinux_2_27_x86_64.whl"


class Terminal(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


class Scene:
    """A meter, pip's folders, and a clock."""

    def __init__(self, install: ModuleType, folder: Path, *, is_terminal: bool) -> None:
        self.scratch, self.packages, self.now_s = folder / "tmp", folder / "packages", 50.0
        for path in (self.scratch / "pip-unpack-x", self.packages):
            path.mkdir(parents=True)
        self.out = Terminal(is_terminal=is_terminal)
        self.meter: Any = install.Meter(self.scratch, self.packages, self.out, lambda: self.now_s)

    def arrive(self, size_bytes: int, now_s: float) -> None:
        with (self.scratch / "pip-unpack-x" / FILE).open("wb") as file:
            file.truncate(size_bytes)
        self.now_s = now_s
        self.meter.tick()

    def put(self, name: str) -> None:
        """Install a package as pip does."""
        (self.packages / f"{name}.dist-info").mkdir(exist_ok=True)
        (self.packages / f"{name}.dist-info" / "INSTALLER").write_text("pip")
        self.meter.tick()


@pytest.fixture
def plain(install: ModuleType, tmp_path: Path) -> Scene:
    return Scene(install, tmp_path, is_terminal=False)


@pytest.fixture
def live(install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("COLUMNS", "80")
    return Scene(install, tmp_path, is_terminal=True)


def test_a_terminal_has_one_line_with_percentage_and_rate(live: Scene) -> None:
    live.meter.see(DOWNLOAD)
    live.arrive(5_000_000, 50.5)
    live.arrive(42_000_000, 54.0)
    live.meter.see("Collecting six==1.17.0")
    live.meter.see("Collecting absl-py")
    shown = live.out.getvalue()
    assert shown.count("\n") == 1
    states = [state.rstrip() for state in shown.split("\r") if state]
    assert states == [
        "  downloading tensorflow (100 MB) ...",
        "  downloading tensorflow (100 MB): 5 %",
        "  downloading tensorflow (100 MB): 42 %, 10.5 MB/s",
    ]


def test_a_shorter_state_leaves_nothing_of_a_longer_one(live: Scene) -> None:
    live.meter.see(DOWNLOAD)
    live.arrive(42_000_000, 54.0)
    live.arrive(0, 54.1)
    last, before = live.out.getvalue().split("\r")[:-3:-1]
    assert len(last) == len(before)


def test_elsewhere_there_is_a_plain_line_every_quarter(plain: Scene) -> None:
    plain.meter.see(DOWNLOAD)
    for now_s, done_bytes in enumerate((10, 26_000_000, 30_000_000, 80_000_000, 10**8), 51):
        plain.arrive(done_bytes, float(now_s))
    plain.meter.close()
    assert plain.out.getvalue().splitlines() == [
        "  downloading tensorflow (100 MB) ...",
        "  downloading tensorflow (100 MB): 26 %, 13.0 MB/s",
        "  downloading tensorflow (100 MB): 80 %, 20.0 MB/s",
        "  downloading tensorflow (100 MB): 100 %, 20.0 MB/s",
    ]


def test_the_share_of_installed_packages_is_counted(plain: Scene) -> None:
    plain.put("numpy-1.0")
    plain.meter.see("Installing collected packages: six, absl-py, keras, numpy")
    for name in ("six-1.17.0", "absl_py-2.0", "keras-3.0"):
        plain.put(name)
    plain.meter.see("Successfully installed six")
    states = [" ...", ": 25 %", ": 50 %", ": 75 %"]
    assert plain.out.getvalue().splitlines() == [f"  installing{state}" for state in states]


def test_small_downloads_and_other_lines_are_silent(live: Scene) -> None:
    for line in ("Collecting six", "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)", "", "Ignoring x"):
        live.meter.see(line)
        live.meter.tick()
    live.meter.close()
    assert live.out.getvalue() == ""
