"""Microsoft's C++ runtime, which engines need on Windows and which neither Windows nor Python brings."""

import os
import sys


def find_cpp_runtime(folder: str = sys.prefix) -> None:
    """Let the engines' libraries find the runtime; no effect on other systems.

    Args:
        folder: Where the package msvc-runtime put it: the top of an environment, where Windows doesn't look. It
            looks beside the program, which in an environment is that of the Python that made it.
    """
    if sys.platform == "win32":
        os.add_dll_directory(folder)
