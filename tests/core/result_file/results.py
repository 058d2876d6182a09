"""Results of any content that a file can have, for tests of what leaves and what comes back."""

import statistics
import string
from typing import Any

import msgspec
from hypothesis import strategies as st

from app.core.plain_text import one_line
from app.core.result_file.canonical import decode, sealed, steps_hash
from app.core.result_file.identity import uid_of
from app.core.result_file.record import Epoch, Gpu, Range, Result, StepBlock, Steps
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "data" / "results" / "format_1.epochmark.json"


def golden() -> tuple[Result, ...]:
    return decode(GOLDEN.read_bytes())


def named() -> tuple[Result, ...]:
    """Return the golden results as today's version would have written them: each with its uid."""
    return tuple(sealed(msgspec.structs.replace(each, uid=uid_of(each))) for each in golden())


def golden_of(name: str, seconds_s: float) -> Result:
    first = golden()[0]
    numbers = msgspec.structs.replace(first.statistics, value=seconds_s, low=None, high=None, confidence_pct=None)
    machine = msgspec.structs.replace(first.machine, cpu_name=name)
    return sealed(msgspec.structs.replace(first, machine=machine, statistics=numbers))


def finite(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False)


LINES = st.text(min_size=1, max_size=40).map(lambda text: one_line(text, 300).strip()).filter(bool)
WORDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,20}", fullmatch=True)
EPOCHS = st.lists(
    st.builds(
        Epoch,
        duration_s=finite(1e-3, 1e6),
        train_s=finite(0, 1e6),
        validation_s=st.none() | finite(0, 1e6),
        loss=st.none() | finite(-1e300, 1e300),
        accuracy=st.none() | finite(0, 1),
    ),
    min_size=1,
    max_size=5,
).map(tuple)
GPUS = st.lists(st.builds(Gpu, name=LINES, driver=st.none() | LINES), max_size=2).map(tuple)
RANGES = st.builds(Range, low=finite(-9, 9), median=finite(-9, 9), high=finite(-9, 9))
DURATIONS = st.lists(finite(0, 1e6), min_size=1, max_size=20).map(tuple)


def _steps(durations_s: tuple[float, ...], with_them: bool) -> Steps:
    block = StepBlock(phase="measure", epoch=0, first_index=3, count=len(durations_s))
    shown = {"blocks": (block,), "durations_s": durations_s} if with_them else {}
    return Steps(count=len(durations_s), sha256=steps_hash(durations_s), **shown)  # type: ignore[arg-type]


@st.composite
def results(draw: Any) -> Result:
    base: Result = draw(st.sampled_from(golden()))
    replace = msgspec.structs.replace
    epochs = draw(st.none() | EPOCHS)
    numbers = base.statistics
    if epochs is not None:
        durations_s = [epoch.duration_s for epoch in epochs]
        numbers = replace(
            numbers,
            metric="seconds_per_epoch_s",
            value=statistics.median(durations_s[1:] or durations_s),
            basis="later_epochs",
            low=None,
            high=None,
            epochs_done=len(epochs),
        )
    machine = replace(
        base.machine,
        cpu_name=draw(st.none() | LINES),
        memory_bytes=draw(st.none() | st.integers(0, 2**53 - 1)),
        gpus=draw(
            st.none() | st.lists(st.builds(Gpu, name=LINES, driver=st.none() | LINES), max_size=2).map(tuple)
        ),
        virtual_machine=draw(st.none() | st.booleans()),
    )
    values = st.booleans() | st.integers(-(2**53), 2**53) | finite(-1e300, 1e300) | LINES
    spec = replace(
        base.spec,
        variant=draw(st.none() | LINES),
        parameters=draw(st.none() | st.dictionaries(WORDS, values, max_size=3)),
    )
    telemetry = draw(st.none() | st.dictionaries(WORDS, RANGES, max_size=2))
    return sealed(
        replace(
            base,
            spec=spec,
            machine=machine,
            epochs=epochs,
            statistics=numbers,
            steps=draw(st.none() | st.builds(_steps, DURATIONS, st.booleans())),
            telemetry=telemetry,
            comment=draw(st.none() | LINES),
            uid=draw(st.none() | st.text(string.ascii_lowercase, min_size=10, max_size=10)),
        )
    )
