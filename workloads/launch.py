"""Starts a module of `workloads` in an engine's own folder of packages.

    python -I -S workloads/launch.py PACKAGES MODULE [ARGUMENTS]

The interpreter is the app's, but nothing that is installed beside the app can be imported: neither its Keras and
NumPy, nor, where `workloads` itself is installed there, anything next to it.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

EXIT_USAGE = 2


def main() -> None:
    """Import `workloads` from where this file is, and everything else from the engine's folder."""
    if len(sys.argv) < 3:
        sys.exit(EXIT_USAGE)
    packages, module = sys.argv[1:3]
    del sys.argv[1:3]
    # Behind the standard library, as site-packages would be.
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
