"""Stand-ins for what wine lacks and Windows has: three small libraries, compiled with MinGW."""

import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

COMPILER, READER = "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-objdump"
_MATH, _OURS = b"api-ms-win-crt-math-l1-1-0.dll", b"our-ms-win-crt-math-l1-1-0.dll"

# Qt asks mscms for the colours of a screen; without an answer, it finds no screen.
_COLOUR_NAMES = ("GetColorProfileFromHandle", "CloseColorProfile", "WcsCreateIccProfile", "OpenColorProfileW")
# Qt loads icuuc for rare encodings. That it can't open any is an answer that it takes.
_CONVERTER_NAMES = tuple(
    f"ucnv_{name}"
    for name in (
        *("close", "reset", "getMaxCharSize", "getName", "getStandardName", "getAvailableName", "countAvailable"),
        *("getToUCallBack", "setToUCallBack", "getFromUCallBack", "setFromUCallBack"),
        *(
            "cbToUWriteUChars",
            "cbFromUWriteUChars",
            "toUnicode",
            "toUCountPending",
            "fromUnicode",
            "fromUCountPending",
        ),
    )
)
_CANNOT_OPEN = "__declspec(dllexport) void *ucnv_open(const char *name, int *status) { *status = 4; return 0; }"

# C99's complex functions, which are empty in wine's C runtime. Windows passes complex numbers as structures.
_COMPLEX_TO_COMPLEX = (
    *("cexp", "clog", "csqrt", "csin", "ccos", "ctan", "csinh", "ccosh", "ctanh"),
    *("casin", "cacos", "catan", "casinh", "cacosh", "catanh", "conj", "cproj"),
)
_COMPLEX_TO_REAL = ("creal", "cimag", "cabs", "carg")
_COMPLEX_HEAD = """
#include <complex.h>
typedef struct { double re, im; } Double;
typedef struct { float re, im; } Float;
#define IN(z) __builtin_complex((double)(z).re, (double)(z).im)
#define OUT(type, expression) { double complex w = (expression); type r = { creal(w), cimag(w) }; return r; }
"""


def make_colour_management(folder: Path) -> None:
    """Put mscms.dll beside a program."""
    _compile(_empty(_COLOUR_NAMES), folder / "mscms.dll")


def make_unicode_converters(folder: Path) -> None:
    """Put icuuc.dll beside Qt's libraries."""
    callbacks = ("UCNV_FROM_U_CALLBACK_SUBSTITUTE", "UCNV_TO_U_CALLBACK_SUBSTITUTE")
    _compile(_empty((*_CONVERTER_NAMES, *callbacks)) + _CANNOT_OPEN, folder / "icuuc.dll")


def give_complex_functions(packages: Path) -> None:
    """Let NumPy's modules take complex functions from a library of ours, and all other mathematics from wine's."""
    modules = [path for path in (packages / "numpy").rglob("*.pyd") if _MATH in path.read_bytes()]
    needed = {name for path in modules for name in _imports(path, _MATH.decode())}
    if not needed:  # they have it already
        return
    ours = _complex_functions()
    exports = [f"  {name} = {f'ours_{name}' if name in ours else f'ucrtbase.{name}'}" for name in sorted(needed)]
    source = _COMPLEX_HEAD + "\n".join(ours.values())
    for folder in {path.parent for path in modules}:
        _compile(source, folder / _OURS.decode(), exports)
    for path in modules:
        path.write_bytes(path.read_bytes().replace(_MATH, _OURS))


def _complex_functions() -> dict[str, str]:
    """Return the source of each function by its name, for doubles, floats and Windows' long doubles."""
    sources = {}
    for suffix, kind, real in (("", "Double", "double"), ("f", "Float", "float"), ("l", "Double", "double")):
        for name in _COMPLEX_TO_COMPLEX:
            sources[name + suffix] = f"{kind} ours_{name}{suffix}({kind} z) OUT({kind}, {name}(IN(z)))"
        for name in _COMPLEX_TO_REAL:
            sources[name + suffix] = f"{real} ours_{name}{suffix}({kind} z) {{ return ({real}){name}(IN(z)); }}"
        power = f"{kind} ours_cpow{suffix}({kind} a, {kind} b) OUT({kind}, cpow(IN(a), IN(b)))"
        sources["cpow" + suffix] = power
    return sources


def _imports(module: Path, library: str) -> set[str]:
    """Return which names a module imports from a library."""
    tables = subprocess.run([READER, "-p", str(module)], capture_output=True, check=True, text=True).stdout
    names: set[str] = set()
    for table in tables.split("DLL Name: ")[1:]:
        if table.startswith(library):
            names.update(re.findall(r"^\s+[0-9a-f]+\s+\S+\s+(\w+)\s*$", table, re.MULTILINE))
    return names


def _empty(names: Iterable[str]) -> str:
    """Return the source of exported functions that do nothing."""
    return "".join(f"__declspec(dllexport) long long {name}(void) {{ return 0; }}\n" for name in names)


def _compile(source: str, library: Path, exports: list[str] | None = None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        code, names = Path(scratch, "library.c"), Path(scratch, "library.def")
        code.write_text(source, encoding="utf-8")
        parts = [str(code)]
        if exports is not None:
            names.write_text("\n".join([f"LIBRARY {library.name}", "EXPORTS", *exports]), encoding="utf-8")
            parts.append(str(names))
        subprocess.run([COMPILER, "-O2", "-shared", "-static", *parts, "-o", str(library)], check=True)
