"""PyTorch and JAX as a user gets them: installed by `engine install` into .engines, once for all test sessions."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from app.core import locks
from app.core.engines.locations import engine_folder, installable
from app.core.engines.variants import LOCKS
from app.core.paths import Paths, default_paths
from app.core.runs.worker_command import WorkerCommand, packages_of, worker_command
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol.spec import RunSpec

PATIENCE_S = 1_200.0
_ROOT = Path(__file__).resolve().parents[1]
_HOME = _ROOT / ".engines"
_START = (
    "import sys, runpy; sys.path += [sys.argv[1], sys.argv[2]]; module = sys.argv[3]; del sys.argv[1:4];"
    "runpy.run_module(module, run_name='__main__')"
)


def installed() -> Path:
    """Return the folder with all engines; installs them unless what is there is of today's locks and Python."""
    environment = {**os.environ, "EPOCHMARK_HOME": str(_HOME)}
    paths = default_paths(environment)
    paths.create()
    note, wanted = _HOME / "locks.txt", _fingerprint()
    hold = locks.acquire(_HOME / "tests.lock", PATIENCE_S)  # pytest-xdist's other processes want them, too
    assert hold is not None
    with hold:
        if not (note.is_file() and note.read_text(encoding="utf-8") == wanted and _are_ready(paths)):
            for engine in installable():
                variant = [] if sys.platform == "darwin" else ["--variant", "cpu"]
                command = [sys.executable, "-m", "app", "engine", "install", engine, *variant]
                done = subprocess.run(
                    command, cwd=_ROOT, env=environment, check=False, capture_output=True, text=True
                )
                assert done.returncode == 0, done.stderr
            note.write_text(wanted, encoding="utf-8")
    return paths.engines


def probe(
    module: str, engine: str, paths: Paths, *arguments: str, compiles_well: bool = False
) -> list[dict[str, Any]]:
    """Let a module of the tests train with an engine, started as a worker is; return its lines of JSON.

    Args:
        module: Prints these lines.
        engine: Its first argument.
        paths: Where the engine's packages are.
        arguments: Its other ones.
        compiles_well: Whether JAX compiles as it does in runs. Three steps don't repay the time for that.
    """
    # One thread: with more, PyTorch's wait for each other by spinning, which takes forever beside other tests.
    spec = CATALOGUE["mnist_mlp"].default_spec(engine=engine, device="cpu", threads=1)
    environment = {**os.environ, **ENGINES[engine].run_variables(spec)}
    if not compiles_well:
        environment["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
        if sys.version_info < (3, 12):
            # The newer way to make code, JAX 0.12's only one, takes twice as long, whatever is left out of it.
            environment["XLA_FLAGS"] = "--xla_cpu_use_fusion_emitters=false"
    command = started_with(packages_of(engine, paths), module)
    done = subprocess.run(
        [*command, engine, *arguments], cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def started_with(packages: Path | None, module: str) -> tuple[str, ...]:
    if packages is None:
        return sys.executable, "-m", module
    return sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, str(packages), str(_ROOT), module


def small_worker(spec: RunSpec, paths: Paths) -> WorkerCommand:
    """Return the command of a worker whose `fcn_r` is small, for tests of what goes on around the training."""
    arguments = started_with(packages_of(spec.engine, paths), "tests.workloads.engines.small_worker")
    return WorkerCommand(arguments, worker_command(spec, paths).environment)


def _are_ready(paths: Paths) -> bool:
    return all(engine_folder(paths, engine).look().state == "ready" for engine in installable())


def _fingerprint() -> str:
    files = [*sorted(LOCKS.iterdir()), _ROOT / "app" / "core" / "engines" / "variants.py"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files))
    return f"{sys.version_info[:2]} {digest.hexdigest()}"
