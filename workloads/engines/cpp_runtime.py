"""Microsoft's C++ runtime, which engines need on Windows but neither Windows nor Python includes."""

import os
import sys


def find_cpp_runtime(folder: str = sys.prefix) -> None:
    """Make the runtime available to the engines' libraries; no effect on other systems.

    Args:
        folder: Folder in which the package msvc-runtime installed it: the top of a virtual environment. Windows
            searches only the program's folder, which for a virtual environment is the folder of the base Python.
    """
    if sys.platform == "win32":
        os.add_dll_directory(folder)
