"""Builds this system's packages, installs them and runs what they contain. See `start.py test --packaging`."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from importlib import import_module
from pathlib import Path

import pytest

import app
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "packaging"))  # its programs import each other
build, linux_packages = import_module("build"), import_module("linux_packages")
LIMIT_S = 600
pytestmark = [pytest.mark.packaging, pytest.mark.timeout(3 * LIMIT_S), pytest.mark.xdist_group("packaging")]
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="builds Linux' packages")
SHARED = (
    "bash-completion/completions/epochmark",
    "fish/vendor_completions.d/epochmark.fish",
    "applications/epochmark.desktop",
    "icons/hicolor/48x48/apps/epochmark.png",
    "icons/hicolor/scalable/apps/epochmark.svg",
    "man/man1/epochmark.1.gz",
    "metainfo/io.github.epochmark.Epochmark.metainfo.xml",
    "mime/packages/epochmark.xml",
)
COMPLETE = '. "$1"; COMP_WORDS=(epochmark do) COMP_CWORD=1; _epochmark; echo "${COMPREPLY[@]}"'
# Nobody's settings may break a package that brings its own Python.
NONSENSE = {"PYTHONHOME": "/nonsense", "PYTHONPATH": "/nonsense", "LD_LIBRARY_PATH": "/nonsense"}


def run(*command: str | Path, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "EPOCHMARK", "QT_"))
    }
    return subprocess.run(
        [str(word) for word in command],
        env=kept | {"EPOCHMARK_HOME": str(home)} | environment,
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def files_in(folder: Path) -> set[tuple[str, int]]:
    return {(str(path.relative_to(folder)), path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def need(*programs: str) -> None:
    """Skip a test whose programs aren't there."""
    if missing := [name for name in programs if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(missing)}")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path = build.build_wheel(tmp_path_factory.mktemp("wheel"))
    return built


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("patchelf", "readelf", "strip")
    out = tmp_path_factory.mktemp("built") / "Époch mark"
    build.build("linux", out, Path(sys.base_prefix), with_tensorflow=False)
    return out


def test_the_wheel_collides_with_nobody_and_has_no_engine(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(info).decode())
    assert {name.partition("/")[0] for name in names} == {"epochmark", info.partition("/")[0]}
    description = str(metadata.get_payload())
    assert "# Epochmark" in description
    assert not [link for link in re.findall(r"\]\(([^)]*)\)", description) if not link.startswith("https:")]
    always = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert not any(each.startswith(("tensorflow", "keras")) for each in always)
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_wheel_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment, home = tmp_path / "venv", tmp_path / "home"
    uv = (sys.executable, "-m", "uv", "--quiet")
    assert run(*uv, "venv", "--python", sys.executable, environment, home=home).returncode == 0
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = run(*uv, "pip", "install", "--python", python, wheel, home=home)
    assert installed.returncode == 0, installed.stderr
    program = python.with_name("epochmark")
    tested = run(program, "--self-test", home=home)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    picture = tmp_path / "demo.png"
    assert run(program, "run", "demo", home=home).returncode == 0
    assert run(program, "results", "share", "1", "--output", picture, home=home).returncode == 0
    assert picture.stat().st_size > 10_000
    refused = run(program, "run", "mnist_mlp", home=home)
    assert refused.returncode == 2
    assert f"{program} engine install tensorflow" in " ".join(refused.stderr.split())


@on_linux
def test_the_folder_needs_nothing_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    before = files_in(folder)
    tested = run(folder / "epochmark", "--self-test", home=tmp_path / "home", **NONSENSE)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert files_in(folder) == before


@on_linux
@pytest.mark.parametrize(
    "part",
    ["PySide6/QtSvg.abi3.so", "PySide6/Qt/lib/libQt6OpenGL.so.6", "pyqtgraph/__init__.py", "epochmark/workloads"],
)
def test_the_self_test_misses_a_part(folder: Path, tmp_path: Path, part: str) -> None:
    site = next(folder.glob("python/lib/python3*/site-packages"))
    (site / part).rename(tmp_path / "away")
    try:
        tested = run(folder / "epochmark", "--self-test", home=tmp_path / "home")
    finally:
        (tmp_path / "away").rename(site / part)
    assert tested.returncode == 1


@on_linux
def test_a_python_that_needs_a_library_of_this_computer_is_refused(tmp_path: Path) -> None:
    need("patchelf", "readelf", "strip")
    python = tmp_path / "python"
    shutil.copytree(sys.base_prefix, python, ignore=shutil.ignore_patterns("site-packages", "test", "include"))
    module = next(python.glob("lib/python3*/lib-dynload/_sqlite3.*"))
    subprocess.run(["patchelf", "--replace-needed", "libc.so.6", "libmine.so.9", module], check=True)
    with pytest.raises(SystemExit, match=r"libmine\.so\.9, needed by .*_sqlite3"):
        build.build("linux", tmp_path / "out", python, with_tensorflow=False)


