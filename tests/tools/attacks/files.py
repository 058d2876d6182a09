"""Files of results with damage: each is refused in a sentence, or says just what it said before.

`large` makes files that try to take time and memory, as many as there are kinds.
"""

import contextlib
import json
import os
import random
import resource
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from app.core.errors import UsageError
from app.core.exchange.file_import import OBJECTS_LIMIT, SIZE_LIMIT_BYTES, VALUES_LIMIT, read_results
from app.core.exchange.png_embed import SIGNATURE, embed
from app.core.exchange.preview import preview
from app.core.paths import default_paths
from app.core.plain_text import safe_text
from app.core.report.formats.json_document import json_lines
from app.core.result_file.canonical import decode, digest_of, file_bytes, without_durations
from app.core.result_file.record import Result
from app.core.result_file.summary import summary_of
from app.core.storage.database import Database
from app.core.storage.runs import all_ids, load_runs
from tests.broken import NASTY, make_results
from tests.build import golden
from tests.conftest import MACHINE
from tests.core.exchange.test_png_embed import PLAIN, chunk

SECONDS, MEMORY_BYTES = 2.0, 200_000_000
_PIECES = (
    *(b"\x00", b"\xff", b'"', b"\n", b"\r", b",", b";", b"{", b"[" * 2_000, b"}", b"]", b"9" * 400, b"-"),
    *(b"e999", b"NaN", b"1e999", b"null", b"\\u202e", b"\\ud800", b"\x1b[2J", b"\xe2\x80\xae", b"IEND", b""),
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    *(value for value in NASTY if not isinstance(value, bytes | float)),
    *(0, -3, 10**9, 2**53, 10**30, 1e-320, 1e308, True, None, "", "<b>x</b>", "=1+1", [], {}, [[]], {"a": 1}),
)


@cache
def sources() -> dict[str, bytes]:
    """Return a small file of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        paths = default_paths({"EPOCHMARK_HOME": folder})
        paths.create()
        with Database(paths.database) as database:
            make_results(database, MACHINE)
            exported = "".join(json_lines(load_runs(database, all_ids(database)[:2]), {}))
    small = file_bytes([without_durations(result) for result in golden()[1:3]])
    whole = file_bytes(golden()[3:])
    return {"result": small, "steps": whole, "picture": embed(PLAIN, small), "export": exported.encode()}


def damaged_file(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Read a file with random damage: of its bytes, or of what its JSON says."""
    kind = chance.choice(sorted(sources()))
    as_json = kind in ("result", "steps", "export") and chance.random() < 0.5
    has_seal = as_json and chance.random() < 0.7
    content = _other_json(sources()[kind], chance, seal=has_seal) if as_json else _other_bytes(kind, chance)
    path = folder / "file"
    path.write_bytes(content)
    begin_s = time.process_time()
    try:
        results = read_results(path)
    except UsageError as error:
        said = str(error)
        wrong = [] if said == safe_text(said) and len(said) < 600 + len(str(path)) else [f"says {said[:300]!r}"]
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return [f"{kind}: {type(error).__name__}: {str(error)[:200]}"]
    else:
        wrong = _faults(results, kind if not has_seal else "")
    took_s = time.process_time() - begin_s
    return wrong + ([f"{kind}: took {took_s:.1f} s"] if took_s > SECONDS else [])


def _faults(results: tuple[Result, ...], kind: str) -> list[str]:
    """Return what is wrong with results that were read; those with a digest must be what they were."""
    wrong = [] if decode(file_bytes(results)) == results else ["what was read can't be written and read again"]
    for result in results:
        summary_of(result)
        wrong += [f"shows {field.text!r}" for field in preview(result) if safe_text(field.text) != field.text]
    if kind in ("result", "steps", "picture"):
        honest = {result.digest for result in golden()}
        wrong += [f"{kind}: took another result" for result in results if digest_of(result) not in honest]
    return wrong


