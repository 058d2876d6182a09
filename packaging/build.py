"""Builds Epochmark with its own Python: a self-contained folder for Linux, Windows or macOS.

    .venv/bin/python packaging/build.py linux build/epochmark --python FOLDER [--with-tensorflow]

FOLDER contains a relocatable Python, such as one unpacked by `uv python install`. The result consists of its
standard library and the locked packages, without the parts listed below, and the app's wheel. uv resolves the lock
for the target system, so the folder for Windows can be built on Linux.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from system_libraries import system_packages  # type: ignore[import-not-found] # next to this file

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "packaging" / "requirements"
OLDEST_MACOS = "14.0"  # required by Qt; uv would assume an older version, for which Qt has no wheels


@dataclass(frozen=True)
class Layout:
    """The layout of a Python installation on a system.

    Attributes:
        uv_platform: The system's name in uv; None for the system on which the build runs, which must then be the
            target.
        copied: Patterns of the files to copy from the Python installation.
        library: Folder of the standard library; {version} stands for a version such as 3.13.
        interpreter: The interpreter's path.
    """

    uv_platform: str | None
    copied: tuple[str, ...]
    library: str
    interpreter: str

    def site(self, version: str) -> Path:
        """Return the folder of the installed packages."""
        return Path(self.library.format(version=version)) / "site-packages"


_POSIX = ("bin/python{version}", "lib/libpython{version}.*", "lib/python{version}/**/*")
LAYOUTS = {
    "linux": Layout("x86_64-manylinux_2_34", _POSIX, "lib/python{version}", "bin/python{version}"),
    "macos": Layout("aarch64-apple-darwin", _POSIX, "lib/python{version}", "bin/python{version}"),
    "windows": Layout(
        "x86_64-pc-windows-msvc", ("*.exe", "*.dll", "LICENSE.txt", "DLLs/**/*", "Lib/**/*"), "Lib", "python.exe"
    ),
}
# Unused parts of Python, as patterns. The self-test of the built program checks that nothing needs them.
UNUSED_LIBRARY = """
    site-packages/* test idlelib tkinter turtledemo turtle.py cgi.py ensurepip lib2to3 pydoc_data venv config-*
    __phello__* lib-dynload/_tkinter* lib-dynload/_test* lib-dynload/_ctypes_test* lib-dynload/xx* lib-dynload/nis*
    lib-dynload/readline*
"""  # readline is under the GPL
UNUSED_PYTHON = """
    DLLs/_tkinter.pyd DLLs/tcl* DLLs/tk* DLLs/_test* DLLs/_ctypes_test* DLLs/*.ico DLLs/*.cat LICENSE_PYTHON.txt
"""
# Parts of the packages that nothing in Epochmark uses. PySide6's are in Linux', macOS' and Windows' spellings.
# TensorFlow's headers have paths that are too long for Windows' Explorer.
_PACKAGES = """
    bin share example.py setuptools/*.exe shiboken6/*.pyi shiboken6/*.lib pyqtgraph/examples numpy/*/tests
    numpy/*/*/tests numpy/_core/lib tensorflow/include tensorflow/python/*.lib clang
"""
_PYSIDE = """
    include typesystems glue scripts support doc resources *.pyi *.exe *.lib opengl32sw.dll av*.dll sw*.dll
    assistant designer linguist lrelease lupdate balsam* qml* rcc uic qsb svgtoqml Assistant.app Designer.app
    Linguist.app pyside6qml* libpyside6qml* Qt/qml Qt/translations Qt/metatypes Qt/libexec translations
    metatypes libexec
"""
_QT_MODULES = """
    Quick Qml Quick3D Designer Help Sql Test PrintSupport ShaderTools Labs VirtualKeyboard UiTools Concurrent Xml
    Lottie WaylandCompositor WaylandEglCompositor Egl Network
"""
_QT_PLUGINS = """
    qmltooling sqldrivers designer qmllint wayland-graphics-integration-server vectorimageformats
    egldeviceintegrations generic networkinformation printsupport tls imageformats/*qpdf.*
    platforminputcontexts/*virtualkeyboard* platforms/qdirect2d.dll platforms/*qeglfs* platforms/*qlinuxfb*
    platforms/*qminimal* platforms/*qvkkhrdisplay* platforms/*qvnc*
"""
UNUSED_PACKAGES = (
    *_PACKAGES.split(),
    *(f"PySide6/{name}" for name in _PYSIDE.split()),
    *(f"PySide6/{start}/{name}" for start in ("Qt/plugins", "plugins") for name in _QT_PLUGINS.split()),
    *(
        f"PySide6/{start}{name}*"
        for start in ("Qt/lib/libQt6", "Qt/lib/Qt", "Qt6", "Qt")
        for name in _QT_MODULES.split()
    ),
)
LAUNCHER = """\
#!/bin/sh
# Starts Epochmark with its own Python, whatever Python's variables say.
here=$(dirname "$(readlink -f "$0")")
EPOCHMARK_STARTED_AS=${{EPOCHMARK_STARTED_AS:-epochmark}} exec "$here/python/{interpreter}" -I -m epochmark "$@"
"""
# Without arguments, as after a double click, the window opens and the console closes.
WINDOWS_LAUNCHER = """\
@if "%~1"=="" start "" "%~dp0python\\pythonw.exe" -I -m epochmark & exit /b
@"%~dp0python\\python.exe" -I -m epochmark %*
"""


def run(*command: str | Path) -> None:
    """Run a command in the repository, or end the build with its exit code."""
    environment = os.environ | {"MACOSX_DEPLOYMENT_TARGET": OLDEST_MACOS}
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} failed with exit code {done.returncode}.")


def uv(*arguments: str | Path) -> None:
    """Run uv, which is part of the development environment."""
    run(sys.executable, "-m", "uv", "--quiet", *arguments)


def version_of(python: Path) -> str:
    """Return the version of a folder with a Python, such as 3.13. Ends the build if there is none."""
    names = [path.name for path in (*python.glob("bin/python3.*"), *python.glob("python3*.dll"))]
    found = [re.fullmatch(r"python3\.?(\d\d)(\.dll)?", name) for name in names]
    version = next((match[1] for match in found if match), None)
    if version is None:
        sys.exit(f"{python} contains no Python; give the folder that contains bin/python3.13 or python313.dll.")
    return f"3.{version}"


def copy_python(python: Path, target: Path, layout: Layout, version: str) -> None:
    """Copy an interpreter and its standard library, without their unused parts."""
    for pattern in layout.copied:
        for path in python.glob(pattern.format(version=version)):
            place = target / path.relative_to(python)
            if (
                path.is_file()
                and path.parent.name != "__pycache__"
                and not is_unused(place, target, layout, version)
            ):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place, follow_symlinks=False)


def is_unused(place: Path, target: Path, layout: Layout, version: str) -> bool:
    """Return whether a file of Python is in the lists above."""
    whole = place.relative_to(target)
    library = Path(layout.library.format(version=version))
    within = whole.relative_to(library) if whole.is_relative_to(library) else None
    return _matches(whole, UNUSED_PYTHON.split()) or (
        within is not None and _matches(within, UNUSED_LIBRARY.split())
    )


def _matches(path: Path, patterns: Iterable[str]) -> bool:
    return any(
        part.match(pattern) for part in (path, *path.parents) for pattern in patterns if _depth(part, pattern)
    )


def _depth(path: Path, pattern: str) -> bool:
    return len(path.parts) == pattern.count("/") + 1


def install_packages(site: Path, layout: Layout, version: str, locks: Sequence[str], wheel: Path) -> None:
    """Install the locked packages and the app for the target system, then remove what isn't used."""
    platform = ("--python-platform", layout.uv_platform) if layout.uv_platform else ()
    target = ("--target", site, "--python-version", version, *platform)
    common = ("pip", "install", "--link-mode", "copy", "--no-deps", *target)
    wheels_only = ("--only-binary", ":all:", "--no-binary", "gputil")  # the one without a wheel is pure Python
    for lock in locks:
        uv(*common, "--require-hashes", *wheels_only, "-r", LOCKS / lock)
    uv(*common, "--no-index", wheel)
    for pattern in UNUSED_PACKAGES:
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def build_wheel(folder: Path) -> Path:
    """Build the app's wheel, and return its path."""
    uv("build", "--wheel", "--out-dir", folder, ROOT)
    return max(folder.glob("epochmark-*.whl"), key=lambda path: path.stat().st_mtime)


def make_movable(interpreter: Path) -> None:
    """Make an interpreter find its shared library, and remove debugging symbols."""
    libraries = [
        *(interpreter.parent.parent / "lib").rglob("lib*.so*"),
        *interpreter.parents[1].rglob("lib-dynload/*"),
    ]
    if any(path.name.startswith("libpython") for path in libraries) and shutil.which("patchelf"):
        run("patchelf", "--set-rpath", "$ORIGIN/../lib", interpreter)
    run("strip", "--strip-unneeded", interpreter, *(path for path in libraries if not path.is_symlink()))


def compile_all(library: Path, version: str, compiler: Path | str | None) -> None:
    """Compile every module with this version of Python, so that no files are written next to the modules later.

    The compiled files contain hashes instead of times, because packages and archives change the times. The hashes
    aren't checked at startup.
    """
    if compiler is None:
        sys.exit(f"Compiling the modules requires Python {version} on this computer.")
    options = ("-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", library)
    subprocess.run(  # some modules are for tests and can't be compiled
        [compiler, "-I", "-m", "compileall", *options, str(library)],
        env=os.environ | {"PYENV_VERSION": version},
        check=False,
    )


def add_cpp_runtime(python: Path, site: Path) -> None:
    """Move Microsoft's C++ runtime next to python.exe, where engines find it.

    The copy included in Python is replaced, because libraries of one runtime must have the same version.
    """
    for path in site.glob("*.dll"):
        path.unlink()
    for path in site.glob("Scripts/*.dll"):
        shutil.move(path, python / path.name)
    shutil.rmtree(site / "Scripts")


def build(system: str, out: Path, python: Path, *, with_tensorflow: bool) -> None:
    """Build the program's folder. Replaces a folder made by an earlier build, and refuses any other."""
    layout, version = LAYOUTS[system], version_of(python)
    if out.exists() and not (out / "python").is_dir() and any(out.iterdir()):
        sys.exit(f"{out} isn't empty, and no build made it. Choose another folder.")
    shutil.rmtree(out, ignore_errors=True)
    target = out / "python"
    copy_python(python, target, layout, version)
    site, interpreter = target / layout.site(version), target / layout.interpreter.format(version=version)
    if system == "linux":
        make_movable(interpreter)
    wheel = build_wheel(out.parent / "wheel")
    install_packages(site, layout, version, ["cpu.txt" if with_tensorflow else "app.txt"], wheel)
    if system == "windows":
        add_cpp_runtime(target, site)
        (out / "epochmark.cmd").write_text(WINDOWS_LAUNCHER, encoding="ascii", newline="\r\n")
    else:
        launcher = out / "epochmark"
        launcher.write_text(LAUNCHER.format(interpreter=interpreter.relative_to(target)), encoding="ascii")
        launcher.chmod(0o755)
    is_foreign = system == "windows" and os.name != "nt"
    compile_all(site.parent, version, shutil.which(f"python{version}") if is_foreign else interpreter)
    shutil.copy2(ROOT / "LICENSE", out)
    if system == "linux":
        system_packages(out)


def main() -> int:
    """Build the folder that the arguments specify."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=LAYOUTS)
    parser.add_argument("out", type=Path, help="folder to build")
    parser.add_argument("--python", type=Path, required=True, metavar="FOLDER", help="Python to ship")
    parser.add_argument(
        "--with-tensorflow", action="store_true", help="include TensorFlow, for use without a network"
    )
    arguments = parser.parse_args()
    build(
        arguments.system,
        arguments.out.resolve(),
        arguments.python.resolve(),
        with_tensorflow=arguments.with_tensorflow,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
