"""Importing files and folders: what is right comes in, whatever else is there."""

import os
from pathlib import Path

import msgspec
import pytest

from app.core.errors import UsageError
from app.core.exchange import importing
from app.core.exchange.importing import files_of, import_files, import_text
from app.core.exchange.png_embed import embed
from app.core.result_file.canonical import file_bytes, sealed
from app.core.result_file.short_form import short_form, short_forms
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results
from tests.build import golden
from tests.core.exchange.test_png_embed import PLAIN
from tests.saying import said


def test_good_files_come_in_whatever_else_is_in_their_folder(database: Database, tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    (lab / "b" / "c").mkdir(parents=True)
    (lab / "1 bad.json").write_bytes(file_bytes(golden())[:-40])
    (lab / "2 good.JSON").write_bytes(file_bytes(golden()[:2]))
    (lab / "3 half.json").write_bytes(file_bytes(golden()).replace(b"2.2", b"2.3", 1))
    (lab / "b" / "good.png").write_bytes(embed(PLAIN, file_bytes(golden()[2:])))
    (lab / "b" / "c" / "again.json").write_bytes(file_bytes(golden()[:1]))
    (lab / "notes.txt").write_text("not looked at")
    (lab / ".hidden.json").write_text("not looked at")
    if os.name == "posix":
        (lab / "b" / "c" / "loop").symlink_to(lab, target_is_directory=True)
        (lab / "loop.json").symlink_to(lab / "loop.json")
        os.mkfifo(lab / "pipe.json")
    outcomes = {each.path.name: each for each in import_files(database, [lab])}
    assert outcomes["2 good.JSON"].added.imported == (1, 2)
    assert outcomes["good.png"].added.imported == (3, 4)
    assert outcomes["again.json"].added.duplicates == (1,)
    refused = {name for name, each in outcomes.items() if each.refusal is not None}
    assert refused == {"1 bad.json", "3 half.json"} | ({"loop.json", "pipe.json"} if os.name == "posix" else set())
    assert set(outcomes) == refused | {"2 good.JSON", "good.png", "again.json"}
    assert len(list_results(database)) == 4, "nothing of the files that were refused"


def test_a_folder_with_no_results_or_too_many_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=said("exchange.no_files").pattern):
        list(files_of(tmp_path))
    monkeypatch.setattr(importing, "FILES_LIMIT", 3)
    for number in range(4):
        (tmp_path / f"{number}.json").touch()
    with pytest.raises(UsageError, match=said("exchange.too_many_files", limit="3").pattern):
        list(files_of(tmp_path))


def test_a_file_that_is_named_is_read_whatever_its_name(database: Database, tmp_path: Path) -> None:
    path = tmp_path / ("Result of Bob's <b>computer.txt" if os.name == "posix" else "Result of Bob's computer.txt")
    path.write_bytes(file_bytes(golden()))
    (outcome,) = import_files(database, [path])
    assert len(outcome.added.imported) == 4
    assert list_results(database)[0].source == path.name


def test_a_folder_that_cannot_be_read_stops_no_other(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab" / "closed").mkdir(parents=True)
    (tmp_path / "lab" / "good.json").write_bytes(file_bytes(golden()))
    scandir = os.scandir

    def refuse(folder: Path) -> object:
        if Path(folder).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    closed, good = import_files(database, [tmp_path / "lab"])
    assert closed.refusal is not None
    assert closed.path.name == "closed"
    assert len(good.added.imported) == 4


def test_a_code_of_both_sides_of_an_ab_becomes_two_results_and_gives_way_to_their_file(
    database: Database, tmp_path: Path
) -> None:
    one = next(filter(short_form, golden()))
    spec = msgspec.structs.replace(one.spec, jit=not one.spec.jit)
    numbers = msgspec.structs.replace(one.statistics, value=2.0, low=1.9, high=2.1)
    both = (one, sealed(msgspec.structs.replace(one, spec=spec, statistics=numbers, epochs=None)))
    picture, file = tmp_path / "forum.jpg", tmp_path / "both.json"
    picture.write_bytes(b"\xff\xd8\xff")
    file.write_bytes(file_bytes(both))
    code = short_forms(both)
    (outcome,) = import_files(database, [picture], lambda _: code)
    assert (outcome.added.imported, outcome.count) == ((1, 2), 2)
    assert [each.summary.jit for each in list_results(database)] == [spec.jit, one.spec.jit]
    assert import_text(database, code).added.duplicates == (1, 2)
    wrong = import_text(database, code[:-1])
    assert (wrong.count, said("short_form.wrong_letter").is_in(str(wrong.refusal))) == (0, True)
    (outcome,) = import_files(database, [file])
    assert outcome.added.upgraded == (1, 2)
    assert import_text(database, code).added.duplicates == (1, 2)
    assert len(list_results(database)) == 2
