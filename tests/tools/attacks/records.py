"""Databases with one broken cell, and with damaged bytes: what was not hit, or its backup, must stay in reach."""

import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from app.core.errors import AppError
from app.core.storage import database as module
from app.core.storage.database import Database, backup_path
from tests import broken
from tests.conftest import MACHINE

PAGE_BYTES = 4_096
_ROUNDS = 6


@cache
def _made(folder: Path, rounds: int) -> tuple[bytes, dict[int, dict[str, Any]]]:
    path = folder / f"made-{rounds}" / "runs.sqlite3"
    with Database(path) as database:
        for _ in range(rounds):
            broken.make_results(database, MACHINE)
        before = broken.view(database)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes(), before


def break_cell(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Break one cell of one run; all other runs must be what they were."""
    content, before = _made(folder.parent, 1)
    path = folder / "runs.sqlite3"
    path.write_bytes(content)
    with Database(path) as database:
        cells = broken.cells(database)
        table, column = cells[number % len(cells)]
        value = chance.choice(broken.NASTY)
        if not broken.break_cell(database, table, column, value):
            return []
        try:
            found = broken.faults(database, MACHINE, before, is_plan=table == "plans")
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            found = [f"{type(error).__name__}: {error}"]
    shutil.rmtree(folder)
    return [f"{table}.{column} = {str(value)[:40]!r}: {text}" for text in found]


def damage_file(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Damage the file itself, which has a backup: nothing may fail for good, or cost all runs."""
    content, _ = _made(folder.parent, _ROUNDS)
    path = folder / "runs.sqlite3"
    kind, damaged = _damaged(content, chance)
    path.write_bytes(damaged)
    backup_path(path).write_bytes(content)
    module.looked_through.clear()  # as each process does for itself
    told: dict[int, dict[str, Any]] = {}
    found = ["it cannot be read at the third time"]
    for _ in range(3):
        try:
            with Database(path) as database:
                told = broken.view(database)
                broken.look_around(database, MACHINE)
            found = [] if told else ["nothing is left"]
            break
        except AppError:  # reported in a sentence; the next start repairs it
            continue
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            found = [f"{type(error).__name__}: {error}"]
            break
    shutil.rmtree(folder)
    return [f"{kind}: {text}" for text in found]


def _damaged(content: bytes, chance: random.Random) -> tuple[str, bytes]:
    damaged = bytearray(content)
    # Where the schema is, a third of the time.
    at = chance.randrange(4 * PAGE_BYTES if chance.random() < 1 / 3 else len(content))
    kind = chance.choice(("bit", "bit", "bit", "byte", "block", "page", "cut"))
    page = at // PAGE_BYTES * PAGE_BYTES
    if kind == "bit":
        damaged[at] ^= 1 << chance.randrange(8)
    elif kind == "byte":
        damaged[at] = chance.randrange(256)
    elif kind == "block":
        damaged[at : at + 64] = chance.randbytes(min(64, len(damaged) - at))
    elif kind == "page":
        damaged[page : page + PAGE_BYTES] = chance.choice((bytes(PAGE_BYTES), chance.randbytes(PAGE_BYTES)))
    else:
        del damaged[at:]
    return kind, bytes(damaged)
