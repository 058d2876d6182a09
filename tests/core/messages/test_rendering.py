"""How a message becomes its sentence: for one and for several, with lists, formats and messages inside."""

import msgspec
import pytest

from app.core.messages import Message, can_be_shown, message, sentence, text
from tests.saying import said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (message("results_page.runs", count=1), sentence("results_page.runs", count=1)),
        (message("results_page.runs", count=0), sentence("results_page.runs", count=0)),
        (message("results_page.runs", count=1_234), sentence("results_page.runs", count=1234)),
        (
            message("note.damaged", parts=["epochs", "samples"]),
            sentence("note.damaged", parts=["epochs", "samples"]),
        ),
        (
            message("verdict.engine_changed", names=["A", "B"]),
            sentence("verdict.engine_changed", names=["A", "B"]),
        ),
        (
            message("dataset.files_missing", files=["a", "b"], title="T", places=["x"], count=2),
            sentence("dataset.files_missing", files=["a", "b"], title="T", places=["x"], count=2),
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
    assert (
        text(read)
        == text(outer)
        == sentence("note.damaged", parts=[{"code": "results_page.runs", "arguments": {"count": 2}}, "x"])
    )
    nested = message("run.problem", problem=inner)
    assert text(msgspec.json.decode(msgspec.json.encode(nested), type=Message)) == text(nested)


@pytest.mark.parametrize(
    ("code", "arguments", "shown"),
    [
        (
            "storage.no_room",
            {"folder": "/x", "free_bytes": 430e6, "images": 1_000, "need_bytes": 2.5e9},
            {"free_bytes": "430 MB", "need_bytes": "2.5 GB"},
        ),
        (
            "note.epoch_takes",
            {"samples": 50_000, "duration_s": 66.34},
            {"samples": "50,000", "duration_s": "66.3"},
        ),
        ("note.epoch_takes_long", {"samples": 50_000, "duration_s": 290.0}, {"duration_s": "4 min 50 s"}),
        ("note.energy_per_epoch", {"energy_j": 12_300.0}, {"energy_j": "12.3 kJ (3.4 Wh)"}),
    ],
)
def test_numbers_have_the_catalogues_formats(
    code: str, arguments: dict[str, object], shown: dict[str, object]
) -> None:
    assert said(code, **shown).is_all_of(text(Message(code, arguments)))


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
