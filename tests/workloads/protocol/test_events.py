"""The event protocol: what is sent is read back, and nothing else than an event or a refusal comes of any line."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import telemetry_of
from workloads.protocol import events
from workloads.protocol.events import DamagedEventError, decode, encode
from workloads.protocol.machine import UNKNOWN_MACHINE
from workloads.protocol.spec import RunSpec

EXAMPLES: list[events.Event] = [
    events.Hello(protocol=1, pid=5, python="3.11.7", wall_time_ns=1_700_000_000_000_000_000),
    events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False, intra_op_threads=0),
    events.Dataset(name="cifar10", source="real", checksum="ab", samples=50_000, shape=(32, 32, 3)),
    events.Model(parameters_count=1_337_002),
    events.Phase(name="measure", epochs=2, total_steps=1_000),
    events.Steps(phase="measure", epoch=0, first_index=3, durations_s=(0.1, 0.2), loss=2.3),
    events.Epoch(index=0, duration_s=66.3, train_s=65.0, validation_s=1.0, steps=500, loss=1.5),
    events.Metric(key="test_accuracy", value=0.7),
    events.Warn(code="slow", message="It is slow."),
    events.Alive(),
    events.Log(message="µ × 数"),
    events.Error(code="out_of_memory", message="Too much.", traceback="Traceback …"),
    events.End(status="cancelled"),
    events.Run(run_id=3, spec=RunSpec(workload="demo"), machine=UNKNOWN_MACHINE),
    events.TelemetryEvent(telemetry=telemetry_of({"cpu_pct": 12.5, "gpus": []})),
    events.Estimate(value=66.3, low=65.4, high=67.1, warmup_steps=12, steps=180, interruptions=1, is_enough=True),
    events.Judged(
        level="caution",
        reasons=(
            events.Reason(code="on_battery", level="caution", text="It ran on battery.", advice="Plug it in."),
        ),
    ),
    events.Result(seconds_per_epoch_s=66.3, basis="later_epochs", spread_pct=0.4, comparison="4.8×"),
]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.type)
def test_every_event_comes_back_as_it_was_sent(event: events.Event) -> None:
    stamped = msgspec.structs.replace(event, seq=7, t_s=1.25)
    line = encode(stamped)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == stamped
    plain = json.loads(line)
    assert (plain["type"], plain["seq"], plain["t_s"]) == (event.type, 7, 1.25)


def test_the_examples_are_all_types_there_are() -> None:
    assert {type(event) for event in EXAMPLES} == set(events.AnyEvent.__args__)
    assert len({event.type for event in EXAMPLES}) == len(EXAMPLES)


@given(
    st.lists(st.floats(0, 1e6), max_size=50),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 2**53),
)
def test_numbers_come_back_to_the_last_bit(durations_s: list[float], loss: float | None, seq: int) -> None:
    event = events.Steps(
        seq=seq, phase="warmup", epoch=0, first_index=0, durations_s=tuple(durations_s), loss=loss
    )
    assert decode(encode(event)) == event


@given(st.text(max_size=200))
def test_any_text_can_be_sent_even_invalid_unicode(text: str) -> None:
    found = decode(encode(events.Error(code="internal", message=text, traceback=text)))
    assert isinstance(found, events.Error)
    assert found.message == found.traceback == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_sent_as_null(value: float) -> None:
    line = encode(events.Metric(key="loss", value=value))
    assert json.loads(line)["value"] is None
    assert decode(line) == events.Metric(key="loss", value=None)


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_nothing_else_happens(line: bytes) -> None:
    try:
        found = decode(line)
    except DamagedEventError:
        return
    assert found is None or isinstance(found, events.Event)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"type":5}',
        b'{"type":"end"}',
        b'{"type":"end","status":"won"}',
        b'{"type":"metric","key":"Not a key!","value":1}',
        b'{"type":"epoch","index":' + b"9" * 5_000 + b',"train_s":1,"duration_s":1}',
        b'{"type":"log","seq":-1,"message":""}',
        b'{"type":"log","message":"\xff"}',
        b'{"type":"log","message":"\\ud800"}',
        b'{"type":"log","message":"' + b"x" * 20_001 + b'"}',
        b'{"type":"sample","telemetry":' + b'{"a":' * 100_000,
        b'{"type":"sample","telemetry":{"cpu_pct":1e999}}',
        b'{"type":"metric","value":1,"key":"a\\n"}',
        b'{"type":"end","status":"completed"}{"type":"end","status":"completed"}',
    ],
    ids=range(18),
)
def test_a_damaged_line_is_refused(line: bytes) -> None:
    with pytest.raises(DamagedEventError):
        decode(line)


def test_types_and_fields_of_a_newer_worker_are_ignored() -> None:
    assert decode(b'{"type":"hologram","seq":1,"depth":3}') is None
    found = decode(b'{"type":"end","status":"completed","mood":{"good":true}}')
    assert found == events.End(status="completed")
