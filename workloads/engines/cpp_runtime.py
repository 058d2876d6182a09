"""Microsoft's C++ runtime. Engines need it on Windows, but neither Windows nor Python includes it."""

import os
import sys


def find_cpp_runtime(folder: str = sys.prefix) -> None:
    """Make the runtime available to the engines' libraries. Does nothing on other systems.

    Args:
        folder: Folder into which the package msvc-runtime was installed: the root of a virtual environment.
            Windows itself searches only the program's own folder, which in a virtual environment is the base
            Python's folder.
    """
    if sys.platform == "win32":
        os.add_dll_directory(folder)
