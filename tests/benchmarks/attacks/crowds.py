"""Several commands at once on the same results and files, and disks that are full."""

import csv
import json
import random
import resource
import subprocess
from functools import partial
from pathlib import Path

from tests.benchmarks.attacks.processes import complaints, start, stored

_RUN = ("run", "demo", "--epochs", "3", "--set", "step_s=0.002", "--quiet")


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
    chance.shuffle(chosen)
    processes = [_in(folder, f"{place}", *arguments) for place, arguments in enumerate(chosen)]
    found = []
    for place, (arguments, process) in enumerate(zip(chosen, processes, strict=True)):
        try:
            code = process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            found.append(f"{' '.join(arguments)} hangs")
            continue
        # What another one has deleted is not there.
        allowed = (0, 2) if arguments[1] in ("show", "delete") else (0,)
        if code not in allowed:
            text = (folder / f"{place}" / "err").read_text(errors="replace")
            found.append(f"{' '.join(arguments)} ended with {code}: {text[-200:]!r}")
        found += complaints(folder / f"{place}")
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
    try:
        code = process.wait(150)
    except subprocess.TimeoutExpired:
        process.kill()
        return [f"{' '.join(arguments)} hangs with files of {limit_bytes} bytes"]
    found = [] if code in (0, 1, 2) else [f"{' '.join(arguments)} ended with {code}"]
    after = stored(folder)
    if len(after) < before:
        found.append("earlier results are lost")
    found += [f"a run is {run.status}" for run in after if run.status == "running"]
    return found + complaints(folder)
