"""What a terminal shows before a run."""

import pytest

from app.cli import preflight
from app.core.messages import sentence
from app.core.paths import Paths
from tests.core.verdict.test_preflight import MACHINE, QUIET
from workloads import CATALOGUE
from workloads.protocol.telemetry import Telemetry


@pytest.mark.parametrize(("telemetry", "is_named"), [(QUIET, False), (Telemetry(), True)])
def test_a_load_that_could_not_be_read_is_named(
    telemetry: Telemetry, is_named: bool, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "read_telemetry", lambda duration_s: (telemetry, telemetry))
    lines = preflight.preflight_lines(CATALOGUE["cifar10_keras_cnn"].default_spec(), MACHINE, paths)
    assert lines == ([sentence("preflight.load_unknown")] if is_named else [])
