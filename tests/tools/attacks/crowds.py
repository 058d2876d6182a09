"""Several commands at once on the same results, plans and files, and disks that are full."""

import csv
import json
import random
import resource
import signal
import subprocess
import time
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import msgspec

from app.core.paths import default_paths
from app.core.plans.suite.definition import DEMO
from app.core.result_file.canonical import file_bytes, sealed
from app.core.result_file.record import Result
from app.core.storage.database import Database
from tests.build import golden
from tests.tools.attacks.processes import complaints, ended, start, stored
from tests.tools.attacks.report import until
from tests.tools.commands import fill

_RUN = ("run", "demo", "--epochs", "3", "--set", "step_s=0.002", "--quiet")
SUITE_RUNS = DEMO.rounds * len(DEMO.parts)


def crowd(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Run, export to one file, list and delete at the same time: each does its work or says in words why not."""
    first = _in(folder, "first", *_RUN)
    first.wait(120)
    target = folder / f"all.{chance.choice(('csv', 'json'))}"
    export = ("results", "export", "--format", target.suffix[1:], "--output", str(target))
    chosen = [
        _RUN,
        _RUN,
        export,
        export,
        ("results", "list"),
        ("results", "delete", "1"),
        ("results", "show", "1"),
    ]
    found = _at_once(folder, chance, chosen, may_be_refused=("show", "delete"))  # what another one has deleted
    try:
        text = target.read_text(encoding="utf-8")
        _ = json.loads(text) if target.suffix == ".json" else list(csv.reader(text.splitlines(), strict=True))
    except (OSError, ValueError, csv.Error) as error:
        found.append(f"the export is no whole file: {error}")
    if leftovers := [path.name for path in folder.iterdir() if path.name.endswith((".part", ".tmp"))]:
        found.append(f"files are left: {leftovers}")
    runs = stored(folder)
    if len([run for run in runs if run.status == "completed"]) < 2:
        found.append(f"runs are lost: {[run.status for run in runs]}")
    return found


def _at_once(
    folder: Path, chance: random.Random, chosen: list[tuple[str, ...]], may_be_refused: tuple[str, ...] = ()
) -> list[str]:
    """Start commands in a random order; return what ended badly or was printed that users should not see."""
    chance.shuffle(chosen)
    processes = [_in(folder, f"{place}", *arguments) for place, arguments in enumerate(chosen)]
    found = []
    for place, (arguments, process) in enumerate(zip(chosen, processes, strict=True)):
        code = ended(process, 180)
        if code and not (code == 2 and arguments[1] in may_be_refused):
            text = (folder / f"{place}" / "err").read_text(errors="replace")
            found.append(f"{' '.join(arguments)} ended with {code}: {text[-200:]!r}")
        found += [f"{' '.join(arguments)} hangs"] if code is None else complaints(folder / f"{place}")
    return found


def resumes(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Interrupt a suite, resume it several times within 0.1 s: each run is made once, one after the other."""
    suite = start(folder, "suite", "--number", "0", "--quiet")
    until(lambda: bool(stored(folder)) and len(stored(folder)) > number % SUITE_RUNS)
    suite.send_signal(chance.choice((signal.SIGINT, signal.SIGKILL)))
    suite.wait(60)
    group_id = stored(folder)[0].group_id
    processes = []
    for place in range(chance.choice((2, 2, 3))):
        time.sleep(chance.uniform(0, 0.1))
        processes.append(_in(folder, f"{place}", "suite", "resume", str(group_id)))
    codes = [process.wait(180) for process in processes]
    found = [] if 0 in codes and set(codes) <= {0, 2} else [f"they ended with {codes}"]
    done = sorted((run for run in stored(folder) if run.status == "completed"), key=lambda run: run.started_at)
    made = Counter(run.batch_size for run in done)
    if set(made.values()) != {2} or len(done) != SUITE_RUNS:
        found.append(f"runs by batch size: {made}")
    overlaps = [two.id for one, two in pairwise(done) if (one.finished_at or "") > two.started_at]
    found += [f"runs {overlaps} began before the one before was over"] if overlaps else []
    return found + [line for place in range(len(processes)) for line in complaints(folder / f"{place}")]


def imports(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Import hundreds of results twice at once beside thousands of runs: others read and write meanwhile."""
    (folder / "home").mkdir()
    fill(folder / "home", chance.randrange(1, 4_000), 3)
    factors = [1 + place / 1_000 for place in range(chance.randrange(1, 400))]
    results = [_other_machines(golden()[2], factor) for factor in factors]
    file = folder / "results.json"
    file.write_bytes(file_bytes(results))
    chosen = [
        ("import", str(file)),
        ("import", str(file)),
        _RUN,
        _RUN,
        ("results", "list"),
        ("results", "delete", "1"),
    ]
    found = _at_once(folder, chance, chosen)
    with Database(default_paths({"EPOCHMARK_HOME": str(folder / "home")}).database) as database:
        (count,) = database.connection.execute("SELECT count(*) FROM imported").fetchone()
    return found + ([] if count == len(results) else [f"{count} of {len(results)} results are there"])


def _other_machines(result: Result, factor: float) -> Result:
    """Return the result of a computer that takes so many times as long, as a code on a picture has it."""
    numbers = msgspec.structs.replace(result.statistics, value=result.statistics.value * factor)
    return sealed(msgspec.structs.replace(result, statistics=numbers, epochs=None, steps=None, telemetry=None))


def _in(folder: Path, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
    own = folder / name
    own.mkdir()
    (own / "home").symlink_to(folder / "home")  # one home for all
    (folder / "home").mkdir(exist_ok=True)
    return start(own, *arguments)


def full_disk(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Let no file grow beyond a random size: a run ends with a sentence, and earlier results stay in reach."""
    process = start(folder, *_RUN)
    process.wait(120)
    before = len(stored(folder))
    limit_bytes = chance.randrange(0, 300_000)
    arguments = chance.choice(
        (_RUN, ("results", "export", "--output", str(folder / "x.csv")), ("results", "list"))
    )
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    process = start(folder, *arguments, preexec_fn=limit)
    if (code := ended(process, 150)) is None:
        return [f"{' '.join(arguments)} hangs with files of {limit_bytes} bytes"]
    found = [] if code in (0, 1, 2) else [f"{' '.join(arguments)} ended with {code}"]
    after = stored(folder)
    if len(after) < before:
        found.append("earlier results are lost")
    found += [f"a run is {run.status}" for run in after if run.status == "running"]
    return found + complaints(folder)
