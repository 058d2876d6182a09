"""How a message becomes its sentence: for one and for several, with lists, formats and messages inside."""

import msgspec
import pytest

from app.core.messages import ENGLISH, Message, message, text


@pytest.fixture(autouse=True)
def sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, template in {
        "test.runs": ("{count} run", "{count:,} runs"),
        "test.parts": "Parts: {parts:; }.",
        "test.names": "Changed: {names:, }.",
        "test.missing": ("{files} of {title} is missing.", "{files} of {title} are missing."),
        "test.room": "{free_bytes:file_size} of {need_bytes:file_size}",
        "test.took": "{samples:,} took {duration_s:seconds} s or {duration_s:time_left}",
        "test.energy": "{energy_j:energy}",
    }.items():
        monkeypatch.setitem(ENGLISH, code, template)


RUNS, TOOK = message("test.runs", count=2), {"samples": 50_000, "duration_s": 290.0}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (message("test.runs", count=1), "1 run"),
        (message("test.runs", count=0), "0 runs"),
        (message("test.runs", count=1_234), "1,234 runs"),
        (message("test.parts", parts=["epochs", "samples"]), "Parts: epochs; samples."),
        (message("test.parts", parts=[RUNS, "x"]), "Parts: 2 runs; x."),
        (message("test.names", names=["A", "B"]), "Changed: A, B."),
        (message("test.missing", files=["a", "b"], title="T", count=2), "a, b of T are missing."),
        (message("test.room", free_bytes=430e6, need_bytes=2.5e9), "430 MB of 2.5 GB"),
        (message("test.took", **TOOK), "50,000 took 290 s or about 4 min 50 s"),
        (message("test.energy", energy_j=12_300.0), "12.3 kJ (3.4 Wh)"),
    ],
)
def test_numbers_lists_and_formats(said: Message, expected: str) -> None:
    assert text(said) == expected


def test_a_nested_message_becomes_its_sentence_even_from_a_file() -> None:
    for outer in (message("test.parts", parts=[RUNS, "x"]), message("run.problem", problem=RUNS)):
        read = msgspec.json.decode(msgspec.json.encode(outer), type=Message)
        assert isinstance(read.arguments.get("problem", read.arguments.get("parts", [None])[0]), dict)
        assert text(read) == text(outer)
