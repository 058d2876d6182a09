"""How long looking takes: whole commands, with an empty database and with 100,000 runs in it.

python -m tests.tools.commands [RUNS] [EPOCHS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from app.core.paths import default_paths
from app.core.storage.database import Database
from app.core.storage.queries import Query, find_ids
from app.core.storage.recording import RunWriter, begin_run
from tests.build import COLUMNS, NEW_UID
from tests.conftest import command
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

REPEATS = 9


def main(runs: int = 100_000, epochs: int = 10) -> None:
    with tempfile.TemporaryDirectory() as home:
        report("python -c pass", [sys.executable, "-c", "pass"], home)
        for arguments in (["hardware"], ["workloads"], ["results", "list"], ["compare"]):
            report(" ".join(arguments), command(*arguments), home)
        fill(Path(home), runs, epochs)
        print(f"with {runs:,} runs of {epochs} epochs:")
        for arguments in (["results", "list"], ["compare"], ["results", "show", str(runs)]):
            report(" ".join(arguments), command(*arguments), home)
        file = Path(home) / "all.csv"
        arguments = ["results", "export", "--format", "csv", "--output", str(file)]
        report("results export --format csv", command(*arguments), home, repeats=3)
        print(f"  {file.stat().st_size / 1e6:.0f} MB written")
        report_finding(Path(home))


def report(name: str, arguments: list[str], home: str, repeats: int = REPEATS) -> None:
    """Run a command several times and print how long the whole process took."""
    environment = {**os.environ, "EPOCHMARK_HOME": home}
    times_s, peaks_bytes = [], []
    for _ in range(repeats + 1):
        start_s = time.perf_counter()
        process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        times_s.append(time.perf_counter() - start_s)
        peaks_bytes.append(usage.ru_maxrss * 1024)
        assert status == 0, f"{name} failed"
    times_s = times_s[1:]  # the first one read the files into memory
    print(
        f"{name:34} {statistics.median(times_s):6.3f} s  ({min(times_s):.3f} to {max(times_s):.3f})"
        f"  peak {max(peaks_bytes) / 1e6:.0f} MB"
    )


def report_finding(home: Path, repeats: int = REPEATS) -> None:
    queries = (
        Query(),
        Query("completed"),
        Query(sort="value"),
        Query(sort="device", descending=False),
        Query("intel completed"),
        Query("99", sort="started_at"),
        Query("nothing like it"),
    )
    with Database(default_paths({"EPOCHMARK_HOME": str(home)}).database) as database:
        for query in queries:
            times_s = []
            for _ in range(repeats):
                start_s = time.perf_counter()
                count = len(find_ids(database, query))
                times_s.append(time.perf_counter() - start_s)
            name = f"{query.text or 'all'} by {query.sort}"
            print(f"{name:34} {statistics.median(times_s):6.3f} s  ({max(times_s):.3f} at most)  {count:,} found")


def fill(home: Path, runs: int, epochs: int) -> None:
    """Store one run as the app does, and copy it."""
    workload = CATALOGUE["cifar10_keras_cnn"]
    machine = Machine("Intel Core i5-8250U", 4, 8, 16_000_000_000, "Linux", "x86_64", "3.12.1", False)
    with Database(default_paths({"EPOCHMARK_HOME": str(home)}).database) as database:
        run_id = begin_run(database, workload.default_spec(), workload, machine)
        writer = RunWriter(database, run_id)
        for index in range(epochs):
            duration_s = 320.123456 + index / 7
            writer.add(
                events.Epoch(
                    index=index,
                    duration_s=duration_s,
                    train_s=duration_s - 2.7,
                    validation_s=2.654321,
                    steps=500,
                    loss=1.234567 / (index + 1),
                    accuracy=0.61234,
                    val_loss=1.3,
                    val_accuracy=0.6,
                )
            )
        writer.finish("completed", None)
        connection = database.connection
        for table, key in (("runs", "id"), ("epochs", "run_id")):
            names = (
                COLUMNS if table == "runs" else [row[1] for row in connection.execute("PRAGMA table_info(epochs)")]
            )
            others = ", ".join(name for name in names if name not in (key, "uid"))
            chosen = f"{NEW_UID}, {others}" if table == "runs" else others
            into = f"uid, {others}" if table == "runs" else others
            numbers = (
                f"WITH RECURSIVE n(i) AS (SELECT {run_id + 1} UNION ALL SELECT i + 1 FROM n WHERE i < {runs})"
            )
            copies = f"SELECT i, {chosen} FROM n, {table} WHERE {key} = {run_id}"
            connection.execute(f"{numbers} INSERT INTO {table} ({key}, {into}) {copies}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
