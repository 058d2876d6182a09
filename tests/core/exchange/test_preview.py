"""A preview shows everything that is inside, and what is removed is gone from the file."""

import re

import pytest

from app.core.errors import UsageError
from app.core.exchange.preview import preview, without
from app.core.messages import sentence
from app.core.result_file.canonical import check, file_bytes
from tests.build import golden
from tests.saying import said


def test_a_preview_names_every_field_in_words() -> None:
    shown = {field.name: (field.label, field.text) for field in preview(golden()[2])}
    assert shown["workload"] == (
        sentence("label.workload"),
        sentence("compare.workload_version", workload="MNIST MLP", version=1),
    )
    assert shown["settings"] == (
        sentence("page.settings"),
        f"Standard · {sentence('share.batch', batch_size=128)} · float32 · {sentence('compare.seed', seed=0)}",
    )
    assert shown["value"][1].endswith("s per epoch")
    assert shown["cpu"] == ("CPU", "AMD EPYC")
    assert shown["date"] == (sentence("field.date"), "2026-11-23 04:16:36")
    assert shown["steps"] == (sentence("setting.steps"), sentence("exchange.steps", count=938))
    assert "gpu" not in shown, "what has no content isn't shown"
    internal = [text for _, text in shown.values() if re.search(r"[a-z]_[a-z]|mnist", text)]
    assert not internal


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("cpu", b"AMD EPYC"),
        ("memory", b"25276502016"),
        ("system", b"Debian"),
        ("date", b"2026-11-23"),
        ("telemetry", b"cpu_clock_mhz"),
        ("steps", b"durations_s"),
        ("comment", b"=1+1"),
    ],
)
def test_a_removed_field_is_gone_and_the_rest_is_still_right(name: str, secret: bytes) -> None:
    result = golden()[3] if name == "comment" else golden()[2]
    assert secret in file_bytes([result]).replace(b"memory_bytes", b"")
    assert name in {field.name for field in preview(result) if field.removable}
    left = without(result, [name])
    assert secret not in file_bytes([left]).replace(b'"duration_s"', b"")
    check(left)
    assert name not in {field.name for field in preview(left)}


@pytest.mark.parametrize("name", ["verdict", "value", "no such"])
def test_what_the_number_means_nothing_without_stays(name: str) -> None:
    with pytest.raises(UsageError, match=said("exchange.not_removable", name=name).pattern):
        without(golden()[0], [name])
