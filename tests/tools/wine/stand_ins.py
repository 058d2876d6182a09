"""Stand-ins for what wine lacks and Windows has: three small libraries, compiled with MinGW."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

COMPILER = "x86_64-w64-mingw32-gcc"
# Wine's own C runtime, by another name.
_WINES = "ucrtwine"

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
    _compile(_empty(_COLOUR_NAMES), folder / "mscms.dll")


def make_unicode_converters(folder: Path) -> None:
    callbacks = ("UCNV_FROM_U_CALLBACK_SUBSTITUTE", "UCNV_TO_U_CALLBACK_SUBSTITUTE")
    _compile(_empty((*_CONVERTER_NAMES, *callbacks)) + _CANNOT_OPEN, folder / "icuuc.dll")


def make_c_runtime(folder: Path, wines: Path) -> None:
    """Put a ucrtbase.dll into Windows' folder that has complex functions, and passes all others on to wine's.

    Args:
        folder: System32.
        wines: Wine's own ucrtbase.dll.
    """
    import pefile  # Linux's alone

    ours = _complex_functions()
    shutil.copy(wines, folder / f"{_WINES}.dll")
    symbols = pefile.PE(str(wines)).DIRECTORY_ENTRY_EXPORT.symbols
    names = [symbol.name.decode() for symbol in symbols if symbol.name]
    exports = [f'"{name}" = "{f"ours_{name}" if name in ours else f"{_WINES}.{name}"}"' for name in names]
    _compile(_COMPLEX_HEAD + "\n".join(ours.values()), folder / "ucrtbase.dll", exports)


def _complex_functions() -> dict[str, str]:
    sources = {}
    for suffix, kind, real in (("", "Double", "double"), ("f", "Float", "float"), ("l", "Double", "double")):
        for name in _COMPLEX_TO_COMPLEX:
            sources[name + suffix] = f"{kind} ours_{name}{suffix}({kind} z) OUT({kind}, {name}(IN(z)))"
        for name in _COMPLEX_TO_REAL:
            sources[name + suffix] = f"{real} ours_{name}{suffix}({kind} z) {{ return ({real}){name}(IN(z)); }}"
        power = f"{kind} ours_cpow{suffix}({kind} a, {kind} b) OUT({kind}, cpow(IN(a), IN(b)))"
        sources["cpow" + suffix] = power
    return sources


def _empty(names: Iterable[str]) -> str:
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
