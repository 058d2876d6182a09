"""Packs a folder made by build.py for Windows as an installer for one user, or as a .zip without an installer.

    .venv/bin/python packaging/windows_packages.py installer build/epochmark build
    .venv/bin/python packaging/windows_packages.py zip build/epochmark build

The installer is made by NSIS (`makensis`, also available as a Debian package). The installer contains a list of
its files, because the uninstaller deletes only these.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory

from packing import draw_icon, read_arguments  # type: ignore[import-not-found] # next to this file

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "packaging" / "windows" / "epochmark.nsi"


def version(folder: Path) -> str:
    """Return the version of the app in a folder."""
    (info,) = folder.glob("python/Lib/site-packages/epochmark-*.dist-info")
    return info.name.removeprefix("epochmark-").removesuffix(".dist-info")


def package_name(folder: Path) -> str:
    """Return the base name of a folder's packages, to which each kind of package adds its ending."""
    has_tensorflow = (folder / "python/Lib/site-packages/tensorflow").is_dir()
    return f"Epochmark-{version(folder)}-windows-x64{'-tensorflow' if has_tensorflow else ''}"


def files_in(folder: Path) -> list[Path]:
    """Return all files in a folder and below, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def file_lists(folder: Path) -> str:
    """Return two NSIS macros that call another macro for each file, and for each folder, the deepest first."""
    files = [path.relative_to(folder) for path in files_in(folder)]
    folders = [path.relative_to(folder) for path in folder.rglob("*") if path.is_dir()]  # including empty ones
    lists = {"EachFile": files, "EachFolder": sorted(folders, key=lambda path: (-len(path.parts), path))}
    return "".join(
        "\n".join([f"!macro {name} DO", *(_call(path) for path in paths), "!macroend", ""])
        for name, paths in lists.items()
    )


def _call(path: Path) -> str:
    name = str(PureWindowsPath(path)).replace("$", "$$")
    return f'  !insertmacro ${{DO}} "{name}"'


def write_images(icon_path: Path, panel_path: Path) -> None:
    """Write the app's icon as an .ico with all sizes that Windows shows, and the picture of the last page."""
    from PIL import Image

    drawn = draw_icon(256, 128, 64, 48, 32, 24, 16)
    sizes = [image.size for image in drawn]
    drawn[0].save(icon_path, sizes=sizes, append_images=drawn[1:], bitmap_format="bmp")
    panel, picture = Image.new("RGB", (164, 314), "white"), drawn[1]
    panel.paste(picture, ((panel.width - picture.width) // 2, (panel.height - picture.height) // 2), picture)
    panel.save(panel_path)


def make_installer(folder: Path, out: Path, *, compress: bool = True) -> Path:
    """Build the installer, and return its path."""
    sys.path.insert(0, str(ROOT))
    from app.gui.shell.desktop import PROGRAM_ID

    made = version(folder)
    setup = out / f"{package_name(folder)}-setup.exe"
    numbers = (*re.findall(r"\d+", made), "0", "0", "0")[:4]
    values = {
        # On Windows, NSIS builds only 32-bit installers. Debian's builds both, and Wine may run only 64-bit ones.
        "TARGET": "x86-unicode" if os.name == "nt" else "amd64-unicode",
        "VERSION": made,
        "PROGRAM_ID": PROGRAM_ID,
        "VERSION_NUMBERS": ".".join(numbers),
        "SIZE_KIB": sum(path.stat().st_size for path in files_in(folder)) // 1024,
        "COMPRESS": "SetCompressor /SOLID lzma" if compress else "SetCompress off",
        "FOLDER": folder,
        "OUT": setup,
    }
    # Without a UTF-8 locale, makensis can't open files whose names aren't ASCII.
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    with TemporaryDirectory() as scratch:
        lists, icon, panel = (Path(scratch, name) for name in ("files.nsh", "epochmark.ico", "panel.bmp"))
        lists.write_text(file_lists(folder), encoding="utf-8-sig")
        write_images(icon, panel)
        values |= {"LISTS": lists, "ICON": icon, "PANEL": panel}
        defines = [f"-D{name}={value}" for name, value in values.items()]
        subprocess.run(
            ["makensis", "-V2", "-WX", *defines, SCRIPT], env=environment, check=True, stdout=sys.stderr
        )
    return setup


def make_zip(folder: Path, out: Path, level: int = 9) -> Path:
    """Build the .zip, and return its path."""
    packed = out / f"{package_name(folder)}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path in files_in(folder):
            archive.write(path, Path("Epochmark", path.relative_to(folder)))
    return packed


def main() -> int:
    """Build the package that the arguments specify, and print its path."""
    given = read_arguments(__doc__, ("installer", "zip"))
    print((make_installer if given.kind == "installer" else make_zip)(given.folder, given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
