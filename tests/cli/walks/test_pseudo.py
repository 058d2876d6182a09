"""In another language, nothing that a command prints stays in English."""

import pytest

from app.cli import main
from app.core.hardware.machine import detect_machine
from app.core.paths import Paths
from tests.build import in_database
from tests.pseudo import english_in, names_of, speak_pseudo
from tests.recording import recorded_events, store_recording
from workloads.datasets import DATASETS
from workloads.engines.registry import ENGINES

# Licences, and what is typed.
NAMES = (
    *("CC BY-SA 3.0", "CC BY 2.0, see its LICENSE.txt", "MIT", "none stated; research use with citation"),
    *("public domain", "LDC99T42, not free", "Keras / tf.keras on TensorFlow 1.x"),
    *("epochmark", "nothing", "(UTC)", "ok", *ENGINES, *DATASETS),
)
COMMANDS = (
    *("workloads", "hardware", "compare", "data list", "engine list", "results list", "results show 1"),
    *("results show 9", "suite list", "study list", "import --list", "run demo --epochs 2", "run nothing"),
)


@pytest.fixture(autouse=True)
def another_language(monkeypatch: pytest.MonkeyPatch, paths: Paths) -> None:
    monkeypatch.setenv("EPOCHMARK_HOME", str(paths.data.parent))
    in_database(paths.database, store_recording, recorded_events())
    speak_pseudo(monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_stays_in_english(capsys: pytest.CaptureFixture[str], command: str) -> None:
    main(command.split())
    printed = capsys.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert lines
    names = (*NAMES, *names_of(detect_machine()))
    assert [line for line in lines if english_in(line, names)] == []
