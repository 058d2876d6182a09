"""The result file's format: what was published stays readable, and the schema is the one that is shipped."""

import inspect
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.result_file.canonical import decode, digest_of, file_bytes, short_code
from app.core.result_file.record import FORMAT_VERSION, ResultFile, ResultSection
from tests.conftest import ROOT
from tests.sure import sure

GOLDEN = ROOT / "tests" / "data" / "results"
SCHEMA = ROOT / "resources" / "result-format" / "epochmark-result-1.schema.json"
# Digests of the files' results, which were published: they must stay true.
CODES = {"format_1": ["AC55-85EB", "D49C-39E8", "67D0-963F", "700D-2314"]}


def test_every_version_has_its_file() -> None:
    assert len(list(GOLDEN.iterdir())) == FORMAT_VERSION == len(CODES)


@pytest.mark.parametrize("path", sorted(GOLDEN.iterdir()), ids=lambda path: path.name.partition(".")[0])
def test_a_file_of_each_version_is_read_and_keeps_its_digests(path: Path) -> None:
    results = decode(path.read_bytes())
    assert [short_code(digest_of(result)) for result in results] == CODES[path.name.partition(".")[0]]
    assert file_bytes(results) == path.read_bytes()


def test_what_the_file_of_format_1_says() -> None:
    first, *_, last = decode((GOLDEN / "format_1.epochmark.json").read_bytes())
    assert (first.spec.workload, first.spec.preset, first.spec.settings) == ("mnist_mlp", "quick", "cpus=1")
    assert first.steps is not None
    assert len(sure(first.steps.durations_s)) == first.steps.count
    assert (last.comment, last.statistics.metric) == ("Œuvre, 東京 £ <b>=1+1</b>", "flop_per_s")
    assert last.machine.cpu_name == "AMD EPYC"


def test_the_shipped_schema_is_that_of_the_record() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json.loads(
        json.dumps(plain(msgspec.json.schema(ResultFile)))
    )


def plain(part: Any) -> Any:
    """Return a part of a schema with its docstrings as Python 3.13 and later have them, without indentation."""
    if isinstance(part, dict):
        return {
            name: inspect.cleandoc(value) if name == "description" and isinstance(value, str) else plain(value)
            for name, value in part.items()
        }
    return [plain(each) for each in part] if isinstance(part, list) else part


def test_whatever_may_be_missing_is_none_so_that_older_digests_stay_true() -> None:
    for kind in parts(ResultSection):
        for field in msgspec.structs.fields(kind):
            assert field.required or field.default in (None, ()), f"{kind.__name__}.{field.name}"


def parts(kind: type[ResultSection]) -> list[type[ResultSection]]:
    return [each for below in kind.__subclasses__() for each in (below, *parts(below))]
