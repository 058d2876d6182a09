"""What surrounds the app fails: NVIDIA's library, a worker that sends without end, a disk that was full before."""

import json
import os
import random
import resource
import subprocess
from functools import partial
from pathlib import Path

from app.core.paths import default_paths
from app.core.runs.runner import Runner
from app.core.runs.session import WARNINGS
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.conftest import MACHINE
from tests.core.hardware.gpu.broken_library import CAN_BE_MADE, Kind, broken_library
from tests.core.runs.running import demo, fake_worker, start_run
from tests.saying import said
from tests.tools.attacks.processes import complaints, ended, start

_LIBRARIES: tuple[tuple[Kind, str], ...] = (
    *(("crashes", "load"), ("crashes", "nvmlInit_v2"), ("crashes", "nvmlDeviceGetFanSpeed")),
    *(("hangs", "load"), ("hangs", "nvmlInit_v2")),
)
_SENTENCES = {"crashes": "hardware.nvml_crashes", "hangs": "hardware.nvml_not_responding"}
_VERBS = (("hardware",), ("run", "demo", "--epochs", "2", "--set", "step_s=0.001"))
_LARGEST_BYTES = 8 << 20


def driver_library(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Give the computer a library of NVIDIA's that crashes or hangs: commands say so, and do their work."""
    if not CAN_BE_MADE:
        return []
    kind, place = _LIBRARIES[number % len(_LIBRARIES)]
    (folder / "libnvidia-ml.so.1").write_bytes(broken_library(kind, place))
    arguments = chance.choice(_VERBS)
    process = _start_with(folder, arguments)
    if (code := ended(process, 60)) is None:
        return [f"{' '.join(arguments)} hangs with a library that {kind} at {place}"]
    found = [] if code == 0 else [f"{' '.join(arguments)} ended with {code}"]
    if not said(_SENTENCES[kind]).is_in((folder / "err").read_text(errors="replace")):
        found.append(f"nothing is said of a library that {kind} at {place}")
    return found + complaints(folder)


def _start_with(folder: Path, arguments: tuple[str, ...]) -> "subprocess.Popen[bytes]":
    before = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = str(folder)
    try:
        return start(folder, *arguments)
    finally:
        if before is None:
            del os.environ["LD_LIBRARY_PATH"]
        else:
            os.environ["LD_LIBRARY_PATH"] = before


def flood(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Let a worker send thousands of events of random kinds: the file stays small, and a sentence counts them."""
    text = "x" * chance.randrange(1, 15_000)
    kinds = [
        {"type": "warning", "code": f"kind_{chance.randrange(50)}", "message": text},
        {"type": "metric", "key": f"key_{chance.randrange(10**6)}", "value": 1.0},
        {"type": "steps", "phase": "measure", "epoch": 0, "first_index": 0, "durations_s": [0.1] * 50},
        {"type": "model", "parameters_count": 1},
    ]
    weights = [chance.random() for _ in kinds]
    sent = folder / "sent"
    lines = [json.dumps(each).encode() + b"\n" for each in chance.choices(kinds, weights, k=4_000)]
    sent.write_bytes(b"".join(lines) + b'{"type":"end","status":"completed"}\n')
    paths = default_paths({"EPOCHMARK_HOME": str(folder / "home")})
    paths.create()
    body = f"say(HELLO)\nfor line in open({str(sent)!r}, 'rb'):\n    say(line)\n"
    session = start_run(Runner(paths, MACHINE, command=fake_worker(folder, body)), demo())
    if not session.wait(120):
        session.kill()
        return ["the run hangs"]
    size_bytes = sum(path.stat().st_size for path in paths.database.parent.glob(paths.database.name + "*"))
    with Database(paths.database) as database:
        warnings = load_run(database, session.run_id).warnings
    found = [] if size_bytes < _LARGEST_BYTES else [f"the database has {size_bytes} bytes"]
    found += [] if len(warnings) <= WARNINGS + 1 else [f"{len(warnings)} warnings are stored"]
    told = sum(b'"warning"' in line for line in lines)
    if told > WARNINGS and warnings[-1].code != "events_left_out":
        found.append("nothing is said of what was left out")
    return found


def no_room(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Start for the first time on a disk that is all but full: it is called full, not write-protected."""
    limit_bytes = chance.randrange(0, 120_000)
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    process = start(folder, *chance.choice((*_VERBS[1:], ("results", "list"))), preexec_fn=limit)
    if (code := ended(process)) is None:
        return [f"it hangs with files of {limit_bytes} bytes"]
    text = (folder / "err").read_text(errors="replace")
    found = [] if code in (0, 1, 2) else [f"it ended with {code}"]
    if code == 2 and not said("database.disk_full").is_in(text):
        found.append(f"with files of {limit_bytes} bytes, it says {text[-200:]!r}")
    return found + complaints(folder)
