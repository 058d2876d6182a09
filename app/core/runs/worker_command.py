"""The command lines and environments of workers and trials."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import workloads
from app.core.engines.locations import engine_folder
from app.core.paths import Paths
from workloads import CATALOGUE
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, is_included
from workloads.protocol.spec import RunSpec

# Other variables are omitted, because some of them (KERAS_MAX_EPOCHS, TF_*, PYTHON*) silently change the
# measurement. On Windows, PyTorch's compiler needs the user's name and Visual Studio's variables.
_PASSED_ON = frozenset(
    """
    PATH HOME USER USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC
    PATHEXT NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE TEMP TMP TMPDIR TZ
    USERNAME USERDOMAIN ALLUSERSPROFILE COMMONPROGRAMFILES PROGRAMW6432 PROGRAMFILES(X86)
    INCLUDE LIB LIBPATH VCINSTALLDIR VCTOOLSINSTALLDIR VSINSTALLDIR WINDOWSSDKDIR WINDOWSSDKVERSION
    LD_LIBRARY_PATH DYLD_LIBRARY_PATH CUDA_VISIBLE_DEVICES CUDA_HOME CUDA_PATH
    NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES
    HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ONEAPI_DEVICE_SELECTOR ZE_AFFINITY_MASK
    """.split()  # noqa: SIM905 - lines of words are easier to read
)

_LAUNCH = str(Path(workloads.__file__).resolve().with_name("launch.py"))


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """A command line and its environment."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


def worker_command(spec: RunSpec, paths: Paths, environment: Mapping[str, str] = os.environ) -> WorkerCommand:
    """Return the command for a worker. Only a few of the user's environment variables are passed on."""
    clean = _clean_environment(paths, environment) | ENGINES[spec.engine].run_variables(spec)
    packages = packages_of(spec.engine, paths)
    if packages is not None and not packages.is_dir() and CATALOGUE[spec.workload].is_demo:
        packages = None  # the demo uses no engine
    return WorkerCommand(_arguments(packages, "workloads"), clean)


def trial_command(
    trial: tuple[str, ...], paths: Paths, environment: Mapping[str, str] = os.environ, engine: str = DEFAULT_ENGINE
) -> WorkerCommand:
    """Return the command for one of the doctor's trials: like a worker's, but with full logging by the engine."""
    clean = _clean_environment(paths, environment) | ENGINES[engine].variables() | {"TF_CPP_MIN_LOG_LEVEL": "0"}
    if trial[-1] == "cpu":
        clean["CUDA_VISIBLE_DEVICES"] = "-1"
    arguments = _arguments(packages_of(engine, paths), "workloads.trial")
    return WorkerCommand((*arguments, engine, *trial), clean)


def _clean_environment(paths: Paths, environment: Mapping[str, str]) -> dict[str, str]:
    clean = {name: value for name, value in environment.items() if name.upper() in _PASSED_ON}
    return clean | {
        "PYTHONPATH": str(Path(workloads.__file__).resolve().parents[1]),
        "PYTHONUTF8": "1",
        "PYTHONNOUSERSITE": "1",
        "KERAS_HOME": str(paths.keras_home),
    }


def packages_of(engine: str, paths: Paths) -> Path | None:
    """Return the folder of an engine's packages; None for an engine that is included in Epochmark."""
    return None if is_included(engine) else engine_folder(paths, engine).packages


def _arguments(packages: Path | None, module: str) -> tuple[str, ...]:
    if packages is not None:
        # Excludes the packages of the user and of the app, see workloads.launch. -I isn't used for the worker
        # itself because it ignores PYTHONUTF8.
        return (sys.executable, "-I", "-S", "-X", "utf8", _LAUNCH, str(packages), module)
    # -P excludes the current folder from the import path.
    return (sys.executable, "-P", "-m", module)
