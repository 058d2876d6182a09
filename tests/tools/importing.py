"""How long importing takes: 10,000 results in files of their own, and in one file.

python -m tests.tools.importing [RESULTS]
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.core.exchange.importing import import_files
from app.core.paths import default_paths
from app.core.result_file.canonical import file_bytes, sealed, without_durations
from app.core.result_file.record import Result
from app.core.storage.database import Database
from app.core.storage.imported_results import SHOWN_LIMIT, list_results
from tests.build import golden


def main(count: int = 10_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, with_steps in (
            ("files of their own", False),
            ("with 938 steps each", True),
            ("one file", False),
        ):
            lab = Path(folder) / name
            lab.mkdir()
            every = list(results(count, with_steps=with_steps))
            if name == "one file":
                (lab / "all.json").write_bytes(file_bytes(every))
            else:
                for number, result in enumerate(every):
                    (lab / f"{number}.json").write_bytes(file_bytes([result]))
            report(name, lab, Path(folder) / f"home {name}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


def results(count: int, *, with_steps: bool) -> Iterator[Result]:
    run = golden()[2] if with_steps else without_durations(golden()[2])
    for seed in range(count):
        spec = msgspec.structs.replace(run.spec, seed=seed)
        moment = f"2026-01-{1 + seed // 86_400:02}T{seed // 3_600 % 24:02}:{seed // 60 % 60:02}:{seed % 60:02}Z"
        yield sealed(msgspec.structs.replace(run, spec=spec, started_at=moment))


def report(name: str, lab: Path, home: Path) -> None:
    with Database(default_paths({"EPOCHMARK_HOME": str(home)}).database) as database:
        for when in ("first", "again"):
            begin_s = time.perf_counter()
            outcomes = list(import_files(database, [lab]))
            took_s = time.perf_counter() - begin_s
            taken = sum(len(outcome.added.imported) for outcome in outcomes)
            refused = sum(outcome.refusal is not None for outcome in outcomes)
            print(f"{name}, {when}: {took_s:5.2f} s, {taken:,} taken, {refused:,} refused", flush=True)
        begin_s = time.perf_counter()
        shown = list_results(database, "mnist_mlp", SHOWN_LIMIT)
        print(f"    listing {len(shown)}: {time.perf_counter() - begin_s:.3f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
