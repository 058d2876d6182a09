"""Starts a module of `workloads` with the packages in an engine's own folder.

    python -I -S workloads/launch.py PACKAGES MODULE [ARGUMENTS]

Uses the app's interpreter, but hides all packages installed with the app: its Keras and NumPy, and everything else
installed next to `workloads`.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

EXIT_USAGE = 2


def main() -> None:
    """Import `workloads` from this file's location and everything else from the engine's folder."""
    if len(sys.argv) < 3:
        sys.exit(EXIT_USAGE)
    packages, module = sys.argv[1:3]
    del sys.argv[1:3]
    # Appended after the standard library, as for site-packages.
    sys.path.append(packages)
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[folder.name] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    from workloads.engines.cpp_runtime import find_cpp_runtime

    find_cpp_runtime(packages)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