def _other_bytes(kind: str, chance: random.Random) -> bytes:
    # Half of the pictures are right, and only what they carry is damaged.
    is_inside = kind == "picture" and chance.random() < 0.5
    content = bytearray(sources()["result" if is_inside else kind])
    for _ in range(chance.choice((1, 1, 1, 2, 5, 20))):
        at = chance.randrange(len(content) + 1)
        way = chance.randrange(5)
        if way == 0 and at < len(content):
            content[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            del content[at:]
        elif way == 2:
            content[at : at + chance.randrange(4)] = chance.choice(_PIECES)
        elif way == 3:
            del content[at : at + chance.randrange(1, 200)]
        else:
            content[at:at] = content[chance.randrange(len(content) + 1) :][: chance.randrange(200)]
    return _picture(zlib.compress(bytes(content))) if is_inside else bytes(content)


def _other_json(content: bytes, chance: random.Random, *, seal: bool) -> bytes:
    plain = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        _change(plain, chance)
    if seal:
        for result in plain.get("results", ()) if isinstance(plain.get("results"), list) else ():
            with contextlib.suppress(msgspec.ValidationError, TypeError, UnicodeEncodeError, ValueError):
                result["digest"] = digest_of(msgspec.convert(result, Result))
    return json.dumps(plain, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def _change(plain: Any, chance: random.Random) -> None:
    """Change a value somewhere below."""
    while isinstance(plain, dict | list) and plain:
        keys = list(plain) if isinstance(plain, dict) else list(range(len(plain)))
        key = chance.choice(keys)
        inner = plain[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.1:
            way = chance.random()
            if way < 0.4 and isinstance(inner, int | float) and not isinstance(inner, bool):
                plain[key] = inner + 1 if isinstance(inner, int) else inner * 1.001  # what nobody would notice
            elif way < 0.7:
                plain[key] = chance.choice(_VALUES)
            elif way < 0.85:
                del plain[key]
            elif isinstance(plain, dict):
                plain[chance.choice(("x", "value", "digest", "serial", "\u202e"))] = inner
            return
        plain = inner


def large_file(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Read a file that tries to take time or memory, in a process of its own that says how much it took."""
    name, make = list(LARGE.items())[number % len(LARGE)]
    path = folder / "large"
    make(path)
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        before_s = time.process_time()
        try:
            read_results(path)
            said = "taken"
        except UsageError as error:
            said = str(error)[-60:]
        except BaseException as error:  # noqa: BLE001 - said to the parent
            said = f"BUG {type(error).__name__}"
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        os.write(writing, json.dumps([time.process_time() - before_s, peak_bytes, said]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        took_s, peak_bytes, said = json.loads(pipe.read())
    os.waitpid(child, 0)
    print(f"    {name}: {took_s:.2f} s, {peak_bytes / 1e6:.0f} MB: {said}")
    wrong = [said] if said.startswith("BUG") else []
    wrong += [f"took {took_s:.1f} s"] if took_s > SECONDS else []
    return [f"{name}: {each}" for each in wrong + ([f"{peak_bytes:,} bytes"] if peak_bytes > MEMORY_BYTES else [])]


def _filled(beginning: bytes, piece: bytes, end: bytes) -> Callable[[Path], None]:
    """Return what makes a file that is as large as just isn't refused by its size and its number of values."""

    def make(path: Path) -> None:
        count = (SIZE_LIMIT_BYTES - len(beginning) - len(end)) // len(piece)
        for limit, sign in ((VALUES_LIMIT, b","), (OBJECTS_LIMIT, b"{")):
            if sign in piece:
                count = min(count, (limit - 100) // piece.count(sign))
        path.write_bytes(beginning + piece * count + end)

    return make


def _bomb(path: Path) -> None:
    packing = zlib.compressobj(9)
    packed = b"".join(packing.compress(bytes(1 << 20)) for _ in range(4_000)) + packing.flush()
    path.write_bytes(_picture(packed))


def _picture(packed: bytes) -> bytes:
    text = chunk(b"iTXt", b"epochmark-result\0\1\0\0\0" + packed)
    return SIGNATURE + chunk(b"IHDR", bytes(13)) + text + chunk(b"IEND", b"")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 * 10**9)


_HEAD = b'{"format":"epochmark-result","format_version":1,"results":['
_FIRST = file_bytes([without_durations(golden()[2])])[len(_HEAD) : -3]
_EPOCH = b'{"duration_s":0,"train_s":0}'
LARGE: dict[str, Callable[[Path], None]] = {
    "5 GB": _sparse,
    "a bomb in a picture": _bomb,
    "brackets": _filled(_HEAD, b"[", b""),
    "numbers": _filled(
        _HEAD[:-1] + b"[" + _FIRST[:-1] + b',"steps":{"count":1,"sha256":"","durations_s":[0.1', b",0.1", b"]}}]}"
    ),
    "results": _filled(_HEAD + _FIRST, b"," + _FIRST, b"]}"),
    "objects": _filled(_HEAD + b"{}", b",{}", b"]}"),
    "a string": _filled(_HEAD + b'{"comment":"', b"x", b'"}]}'),
    "zeros": _filled(_HEAD[:-1] + b"[" + _FIRST[:-1] + b',"steps":{"durations_s":[0', b",0", b"]}}]}"),
    "epochs": _filled(_HEAD + b'{"epochs":[' + _EPOCH, b"," + _EPOCH, b"]}]}"),
    "telemetry": _filled(b'{"format_version":1,"runs":[{"telemetry":[{}', b",{}", b"]}]}"),
    "keys": _filled(_HEAD + b'{"spec":{"parameters":{"a":1', b',"a":1', b"}}}]}"),
    "runs": _filled(b'{"format_version":1,"runs":[{}', b",{}", b"]}"),
    "cells": _filled(b"format_version,id\n", b",", b"\n"),
    "rows": _filled(b"format_version,id\n", b"1,2\n", b"\n"),
    "quotes": _filled(b"format_version,id\n", b'"', b"\n"),
    "chunks": _filled(SIGNATURE + chunk(b"IHDR", bytes(13)), chunk(b"IDAT", b""), chunk(b"IEND", b"")),
    "lines": _filled(b"", b"\n", b""),
}
