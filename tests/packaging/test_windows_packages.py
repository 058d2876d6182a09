"""Builds Windows' packages on Linux, and installs, runs and uninstalls them in the rig (`tests/tools/wine`)."""

import hashlib
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

import app
from tests.packaging.test_packages import LIMIT_S, ROOT, build, need
from tests.tools.wine.rig import Rig, this_rig
from tests.waiting import wait_until

windows_packages, release = import_module("windows_packages"), import_module("release")
pytestmark = [
    pytest.mark.packaging,
    pytest.mark.timeout(3 * LIMIT_S),
    pytest.mark.xdist_group("packaging"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the rig is on Linux"),
]
INFO = "python/Lib/site-packages/epochmark-1.2.3.dist-info/METADATA"
KEY = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Epochmark"
UNINSTALLER = "uninstall-epochmark.exe"
PLACE = Path("Mein Órdner", "Epoch mark")
PROGRAM = PLACE / "program"
NAMES = st.text("aÉ 1$-.'&", min_size=1, max_size=4).map(lambda name: f"n{name}n")


def write(folder: Path, names: set[str]) -> Path:
    for name in (*names, INFO):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return folder


def names_in(folder: Path) -> set[str]:
    return {str(PureWindowsPath(path.relative_to(folder))) for path in folder.rglob("*") if not path.is_dir()}


def listed(lists: str, macro: str) -> list[str]:
    found = re.search(rf"^!macro {macro} DO\n(.*?)^!macroend", lists, re.MULTILINE | re.DOTALL)
    assert found
    return [
        name.replace("$$", "$") for name in re.findall(r'^  !insertmacro \$\{DO\} "(.*)"$', found[1], re.MULTILINE)
    ]


@given(st.sets(st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/".join(["top", *parts, "file"]))))
def test_the_uninstaller_lists_exactly_the_built_files(
    tmp_path_factory: pytest.TempPathFactory, names: set[str]
) -> None:
    folder = write(tmp_path_factory.mktemp("built"), names)
    (folder / "top" / "empty").mkdir(parents=True, exist_ok=True)
    lists = windows_packages.file_lists(folder)
    assert set(listed(lists, "EachFile")) == names_in(folder)
    folders = [PureWindowsPath(name) for name in listed(lists, "EachFolder")]
    assert {Path(*each.parts) for each in folders} == {
        path.relative_to(folder) for path in folder.rglob("*") if path.is_dir()
    }
    assert all(parent not in folders[:place] for place, each in enumerate(folders) for parent in each.parents)


def test_no_folder_is_removed_with_its_contents() -> None:
    script = (ROOT / "packaging" / "windows" / "epochmark.nsi").read_text(encoding="utf-8")
    assert not re.search(r"^\s*RMDir\s+/", script, re.MULTILINE | re.IGNORECASE)


def test_the_installer_has_a_version_and_an_icon(tmp_path: Path) -> None:
    need("makensis")
    import pefile

    folder = write(tmp_path / "Époch $mark", {"python/python.exe", "python/pythonw.exe", "ä b.txt", "$x/y"})
    made = windows_packages.make_installer(folder, tmp_path, compress=False)
    program = pefile.PE(str(made))
    texts = [
        table.entries for info in program.FileInfo for each in info for table in getattr(each, "StringTable", [])
    ]
    assert texts[0][b"ProductVersion"] == b"1.2.3"
    kinds = {entry.id for entry in program.DIRECTORY_ENTRY_RESOURCE.entries}
    assert pefile.RESOURCE_TYPE["RT_GROUP_ICON"] in kinds


def test_winget_gets_the_installers_version_address_and_checksum(tmp_path: Path) -> None:
    (tmp_path / "Epochmark-setup.exe").write_bytes(b"setup")
    release.write_winget(tmp_path, "https://example.org/v1")
    texts = {path.name.split(".")[2]: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.yaml")}
    assert set(texts) == {"yaml", "installer", "locale"}
    assert all(f'PackageVersion: "{app.__version__}"\n' in text for text in texts.values())
    assert 'InstallerUrl: "https://example.org/v1/Epochmark-setup.exe"' in texts["installer"]
    assert f'InstallerSha256: "{hashlib.sha256(b"setup").hexdigest().upper()}"' in texts["installer"]
    assert "@" not in "".join(texts.values())


def test_the_zip_is_the_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "built", {"python/python.exe", "epochmark.cmd"})
    packed = windows_packages.make_zip(folder, tmp_path, level=1)
    assert "1.2.3" in packed.name
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert names_in(tmp_path / "unpacked" / "Epochmark") == names_in(folder)


@pytest.fixture(scope="session")
def rig() -> Rig:
    rig = this_rig()
    if not rig.project.is_dir() or not rig.may_be_used():
        pytest.skip("needs the rig, and root: python -m tests.tools.wine build")
    rig.mount()
    return rig


@pytest.fixture(scope="session")
def folder(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("windows") / "Époch mark"
    need(f"python{build.version_of(rig.python)}")
    build.build("windows", out, rig.python, with_tensorflow=False)
    return out


def on_drive(*parts: str | Path) -> str:
    return str(PureWindowsPath("C:/", *parts))


def test_the_zip_needs_nothing_and_writes_nothing(rig: Rig, folder: Path, tmp_path: Path) -> None:
    unpacked = rig.drive / "Unpäcked here"
    try:
        with zipfile.ZipFile(windows_packages.make_zip(folder, tmp_path, level=1)) as archive:
            archive.extractall(unpacked)
        before = names_in(unpacked)
        launcher = on_drive(unpacked.name, "Epochmark", "epochmark.cmd")
        nonsense = {"PYTHONHOME": r"C:\nonsense", "PYTHONPATH": r"C:\nonsense"}
        assert rig.wine("cmd", "/c", launcher, "--self-test", timeout_s=LIMIT_S, **nonsense) == 0
        assert names_in(unpacked) == before
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


@pytest.fixture(scope="session")
def setups(rig: Rig, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    need("makensis")
    older = write(tmp_path_factory.mktemp("older"), {"python/python.exe", "python/Lib/old.py"})
    setups, out = {}, rig.drive / "setups"
    out.mkdir(exist_ok=True)
    for name, contents in (("old", older), ("new", folder)):
        made = windows_packages.make_installer(contents, out, compress=False)
        setups[name] = on_drive(out.name, made.name)
    yield setups
    shutil.rmtree(out)


@pytest.fixture
def place(rig: Rig) -> Iterator[Path]:
    """A folder that the user chose; whatever an earlier test installed is gone."""
    place = rig.drive / PLACE
    shutil.rmtree(place.parent, ignore_errors=True)
    is_installed(rig) and rig.wine("reg", "delete", KEY, "/f")
    yield place
    shutil.rmtree(place.parent, ignore_errors=True)


def installed_names(folder: Path) -> set[str]:
    return {rf"program\{name}" for name in names_in(folder) | {UNINSTALLER}}


def is_installed(rig: Rig) -> bool:
    return rig.wine("reg", "query", KEY, "/ve") == 0


def silently_into(place: Path) -> list[str]:
    # Installers read everything after /D= as the folder, without quotes.
    return ["/S", *f"/D={on_drive(place)}".split(" ")]


def install(rig: Rig, setup: str, place: Path = PLACE) -> int:
    return rig.wine(setup, *silently_into(place), timeout_s=LIMIT_S)


def run_installed(rig: Rig, *arguments: str) -> int:
    python = on_drive(PROGRAM, "python", "python.exe")
    return rig.wine(python, "-I", "-m", "epochmark", *arguments, timeout_s=LIMIT_S)


def uninstall(rig: Rig, *options: str) -> None:
    """Start the uninstaller, which goes on in a copy of itself, and wait for the end."""
    assert rig.wine(on_drive(PROGRAM, UNINSTALLER), "/S", *options, timeout_s=LIMIT_S) == 0
    wait_until(lambda: not is_installed(rig))


def test_the_program_is_installed_updated_and_uninstalled(
    rig: Rig, folder: Path, setups: dict[str, str], place: Path
) -> None:
    data = rig.drive / "users" / "root" / "AppData" / "Local" / "epochmark"
    shortcut = rig.drive / "users/root/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Epochmark.lnk"
    assert install(rig, setups["old"]) == 0
    own = rig.drive / PROGRAM / "python" / "Lib" / "own.py"
    own.touch()
    assert install(rig, setups["new"]) == 0
    assert names_in(place) == installed_names(folder) | {r"program\python\Lib\own.py"}
    assert shortcut.exists()
    assert run_installed(rig, "run", "demo", "--epochs", "1") == 0
    uninstall(rig)
    assert names_in(place) == {r"program\python\Lib\own.py"}
    assert not shortcut.exists()
    assert (data / "runs.sqlite3").exists()
    assert install(rig, setups["new"]) == 0
    own.unlink()
    uninstall(rig, "/DATA")
    assert not place.exists(), names_in(place)
    assert not data.exists()


def test_a_running_program_is_neither_updated_nor_uninstalled(
    rig: Rig, setups: dict[str, str], place: Path
) -> None:
    assert install(rig, setups["new"]) == 0
    before, started = names_in(place), rig.drive / "started.txt"
    code = r"import pathlib, time; pathlib.Path(r'C:\started.txt').touch(); time.sleep(600)"
    program = rig.begin(on_drive(PROGRAM, "python", "pythonw.exe"), "-I", "-c", code)
    try:
        wait_until(started.exists)
        assert install(rig, setups["old"]) != 0
        in_place = f"_?={on_drive(PROGRAM)}".split(" ")
        assert rig.wine(on_drive(PROGRAM, UNINSTALLER), "/S", *in_place) != 0
        assert names_in(place) == before
    finally:
        rig.end_all()
        program.wait()
        started.unlink(missing_ok=True)


def end_update(rig: Rig, setup: str, is_reached: Callable[[], bool]) -> None:
    update = rig.begin(setup, *silently_into(PLACE))
    wait_until(is_reached)
    rig.end_all()
    update.wait()


def test_an_update_that_is_ended_leaves_a_version_that_works(
    rig: Rig, folder: Path, setups: dict[str, str], place: Path
) -> None:
    program = rig.drive / PROGRAM
    partial, old = program.with_suffix(".partial"), program.with_suffix(".old")
    assert install(rig, setups["new"]) == 0
    for is_reached in (
        (partial / UNINSTALLER).exists,
        (partial / "python" / "Lib").is_dir,
        old.is_dir,
        lambda: old.is_dir() and not (old / "LICENSE").exists(),
        lambda: old.is_dir() and not (old / "python" / "Lib" / "os.py").exists(),
    ):
        end_update(rig, setups["new"], is_reached)
        assert names_in(place) != installed_names(folder)
        assert run_installed(rig, "--version") == 0
    assert install(rig, setups["new"]) == 0
    assert names_in(place) == installed_names(folder)
    end_update(rig, setups["new"], old.is_dir)
    uninstall(rig)
    assert not place.exists(), names_in(place)
