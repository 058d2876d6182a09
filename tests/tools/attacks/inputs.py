"""Command lines and logs that nobody would type or write: one sentence each, and never a bug."""

import random
from pathlib import Path

from app.core.errors import AppError
from app.core.known_lines.logs import diagnose_log
from tests.tools.attacks.processes import complaints, ended, start

_WORDS = (
    *("run", "ab", "workloads", "hardware", "compare", "data", "results", "import", "doctor", "demo", "matmul"),
    *("list", "show", "share", "delete", "export", "group", "fetch", "import", "remove", "mnist"),
    *("--json", "--limit", "--output", "--format", "csv", "json", "--epochs", "--steps", "--batch", "--seed"),
    *("--threads", "--duration", "--device", "--preset", "quick", "--repeat", "--pairs", "--set", "--a", "--b"),
    *("--data", "--log", "--workload", "--name", "--url", "--baseline", "--theme", "--help", "--version"),
)
_VALUES = (
    *("", " ", "0", "1", "-1", "9" * 20, "9" * 5_000, "nan", "inf", "1e400", "-0", "٣", "½", "0x10", "1_000"),
    *(".", "/", "..", "-", "--", "/dev/null", "/dev/full", "/nowhere/x.csv", "x" * 5_000, "a=b", "=", "step_s=-1"),
    *(
        "\x1b]52;c;eA==\x07",
        "\u202e",
        "\udcff",
        "gpu:0",
        "gpu:999",
        "http://u:p@127.0.0.1:1/",
        "file:///etc/passwd",
    ),
)
# What may take long, or reach for devices.
_SLOW = {"matmul", "doctor"}


def command_line(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Type words and values in a random order."""
    count = chance.randrange(1, 8)
    arguments = [chance.choice(_WORDS if chance.random() < 0.7 else _VALUES) for _ in range(count)]
    if chance.random() < 0.6:  # a command that gets further
        verb = chance.choice(
            (("results", "show"), ("results", "export"), ("run", "demo"), ("import", "log.csv"), ("ab", "demo"))
        )
        arguments = [*verb, *arguments]
    if arguments[0] in _SLOW or set(arguments) & {"matmul", "--log"}:
        return []
    if arguments[0] in ("run", "ab"):
        arguments += ["--set", "step_s=0.001", "--epochs", "1"]
    # Not "./.": what is written beside must lie in the attack's own folder.
    process = start(folder, *arguments, cwd=folder) if "\0" not in "".join(arguments) else None
    assert process is not None
    if (code := ended(process, 90)) is None:
        return [f"{_short(arguments)} hangs"]
    found = [] if code in (0, 1, 2) else [f"ended with {code}"]
    for name in ("out", "err"):
        text = (folder / name).read_bytes()
        if b"\x1b" in text or b"\x07" in text or "\u202e".encode() in text:
            found.append(f"control characters reach std{name}")
    return [f"{_short(arguments)}: {text}" for text in found + complaints(folder)]


def _short(arguments: list[str]) -> str:
    return " ".join(repr(argument[:30]) for argument in arguments)


_TEXTS = Path(__file__).parents[2] / "data" / "doctor"


def log(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Read a log with random damage."""
    logs = sorted(_TEXTS.rglob("*.log")) + sorted(_TEXTS.rglob("*.txt"))
    content = bytearray(chance.choice(logs).read_bytes())
    for _ in range(chance.randrange(1, 20)):
        at = chance.randrange(len(content) + 1)
        piece = chance.choice(
            (b"\x00", b"\xff", b'"', b"\n", b"\r", b",", b"9" * 400, b"-", b"e999", b"\x1b[2J", b"")
        )
        content[at : at + chance.randrange(4)] = piece
    try:
        diagnose_log(content.decode("utf-8", "replace"))
    except AppError:
        return []
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return [f"{type(error).__name__}: {error}"]
    return []
