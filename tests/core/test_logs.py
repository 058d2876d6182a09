"""Logs: everything to a file with a limit, warnings to the terminal, and never a reason not to work."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.logs import WORKER_LOG_LIMIT_BYTES, LogCopier, set_up_logging


@pytest.fixture
def app_log() -> Iterator[logging.Logger]:
    root = logging.getLogger("app")
    before, level = list(root.handlers), root.level
    yield root
    for handler in set(root.handlers) - set(before):
        handler.close()
    root.handlers, root.level = before, level


def copied(content: bytes, path: Path, limit_bytes: int = WORKER_LOG_LIMIT_BYTES) -> LogCopier:
    copier = LogCopier(io.BytesIO(content), path, limit_bytes)
    copier.start()
    copier.join(10)
    assert not copier.is_alive()
    return copier


def test_warnings_reach_the_terminal_as_sentences_and_all_reaches_the_file(
    tmp_path: Path, app_log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logging(tmp_path)
    logging.getLogger("app.core.storage.runs").info("quiet")
    logging.getLogger("app.core.storage.runs").warning("Look here.")
    assert capsys.readouterr().err == "Look here.\n"
    text = (tmp_path / "epochmark.log").read_text(encoding="utf-8")
    assert "INFO app.core.storage.runs: quiet\n" in text
    assert "WARNING app.core.storage.runs: Look here.\n" in text


def test_a_traceback_is_for_the_file_alone(
    tmp_path: Path, app_log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logging(tmp_path)
    try:
        raise ValueError("the reason")
    except ValueError:
        logging.getLogger("app").exception("It failed.")
    assert capsys.readouterr().err == "It failed.\n"
    text = (tmp_path / "epochmark.log").read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "ValueError: the reason" in text


@pytest.mark.parametrize("place", ["missing", "file"])
def test_a_log_that_cannot_be_written_is_silent(
    tmp_path: Path, app_log: logging.Logger, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    set_up_logging(tmp_path / place)
    logging.getLogger("app").warning("Work goes on.")
    assert capsys.readouterr().err == "Work goes on.\n"


def test_the_log_cannot_grow_for_ever(tmp_path: Path, app_log: logging.Logger) -> None:
    set_up_logging(tmp_path, 10_000)
    for _ in range(300):
        logging.getLogger("app").info("x" * 100)
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= 20_000


@pytest.mark.parametrize(
    ("content", "limit_bytes", "size_bytes", "last"),
    [
        (b"first\nsecond \xff\xfe\nno newline", 10_000, 29, ["first", "second \ufffd\ufffd", "no newline"]),
        (
            b"".join(b"line %d\n" % number for number in range(10_000)),
            10_000,
            10_100,
            [f"line {n}" for n in range(9_600, 10_000)],
        ),
        (b"x" * 1_000_000, 100_000, 200_000, ["x" * 4_096] * 16),
        (b"one\n\n  \nbad \xff byte\n", 10_000, 17, ["one", "bad \ufffd byte"]),
    ],
    ids=["short", "flood", "endless line", "empty lines"],
)
def test_a_workers_output_is_copied_up_to_a_limit_and_its_last_lines_are_known(
    tmp_path: Path, content: bytes, limit_bytes: int, size_bytes: int, last: list[str]
) -> None:
    copier = copied(content, tmp_path / "worker.log", limit_bytes)
    copy = (tmp_path / "worker.log").read_bytes()
    assert copy == content if len(content) <= limit_bytes else limit_bytes <= len(copy) <= size_bytes
    assert copier.last_lines() == last
