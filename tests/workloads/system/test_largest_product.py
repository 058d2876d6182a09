"""The largest matrix product is measured only where it fits in time and memory."""

import math
from collections.abc import Callable
from io import BytesIO

import msgspec
import pytest

from workloads import CATALOGUE
from workloads.engines.engine import Engine
from workloads.protocol.reporter import Emitter, Reporter
from workloads.protocol.spec import Job
from workloads.system.limits import LARGEST_BYTES, LARGEST_SIZE, Matmul, fits_largest

LARGEST = "matmul_8192_flop_per_s"


class OutOfSpaceError(Exception):
    pass


class Instant(Engine):
    """Multiplies at once, except for the largest matrices, which raise an error."""

    name = "instant"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, OutOfSpaceError)

    def matmul_step(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        assert (dtype, transposed) in (("float16", False), ("float16", inner != columns))
        if rows == LARGEST_SIZE and self.error is not None:
            raise self.error
        return lambda: None


def measured(error: Exception | None) -> list[str]:
    stream = BytesIO()
    spec = CATALOGUE["matmul"].default_spec(device="gpu:0", precision="mixed_float16")
    Matmul().measure(
        Job(spec=spec, datasets_folder=b"/nowhere"), Instant(error), Reporter(Emitter(stream)), "float16"
    )
    told = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    return [event["key"] for event in told if event["type"] == "metric"]


def test_the_largest_product_is_measured_last() -> None:
    rates = [key for key in measured(None) if key.startswith("matmul_")]
    assert rates[-1] == LARGEST
    assert len(rates) == 6


def test_without_memory_for_the_largest_product_the_others_count() -> None:
    keys = measured(OutOfSpaceError())
    assert LARGEST not in keys
    assert "flop_per_s" in keys


@pytest.mark.parametrize(
    ("flop_per_s", "available_bytes", "fits"),
    [
        (6e10, None, False),  # two slow cores: 18 s for each of seven calls
        (1.9e12, None, False),
        (2e12, None, True),
        (2e12, LARGEST_BYTES + 1, True),
        (2e12, LARGEST_BYTES, False),
        (math.inf, 0, False),
    ],
)
def test_slow_or_small_computers_leave_it_out(flop_per_s: float, available_bytes: int | None, fits: bool) -> None:
    assert fits_largest(flop_per_s, available_bytes) == fits
