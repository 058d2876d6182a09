"""What tests of runs share."""

import pytest

from tests.core.runs.running import Recorder


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()
