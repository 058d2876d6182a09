"""What JAX compiles for tests is kept in .engines, beside the engines: most of them run the same networks."""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[3] / ".engines" / "compiled"
# JAX itself keeps only what took a second to compile.
KEPT = {
    "JAX_COMPILATION_CACHE_DIR": str(_FOLDER),
    "JAX_PERSISTENT_COMPILATION_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_COMPILATION_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
