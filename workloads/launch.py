"""Starts a module of `workloads` with the packages from an engine's own folder.

    python -I -S workloads/launch.py PACKAGES MODULE [ARGUMENTS]

The interpreter is the app's, but no package installed with the app can be imported: neither its Keras and NumPy
nor, if `workloads` is installed there, anything next to it.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

EXIT_USAGE = 2


def main() -> None:
    """Import `workloads` from this file's location, and everything else from the engine's folder."""
    if len(sys.argv) < 3:
        sys.exit(EXIT_USAGE)
    packages, module = sys.argv[1:3]
    del sys.argv[1:3]
    # After the standard library, like site-packages.
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
