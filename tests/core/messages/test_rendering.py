"""How a message becomes its sentence: for one and for several, with lists, formats and messages inside."""

import msgspec
import pytest

from app.core.messages import Message, can_be_shown, message, text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (message("results_page.runs", count=1), "1 run"),
        (message("results_page.runs", count=0), "0 runs"),
        (message("results_page.runs", count=1_234), "1,234 runs"),
        (
            message("note.damaged", parts=["epochs", "samples"]),
            "Part of the record can't be read: epochs; samples.",
        ),
        (
            message("verdict.engine_changed", names=["A", "B"]),
            "Environment variables changed what the engine does: A, B.",
        ),
        (
            message("dataset.files_missing", files=["a", "b"], title="T", places=["x"], count=2),
            "a, b of T are missing in x.",
        ),
    ],
)
def test_numbers_and_lists(said: Message, expected: str) -> None:
    assert text(said) == expected


def test_a_nested_message_becomes_its_sentence_even_from_a_file() -> None:
    inner = message("results_page.runs", count=2)
    outer = message("note.damaged", parts=[inner, "x"])
    read = msgspec.json.decode(msgspec.json.encode(outer), type=Message)
    assert isinstance(read.arguments["parts"][0], dict)
    assert text(read) == text(outer) == "Part of the record can't be read: 2 runs; x."
    nested = message("run.problem", problem=inner)
    assert text(msgspec.json.decode(msgspec.json.encode(nested), type=Message)) == text(nested)


@pytest.mark.parametrize(
    ("code", "arguments", "expected"),
    [
        ("storage.no_room", {"folder": "/x", "free_bytes": 430e6, "images": 1_000, "need_bytes": 2.5e9}, "430 MB"),
        ("storage.no_room", {"folder": "/x", "free_bytes": 430e6, "images": 1_000, "need_bytes": 2.5e9}, "2.5 GB"),
        ("note.epoch_takes", {"samples": 50_000, "duration_s": 66.34}, "50,000 examples takes 66.3 s."),
        ("note.epoch_takes_long", {"samples": 50_000, "duration_s": 290.0}, "takes about 4 min 50 s."),
        ("note.energy_per_epoch", {"energy_j": 12_300.0}, "12.3 kJ (3.4 Wh)"),
    ],
)
def test_numbers_have_the_catalogues_formats(code: str, arguments: dict[str, object], expected: str) -> None:
    assert expected in text(Message(code, arguments))


def test_a_message_from_a_file_can_be_shown_only_if_its_sentence_has_all_it_needs() -> None:
    assert can_be_shown(message("verdict.suspended", slept_s=12.0))
    assert can_be_shown(message("verdict.suspended", slept_s=None))
    assert not can_be_shown(message("verdict.suspended"))
    assert not can_be_shown(message("verdict.suspended", slept_s="long"))
    assert not can_be_shown(message("future.code"))
    assert not can_be_shown(message("run.problem", problem=message("future.code")))
    assert not can_be_shown(message("run.problem", problem={"b": 1}))


@pytest.mark.parametrize("nothing", [None, "", []])
def test_a_message_of_nothing_is_shown_as_its_code(nothing: object) -> None:
    assert text(message("verdict.as_stored", text=nothing)) == "verdict.as_stored"


def test_messages_as_deep_as_a_file_can_make_them_have_a_text() -> None:
    deep = message("run.problem", problem="x")
    nested: list[object] = []
    for _ in range(400):
        deep, nested = message("run.problem", problem=deep), [nested]
    assert text(deep)
    assert text(message("run.problem", problem=nested))
    assert not can_be_shown(deep)