@on_linux
def test_the_deb_is_installed_run_and_removed(folder: Path, tmp_path: Path) -> None:
    need("dpkg-deb", "lintian")
    deb = linux_packages.make_deb(folder, tmp_path)
    checked = run("lintian", "--fail-on", "error", deb, home=tmp_path / "home")
    assert checked.returncode == 0, checked.stdout
    root = tmp_path / "root"
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ("dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--log=/dev/null")
    installed = run(*dpkg, "--install", deb, home=tmp_path / "home")
    assert installed.returncode == 0, installed.stderr
    assert {place for place in SHARED if not (root / "usr/share" / place).is_file()} == set()
    described = (root / "usr/share/metainfo" / linux_packages.METAINFO).read_text(encoding="utf-8")
    assert described == linux_packages.metainfo(app.PROJECT_URL)
    completed = run("bash", "-c", COMPLETE, "bash", root / "usr/share" / SHARED[0], home=tmp_path / "home")
    assert "doctor" in completed.stdout.split()
    program = root / "usr/bin/epochmark"
    assert run(program, "--self-test", home=tmp_path / "home").returncode == 0
    listed = run(program, "engine", "list", home=tmp_path / "home")
    assert listed.returncode == 0
    assert "tensorflow" in listed.stdout
    assert run(*dpkg, "--remove", "epochmark", home=tmp_path / "home").returncode == 0
    assert not (root / "usr/lib/epochmark").exists()
    assert not program.is_symlink()


@on_linux
def test_the_window_belongs_to_the_menu_entry(folder: Path, tmp_path: Path) -> None:
    need("Xvfb", "xprop")
    entry = (linux_packages.FILES / "epochmark.desktop").read_text(encoding="utf-8")
    found = re.search("^StartupWMClass=(.+)$", entry, re.MULTILINE)
    assert found
    read, write = os.pipe()
    display = subprocess.Popen(["Xvfb", "-displayfd", str(write)], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as file:
        shown = {"DISPLAY": f":{file.readline().strip()}"}
    environment = {"PATH": os.environ["PATH"], "EPOCHMARK_HOME": str(tmp_path / "home")} | shown
    program = subprocess.Popen([folder / "epochmark"], env=environment)

    def window_class() -> str:
        return run("xprop", "-name", "Epochmark", "WM_CLASS", home=tmp_path / "home", **shown).stdout

    try:
        wait_until(lambda: "=" in window_class() or program.poll() is not None)
        if program.poll() == 2:
            pytest.skip("needs the libraries that Qt uses on X11")
        assert window_class() == f'WM_CLASS(STRING) = "epochmark", "{found[1]}"\n'
    finally:
        program.kill()
        program.wait()
        display.kill()
        display.wait()


@on_linux
@pytest.mark.parametrize("address", ["", "https://example.org/epochmark"])
def test_software_centres_understand_the_description(tmp_path: Path, address: str) -> None:
    need("appstreamcli", "desktop-file-validate")
    description = tmp_path / linux_packages.METAINFO
    description.write_text(linux_packages.metainfo(address), encoding="utf-8")
    checked = run("appstreamcli", "validate", "--no-net", description, home=tmp_path / "home")
    assert checked.returncode == 0, checked.stdout
    shown = re.findall(r"<image>https://example.org/epochmark/raw/v[^/]+/(.+?)</image>", description.read_text())
    assert len(shown) == (3 if address else 0)
    assert all((ROOT / name).is_file() for name in shown)
    entry = run("desktop-file-validate", linux_packages.FILES / "epochmark.desktop", home=tmp_path / "home")
    assert (entry.returncode, entry.stdout) == (0, "")


@on_linux
def test_the_appimage_is_its_folder_behind_the_runtime(folder: Path, tmp_path: Path) -> None:
    need("mksquashfs", "unsquashfs")
    runtime = tmp_path / "runtime"
    runtime.write_bytes(b"\x7fELF" + bytes(1000))
    image = linux_packages.make_appimage(folder, tmp_path, runtime)
    unpacked = tmp_path / "unpacked"
    offset = str(runtime.stat().st_size)
    done = run("unsquashfs", "-quiet", "-no-progress", "-o", offset, "-d", unpacked, image, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert (unpacked / "epochmark.desktop").is_file()
    assert run(unpacked / "AppRun", "--self-test", home=tmp_path / "home").returncode == 0


def test_the_app_of_macos_has_what_finder_asks_for(tmp_path: Path) -> None:
    from PIL import Image

    macos_package = import_module("macos_package")
    built = tmp_path / "built"
    (built / "python" / "bin").mkdir(parents=True)
    (built / "python" / "libqt.dylib").write_bytes(b"\xcf\xfa\xed\xfe" + bytes(60))
    launcher = built / "epochmark"
    launcher.write_text(build.LAUNCHER.format(interpreter="bin/python3.13"))
    launcher.chmod(0o755)
    (built / "python" / "bin" / "python3.13").write_text('#!/bin/sh\necho "$EPOCHMARK_STARTED_AS" "$@"\n')
    (built / "python" / "bin" / "python3.13").chmod(0o755)
    bundle = macos_package.make_app(built, tmp_path / "a folder")
    macos_package.add_icon(bundle)
    described = plistlib.loads((bundle / "Contents" / "Info.plist").read_bytes())
    program = bundle / "Contents" / "MacOS" / described["CFBundleExecutable"]
    assert run(program, "run", "demo", home=tmp_path / "home").stdout == "epochmark -I -m epochmark run demo\n"
    assert described["CFBundleShortVersionString"] == app.__version__
    with Image.open(bundle / "Contents" / "Resources" / f"{described['CFBundleIconFile']}.icns") as icon:
        assert icon.format == "ICNS"
        assert {width * scale for width, _, scale in icon.info["sizes"]} == {32, 64, 128, 256, 512, 1024}
    assert [path.name for path in macos_package.programs_in(bundle)] == ["libqt.dylib"]
    assert plistlib.loads(macos_package.ENTITLEMENTS.read_bytes())
